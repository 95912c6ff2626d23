"""Plans in TOML: an experiment of one's own, or a published one with some words changed."""

from __future__ import annotations

import tomllib
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, choose, listed
from surefoot.io.files import read_bytes
from surefoot.research.experiments.plan import PROTOCOLS, Plan

KINDS: dict[str, type] = {
    "name": str, "data": str, "baseline": str, "learned": str, "held_out": float, "folds": int, "own_folds": bool,
    "objectives": str, "alphas": float, "docs_per_leaf": int, "leaves": int, "rates": float, "trees": int,
    "scaled": bool, "metric": str, "cutoffs": int, "truncation": int, "empty": str, "columns": str, "seed": int,
}  # fmt: skip
WORDS = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
LISTS = tuple(field.name for field in fields(Plan) if isinstance(field.default, tuple))


def read_plan(path: PathLike) -> Plan:
    """The plan in a TOML file.

    Keys are the fields of `Plan`, with hyphens, but for ``query_max`` and ``published``, which are those of the
    published protocols alone; a list of one may come bare. ``protocol`` names a published one to start from. Files of
    data are looked for beside the plan.
    """
    try:
        found = tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(path, f"not valid TOML: {error}") from None
    try:
        start = _start(path, found)
        given = {_key(word): _value(word, value) for word, value in found.items() if word != "protocol"}
        if "data" in given:
            given["data"] = tuple(_beside(path, word) for word in given["data"])
        return replace(start, **given)
    except InputError:
        raise
    except SurefootError as error:
        raise InputError(path, str(error)) from None


def _start(path: PathLike, found: dict[str, Any]) -> Plan:
    protocol = found.get("protocol")
    if protocol is None:
        return Plan(name=Path(path).stem)
    # Its numbers are no longer the published ones, so neither is its table.
    plan = PROTOCOLS[choose(str(protocol), PROTOCOLS, "protocol")]
    return replace(plan, name=Path(path).stem, published=None)


def _key(word: str) -> str:
    name = word.replace("-", "_")
    if name not in KINDS:
        known = listed(("protocol", *(key.replace("_", "-") for key in KINDS)), most=len(KINDS) + 1)
        raise SurefootError(f"unknown key {word!r}; the known ones are {known}")
    return name


def _value(word: str, value: object) -> Any:
    name = word.replace("-", "_")
    kind = KINDS[name]
    items = value if isinstance(value, list) else [value]
    allowed = (int, float) if kind is float else (kind,)
    if any(type(item) not in allowed for item in items) or (isinstance(value, list) and name not in LISTS):
        raise SurefootError(f"{word} should be {WORDS[kind]}{', or a list' if name in LISTS else ''}; got {value!r}")
    taken = tuple(kind(item) for item in items)
    return taken if name in LISTS else taken[0]


def _beside(path: PathLike, word: str) -> str:
    beside = Path(path).parent / word
    return str(beside) if beside.exists() else word
