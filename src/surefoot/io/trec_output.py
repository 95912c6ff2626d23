"""Scores per topic as evaluation tools print them: lines of trec_eval -q and ir_measures -q, and JSON lines."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import polars
from polars.exceptions import PolarsError

from surefoot._typing import PathLike
from surefoot.errors import InputError
from surefoot.io.frames import PolarsTable
from surefoot.io.json_text import parse_json
from surefoot.io.layouts import Long, recognise, role_of
from surefoot.io.measure_names import looks_like_measure
from surefoot.io.score_file import ScoreFile, in_file

SUMMARY = "all"
COLUMNS = {4: "judgments (qrels)", 6: "a TREC run"}


def is_evaluator_line(line: str) -> bool:
    """Whether a line has the three fields that trec_eval and ir_measures print.

    >>> [is_evaluator_line(line) for line in ("map   151 0.2", "151 nDCG@10 0.2", "runid all BM25", "system 1 2")]
    [True, True, True, False]
    """
    fields = line.split()
    if len(fields) != 3:
        return False
    return fields[:2] == ["runid", SUMMARY] or (_is_number(fields[2]) and role_of(fields[0]) is None)


def refuse_other_files(path: PathLike, line: str) -> None:
    """Raise if the first line is that of a run, of qrels, or of summaries only."""
    fields = line.split()
    if len(fields) == 2 and looks_like_measure(fields[0]) and _is_number(fields[1]):
        raise InputError(path, "there are only summary lines; scores per topic are needed (-q in ir_measures)", 1)
    if len(fields) in COLUMNS and _is_number(fields[3]):
        what = COLUMNS[len(fields)]
        raise InputError(path, f"looks like {what}, not scores; runs are scored together with judgments", 1)


def read_evaluator_lines(path: PathLike, data: bytes) -> ScoreFile:
    """Read lines of ``measure topic value`` (trec_eval) or ``topic measure value`` (ir_measures)."""
    lines = polars.Series("line", data.decode("utf-8").split("\n"))
    words = lines.str.extract_groups(r"^\s*(\S+)\s+(\S+)\s+(\S+)\s*$").struct.unnest()
    filled = lines.str.contains(r"\S")
    wrong = (words.to_series(0).is_null() & filled).arg_true()
    if len(wrong):
        found = len(lines[wrong[0]].split())
        raise InputError(path, f"expected measure, topic and value, found {found} columns", wrong[0] + 1)
    frame = words.filter(filled)
    line_numbers = filled.arg_true().to_numpy() + 1
    trec_eval = _measure_comes_first(frame)
    return ScoreFile(
        path,
        PolarsTable(frame, ("measure", "topic", "value") if trec_eval else ("topic", "measure", "value")),
        Long(
            topic=int(trec_eval), system=None, measure=int(not trec_eval), values=(2,), summaries=frozenset({SUMMARY})
        ),
        line_of=lambda row: int(line_numbers[row]),
        system=_run_tag(frame) if trec_eval else None,
    )


def _measure_comes_first(frame: polars.DataFrame) -> bool:
    """Whether the measure comes first, as in trec_eval; detected by the position of the summary or by the names."""
    first, second = (frame.to_series(column).unique() for column in (0, 1))
    summary_first, summary_second = SUMMARY in first, SUMMARY in second
    if summary_first != summary_second:
        return summary_second
    return _fraction_of_measures(first.to_list()) >= _fraction_of_measures(second.to_list())


def _fraction_of_measures(words: Sequence[str]) -> float:
    return float(np.mean([looks_like_measure(word) for word in words]))


def _run_tag(frame: polars.DataFrame) -> str | None:
    measure, topic, value = frame.get_columns()
    tags = value.filter((measure == "runid") & (topic == SUMMARY))
    return str(tags[0]) if len(tags) else None


def read_json_lines(path: PathLike, data: bytes) -> ScoreFile:
    """Read one JSON object on each line, as ``ir_measures --output_format jsonl`` prints; each may name a system."""
    try:
        frame = polars.read_ndjson(io.BytesIO(data), infer_schema_length=None)
    except PolarsError:
        frame = _parse_in_python(path, data)
    with in_file(path):
        layout = recognise(frame.columns)
    if isinstance(layout, Long) and layout.system is None:
        layout = replace(layout, ignored=(), summaries=frozenset({SUMMARY}))
    return ScoreFile(path, PolarsTable(frame), layout, line_of=lambda row: _filled_lines(data)[row][0])


def _parse_in_python(path: PathLike, data: bytes) -> polars.DataFrame:
    """The objects as parsed by Python, which accepts NaN and allows errors to name the line."""
    records = []
    for number, line in _filled_lines(data):
        try:
            record = parse_json(line)
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise InputError(path, 'expected a JSON object such as {"query_id": ...}', number)
        records.append(record)
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name) for record in records] for name in names}
    return polars.DataFrame({name: polars.Series(cells, strict=False) for name, cells in columns.items()})


def _filled_lines(data: bytes) -> list[tuple[int, bytes]]:
    return [(number, line) for number, line in enumerate(data.split(b"\n"), start=1) if line.strip()]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
