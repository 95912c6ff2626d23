"""Which of its features does the second stage need? Each group left out in turn, on queries of other folds.

Five folds of the queries of `studies.guard`'s collections of text; candidates over BM25. The changes are against the
unguarded candidate, with one standard error over queries. Whether the scores must be those of unseen queries is in the
study of the recipe, whose bags have both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

import numpy as np

from studies.guard import MEASURE, labelled, written
from surefoot.guard.guard import FEATURES, Guard, fit_second_stage
from surefoot.guard.runs import RunPair
from surefoot.results import Result, by_column, signature
from surefoot.scores import FloatArray

GROUPS = {"all eleven": (), "without the candidate's": FEATURES[:4], "without the baseline's": FEATURES[4:8],
          "without the query's": FEATURES[8:]}  # fmt: skip
CANDIDATES = ("LambdaMART", "PL2")
FOLDS, SEED = 5, 0


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    names = ("embedded", "NFCorpus") if "SUREFOOT_DATA" in os.environ else ("embedded",)
    rows = [row for name in names for candidate in CANDIDATES[: 1 + (less == 1)] for row in ablate(name, candidate)]
    stated = signature("second-stage", measure=MEASURE, folds=FOLDS, seed=SEED)
    yield "Features of the second stage", Result(stated, by_column(rows))


def ablate(name: str, candidate: str) -> Iterator[dict[str, str]]:
    folder = written(name)
    runs, judged = labelled(folder / "BM25.run", folder / f"{candidate}.run", folder / "qrels.txt")
    b, c = judged.baseline, judged.measured(Guard())
    fold = np.random.default_rng(SEED).permutation(np.arange(b.size) % FOLDS)
    for group, left_out in GROUPS.items():
        features = [feature for feature in FEATURES if feature not in left_out]
        x = np.empty_like(b)
        for part in range(FOLDS):
            guard = fitted(runs, judged.labels, np.flatnonzero(fold != part), features)
            x[fold == part] = judged.measured(guard)[fold == part]
        yield {
            "set": name,
            "candidate": candidate,
            "features": group,
            "mean in %": change(x, c),
            "F_Risk in %": change(np.maximum(b - x, 0), np.maximum(b - c, 0)),
        }


def fitted(runs: RunPair, labels: FloatArray, queries: FloatArray, features: Sequence[str]) -> Guard:
    pair = runs.pair
    return fit_second_stage(pair.select(queries), labels[pair.rows(queries)], seed=SEED, features=features)


def change(x: FloatArray, before: FloatArray) -> str:
    error = (x - before).std(ddof=1) / np.sqrt(x.size)
    return f"{100 * (x.mean() / before.mean() - 1):+.1f} ± {100 * error / before.mean():.1f}"
