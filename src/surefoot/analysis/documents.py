"""The documents behind a query's change: both rankings, and the cost of each move."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np

from surefoot.effectiveness.contributions import Decomposition
from surefoot.effectiveness.measures import UNJUDGED
from surefoot.effectiveness.scoring import Unjudged
from surefoot.effectiveness.sources import load_qrels, sources_of
from surefoot.errors import SurefootError, choose, counted, listed
from surefoot.io.document_lists import Qrels, Run
from surefoot.results import Result, signature

Change = Literal["rose", "fell", "in", "out", "same"]

DEPTH = 20
"""The most documents listed of each ranking, unless a depth is given."""


@dataclass(frozen=True)
class Move:
    """A document's move from one ranking to another. A rank is None where the list lacks it, a grade if unjudged."""

    document: str
    baseline_rank: int | None
    system_rank: int | None
    change: Change
    grade: float | None
    contribution: float


@dataclass(frozen=True)
class TopicMoves:
    """The moves of one topic, in the order of the system's ranking, then of the baseline's, and both scores."""

    topic: str
    baseline_score: float
    system_score: float
    moves: tuple[Move, ...]

    @property
    def delta(self) -> float:
        """The change of the measure, which is the sum of the contributions."""
        return self.system_score - self.baseline_score

    def largest(self, sign: int) -> list[Move]:
        """The moves that gained (1) or cost (-1) something, the largest first."""
        chosen = [move for move in self.moves if sign * move.contribution > 0]
        return sorted(chosen, key=lambda move: -abs(move.contribution))


@dataclass(frozen=True, eq=False, kw_only=True)
class DocumentMoves(Result):
    """A row for each document of each topic. ``topics`` has the moves by topic, ``depth`` is the last rank shown."""

    topics: tuple[TopicMoves, ...]
    system: str
    baseline: str
    measure: str
    depth: int

    def with_topics(self, columns: Mapping[str, Mapping[str, object]]) -> DocumentMoves:
        """The result with further columns, whose value for a topic is repeated for each of its documents."""
        names = next(iter(columns.values()), {})
        more = {name: [columns[topic][name] for topic in self.columns["topic"]] for name in names}
        return replace(self, columns={**self.columns, **more})


def document_moves(
    system: object,
    baseline: object,
    qrels: object,
    measure: object = "nDCG@10",
    *,
    topics: Iterable[str] | None = None,
    depth: int | None = None,
    unjudged: Unjudged = "zero",
    queries: Mapping[str, str] | None = None,
    texts: Mapping[str, str] | None = None,
) -> DocumentMoves:
    r"""Both rankings of a query, and the contribution of each document's move to the change.

    Parameters
    ----------
    system, baseline
        The runs after and before: files, or objects in memory, as in `surefoot.score_runs`.
    qrels
        The judgments: a file, or an object in memory.
    measure
        One of ERR, nDCG, AP, RR, P, R, RBP, as ir_measures names it.
    topics
        The topics to show, in this order. None: all judged topics, the largest loss first.
    depth
        How many documents of each ranking are listed (by default down to the measure's cutoff, at most 20). Deeper
        documents are listed if their move contributes to the change.
    unjudged
        ``"zero"`` counts unjudged documents as not relevant; ``"skip"`` leaves them out of both rankings.
    queries, texts
        The texts of topics and documents, which become the columns ``query`` and ``text``.

    Returns
    -------
    DocumentMoves
        Columns ``topic, document, baseline_rank, system_rank, change, grade, contribution``. A rank is None where the
        run lacks the document, a grade where nobody judged it (it counts as not relevant). The change is "rose",
        "fell", "same", or "in" and "out": into or out of those listed. The contributions of a topic add up to the
        change of the measure (``surefoot.effectiveness.contributions`` has the definition).

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> _ = (folder / "qrels.txt").write_text("q1 0 d1 1\nq1 0 d2 0\n")
    >>> _ = (folder / "old.run").write_text("q1 Q0 d1 1 9 x\nq1 Q0 d2 2 8 x\n")
    >>> _ = (folder / "new.run").write_text("q1 Q0 d3 1 9 x\nq1 Q0 d1 2 8 x\n")
    >>> moves = document_moves(folder / "new.run", folder / "old.run", folder / "qrels.txt", "RR")
    >>> [(row["document"], row["change"], row["grade"], row["contribution"]) for row in moves.rows()]
    [('d3', 'in', None, 0.0), ('d1', 'fell', 1, -0.5), ('d2', 'out', 0, 0.0)]
    """
    new, old = (sources_of(run)[0].load("file", "error") for run in (system, baseline))
    judged = load_qrels(qrels)
    parts = Decomposition.of(measure, judged)
    shown = min(parts.measure.cutoff, DEPTH) if depth is None else depth
    if shown < 1:
        raise SurefootError(f"depth must be at least 1; got {shown}")
    skip = choose(unjudged, get_args(Unjudged), "unjudged") == "skip"
    chosen = judged.topics if topics is None else tuple(topics)
    known = set(judged.topics)
    unknown = [topic for topic in chosen if topic not in known]
    if unknown:
        raise SurefootError(f"no judgments of topic {listed(unknown)}; there are {listed(judged.topics)}")
    found = [_topic_moves(topic, (old, new), judged, skip, parts, shown) for topic in chosen]
    if topics is None:
        found.sort(key=lambda one: one.delta)
    shared: dict[str, Any] = {
        "measure": parts.measure.name, "system": new.name, "baseline": old.name, "depth": shown,
    }  # fmt: skip
    made = signature("documents", **shared, unjudged="skip" if skip else None, topics=len(found))
    columns, notes = _columns(found, queries, texts), _notes(found, parts)
    return DocumentMoves(signature=made, columns=columns, notes=notes, topics=tuple(found), **shared)


def _topic_moves(
    topic: str, runs: Sequence[Run], qrels: Qrels, skip: bool, parts: Decomposition, depth: int
) -> TopicMoves:
    """The moves of a topic between two runs, with or without unjudged documents."""
    judgments = qrels.of_topic(topic)
    lists = ([name for name in run.of_topic(topic) if not skip or name in judgments] for run in runs)
    before, after = ({name: rank for rank, name in enumerate(names, start=1)} for names in lists)
    documents = list(dict.fromkeys([*after, *before]))
    grades = np.array([judgments.get(name, UNJUDGED) for name in documents], np.float64)
    judged = np.array(list(judgments.values()), np.float64)
    ranks = [np.array([ranking.get(name, 0) for name in documents], np.int64) for ranking in (before, after)]
    worth = parts.contributions(grades, judged, *ranks)
    edge = min(depth, parts.measure.cutoff)
    shown = [None if one == UNJUDGED else int(one) if one.is_integer() else one for one in grades.tolist()]
    moves = tuple(
        Move(name, start or None, end or None, _change(start, end, edge), grade, cost)
        for name, start, end, grade, cost in zip(
            documents, ranks[0].tolist(), ranks[1].tolist(), shown, worth.tolist(), strict=True
        )
        if 0 < start <= depth or 0 < end <= depth or cost != 0
    )
    old_score, new_score = (parts.value(grades, judged, own) for own in ranks)
    return TopicMoves(topic, old_score, new_score, moves)


def _change(start: int, end: int, edge: int) -> Change:
    """The kind of a move between two ranks. Rank 0 means not in the list, and ``edge`` is the last rank shown."""
    was, is_now = 0 < start <= edge, 0 < end <= edge
    if start == end:
        return "same"
    if was != is_now:
        return "in" if is_now else "out"
    return "rose" if end and (end < start or not start) else "fell"


def _columns(
    topics: Sequence[TopicMoves], queries: Mapping[str, str] | None, texts: Mapping[str, str] | None
) -> dict[str, list[object]]:
    rows = [{"topic": one.topic, **asdict(move)} for one in topics for move in one.moves]
    names = ("topic", "document", "baseline_rank", "system_rank", "change", "grade", "contribution")
    columns = {name: [row[name] for row in rows] for name in names}
    if queries is not None:
        columns["query"] = [queries.get(row["topic"], "") for row in rows]
    if texts is not None:
        columns["text"] = [texts.get(row["document"], "") for row in rows]
    return columns


def _notes(topics: Sequence[TopicMoves], parts: Decomposition) -> tuple[str, ...]:
    unjudged = {(one.topic, move.document) for one in topics for move in one.moves if move.grade is None}
    notes = []
    if unjudged:
        notes.append(f"{counted(len(unjudged), 'unjudged document')} counted as not relevant")
    if parts.form != "sum":
        notes.append(f"contributions to {parts.measure} are Shapley values, as the effect of a move depends on others")
    return tuple(notes)
