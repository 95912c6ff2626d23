"""surefoot.toml: the options of the gate, by the names that the flags have."""

from __future__ import annotations

import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

from surefoot._types import PathLike
from surefoot.errors import InputError, listed
from surefoot.io.files import read_bytes
from surefoot.release_gate.rules import Rules

NAME = "surefoot.toml"
TEXTS = ("candidate", "segment_by")
PATHS = ("segments", "protected_file", "ratchet")
NUMBERS = tuple(option.name for option in fields(Rules) if isinstance(option.default, float))
LISTS = (*(option.name for option in fields(Rules) if isinstance(option.default, tuple)), "baseline")
KEYS = (*(option.name for option in fields(Rules)), "baseline", *TEXTS, *PATHS)


def find_config() -> Path | None:
    """The file in the current folder, if there is one."""
    path = Path(NAME)
    return path if path.is_file() else None


def read_config(path: PathLike) -> dict[str, Any]:
    """The options under ``[gate]``. Hyphens and underscores are alike; files are looked for beside this one."""
    try:
        found = tomllib.loads(read_bytes(path).decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(path, f"not valid TOML: {error}") from None
    strange = [name for name in found if name != "gate"]
    if strange:
        raise InputError(path, f"unknown key {listed(strange)}; the only table is [gate]")
    table = found.get("gate", {})
    if not isinstance(table, dict):
        raise InputError(path, "gate should be a table: [gate]")
    return {_key(path, word): _value(path, word, value) for word, value in table.items()}


def _key(path: PathLike, word: str) -> str:
    name = word.replace("-", "_")
    if name not in KEYS:
        known = listed((key.replace("_", "-") for key in KEYS), most=len(KEYS))
        raise InputError(path, f"unknown key {word!r} in [gate]; the known ones are {known}")
    return name


def _value(path: PathLike, word: str, value: object) -> object:
    name = word.replace("-", "_")
    if name in NUMBERS:
        if type(value) not in (int, float):
            raise InputError(path, f"{word} should be a number; got {value!r}")
        return value
    if name in LISTS:
        items = value if isinstance(value, list) else [value]
        if not all(type(item) in (str, int) for item in items):
            raise InputError(path, f"{word} should be a list of names; got {value!r}")
        return [str(item) for item in items]
    if not isinstance(value, str):
        raise InputError(path, f"{word} should be text; got {value!r}")
    return str(Path(path).parent / value) if name in PATHS else value
