"""Every system against a baseline and against all others, in two passes over files, in bounded memory.

The first pass computes the measures against one baseline, and the shares S_i / N behind Z_Risk. The second pass needs
these shares to compute Z_Risk; T_j, the total of a topic, is in the topic's own column. Each pass adds up statistics of
batches of topics, on this machine or on a cluster.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import numpy.typing as npt

from surefoot._alignment import missing_note
from surefoot._lazy import LazyModule
from surefoot._process import in_threads
from surefoot._typing import FloatArray, PathLike
from surefoot.analysis.design import measure_columns, notes_on_columns
from surefoot.analysis.evaluate import Evaluation
from surefoot.analysis.streaming.files import Batch, Dataset, Header, find_files
from surefoot.errors import InputError, SurefootError, choose, listed
from surefoot.results import signature
from surefoot.risk.measures import evaluated
from surefoot.risk.statistics import Comparison, Expectation, Mean
from surefoot.risk.values import normalise_alphas
from surefoot.scores import VIRTUAL, Missing

if TYPE_CHECKING:
    import polars
else:
    polars = LazyModule("polars")

Fold = Callable[[Sequence[str], Callable[[str], Any]], Any]
"""A function that computes the statistic of each file and adds them up, on this machine or on a cluster."""

WORKERS = 2
"""The number of files read at once; each holds a few slices in memory."""
Hashes = npt.NDArray[np.uint64]
PIECES = 64
"""The number of pieces in which hashes are compared, to avoid a second copy of all of them."""
EXAMPLES = 5
"""The number of missing scores that the note names."""


@dataclass(frozen=True)
class FirstPass:
    """Statistics of some topics: sums, the comparison with the baseline, the topics, and the missing scores.

    Topics are sorted hashes of 8 bytes each. ``gaps`` counts missing scores, ``incomplete`` the topics that lack one.
    """

    mean: Mean
    lowest: float
    comparison: Comparison | None
    hashes: tuple[Hashes, ...]
    gaps: int
    incomplete: int
    examples: tuple[str, ...]

    def __add__(self, other: FirstPass) -> FirstPass:
        compared = [one.comparison for one in (self, other) if one.comparison is not None]
        return FirstPass(
            self.mean + other.mean,
            min(self.lowest, other.lowest),
            reduce(add, compared) if compared else None,
            self.hashes + other.hashes,
            self.gaps + other.gaps,
            self.incomplete + other.incomplete,
            (self.examples + other.examples)[:EXAMPLES],
        )

    @property
    def topics(self) -> int:
        """The number of topics."""
        return int(self.mean.n[0])

    @property
    def shares(self) -> FloatArray:
        """S_i / N: the fraction of all scores that is the system's; 0 where all scores are 0."""
        total = self.mean.total.sum()
        return self.mean.total / (total if total > 0 else 1.0)


def first_pass(dataset: Dataset, baseline: str | None, path: str) -> FirstPass:
    """The statistics of the topics of a file."""
    return reduce(add, (_first(dataset, baseline, batch) for batch in dataset.batches(path)))


def _first(dataset: Dataset, baseline: str | None, batch: Batch) -> FirstPass:
    topics, absent, matrix = batch.topics(), np.isnan(batch.values), _complete(dataset, batch.values)
    row = None if baseline is None or not matrix.shape[1] else _baseline_row(dataset, matrix, baseline)
    return FirstPass(
        Mean.of(matrix),
        float(matrix.min(initial=np.inf)),
        None if row is None else Comparison.of(matrix, row),
        (topics.hash().sort().to_numpy(),),
        int(np.count_nonzero(absent)),
        int(np.count_nonzero(absent.any(axis=0))),
        tuple(f"{dataset.systems[row]} on {topics[column]}" for row, column in np.argwhere(absent)[:EXAMPLES].tolist()),
    )


def _baseline_row(dataset: Dataset, matrix: FloatArray, baseline: str) -> FloatArray:
    if baseline not in VIRTUAL:
        return np.asarray(matrix[dataset.systems.index(baseline)])
    by_name = sorted(range(len(matrix)), key=dataset.systems.__getitem__)  # sums round by position
    return VIRTUAL[baseline](matrix[by_name])


def second_pass(dataset: Dataset, shares: FloatArray, path: str) -> Expectation:
    """The sums of z over the topics of a file, given each system's share of all scores."""
    matrices = (_complete(dataset, batch.values) for batch in dataset.batches(path))
    return reduce(add, (Expectation.of(matrix, shares=shares) for matrix in matrices))


def _complete(dataset: Dataset, matrix: FloatArray) -> FloatArray:
    """The scores without missing ones: filled with 0, or their topics left out."""
    absent = np.isnan(matrix)
    if not absent.any():
        return matrix
    return np.where(absent, 0.0, matrix) if dataset.missing == "zero" else matrix[:, ~absent.any(axis=0)]


def repeated_hashes(hashes: Sequence[Hashes]) -> Hashes:
    """The hashes that occur more than once in these sorted arrays.

    >>> repeated_hashes([np.array(some, dtype=np.uint64) for some in ([3, 7], [5, 7])]).tolist()
    [7]
    """
    borders = np.linspace(0, 2.0**64, PIECES + 1)[1:-1].astype(np.uint64)
    cuts = [[0, *np.searchsorted(some, borders).tolist(), len(some)] for some in hashes]
    found = []
    for piece in range(PIECES):
        some = [own[at[piece] : at[piece + 1]] for own, at in zip(hashes, cuts, strict=True)]
        together = polars.Series(np.concatenate(some)).sort().to_numpy()
        found.append(np.unique(together[1:][together[1:] == together[:-1]]))
    return np.concatenate(found)


def occurrences(dataset: Dataset, hashes: Hashes, path: str) -> list[tuple[str, str]]:
    """The topics of a file with one of these hashes, and the file, as often as they occur."""
    wanted = polars.Series(hashes, dtype=polars.UInt64).implode()
    every = (batch.topics() for batch in dataset.batches(path))
    return [(topic, path) for topics in every for topic in topics.filter(topics.hash().is_in(wanted))]


def fold_locally(paths: Sequence[str], statistic: Callable[[str], Any]) -> Any:
    """Add up the statistics of all files, in their order, so that threads do not change the sum."""
    return reduce(add, in_threads(statistic, paths, threads=WORKERS))


def evaluate_parquet(
    paths: PathLike | Iterable[PathLike],
    baseline: str | None = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    measure: str | None = None,
    missing: Missing = "error",
    fold: Fold = fold_locally,
) -> Evaluation:
    """`surefoot.evaluate` for Parquet files that do not fit into memory: the same columns, the same values.

    The values agree with those in memory up to rounding, for any number and order of files. Memory is a few
    slices of the files, and 8 bytes for each topic to check that none occurs twice. Value functions are linear.

    Parameters
    ----------
    paths
        Files, folders or patterns, or their addresses (s3://bucket/scores). Each file holds some of the topics, wide
        (one row for each topic, one column for each system) or long (one row for each score, adjacent rows for a
        topic). A topic in two places is an error.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    alpha
        The additional weight of losses; one or several.
    measure
        The effectiveness measure, if the files hold several.
    missing
        Missing scores are an ``"error"``, count 0 (``"zero"``), or their topics are left out (``"drop"``).
    fold
        Applies a function to all files and adds up the results, on this machine or on a cluster (`surefoot.cluster`).

    Returns
    -------
    Evaluation
        The columns of `surefoot.evaluate`. Registered measures that need all topics at once are left out.

    Examples
    --------
    >>> import polars, tempfile
    >>> with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
    ...     polars.DataFrame({"topic": ["q1", "q2"], "old": [0.4, 0.1], "new": [0.2, 0.5]}).write_parquet(file.name)
    ...     evaluate_parquet(file.name, "old", alpha=1)["urisk"].round(6)
    array([0., 0.])

    """
    alphas = normalise_alphas(alpha)
    choose(missing, get_args(Missing), "missing")
    files = find_files(paths)
    header: Header = fold(files, Header.of)
    dataset = header.dataset(measure, missing)
    if baseline is not None and baseline not in (*dataset.systems, *VIRTUAL):
        raise SurefootError(f"no baseline {baseline!r}; there are {listed(dataset.systems)}, and {', '.join(VIRTUAL)}")
    first: FirstPass = fold(files, partial(first_pass, dataset, baseline))
    _refuse_repeated_topics(files, dataset, first.hashes, fold)
    missing_notes = _missing_notes(dataset, first)
    if not first.topics:
        raise SurefootError(f"no topic is left: {listed(missing_notes) or 'the files hold no score'}")
    expectation: Expectation | None = None
    if first.lowest >= 0:
        expectation = fold(files, partial(second_pass, dataset, first.shares))
    measures = evaluated(has_baseline=baseline is not None)
    columns = measure_columns(
        dataset.systems,
        baseline is not None and [baseline] * len(dataset.systems),
        alphas,
        [one for one in measures if one.is_additive],
        {Mean.of: first.mean, Comparison.of: first.comparison, Expectation.of: expectation},
    )
    left_out = [f"{one.name} is left out: it needs all topics at once" for one in measures if not one.is_additive]
    notes = (
        *_reading_notes(header, dataset, measure),
        *missing_notes,
        *notes_on_columns(alphas, columns, first.lowest, first.topics),
        *left_out,
    )
    fields = {"population": f"all({len(dataset.systems)})", "topics": [first.topics]}
    name = measure or dataset.measure or "score"
    made = signature("evaluate", measure=[name], baseline=baseline, alpha=alphas.tolist(), **fields)
    return Evaluation(made, {column: values.T.ravel() for column, values in columns.items()}, notes)


def _refuse_repeated_topics(files: Sequence[str], dataset: Dataset, hashes: Sequence[Hashes], fold: Fold) -> None:
    suspects = repeated_hashes(hashes)
    if not len(suspects):
        return
    home: dict[str, str] = {}
    # Two topics may share a hash, so their names are compared.
    for topic, path in fold(files, partial(occurrences, dataset, suspects)):
        if topic in home:
            advice = (
                "keep one row of it" if dataset.wide else "sort the scores by topic and write each topic into one file"
            )
            where = "twice" if home[topic] == path else f"in {home[topic]} too"
            raise InputError(path, f"topic {topic!r} is {where}; a topic must be in one place: {advice}")
        home[topic] = path


def _missing_notes(dataset: Dataset, seen: FirstPass) -> tuple[str, ...]:
    """A note on missing scores, if there were any."""
    if not seen.gaps:
        return ()
    more = "" if seen.gaps <= EXAMPLES else f" and {seen.gaps - EXAMPLES:,} more"
    which = f"{', '.join(seen.examples)}{more}"
    return (missing_note(dataset.missing, seen.gaps, which, seen.incomplete, which),)


def _reading_notes(header: Header, dataset: Dataset, measure: str | None) -> Iterator[str]:
    if header.unread:
        yield f"columns left unread: {', '.join(header.unread)}"
    if measure is not None and dataset.measure is None:
        yield f"the files do not name their measure; it is taken to be {measure}, as requested"
