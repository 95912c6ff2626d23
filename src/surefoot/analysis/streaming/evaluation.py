"""Every system against a baseline and against all others, in two passes over files, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot._process import in_threads
from surefoot._typing import PathLike
from surefoot.analysis.design import caveats, measure_columns
from surefoot.analysis.evaluate import Evaluation
from surefoot.analysis.streaming.files import Dataset, Header, find_files
from surefoot.analysis.streaming.statistics import FirstPass, Seen, first_pass, occurrences, second_pass
from surefoot.errors import InputError, SurefootError, choose, counted, listed
from surefoot.results import signature
from surefoot.risk.measures import evaluated
from surefoot.risk.statistics import Comparison, Expectation, Mean
from surefoot.risk.values import normalise_alphas
from surefoot.scores import VIRTUAL, Missing

Fold = Callable[[Sequence[str], Callable[[str], Any]], Any]
"""Computes the statistic of each file and adds them up: on this machine, or on a cluster."""

WORKERS = 2
"""How many files are processed at once; each holds a few slices in memory."""


def fold_here(paths: Sequence[str], statistic: Callable[[str], Any]) -> Any:
    """Add up the statistics of all files, in the order of the files, so that threads change nothing."""
    return reduce(add, in_threads(statistic, paths, threads=WORKERS))


def evaluate_parquet(
    paths: PathLike | Iterable[PathLike],
    baseline: str | None = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    measure: str | None = None,
    missing: Missing = "error",
    fold: Fold = fold_here,
) -> Evaluation:
    """`surefoot.evaluate` for Parquet files that do not fit into memory: the same columns, the same values.

    The values agree with those in memory up to rounding, for any number and order of files. Memory is a few
    slices of the files, and 8 bytes for each topic to check that none occurs twice. Value functions are linear.

    Parameters
    ----------
    paths
        Files, folders or patterns, or their addresses (s3://bucket/scores). Each file holds some of the topics, wide
        (one row for each topic, one column for each system) or long (one row for each score, the rows of a topic
        together). A topic in two places is an error.
    baseline
        A system, or MEAN, MEDIAN or MAX of each topic.
    alpha
        The additional weight of losses; one or several.
    measure
        The effectiveness measure, if the files hold several.
    missing
        Missing scores are an ``"error"``, count 0 (``"zero"``), or their topics are left out (``"drop"``).
    fold
        Where the work is done: on this machine, or on a cluster (`surefoot.cluster`).

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
    choose(missing, ("error", "zero", "drop"), "missing")
    files = find_files(paths)
    header: Header = fold(files, Header.of)
    dataset = header.dataset(measure, missing)
    if baseline is not None and baseline not in (*dataset.systems, *VIRTUAL):
        raise SurefootError(f"no baseline {baseline!r}; there are {listed(dataset.systems)}, and {', '.join(VIRTUAL)}")
    first: FirstPass = fold(files, partial(first_pass, dataset, baseline))
    _refuse_topics_twice(files, dataset, first.seen, fold)
    missing_notes = _missing_notes(dataset, first.seen)
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
    shape = (len(alphas), len(dataset.systems))
    columns = {name: np.broadcast_to(column, shape).T.ravel() for name, column in columns.items()}
    left_out = [f"{one.name} is left out: it needs all topics at once" for one in measures if not one.is_additive]
    notes = (
        *_reading_notes(header, dataset, measure),
        *missing_notes,
        *caveats(alphas, columns, first.lowest, first.topics),
        *left_out,
    )
    fields = {"population": f"all({len(dataset.systems)})", "topics": [first.topics]}
    name = measure or dataset.measure or "score"
    return Evaluation(
        signature("evaluate", measure=[name], baseline=baseline, alpha=alphas.tolist(), **fields), columns, notes
    )


def _refuse_topics_twice(files: Sequence[str], dataset: Dataset, seen: Seen, fold: Fold) -> None:
    suspects = seen.twice()
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


def _missing_notes(dataset: Dataset, seen: Seen) -> tuple[str, ...]:
    """A note on missing scores, if there were any."""
    if not seen.gaps:
        return ()
    more = "" if seen.gaps <= len(seen.examples) else f" and {seen.gaps - len(seen.examples):,} more"
    which = f"{', '.join(seen.examples)}{more}"
    if dataset.missing == "error":
        raise SurefootError(
            f"{counted(seen.gaps, 'score')} missing: {which}; "
            "count them 0 (missing: zero) or leave those topics out (missing: drop)"
        )
    if dataset.missing == "zero":
        return (f"{counted(seen.gaps, 'missing score')} filled with 0: {which}",)
    return (f"{counted(seen.incomplete, 'topic')} dropped, missing from some system: {which}",)


def _reading_notes(header: Header, dataset: Dataset, measure: str | None) -> Iterator[str]:
    if header.unread:
        yield f"columns left unread: {', '.join(header.unread)}"
    if measure is not None and dataset.measure is None:
        yield f"the files do not name their measure; it was taken to be {measure}, as was said"
