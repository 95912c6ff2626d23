"""Two-column files: to each name another, such as to each system its baseline."""

from __future__ import annotations

import csv
import io

from surefoot.errors import InputError
from surefoot.read.files import PathLike, read_bytes


def read_map(path: PathLike, what: str) -> dict[str, str]:
    """A CSV of two columns with a header, ``system`` and ``what``, as a mapping."""
    try:
        text = read_bytes(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(path, f"expected a CSV of system,{what}; this is not text") from None
    mapping: dict[str, str] = {}
    lines = csv.reader(io.StringIO(text))
    for fields in lines:
        cells = [field.strip() for field in fields]
        if not any(cells):
            continue
        if len(cells) != 2 or not all(cells):
            raise InputError(path, f"expected two columns, system,{what}; found {len(cells)}", lines.line_num)
        system, other = cells
        if not mapping and (system.lower(), other.lower()) == ("system", what):
            continue
        if system in mapping:
            raise InputError(path, f"system {system!r} has a line already; keep one", lines.line_num)
        mapping[system] = other
    if not mapping:
        raise InputError(path, f"expected lines of system,{what}; found none")
    return mapping
