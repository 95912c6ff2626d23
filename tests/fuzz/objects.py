"""Scores, runs and judgments in memory with hostile content: frames, dictionaries, records and arrays."""

import math
import random
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from tests.fuzz.subject import Subject

Table = list[list[Any]]
"""A header, and rows."""
Pairs = dict[tuple[str, str], float]

WIDE: Table = [["topic", "old", "new"], ["q1", 0.5, 0.25], ["q2", 1.0, 0.0], ["q3", 0.125, 0.75]]
LONG: Table = [["system", "topic", "value"], ["old", 1, 0.5], ["new", 1, 0.25], ["old", 2, 1], ["new", 2, 0]]
RUN: Table = [["qid", "docno", "score"], ["q1", "d1", 2.5], ["q1", "d2", 1.5], ["q2", "d1", -3], ["q2", "d9", 4.0]]
HOSTILE = [
    None, math.nan, math.inf, -math.inf, 0, -0.0, 1, "1", 1.0, True, 0.25, "0.5", " 0.5 ", "x", "", " ", "nan", "NULL",
    "1_0", "0x1p3", "inf", 10**30, -(10**30), 10**400, 1 << 63, 1e308, 5e-324, b"x", "ä", "a\nb", "\0", "\x1b[2J",
    "\ud800", Decimal("0.5"), np.float32(0.5), np.int64(3), date(2020, 1, 1), [], [1, 2], {}, "q1", "d1",
    "old", "MEAN", "topic", 2**53 + 1, "9" * 400, 1j,
]  # fmt: skip
KINDS = ("polars", "pandas", "dictionary", "records")


def table(good: Table, seed: int) -> Table:
    """The good table with a few random edits."""
    rng = random.Random(seed)
    rows = [list(row) for row in good]
    for _ in range(rng.choice((0, 1, 1, 2, 3))):
        kind = rng.randrange(8)
        row = rng.randrange(len(rows))
        if kind < 4:
            rows[row][rng.randrange(len(rows[row]))] = rng.choice(HOSTILE)
        elif kind == 4:
            rows.append(list(rows[row]))
        elif kind == 5:
            column = rng.randrange(len(rows[0]))
            rows = [[*cells[:column], *cells[column + 1 :]] for cells in rows] if len(rows[0]) > 1 else rows
        elif kind == 6:
            del rows[max(row, 1) : None if rng.random() < 0.2 else max(row, 1) + 1]
        else:
            column, value = rng.randrange(len(rows[0])), rng.choice(HOSTILE)
            rows = [rows[0], *([*cells[:column], value, *cells[column + 1 :]] for cells in rows[1:])]
    return rows


def as_polars(rows: Table) -> Any:
    import polars

    header = [str(name) for name in rows[0]]
    columns = [polars.Series(name, [row[i] for row in rows[1:]], strict=False) for i, name in enumerate(header)]
    return polars.DataFrame(columns)


def as_pandas(rows: Table) -> Any:
    import pandas

    return pandas.DataFrame(rows[1:], columns=rows[0])


def as_dictionary(rows: Table) -> Any:
    """``{first: {second: third}}`` of a long table."""
    found: dict[Any, dict[Any, Any]] = {}
    for first, second, third in (row[:3] for row in rows[1:]):
        found.setdefault(first, {})[second] = third
    return found


def as_records(rows: Table) -> Any:
    return [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]


MAKERS: dict[str, Callable[[Table], Any]] = dict(
    zip(KINDS, (as_polars, as_pandas, as_dictionary, as_records), strict=True)
)


def made(kind: str, *good: Table) -> Callable[[int], Any]:
    """Objects of one kind by seed; where a library refuses to make the object, the next seed's."""

    def make(seed: int) -> Any:
        for attempt in range(1000):
            try:
                return MAKERS[kind](table(good[seed % len(good)], seed + 1_000_003 * attempt))
            except Exception:  # of polars or pandas, before anything of ours
                continue
        raise AssertionError("no object can be made")

    return make


def rows_of(thing: Any) -> tuple[list[Any], list[list[Any]]]:
    """The header and the rows of a frame, one cell at a time."""
    if type(thing).__module__.startswith("pandas"):
        columns = list(thing.columns)
        return columns, [[thing.iloc[row, column] for column in range(len(columns))] for row in range(len(thing))]
    return thing.columns, [list(row) for row in thing.rows()]


def plain_name(cell: Any) -> str:
    """A name as it is; None, NaN and nothing are none."""
    if cell is None or cell != cell or cell == "":
        raise ValueError("a name is missing")
    return str(cell)


def as_text(cell: Any) -> Any:
    return cell.decode() if isinstance(cell, bytes) else cell


def slow_name(cell: Any) -> str:
    """The name in a frame: whole numbers without a fraction, texts without white space around them."""
    if isinstance(cell, float | np.floating) and float(cell).is_integer():
        return str(int(cell))
    return plain_name(plain_name(as_text(cell)).strip())


def slow_number(cell: Any) -> float:
    number = float(cell.strip() if isinstance(cell, str) else cell)
    if not math.isfinite(number):
        raise ValueError("not a finite number")
    return number


def single(pairs: Iterator[tuple[tuple[str, str], float]]) -> Pairs:
    """The scores by name; one that comes twice is an error."""
    found: Pairs = {}
    for key, number in pairs:
        if key in found:
            raise ValueError(f"{key} occurs twice")
        found[key] = number
    return found


def slow_frame(frame: Any) -> Pairs:
    """The scores of a frame, wide or long."""
    header, rows = rows_of(frame)
    names = [str(name).strip().lower() for name in header]
    if {"system", "topic"} <= set(names):
        system, topic = names.index("system"), names.index("topic")
        (value,) = [names.index("value")] if "value" in names else {0, 1, 2} - {system, topic}
        return single(((slow_name(row[system]), slow_name(row[topic])), slow_number(row[value])) for row in rows)
    turn = -1 if names[0] == "system" else 1
    return single(
        ((slow_name(name), slow_name(row[0]))[::turn], slow_number(cell))  # type: ignore[misc]
        for row in rows
        for name, cell in zip(header[1:], row[1:], strict=True)
    )


def slow_dictionary(thing: Any) -> Pairs:
    pairs = ((a, b, cell) for a, own in thing.items() for b, cell in own.items())
    return single(((plain_name(a), plain_name(b)), slow_number(cell)) for a, b, cell in pairs)


def slow_documents(thing: Any) -> Pairs:
    """The documents of a run or of judgments, of a dictionary, records or a frame."""
    if isinstance(thing, dict):
        rows = [[a, b, cell] for a, own in thing.items() for b, cell in own.items()]
    elif isinstance(thing, list):
        rows = with_order(list(row.values())[:3] for row in thing)
    else:
        rows = with_order(rows_of(thing)[1])
    return single(((slow_name(row[0]), slow_name(row[1])), slow_number(row[2])) for row in rows)


def with_order(rows: Iterable[Any]) -> list[list[Any]]:
    """Rows of a query and a document, which come best first, with numbers that say so."""
    return [[*row, -place] if len(row) == 2 else list(row) for place, row in enumerate(rows)]


def read_scores(thing: Any, _: object) -> Pairs:
    import surefoot

    return {
        (system, topic): x for system, own in surefoot.Scores.of(thing).to_dict().items() for topic, x in own.items()
    }


def read_run(thing: Any, _: object) -> Pairs:
    from surefoot.io.memory import run_in_memory

    return {(topic, document): x for topic, document, x in run_in_memory(thing, "run").to_frame().rows()}


def read_qrels(thing: Any, _: object) -> Pairs:
    from surefoot.io.memory import qrels_in_memory

    return {(topic, document): x for topic, document, x in qrels_in_memory(thing).to_frame().rows()}


def array(seed: int) -> tuple[Any, list[Any], list[Any]]:
    """A matrix with the names of its rows and columns."""
    rows = table(WIDE, seed)
    return [row[1:] for row in rows[1:]], [row[0] for row in rows[1:]], rows[0][1:]


def read_array(given: Any, _: object) -> Pairs:
    import surefoot

    scores = surefoot.Scores(*given)
    return {(s, t): scores[s][j] for s in scores.systems for j, t in enumerate(scores.topics)}


def slow_array(given: Any) -> Pairs:
    values, systems, topics = given
    cells = ((plain_name(s), plain_name(t), x) for s, row in zip(systems, values, strict=True)
             for t, x in zip(topics, row, strict=True))  # fmt: skip
    return single(((system, topic), slow_number(x)) for system, topic, x in cells)


OBJECTS = {
    "scores, frame of polars": Subject(made("polars", WIDE, LONG), read_scores, slow_frame),
    "scores, frame of pandas": Subject(made("pandas", WIDE, LONG), read_scores, slow_frame),
    "scores, dictionary": Subject(made("dictionary", LONG), read_scores, slow_dictionary),
    "scores, array": Subject(array, read_array, slow_array),
    **{f"run, {kind} in memory": Subject(made(kind, RUN), read_run, slow_documents) for kind in KINDS},
    **{f"qrels, {kind} in memory": Subject(made(kind, RUN), read_qrels, slow_documents) for kind in KINDS},
}
