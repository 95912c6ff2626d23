"""The claims of SIGIR 2012 in numbers, beside those of an experiment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from surefoot._typing import FloatArray
from surefoot.results import Result, signature
from surefoot_lab.reproduce.cells import printed
from surefoot_lab.tradeoff.convergence import iterations_to
from surefoot_lab.tradeoff.sweep import Sweep

TARGET = 0.42
"""The NDCG@10 whose iterations the paper counts."""
NOT_PUBLIC = "needs the Location data of a commercial search engine, which are not public"


def claims_table(sweep: Sweep, curves: Mapping[float, Sequence[FloatArray]], data: str, is_mslr: bool) -> Result:
    """Each claim of the paper, its value there and here; the data differ unless these are MSLR-WEB10K.

    ``curves`` has the mean metric of validation queries after each iteration, for each alpha and fold.
    """
    ours = {
        "mslr_bm25_ndcg10": float(sweep.test.values[0].mean()),
        "alpha_limit_mslr": sweep.limit,
        "iterations_to_042_mslr_alpha5": _mean_iterations(curves.get(5.0, ())),
        "iterations_to_042_mslr_alpha0": _mean_iterations(curves.get(0.0, ())),
    }
    rows = []
    for line in printed("claims"):
        if line["paper"] != "sigir2012":
            continue
        claim = line["claim"]
        known = ours.get(claim)
        note = NOT_PUBLIC if claim not in ours else "" if is_mslr else f"published of MSLR-WEB10K, here {data}"
        if claim in ours and known is None:
            note = f"some fold never reaches {TARGET}; {note}".removesuffix("; ")
        rows.append({"claim": claim, "published": float(line["value"]), "ours": known, "note": note})
    stated = signature("sigir2012-claims", data=data, topics=len(sweep.test.topics), alpha=sweep.alphas.tolist())
    return Result(stated, {name: [row[name] for row in rows] for name in rows[0]})


def _mean_iterations(curves: Sequence[FloatArray]) -> float | None:
    """The iterations to the target, averaged over folds; None if a fold never reaches it."""
    reached = [iterations_to(curve, TARGET) for curve in curves]
    known = [one for one in reached if one is not None]
    return float(np.mean(known)) if known and len(known) == len(reached) else None
