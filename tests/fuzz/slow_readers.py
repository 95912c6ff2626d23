"""Slow, obvious readers, which share nothing with those of the package."""

import csv
import json
from typing import Any


def slow_lines(data: bytes) -> list[list[str]]:
    """The fields of each line that is not blank or a comment."""
    text = data.decode("utf-8").removeprefix("\ufeff")
    rows = [line.split(None) for line in text.split("\n")]
    return [row for row in rows if row and not row[0].startswith("#")]


def slow_run(data: bytes) -> dict[tuple[str, str], float]:
    return {(row[0], row[2]): float(row[4]) for row in slow_lines(data)}


def slow_qrels(data: bytes) -> dict[tuple[str, str], float]:
    return {(row[0], row[2]): float(row[3]) for row in slow_lines(data)}


def slow_json(data: bytes) -> dict[tuple[str, str], float]:
    content = json.loads(data.decode("utf-8-sig"))
    cells = ((query, document, number) for query, own in content.items() for document, number in own.items())
    return {(query.strip(), document.strip()): float(number) for query, document, number in cells}


def slow_letor(data: bytes) -> Any:
    text = data.decode("utf-8", errors="replace")  # comments may be in any encoding
    rows = [line.split("#")[0].split() for line in text.removeprefix("\ufeff").split("\n")]
    rows = [row for row in rows if row]
    queries: dict[str, list[float]] = {}
    for row in rows:
        queries.setdefault(row[1].partition(":")[2], []).append(float(row[0]))
    return [label for labels in queries.values() for label in labels], sorted(queries), len(rows)


def slow_cells(data: bytes, separator: str) -> list[list[str]]:
    """The cells of a table, a line at a time."""
    text = data.decode("utf-8").removeprefix("\ufeff").replace("\r\n", "\n")
    lines = text.split("\n") if "\n" in text else text.split("\r")
    rows = [next(csv.reader([line], delimiter=separator, strict=True), []) for line in lines]
    return [row for row in rows if any(cell.strip() for cell in row)]


def slow_wide(data: bytes) -> Any:
    mark = next((mark for mark in ("\t", ",", ";") if mark.encode() in data.strip().split(b"\n")[0]), ",")
    header, *rows = ([cell.strip() for cell in row] for row in slow_cells(data, mark))
    names = [name.lower() for name in header]
    if {"system", "topic"} <= set(names):
        system, topic = names.index("system"), names.index("topic")
        (value,) = {0, 1, 2} - {system, topic}
        cells = [(row[system], row[topic], row[value]) for row in rows]
    else:
        cells = [(name, row[0], row[column]) for column, name in enumerate(header) if column for row in rows]
        if names[0] == "system":
            cells = [(topic, system, cell) for system, topic, cell in cells]
    found: dict[str, dict[str, float]] = {}
    for system, topic, cell in cells:
        found.setdefault(system, {})[topic] = float(cell)
    return found


def slow_score_lines(data: bytes) -> dict[str, dict[str, float]]:
    """JSON lines with a system, a topic and a value on each; ids that are numbers are written as such."""
    found: dict[str, dict[str, float]] = {}
    for line in data.decode("utf-8").removeprefix("\ufeff").replace("\r", "\n").split("\n"):
        if line.strip():
            row = {name.strip().lower(): cell for name, cell in json.loads(line).items()}
            system, topic = (str(row[role]).strip() for role in ("system", "topic"))
            others = [cell for name, cell in row.items() if name not in ("system", "topic")]
            found.setdefault(system, {})[topic] = float(row["value"] if "value" in row else others[0])
    return found


def slow_trials(data: bytes) -> dict[str, dict[str, list[float]]]:
    """The sorted scores of each system and topic, whatever the trials are called; empty cells are no scores."""
    header, *rows = ([cell.strip() for cell in row] for row in slow_cells(data, ","))
    names = [name.lower() for name in header]
    system, topic = names.index("system"), names.index("topic")
    value = names.index("value") if "value" in names else len(names) - 1
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        own = found.setdefault(row[system], {}).setdefault(row[topic], [])
        own += [float(row[value])] if row[value] else []
        own.sort()
    return found


def slow_beir(data: bytes) -> dict[tuple[str, str], float]:
    header, *rows = slow_cells(data, "\t")
    if len(header) == 4:
        return slow_qrels(data)
    if not {"id", "score"} <= {word for name in header for word in name.lower().split("-")}:
        raise ValueError("no header")
    return {(query.strip(), document.strip()): float(score) for query, document, score in rows}
