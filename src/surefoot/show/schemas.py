"""JSON Schemas of the output of ``--format json``, made from ``columns.toml`` and the gate's types."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import Any

from surefoot._version import __version__
from surefoot.errors import choose

Schema = dict[str, Any]

DIALECT = "https://json-schema.org/draft/2020-12/schema"
GATE = "gate"
VERDICTS = ["pass", "undecided", "fail"]
TYPES: dict[str, Schema] = {
    "text": {"type": "string"},
    "number": {"type": "number"},
    "count": {"type": "integer"},
    "flag": {"type": "boolean"},
    "list": {"type": "array"},
    "texts": {"type": "array", "items": {"type": "string"}},
    "object": {"type": "object"},
    "verdict": {"enum": VERDICTS},
    "any": {},
}
PYTHON = {"str": "text", "float": "number", "int": "count", "bool": "flag", "Verdict": "verdict"}
"""The type of a field of the gate, by its annotation."""


@cache
def _declared() -> dict[str, dict[str, Any]]:
    return tomllib.loads((files("surefoot.show") / "columns.toml").read_text(encoding="utf-8"))


def commands() -> list[str]:
    """The commands whose JSON has a schema."""
    return [*_declared()["commands"], GATE]


def schema_of(command: str) -> Schema:
    """The JSON Schema of a command's output with ``--format json``.

    >>> schema_of("agreement g2")["properties"]["rows"]["items"]["required"]
    ['system', 'mean', 'g2', 'share']
    """
    own = _gate() if choose(command, commands(), "command") == GATE else _table(**_declared()["commands"][command])
    return {"$schema": DIALECT, "title": f"surefoot {command} --format json (surefoot {__version__})", **own}


def _table(columns: str, fields: str = "") -> Schema:
    """The schema of a result: its fields, and rows that have at least these columns."""
    optional, _, named = fields.rpartition("?")
    required = ["signature", "rows", "notes", *([] if optional or "?" in fields else named.split())]
    known, patterns = (
        {name: _typed(text) for name, text in _declared()[part].items()} for part in ("columns", "patterns")
    )
    properties = {name: known[name] for name in ("signature", *named.split(), "notes")}
    row = {"type": "object", "required": columns.split(), "properties": known, "patternProperties": patterns,
           "additionalProperties": False}  # fmt: skip
    return _object(properties | {"rows": {"type": "array", "items": row}}, required)


def _object(properties: Schema, required: list[str] | None = None) -> Schema:
    return {"type": "object", "required": required or list(properties), "properties": properties,
            "additionalProperties": False}  # fmt: skip


def _typed(declared: str) -> Schema:
    """The schema of ``type: description``; a type that ends in ``?`` may be null."""
    name, _, description = declared.partition(": ")
    own = TYPES[name.removesuffix("?")]
    if name.endswith("?"):
        own = {"type": [own["type"], "null"]}
    return {**own, "description": description}


def _gate() -> Schema:
    """The schema of the gate's verdict, from the fields of its types."""
    from surefoot.release_gate.finding import Finding, Resolution
    from surefoot.release_gate.verdict import Change, CumulativeChange, WorseQuery

    text = ("signature", "evidence", "headline", "sentence", "reason", "next_step", "candidate")
    whole = dict.fromkeys(text, TYPES["text"]) | dict.fromkeys(("measures", "loosened", "notes"), TYPES["texts"])
    whole |= {
        "verdict": TYPES["verdict"],
        "exit_code": {"enum": [0, 1, 3]},
        "leans": {"enum": ["for", "against", None]},
    }
    whole["resolution"] = {"anyOf": [_fields(Resolution), {"type": "null"}]}
    rows = {"rules": Finding, "worst": WorseQuery, "changes": Change, "cumulative": CumulativeChange}
    return _object(whole | {name: {"type": "array", "items": _fields(kind)} for name, kind in rows.items()})


def _fields(kind: Any) -> Schema:
    """The schema of a dataclass; JSON calls the rule of a finding ``name``."""
    names = {"rule": "name"}
    return _object({names.get(one.name, one.name): _annotated(str(one.type)) for one in fields(kind)})


def _annotated(annotation: str) -> Schema:
    name, _, nullable = annotation.partition(" | ")
    own = TYPES[PYTHON[name]] if name in PYTHON else {"type": "array"}
    return {"type": [own["type"], "null"]} if nullable else own
