"""Scores in files: wide and long tables, and the output of trec_eval, gdeval, ndeval and ir_measures."""

from __future__ import annotations

import math
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from surefoot._names import csv_text
from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, did_you_mean, listed
from surefoot.io.containers import Content, Table, in_file, validate_text
from surefoot.io.eval_logs import ZIP, read_mteb
from surefoot.io.files import RUN_ENDINGS, STDIN, name_of, read_bytes
from surefoot.io.formats import Source, read_content
from surefoot.io.frames import PARQUET, table_of
from surefoot.io.roles import (
    ITEMS,
    OTHER_ITEMS,
    Layout,
    Long,
    ScoreMatrix,
    Wide,
    canonical,
    find_measure,
    is_measure_with_cutoff,
    looks_like_measure,
    matrix_of,
    normalise_name,
    recognise,
    role_of,
)
from surefoot.scores import Missing, Scores

MEASURE_COMMENT = "# measure: "
"""The beginning of a comment, above a table, that names its measure."""
ENDINGS = (*RUN_ENDINGS, ".tab", ".ndjson", ".out")


@dataclass(frozen=True)
class ScoreFile:
    """A parsed file of scores.

    ``system`` is the name of its system if the table has none; ``measure`` is the one that a comment names.
    """

    path: PathLike
    table: Table
    layout: Layout
    system: str
    measure: str | None = None
    noun: str = "queries"

    @property
    def name(self) -> str:
        return name_of(self.path, ENDINGS)

    @property
    def leaves_out_topics(self) -> bool:
        """Whether the file is the output of trec_eval, which leaves out topics without results."""
        return self.table.columns == ("measure", "topic", "value") and isinstance(self.layout, Long)

    @property
    def nameless(self) -> bool:
        """Whether the table has a single measure without a name."""
        if self.measure is not None:
            return False
        if isinstance(self.layout, Wide):
            return True
        return self.layout.measure is None and role_of(self.table.columns[self.layout.values[0]]) == "value"

    def notes_on(self, measure: str | None) -> Iterator[str]:
        """A note if neither the table nor the file name confirms the measure."""
        wanted, name = (re.sub(r"[^a-z0-9]", "", canonical(text)) for text in (measure or "", self.name))
        if self.nameless and wanted not in name:
            yield f"{self.name} does not name its measure; it is taken to be {measure}, as requested"

    def matrix(self, measure: str | None) -> ScoreMatrix:
        """The scores of one measure."""
        with in_file(self.path, self.table):
            if self.measure is None:
                return matrix_of(self.table, self.layout, measure, self.system)
            find_measure(measure, [self.measure])
            return matrix_of(self.table, self.layout, None, self.system)._replace(measure=self.measure)


def read_scores(paths: PathLike | Iterable[PathLike], measure: str | None = None, missing: Missing = "error") -> Scores:
    r"""Read the scores of one measure from one or more files.

    The format of each file is detected by its content. In a wide table (CSV, TSV, Parquet) the first header cell says
    what a row is: ``topic`` (or ``qid``, ...) or ``system`` (or ``run``, ``name``, ...). A long one has columns of
    systems, topics and values, or one column for each measure. Further formats are the output of trec_eval and
    ir_measures (both with -q), gdeval and ndeval, and folders of MTEB's results, whose tasks are the topics.

    A long table may hold several scores of a system on a topic, numbered in a column ``trial`` (or ``epoch``, ``seed``,
    ``repeat``, ``replicate``). The scores are then the means over trials; ``trials`` of the result has them all.

    Parameters
    ----------
    paths
        One or more files, compressed or not; ``-`` is standard input. Topics are aligned by name. A folder holds the
        results of an MTEB model, or of several.
    measure
        The measure to read, if the files have several, and the name of the measure in the result.
    missing
        What to do with topics that some system lacks: ``"error"``, ``"zero"`` or ``"drop"``, as in `Scores.align`.
        trec_eval leaves out topics without results: in its files they count 0, and a note says so.

    Returns
    -------
    Scores
        Systems × topics.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "ndcg10.csv")
    >>> _ = file.write_text("topic,bm25,dense\nq1,0.2,0.3\nq2,0.4,0.1\n")
    >>> read_scores(file, "nDCG@10")
    Scores(2 systems × 2 topics of nDCG@10)
    """
    return next(iter(read_scores_by(paths, [] if measure is None else [measure], missing).values()))


def read_scores_by(
    paths: PathLike | Iterable[PathLike], measures: Sequence[str] = (), missing: Missing = "error"
) -> dict[str, Scores]:
    r"""Read the scores of several measures, parsing each file once.

    Parameters
    ----------
    paths, missing
        As in `read_scores`.
    measures
        The measures to read; by default the only measure of the files.

    Returns
    -------
    dict
        `Scores` by the name of the measure.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> file = pathlib.Path(tempfile.mkdtemp(), "scores.csv")
    >>> _ = file.write_text("system,topic,AP,RR\nbm25,q1,0.2,1\nbm25,q2,0.4,0.5\n")
    >>> {name: scores["bm25"].tolist() for name, scores in read_scores_by(file, ["RR", "AP"]).items()}
    {'RR': [1.0, 0.5], 'AP': [0.2, 0.4]}
    """
    if isinstance(paths, Mapping) or hasattr(paths, "columns"):
        raise SurefootError("read_scores reads files; for a frame or a dictionary use Scores.of")
    names: list[PathLike] = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    if not names:
        raise SurefootError("name at least one file of scores")
    files = _with_own_names([parse_score_file(path) for path in names])
    if len(measures) > 1 and (nameless := next((file for file in files if file.nameless), None)):
        raise InputError(nameless.path, "holds one measure without a name, so several measures can't be read")
    wanted: Sequence[str | None] = measures or [None]
    all_scores = [_combine(files, measure, missing) for measure in wanted]
    return {scores.measure: scores for scores in all_scores}


def scores_csv(scores: Scores, *others: Scores) -> str:
    """Scores as a CSV that `read_scores` reads: a row for each topic, below a comment with the measure.

    Several measures make a row for each system and topic; repeats make a row for each trial.

    >>> print(scores_csv(Scores([[0.2], [0.3]], ["old", "new"], ["q1"], "AP")), end="")
    # measure: AP
    topic,old,new
    q1,0.2,0.3
    >>> print(scores_csv(Scores([[0.2]], ["old"], ["q1"], "AP"), Scores([[1]], ["old"], ["q1"], "RR")), end="")
    system,topic,AP,RR
    old,q1,0.2,1.0
    >>> print(scores_csv(Scores([[0.25]], ["old"], ["q1"], "AP", trials={"old": [[0.0], [0.5]]})), end="")
    system,topic,trial,AP
    old,q1,1,0.0
    old,q1,2,0.5
    """
    both = [scores, *(one.select(scores.systems, scores.topics) for one in others)]
    repeated = any(one.trials for one in both)
    if not others and not repeated:
        comment = "" if scores.measure == "score" else f"{MEASURE_COMMENT}{' '.join(scores.measure.split())}\n"
        rows = ([topic, *row] for topic, row in zip(scores.topics, scores.values.T.tolist(), strict=True))
        return comment + csv_text([["topic", *scores.systems], *rows])
    header = ["system", "topic", *(["trial"] if repeated else []), *(one.measure for one in both)]
    return csv_text([header, *_long_rows(both, repeated)])


def _long_rows(both: Sequence[Scores], repeated: bool) -> Iterator[list[object]]:
    """A row for each system, topic and trial, with the score of each measure."""
    for system in both[0].systems:
        trials = [one.trials.get(system, one[system][None]).T.tolist() for one in both]
        for topic, *columns in zip(both[0].topics, *trials, strict=True):
            for number, row in enumerate(zip_longest(*columns, fillvalue=math.nan), start=1):
                if not all(map(math.isnan, row)):
                    cells = ["" if math.isnan(score) else score for score in row]
                    yield [system, topic, *([number] if repeated else []), *cells]


def parse_score_file(path: PathLike) -> ScoreFile:
    """Parse a file of scores of any format, or a folder of MTEB's results."""
    content, measure = (Content(read_mteb(path)), None) if Path(path).is_dir() else _read(path)
    table: Table = content.source
    with in_file(path):
        layout = recognise(table.columns)
    if isinstance(layout, Long) and layout.system is None and content.summaries:
        layout = layout._replace(ignored=(), summaries=content.summaries)
    topics = table.columns[layout.topic if isinstance(layout, Long) else 0]
    noun = "items" if normalise_name(topics) in (*ITEMS, *OTHER_ITEMS) else content.noun
    return ScoreFile(path, table, layout, content.name or name_of(path, ENDINGS), measure, noun)


def is_score_file(path: PathLike) -> bool:
    """Whether a file is a table of scores, or a log of an evaluation."""
    try:
        return str(path) != STDIN and parse_score_file(path) is not None
    except SurefootError:
        return False


def measures_in(path: PathLike) -> tuple[str, ...]:
    """The measures in a file of scores; none for a table of one measure without a name."""
    file = parse_score_file(path)
    if file.measure is not None or file.nameless or isinstance(file.layout, Wide):
        return () if file.measure is None else (file.measure,)
    if file.layout.measure is not None:
        return file.table.labels(file.layout.measure).names
    return tuple(file.table.columns[column] for column in file.layout.values)


def _read(path: PathLike) -> tuple[Content, str | None]:
    """The content of a file, and the measure that a comment above it names."""
    data = read_bytes(path)
    if not data.startswith((PARQUET, ZIP)):
        data = validate_text(path, data)
    named = re.match(rb"# measure: *([^\r\n]*[^\r\n ]) *\r?(?=\n)", data)
    data = data[named.end() :] if named else data
    content = read_content(Source(path, data), "scores") if data.strip() else None
    if content is None:
        raise InputError(path, "is empty; a table of scores was expected")
    return content, named[1].decode() if named else None


def scores_of_frame(frame: Any, measure: str | None = None, missing: Missing = "error") -> Scores:
    """Scores of a frame of pandas, polars or pyarrow: wide, or long (system, topic, value, and perhaps measure).

    The name of the first column of a wide frame, or of its index in pandas, says what the rows are: ``topic`` (or
    ``qid``, ...) or ``system`` (or ``run``, ``name``, ...).
    """
    table = table_of(frame)
    try:
        layout = recognise(table.columns)
    except SurefootError:
        index = getattr(frame, "index", None)
        if getattr(index, "names", None) == [None] and type(index).__name__ != "RangeIndex":
            raise SurefootError(
                "the frame's index has no name; say what rows are: frame.index.name = 'topic'"
            ) from None
        raise
    matrix = matrix_of(table, layout, measure)
    return Scores.align(matrix.rows(), measure or matrix.measure or "score", missing, matrix.notes)


def _with_own_names(files: list[ScoreFile]) -> list[ScoreFile]:
    """Name the systems of files after the file, or else the folder, if several files have the same system."""
    for name in (lambda file: file.name, lambda file: Path(file.path).absolute().parent.name):
        named = Counter(file.system for file in files if isinstance(file.layout, Long) and file.layout.system is None)
        files = [replace(file, system=name(file)) if named[file.system] > 1 else file for file in files]
    return files


def _combine(files: Sequence[ScoreFile], measure: str | None, missing: Missing) -> Scores:
    matrices = [file.matrix(measure) for file in files]
    _refuse_duplicates(files, matrices)
    notes = dict.fromkeys(note for matrix in matrices for note in matrix.notes)
    notes |= dict.fromkeys(note for file in files for note in file.notes_on(measure))
    rows = (row for matrix in matrices for row in matrix.rows())
    if missing == "error" and all(file.leaves_out_topics for file in files):
        missing = "zero"
    scores_of = measure or _common_measure(files, matrices)
    with in_file(files[0].path) if len(files) == 1 else nullcontext():
        return Scores.align(rows, scores_of, missing, notes, files[0].noun)


def _refuse_duplicates(files: Sequence[ScoreFile], matrices: Sequence[ScoreMatrix]) -> None:
    home: dict[str, PathLike] = {}
    for file, matrix in zip(files, matrices, strict=True):
        for system in matrix.systems:
            if system in home:
                raise InputError(file.path, f"system {system!r} is in {home[system]} too; systems' names must differ")
        home.update(dict.fromkeys(matrix.systems, file.path))


def _common_measure(files: Sequence[ScoreFile], matrices: Sequence[ScoreMatrix]) -> str:
    """The name of the measure in the files; without one, the name of the only file if it is a measure, or "score"."""
    named = {canonical(matrix.measure): matrix.measure for matrix in reversed(matrices) if matrix.measure is not None}
    if len(named) > 1:
        held = [f"{matrix.measure} in {file.path}" for file, matrix in zip(files, matrices, strict=True)]
        raise SurefootError(f"the files hold different measures ({listed(held)}); name one that all of them have")
    if named:
        return next(iter(named.values()))
    return files[0].name if len(files) == 1 and is_measure_with_cutoff(files[0].name) else "score"


def one_measure(scores: Mapping[str, Any], measure: str | None) -> tuple[Mapping[str, Mapping[Any, float]], str]:
    """``{system: {topic: score}}`` of one measure, and its name; the input may have measures as a third level."""
    rows = [row for row in scores.values() if isinstance(row, Mapping)]
    cells = [cell for row in rows for cell in row.values()]
    if not cells or not all(isinstance(cell, Mapping) for cell in cells):
        _refuse_one_system(scores)
        return scores, measure or "score"
    known = list(dict.fromkeys(str(name) for cell in cells for name in cell))
    if measure is None and len(known) != 1:
        named = listed(known) or "none"
        raise SurefootError(f"these scores are by measure: name one, Scores.of(..., measure); there are {named}")
    chosen = measure or known[0]
    if not all(chosen in cell for cell in cells):
        raise SurefootError(f"no {chosen!r} for every topic{did_you_mean(chosen, known)}; there are {listed(known)}")
    return {system: {topic: cell[chosen] for topic, cell in row.items()} for system, row in scores.items()}, chosen


def _refuse_one_system(scores: Mapping[str, Any]) -> None:
    """Raise for ``{topic: {measure: score}}``, the output of ``pytrec_eval`` for one run."""
    inner = {str(name) for row in scores.values() if isinstance(row, Mapping) for name in row}
    measures = [name for name in inner if looks_like_measure(name)]
    if measures and 2 * len(measures) >= len(inner):
        raise SurefootError(
            f"these are the scores of one system, by topic and measure ({listed(sorted(measures))}): name the system, "
            "Scores.of({name: scores}, measure)"
        )
