"""Plans in TOML files: new experiments, or published ones with some keys changed."""

from __future__ import annotations

from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, choose, listed
from surefoot.io.small_files import read_toml
from surefoot_lab.experiments.plan import PROTOCOLS, Plan

KINDS: dict[str, type] = {
    "name": str, "data": str, "baseline": str, "learned": str, "held_out": float, "folds": int, "own_folds": bool,
    "objectives": str, "alphas": float, "recipes": str, "docs_per_leaf": int, "leaves": int, "rates": float,
    "trees": int, "scaled": bool, "metric": str, "cutoffs": int, "truncation": int, "sigmoid": float, "norm": bool,
    "spread": str, "empty": str, "tradeoff": bool, "columns": str, "seed": int,
}  # fmt: skip
KIND_NAMES = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}
LISTS = tuple(field.name for field in fields(Plan) if isinstance(field.default, tuple))


def load_plan(name: str) -> Plan:
    """A published plan by name, or the plan in a TOML file."""
    if name in PROTOCOLS:
        return PROTOCOLS[name]
    if Path(name).suffix != ".toml":
        raise SurefootError(f"no experiment {name!r}; there are {', '.join(PROTOCOLS)}, or name a .toml file")
    return read_plan(name)


def read_plan(path: PathLike) -> Plan:
    """Read the plan in a TOML file.

    Keys are the fields of `Plan`, with hyphens, except ``query_max`` and ``published``, which only the published
    protocols have; a list of one value may be written as the value, and ``truncation`` may be "all". ``protocol`` names
    a published plan to start from.
    Data files are looked for in the plan's folder first.

    Parameters
    ----------
    path
        The TOML file.

    Returns
    -------
    Plan
        The plan, named as the file.

    """
    found = read_toml(path).content
    try:
        start = _start(path, found)
        given = {_field(key): _value(key, value) for key, value in found.items() if key != "protocol"}
        if "data" in given:
            given["data"] = tuple(_resolve(path, name) for name in given["data"])
        return replace(start, **given)
    except InputError:
        raise
    except SurefootError as error:
        raise InputError(path, str(error)) from None


def _start(path: PathLike, found: dict[str, Any]) -> Plan:
    protocol = found.get("protocol")
    if protocol is None:
        return Plan(name=Path(path).stem)
    # The published table does not apply to a changed plan.
    plan = PROTOCOLS[choose(str(protocol), PROTOCOLS, "protocol")]
    return replace(plan, name=Path(path).stem, published=None)


def _field(key: str) -> str:
    name = key.replace("-", "_")
    if name not in KINDS:
        known = listed(("protocol", *(field.replace("_", "-") for field in KINDS)), most=len(KINDS) + 1)
        raise SurefootError(f"unknown key {key!r}; the known ones are {known}")
    return name


def _value(key: str, value: object) -> Any:
    name = _field(key)
    if (name, value) == ("truncation", "all"):
        return None
    kind = KINDS[name]
    items = value if isinstance(value, list) else [value]
    allowed = (int, float) if kind is float else (kind,)
    if any(type(item) not in allowed for item in items) or (isinstance(value, list) and name not in LISTS):
        raise SurefootError(
            f"{key} should be {KIND_NAMES[kind]}{', or a list' if name in LISTS else ''}; got {value!r}"
        )
    converted = tuple(kind(item) for item in items)
    return converted if name in LISTS else converted[0]


def _resolve(path: PathLike, name: str) -> str:
    """A data file in the plan's folder, or the name as it is."""
    file = Path(path).parent / name
    return str(file) if file.exists() else name
