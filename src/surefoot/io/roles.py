"""The meaning of tables of scores: the roles of columns, the names of measures, and the layout.

A layout is wide (one row for each topic, or for each system) or long (one row for each score).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surefoot._alignment import EMPTY, Trials, mean_over_trials
from surefoot._names import natural_order
from surefoot._typing import FloatArray, IntArray
from surefoot.effectiveness.measures import canonical as canonical
from surefoot.errors import SurefootError, did_you_mean, listed
from surefoot.io.containers import CellError, Labels, Table

Role = Literal["topic", "system", "measure", "value", "trial"]

_QUERIES = ("topic", "topics", "topic_id", "topicid", "qid", "q_id", "query_id", "queryid")
ITEMS = ("item", "item_id", "example_id", "sample", "sample_id", "instance_id", "question_id", "task_id")
OTHER_ITEMS = ("example", "question", "prompt", "task")  # the task last: many items may share it
_RUNS = ("system", "systems", "system_id", "run", "runs", "runid", "run_id", "run_name")
_MODELS = ("snapshot_name", "model", "model_name")
# Where a table has two names of one role (qid beside the text of the query), the earlier in the list is taken.
NAMES: dict[Role, tuple[str, ...]] = {
    "topic": (*_QUERIES, "query", "query_text", *ITEMS, *OTHER_ITEMS),
    "system": (*_RUNS, "name", "tag", *_MODELS),
    "measure": ("measure", "measures", "metric", "metrics"),
    "value": ("value", "score"),
    "trial": ("trial", "epoch", "seed", "repeat", "replicate", "attempt"),
}
TOPIC_IDS = (*_QUERIES, *ITEMS, "task")
"""Names for ids of topics, not for their texts."""
DOCUMENTS = ("document", "docno", "doc_id", "corpus_id", "document_id", "docid", "did", "pid", "passage_id", "_id")
RETRIEVED = ("score", "similarity", "value")
RANKS = ("rank", "position", "doc_position")
# Columns that name the system of each row in a table of rankings; "name" and "tag" may describe documents.
SYSTEMS = _RUNS + _MODELS
GRADES = ("grade", "relevance", "rel", "label", "rating", "judgment", "judgement", "score", "value")
KNOWN_MEASURES = frozenset(
    "ap ndcg p r rr err rbp success rprec bpref judged infap gm_map compat setp setr setf set_map iprec 11pt_avg "
    "iprec_at_recall utility alpha_ndcg err_ia nerr_ia nrbp ap_ia map_ia p_ia strec relstring relative_p rndcg "
    "numret numrel numrelret numq num_q num_ret num_rel num_rel_ret".split()
)
"""Measures that evaluation tools print."""
MOST_MARGINS = 8
"""The most rows with names of summaries: all subsets of them are tried."""

SUMMARIES = frozenset({"mean", "amean", "average", "avg", "total", "sum", "all"})
PRINTED_ROUNDING = 1e-3
"""The largest difference of a printed mean from the mean of the printed scores."""


def role_of(name: str) -> Role | None:
    """The role of a column of that name.

    >>> role_of("Query ID"), role_of("runid"), role_of("bm25")
    ('topic', 'system', None)
    """
    known = normalise_name(name)
    return next((role for role, names in NAMES.items() if known in names), None)


def find_column(columns: Sequence[str], known: Sequence[str]) -> int | None:
    """The index of the column with one of the known names; earlier names take precedence.

    >>> find_column(["query", "docid", "QID"], NAMES["topic"])
    2
    """
    normalised = [normalise_name(name) for name in columns]
    return next((normalised.index(name) for name in known if name in normalised), None)


def normalise_name(name: str) -> str:
    """Normalise the name of a column, to compare it with known names.

    >>> normalise_name("Query-ID ")
    'query_id'
    """
    return name.strip().lower().replace(" ", "_").replace("-", "_")


def looks_like_measure(name: str) -> bool:
    """Whether a name is a measure that evaluation tools print.

    >>> [looks_like_measure(word) for word in ("map", "P@10", "nDCG(dcg='exp-log2')@20", "151")]
    [True, True, True, False]
    """
    return re.split(r"[(@]", canonical(name))[0] in KNOWN_MEASURES


def is_measure_with_cutoff(name: str) -> bool:
    """Whether a file name is a measure, perhaps with a cutoff; r1 may also be a release.

    >>> [is_measure_with_cutoff(word) for word in ("err20", "ndcg-10", "map", "r1", "rel1", "nightly")]
    [True, True, True, False, False, False]
    """
    parts = re.fullmatch(r"([A-Za-z]{2,})[@_-]?\d*", name)
    return parts is not None and looks_like_measure(parts[1])


def find_measure(wanted: str | None, present: Sequence[str], gdeval: bool = False) -> int:
    """The index of a measure among those present; if none is wanted there must be only one.

    gdeval calls nDCG with the gain 2^grade - 1 just ndcg, so in its output that matches the full name.

    >>> find_measure("AP", ["ndcg_cut_10", "map"])
    1
    """
    if wanted is None:
        if len(present) == 1:
            return 0
        raise SurefootError(f"there are {len(present)} measures; name one of {listed(present, most=40)}")
    if wanted in present:
        return present.index(wanted)
    names = [canonical(name) for name in present]
    if gdeval:
        names = [re.sub("^ndcg@", "ndcg(dcg='exp-log2')@", name) for name in names]
    matches = [index for index, name in enumerate(names) if name == canonical(wanted)]
    if len(matches) == 1:
        return matches[0]
    missing = f"no measure {wanted!r}{'' if gdeval else did_you_mean(wanted, present)}"
    problem = missing if not matches else f"more than one measure is called like {wanted!r}"
    hint = " (gdeval's ndcg is nDCG(dcg='exp-log2'))" if gdeval else ""
    raise SurefootError(f"{problem}; there are {listed(present, most=40)}{hint}")


class Wide(NamedTuple):
    """The first column has the names of the rows, the header those of the columns."""

    rows: Role


class Long(NamedTuple):
    """Each row has one score, or one for each measure; ``summaries`` are rows that the evaluation tool adds."""

    topic: int
    system: int | None
    measure: int | None
    values: tuple[int, ...]
    ignored: tuple[str, ...] = ()
    summaries: frozenset[str] = frozenset()
    gdeval: bool = False
    trial: int | None = None


Layout = Wide | Long


class ScoreMatrix(NamedTuple):
    """Systems × topics of one table, NaN where a score is missing; means over trials for systems with repeats."""

    systems: tuple[str, ...]
    topics: tuple[str, ...]
    values: FloatArray
    measure: str | None
    notes: tuple[str, ...] = ()
    trials: Trials = EMPTY

    def rows(self) -> Iterator[tuple[str, tuple[str, ...], FloatArray]]:
        """The rows as `Scores.align` takes them."""
        rows = zip(self.systems, self.values, strict=True)
        return ((system, self.topics, self.trials.get(system, row)) for system, row in rows)


def recognise(columns: Sequence[str]) -> Layout:
    """The layout of a table with this header.

    >>> recognise(["topic", "bm25", "dense"])
    Wide(rows='topic')
    >>> recognise(["name", "qid", "measure", "value"])
    Long(topic=1, system=0, measure=2, values=(3,), ignored=(), summaries=frozenset(), gdeval=False, trial=None)
    """
    if not columns:
        raise SurefootError("there are no columns")
    roles = [role_of(name) for name in columns]
    if "topic" in roles and _is_long(columns, roles):
        return _long(columns, roles)
    if roles[0] == "topic" or roles[0] == "system":
        if len(columns) == 1:
            raise SurefootError(f"the header has only {columns[0]!r} and no column of scores")
        return Wide(roles[0])
    raise SurefootError(
        f"the first header cell is {columns[0]!r}; it must say what the rows are: 'topic' or 'qid' (and each "
        "column a system), 'system' or 'run' (and each column a topic), or both and 'value' (one score on each row)"
    )


def _is_long(columns: Sequence[str], roles: Sequence[Role | None]) -> bool:
    """Whether a header with a topic is of a long table; a wide one may have systems called run, model or score."""
    if "value" in roles:
        return "system" in roles or None not in roles
    if [normalise_name(name) for name in columns[1:2]] == ["model"]:
        return False
    first = [role for role in roles if role != "trial"][:2]
    return "system" in first and "topic" in first


def _long(columns: Sequence[str], roles: Sequence[Role | None]) -> Long:
    def first(role: Role) -> int | None:
        found = [index for index, other in enumerate(roles) if other == role]
        return min(found, key=lambda index: NAMES[role].index(normalise_name(columns[index])), default=None)

    topic, system, measure, value, trial = (first(role) for role in NAMES)
    if topic is None:
        raise SurefootError("there is no column of topics")
    values = (value,) if value is not None else tuple(index for index, role in enumerate(roles) if role is None)
    if not values or (measure is not None and value is None):
        raise SurefootError(f"a column of scores is needed beside {', '.join(columns)}: call it 'value'")
    used = {topic, system, measure, trial, *values}
    gdeval = [normalise_name(name) for name in columns[:2]] == ["runid", "topic"]
    ignored = tuple(name for index, name in enumerate(columns) if index not in used)
    summaries = frozenset({"amean"} if gdeval else ())
    return Long(topic, system, measure, values, ignored, summaries, gdeval, trial)


def matrix_of(table: Table, layout: Layout, measure: str | None = None, system: str | None = None) -> ScoreMatrix:
    """The scores of one measure in a table; ``system`` is its name in tables that have none."""
    if table.height == 0:
        raise SurefootError("there is a header but no row of scores")
    matrix = _wide_matrix(table, layout) if isinstance(layout, Wide) else _long_matrix(table, layout, measure, system)
    return _without_margins(matrix)


def _wide_matrix(table: Table, layout: Wide) -> ScoreMatrix:
    across: Role = "system" if layout.rows == "topic" else "topic"
    labels, heads = table.labels(0), table.columns[1:]
    if len(labels.names) < table.height:
        row = _first_duplicate(labels.codes)
        raise CellError(row, f"a second row of {layout.rows} {labels.name(row)!r}")
    if len(set(heads)) < len(heads):
        duplicate = Counter(heads).most_common(1)[0][0]
        raise SurefootError(f"two columns of {across} {duplicate!r}")
    if "" in heads:
        raise SurefootError(f"column {heads.index('') + 2} has no name in the header; it should be a {across}")
    values = table.numbers(range(1, len(table.columns)))
    if layout.rows == "topic":
        return ScoreMatrix(heads, labels.names, values.T, None)
    return ScoreMatrix(labels.names, heads, values, None)


def _long_matrix(table: Table, layout: Long, wanted: str | None, default_system: str | None) -> ScoreMatrix:
    if layout.system is None and default_system is None:
        raise SurefootError("there is no column of systems; name one 'system', 'run' or 'name'")
    topics = table.labels(layout.topic)
    rows = _topic_rows(topics, layout.summaries)
    rows, column, measure = _measure_rows(table, layout, wanted, rows)
    topics = topics[rows]
    if layout.system is None:
        systems = Labels(np.zeros(len(rows), dtype=np.int64), (default_system or "",))
    else:
        systems = table.labels(layout.system)[rows]
    trials = None if layout.trial is None else table.labels(layout.trial)[rows]
    _refuse_second_scores(rows, systems, topics, trials)
    values = table.numbers([column], None if len(rows) == table.height else rows)[:, 0]
    notes = (f"columns left unread: {', '.join(layout.ignored)}",) if layout.ignored else ()
    if trials is not None:
        repeated = _repeats(systems, topics, trials, values)
        means = np.stack([mean_over_trials(repeated[name]) for name in systems.names])
        return ScoreMatrix(systems.names, topics.names, means, measure, notes, repeated)
    matrix = np.full((len(systems.names), len(topics.names)), np.nan)
    matrix[systems.codes, topics.codes] = values
    return ScoreMatrix(systems.names, topics.names, matrix, measure, notes)


def _refuse_second_scores(rows: IntArray, systems: Labels, topics: Labels, trials: Labels | None) -> None:
    cells = systems.codes.astype(np.int64) * len(topics.names) + topics.codes
    if trials is not None:
        cells = cells * len(trials.names) + trials.codes
        has_duplicates = bool((np.diff(np.sort(cells)) == 0).any())
    else:
        has_duplicates = bool((np.bincount(cells, minlength=len(systems.names) * len(topics.names)) > 1).any())
    if not has_duplicates:
        return
    duplicate = _first_duplicate(cells)
    problem = f"a second score of system {systems.name(duplicate)!r} on topic {topics.name(duplicate)!r}"
    if trials is not None:
        raise CellError(int(rows[duplicate]), f"{problem} in trial {trials.name(duplicate)!r}")
    raise CellError(int(rows[duplicate]), f"{problem}; if it was repeated, add a column 'trial'")


def _repeats(systems: Labels, topics: Labels, trials: Labels, values: FloatArray) -> dict[str, FloatArray]:
    """The trials × topics of each system. Rows are trials by name, or by order if topics have different trials."""
    order = {name: place for place, name in enumerate(natural_order(trials.names))}
    places = np.array([order[name] for name in trials.names])[trials.codes]
    found = {}
    by_cell = np.lexsort((places, topics.codes, systems.codes))
    bounds = np.searchsorted(systems.codes[by_cell], np.arange(len(systems.names) + 1))
    for name, start, stop in zip(systems.names, bounds[:-1], bounds[1:], strict=True):
        own = by_cell[start:stop]
        own = own[~np.isnan(values[own])]
        columns = topics.codes[own]
        counts = np.bincount(columns, minlength=len(topics.names))
        named, row = np.unique(places[own], return_inverse=True)
        if len(named) > counts.max(initial=0):
            row = np.arange(len(own)) - (np.cumsum(counts) - counts)[columns]
        found[name] = np.full((max(1, int(counts.max(initial=0))), len(topics.names)), np.nan)
        found[name][row, columns] = values[own]
    return found


def _topic_rows(topics: Labels, summaries: frozenset[str]) -> IntArray:
    known = np.array([name.lower() in summaries for name in topics.names])
    rows = np.flatnonzero(~known[topics.codes])
    if not len(rows):
        raise SurefootError(
            "there are only summary rows; scores per topic are needed (-q in trec_eval and ir_measures)"
        )
    return rows


def _measure_rows(table: Table, layout: Long, wanted: str | None, rows: IntArray) -> tuple[IntArray, int, str | None]:
    """The rows and the column of the wanted measure, and its name in the table if it has one."""
    if layout.measure is not None:
        measures = table.labels(layout.measure)[rows]
        chosen = find_measure(wanted, measures.names)
        return rows[measures.codes == chosen], layout.values[0], measures.names[chosen]
    names = [table.columns[column] for column in layout.values]
    if role_of(names[0]) == "value":
        return rows, layout.values[0], None
    chosen = find_measure(wanted, names, layout.gdeval)
    return rows, layout.values[chosen], names[chosen]


def _first_duplicate(codes: npt.NDArray[np.integer]) -> int:
    """The first row with a code of an earlier row."""
    order = np.argsort(codes, kind="stable")
    again = np.flatnonzero(np.diff(codes[order].astype(np.int64)) == 0) + 1
    return int(order[again].min())


def _without_margins(matrix: ScoreMatrix) -> ScoreMatrix:
    """The matrix without rows and columns that are means or totals of the others; a note names them."""
    labels = {"system": matrix.systems, "topic": matrix.topics}
    marginal = {kind: np.array([name.lower() in SUMMARIES for name in names]) for kind, names in labels.items()}
    if not any(own.any() for own in marginal.values()):
        return matrix
    values = {"system": matrix.values[:, ~marginal["topic"]], "topic": matrix.values[~marginal["system"]].T}
    margins = {kind: _margin(values[kind], marginal[kind]) for kind in labels}
    notes = [
        f"{labels[kind][index]!r} left out: not a {kind} but the {what} of the others"
        for kind, margin in margins.items()
        for index, what in margin.items()
    ]
    systems, topics = ([i for i in range(len(names)) if i not in margins[kind]] for kind, names in labels.items())
    chosen = [matrix.systems[index] for index in systems]
    return ScoreMatrix(
        tuple(chosen),
        tuple(matrix.topics[index] for index in topics),
        matrix.values[np.ix_(systems, topics)],
        matrix.measure,
        (*matrix.notes, *notes),
        {name: trials[:, topics] for name, trials in matrix.trials.items() if name in chosen},
    )


def _margin(values: FloatArray, marginal: npt.NDArray[np.bool_]) -> dict[int, str]:
    """The largest subset of marginal rows that are each the mean or total of all rows outside the subset."""
    candidates = np.flatnonzero(marginal).tolist()
    if len(candidates) > MOST_MARGINS:
        raise SurefootError(
            f"{len(candidates)} rows or columns are called like means or totals (as mean, all); rename or remove them"
        )
    for size in range(len(candidates), 0, -1):
        for rows in combinations(candidates, size):
            others = np.delete(values, rows, axis=0)
            kinds = {row: _summary_of(others, values[row]) for row in rows} if others.size else {}
            found = {row: kind for row, kind in kinds.items() if kind is not None}
            if len(found) == size:
                return found
    return {}


def _summary_of(others: FloatArray, row: FloatArray) -> str | None:
    filled = ~np.isnan(row)
    total = np.nansum(others, axis=0)
    count = np.maximum((~np.isnan(others)).sum(axis=0), 1)
    for kind, expected in (("mean", total / count), ("total", total)):
        if filled.any() and np.all(np.abs(row - expected)[filled] <= PRINTED_ROUNDING):
            return kind
    return None
