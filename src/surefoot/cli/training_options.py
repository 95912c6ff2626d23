"""The flags of all commands that train, derived from the fields of `Settings`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import Field, replace
from typing import Any

from surefoot.cli import inputs
from surefoot.errors import SurefootError
from surefoot.learn.settings import FIELDS, Settings

PAIRS = (
    "objective_options",
    "virtual_baseline",
    "metric",
    "risk_metric",
    "cutoff",
    "truncation",
    "sigmoid",
    "norm",
    "empty",
)
TREES = (
    "engine", "n_estimators", "num_leaves", "learning_rate", "min_child_samples", "early_stopping_rounds", "stop_on",
    "params", "seed", "n_jobs",
)  # fmt: skip


BASELINES = "feature:N (as numbered in the file), -feature:N, rank:N, order, run:FILE, scores:FILE or model:PATH"


def add_baselines(group: Any, text: str, sets: Iterable[str], required: bool = False) -> None:
    """Add --baseline, and for each further set of queries the baselines that it has instead."""
    group.add_argument("--baseline", action="append", required=required, metavar="WHAT", help=f"{BASELINES}; {text}")
    for name, queries in (("valid", "validation"), ("test", "test")):
        if name in sets:
            group.add_argument(
                f"--{name}-baseline", action="append", metavar="WHAT",
                help=f"the same for the {queries} queries, where --baseline is scores:FILE",
            )  # fmt: skip
    group.add_argument(
        "--missing", choices=("error", "last"), default="error", help="documents that a run lacks (default: error)"
    )


def add_settings(group: Any, names: Iterable[str]) -> None:
    """Add the flags of these fields. One that is not given sets nothing, so that `settings_from` knows which were."""
    for name in names:
        field = FIELDS[name]
        group.add_argument(
            *field.metadata["flags"], dest=name, default=argparse.SUPPRESS, help=_help(field), **_parsed_as(field)
        )


def settings_from(arguments: argparse.Namespace, names: Iterable[str], base: Settings | None = None) -> Settings:
    """The settings that were given by flags, in place of those of ``base``, a recipe or the defaults."""
    base = base or Settings()
    given = {name: getattr(arguments, name) for name in names if hasattr(arguments, name)}
    for name in ("objective_options", "params"):
        if name in given:
            given[name] = {**getattr(base, name), **dict(map(key_value, given[name]))}
    return replace(base, **given)


def _help(field: Field[Any]) -> str:
    text, default = str(field.metadata["help"]), getattr(Settings(), field.name)
    if default is None or default == {}:
        return text
    shown = f"{default:g}" if isinstance(default, float) else default
    return f"{text} (default: {shown})"


def _parsed_as(field: Field[Any]) -> dict[str, Any]:
    """How argparse reads the flag of a field."""
    if field.type == "bool":
        return {"action": argparse.BooleanOptionalAction}
    if field.metadata["choices"]:
        return {"choices": field.metadata["choices"]}
    metavar, default = field.metadata["metavar"], getattr(Settings(), field.name)
    if default == {}:
        return {"action": "append", "metavar": metavar}
    if field.name == "truncation":
        return {"type": depth, "metavar": metavar}
    kinds = {"float": inputs.number, "int": int}
    return {"type": next((kinds[name] for name in kinds if name in str(field.type)), str), "metavar": metavar}


def depth(text: str) -> int | None:
    """A rank, or None for all."""
    if text == "all":
        return None
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a rank of 1 or more, or all; got {text!r}")
    return int(text)


def key_value(text: str) -> tuple[str, Any]:
    """K=V, with V a number, true or false where it looks like one."""
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise SurefootError(f"expected K=V, as spread=se; got {text!r}")
    for kind in (int, float):
        try:
            return key, kind(value)
        except ValueError:
            continue
    return key, {"true": True, "false": False}.get(value.lower(), value)
