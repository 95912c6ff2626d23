"""TOML files, and the lines of their keys for error messages."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefoot.errors import InputError
from surefoot.io.files import read_bytes

if TYPE_CHECKING:
    from surefoot._typing import PathLike


@dataclass(frozen=True)
class TomlFile:
    """The content of a TOML file."""

    path: PathLike
    text: str
    content: dict[str, Any]

    def error(self, key: str, message: str) -> InputError:
        """An error about a key, or a table, with the line where it is first named."""
        return InputError(self.path, message, self.line_of(key))

    def line_of(self, key: str) -> int | None:
        r"""The number of the first line that assigns to a key or opens a table of that name.

        >>> TomlFile("a.toml", "# alpha\n[gate]\nalpha = 1\n", {}).line_of("alpha")
        3
        """
        name = rf"""["']?{re.escape(key)}["']?"""
        found = re.search(rf"^\s*(\[+\s*{name}\s*[].]|{name}\s*[=.])", self.text, re.MULTILINE)
        return None if found is None else self.text.count("\n", 0, found.start(1)) + 1


def read_toml(path: PathLike) -> TomlFile:
    """Read a TOML file; errors name the line."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
        return TomlFile(path, text, tomllib.loads(text))
    except UnicodeDecodeError:
        raise InputError(path, "not valid TOML: not UTF-8 text") from None
    except RecursionError:
        raise InputError(path, "not valid TOML: nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        message, _, where = str(error).partition(" (at ")
        line = re.match(r"line (\d+)", where)
        raise InputError(path, f"not valid TOML: {message}", int(line[1]) if line else None) from None
    except ValueError as error:  # a number of thousands of digits
        raise InputError(path, f"not valid TOML: {error}") from None
