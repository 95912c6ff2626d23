"""Scores in files: wide and long tables, and the output of trec_eval, gdeval, ndeval and ir_measures."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Sequence

from surefoot._typing import PathLike
from surefoot.effectiveness.names import canonical
from surefoot.errors import InputError, SurefootError, listed
from surefoot.io import parquet
from surefoot.io.delimited import header_of, read_delimited
from surefoot.io.files import BYTE_ORDER_MARK, STDIN, read_bytes
from surefoot.io.layouts import Block, role_of
from surefoot.io.score_file import Source, in_file
from surefoot.io.trec_output import (
    is_evaluator_line,
    read_evaluator_lines,
    read_json_lines,
    refuse_other_lines,
)
from surefoot.scores import Missing, Scores


def read_scores(paths: PathLike | Iterable[PathLike], measure: str | None = None, missing: Missing = "error") -> Scores:
    """Scores of one measure from one or more files; the kind of each is told by its content.

    Wide tables (CSV, TSV, Parquet) say by their first header cell what a row is: ``topic`` (``qid``, ...) or
    ``system`` (``run``, ``name``, ...). Long ones have a system, a topic and a value, or a column a measure;
    ``measure`` picks one. Output of trec_eval and ir_measures (both with -q), gdeval and ndeval is taken as it is.
    Several files give several systems, their topics aligned by name; ``missing`` is the rule of `Scores.align`.
    """
    return next(iter(read_scores_by(paths, [] if measure is None else [measure], missing).values()))


def read_scores_by(
    paths: PathLike | Iterable[PathLike], measures: Sequence[str] = (), missing: Missing = "error"
) -> dict[str, Scores]:
    """Scores of each measure named, under that name; with none named, of the only one that the files hold."""
    files: list[PathLike] = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not files:
        raise SurefootError("name at least one file of scores")
    sources = [open_source(path) for path in files]
    if len(measures) > 1:
        _refuse_nameless(sources)
    wanted: Sequence[str | None] = measures or [None]
    all_scores = (_put_together(sources, measure, missing) for measure in wanted)
    return {scores.measure: scores for scores in all_scores}


def scores_csv(scores: Scores) -> str:
    """Scores as a CSV with one row for each topic, which `read_scores` reads.

    >>> print(scores_csv(Scores([[0.2], [0.3]], ["old", "new"], ["q1"])), end="")
    topic,old,new
    q1,0.2,0.3
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["topic", *scores.systems])
    writer.writerows([topic, *row] for topic, row in zip(scores.topics, scores.values.T.tolist(), strict=True))
    return out.getvalue()


def open_source(path: PathLike) -> Source:
    """Parse a file of scores, whatever its kind."""
    data = read_bytes(path)
    if data.startswith(parquet.MAGIC):
        return parquet.read_parquet(path, data)
    data = _checked_text(path, data)
    first = re.search(rb"[^\s][^\n]*", data)
    if not first:
        raise InputError(path, "is empty; a table of scores was expected")
    line = first.group().decode("utf-8")
    if line.startswith("{"):
        return read_json_lines(path, data)
    if is_evaluator_line(line):
        return read_evaluator_lines(path, data)
    if role_of(header_of(data).cells[0]) is None:
        refuse_other_lines(path, line)
    return read_delimited(path, data)


def _checked_text(path: PathLike, data: bytes) -> bytes:
    """The data if it is UTF-8 text, old lone carriage returns made newlines."""
    data = data.removeprefix(BYTE_ORDER_MARK)
    if b"\0" in data:
        raise InputError(path, "holds binary data, not a table of scores as UTF-8 text")
    if not data.isascii():
        try:
            data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise InputError(path, "not UTF-8 text; save it with that encoding", line) from None
    if b"\n" not in data:
        return data.replace(b"\r", b"\n")
    stray = re.search(rb"\r(?!\n)", data) if b"\r" in data else None
    if stray:
        line = data.count(b"\n", 0, stray.start()) + 1
        raise InputError(path, "a carriage return inside the line; end all lines alike", line)
    return data


def _refuse_nameless(sources: Sequence[Source]) -> None:
    for source in sources:
        if source.nameless:
            raise InputError(source.path, "holds one measure without its name, so several can't be asked of it")


def _put_together(sources: Sequence[Source], measure: str | None, missing: Missing) -> Scores:
    blocks = [source.block(measure) for source in sources]
    _refuse_doubles(sources, blocks)
    notes = dict.fromkeys(note for block in blocks for note in block.notes)
    notes |= dict.fromkeys(_taken_on_trust(source, measure) for source in sources if _must_be_trusted(source, measure))
    rows = (row for block in blocks for row in block.rows())
    scores_of = measure or _common_measure(sources, blocks)
    if len(sources) > 1:
        return Scores.align(rows, scores_of, missing, notes)
    with in_file(sources[0].path):
        return Scores.align(rows, scores_of, missing, notes)


def _must_be_trusted(source: Source, measure: str | None) -> bool:
    """Whether neither the table nor its file's name says that it holds the measure."""

    def bare(name: str) -> str:
        return re.sub(r"[^a-z0-9]", "", canonical(name))

    return measure is not None and source.nameless and bare(measure) not in bare(source.name)


def _taken_on_trust(source: Source, measure: str | None) -> str:
    return f"{source.name} does not name its measure; it was taken to be {measure}, as was said"


def _refuse_doubles(sources: Sequence[Source], blocks: Sequence[Block]) -> None:
    home: dict[str, PathLike] = {}
    for source, block in zip(sources, blocks, strict=True):
        for system in block.systems:
            if system in home:
                raise InputError(source.path, f"system {system!r} is in {home[system]} too; systems' names must differ")
        home.update(dict.fromkeys(block.systems, source.path))


def _common_measure(sources: Sequence[Source], blocks: Sequence[Block]) -> str:
    """The files' own name for their measure; a single table without one is named after its file."""
    named = {canonical(block.measure): block.measure for block in reversed(blocks) if block.measure is not None}
    if len(named) > 1:
        held = [f"{block.measure} in {source.path}" for source, block in zip(sources, blocks, strict=True)]
        raise SurefootError(f"the files hold different measures ({listed(held)}); name one that all of them have")
    if named:
        return next(iter(named.values()))
    alone = len(sources) == 1 and str(sources[0].path) != STDIN
    return sources[0].name if alone else "score"
