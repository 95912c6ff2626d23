"""Every system of a large log against a baseline and against all others, in two passes of bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from operator import add
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot._typing import PathLike
from surefoot.analysis.evaluate import Evaluation
from surefoot.analysis.figures import Columns
from surefoot.analysis.streaming.batches import Log, Names
from surefoot.analysis.streaming.columns import columns_of
from surefoot.analysis.streaming.files import find_files
from surefoot.analysis.streaming.passes import first_pass, places, second_pass
from surefoot.analysis.streaming.statistics import Expectations, FirstPass, Seen
from surefoot.errors import InputError, SurefootError, choose, counted, listed
from surefoot.results import signature
from surefoot.scores import VIRTUAL, FloatArray, Missing

Fold = Callable[[Sequence[str], Callable[[str], Any]], Any]
"""Makes the statistic of each file and adds them all up: on this machine, or on a cluster."""

WORKERS = 2
"""How many files are worked on at once; each holds a few slices in memory."""


def fold_here(paths: Sequence[str], statistic: Callable[[str], Any]) -> Any:
    """Add up the statistics of all files, in the order of the files, so that threads change nothing."""
    with ThreadPoolExecutor(WORKERS) as pool:
        try:
            return reduce(add, pool.map(statistic, paths))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


def evaluate_logs(
    paths: PathLike | Iterable[PathLike],
    baseline: str | None = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    measure: str | None = None,
    missing: Missing = "error",
    fold: Fold = fold_here,
) -> Evaluation:
    """`surefoot.evaluate` for Parquet files that do not fit into memory: the same columns, the same figures.

    ``paths`` are files, folders or patterns. Each file holds some of the topics, wide (a topic a row, a system a
    column) or long (a score a row, the rows of a topic one after another). A topic in two places is an error.
    ``baseline`` is a system, or MEAN, MEDIAN or MAX of each topic. ``measure`` picks one of several; ``missing`` scores
    are an ``"error"``, count 0 (``"zero"``), or their topics are left out (``"drop"``). ``fold`` says where the work is
    done (`surefoot.cluster`).

    Figures agree with those in memory up to rounding, whatever the number of files and their order. Memory is a few
    slices of the files and 8 bytes a topic, for the check that none comes twice. Values are linear.
    """
    alphas = risk.sweep_of(alpha)
    choose(missing, ("error", "zero", "drop"), "missing")
    files = find_files(paths)
    names: Names = fold(files, Names.of)
    log = names.log(measure, missing)
    if baseline is not None and baseline not in (*log.systems, *VIRTUAL):
        raise SurefootError(f"no baseline {baseline!r}; there are {listed(log.systems)}, and {', '.join(VIRTUAL)}")
    first: FirstPass = fold(files, partial(first_pass, log, baseline))
    _refuse_topics_twice(files, log, first.seen, fold)
    gaps = _gaps(log, first.seen)
    totals = first.totals
    if not totals.topics:
        raise SurefootError(f"no topic is left: {listed(gaps) or 'the files hold no score'}")
    found: Expectations | None = None
    if totals.lowest >= 0:
        found = fold(files, partial(second_pass, log, totals.shares))
    columns = columns_of(log.systems, baseline, alphas, totals, found)
    stated = signature(
        "evaluate",
        measure=[measure or log.measure or "score"],
        baseline=baseline,
        alpha=alphas.tolist(),
        population=f"all({len(log.systems)})",
        topics=[totals.topics],
    )
    notes = (*_reading_notes(names, log, measure), *gaps, *_figure_notes(alphas, first, columns))
    return Evaluation(stated, columns, notes)


def _refuse_topics_twice(files: Sequence[str], log: Log, seen: Seen, fold: Fold) -> None:
    suspects = seen.twice()
    if not len(suspects):
        return
    home: dict[str, str] = {}
    for topic, path in fold(files, partial(places, log, suspects)):  # two topics may share a hash, so look at the names
        if topic in home:
            advice = "keep one row of it" if log.wide else "sort the scores by topic and write each topic into one file"
            where = "twice" if home[topic] == path else f"in {home[topic]} too"
            raise InputError(path, f"topic {topic!r} is {where}; a topic must be in one place: {advice}")
        home[topic] = path


def _gaps(log: Log, seen: Seen) -> tuple[str, ...]:
    """What was done about missing scores, if there were any."""
    if not seen.gaps:
        return ()
    more = "" if seen.gaps <= len(seen.examples) else f" and {seen.gaps - len(seen.examples):,} more"
    which = f"{', '.join(seen.examples)}{more}"
    if log.missing == "error":
        raise SurefootError(
            f"{counted(seen.gaps, 'score')} missing: {which}; "
            "count them 0 (missing: zero) or leave those topics out (missing: drop)"
        )
    if log.missing == "zero":
        return (f"{counted(seen.gaps, 'missing score')} filled with 0: {which}",)
    return (f"{counted(seen.incomplete, 'topic')} dropped, missing from some system: {which}",)


def _reading_notes(names: Names, log: Log, measure: str | None) -> Iterator[str]:
    if names.unread:
        yield f"columns left unread: {', '.join(names.unread)}"
    if measure is not None and log.measure is None:
        yield f"the log does not name its measure; it was taken to be {measure}, as was said"


def _figure_notes(alphas: FloatArray, first: FirstPass, columns: Columns) -> Iterator[str]:
    """What a reader should know before trusting a column; in the words of `surefoot.evaluate`."""
    if alphas.max() > 2:
        yield "GeoRisk at alpha > 2 is not consistent: a better score on one topic can lower it"
    if first.totals.lowest < 0:
        yield "Z_Risk and GeoRisk are undefined: some scores are below 0"
    if "trisk" in columns:
        untested = columns["system"][np.isnan(columns["trisk"]) & (columns["system"] != columns["baseline"])]
        if len(untested):
            reason = "all values are alike" if first.totals.topics > 1 else "there is only one topic"
            yield f"T_Risk and p are undefined where {reason}: {listed(dict.fromkeys(untested.tolist()))}"
