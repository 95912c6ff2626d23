"""LightGBM's own lambdarank, written out in its own arithmetic: what the fast kernels are held against.

Pairs are walked one by one in double precision, each pair's share is rounded to float32 as it is added, and the
sigmoid comes from LightGBM's table. With ``table=False`` the sigmoid is exact, which tells what the table's steps
alone are worth.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from sklearn.datasets import load_svmlight_file

BINS = 1024 * 1024
WIDEST = 50.0
STEADY = {"deterministic": True, "force_col_wise": True, "num_threads": 1, "verbose": -1, "seed": 1}


@dataclass(frozen=True)
class Documents:
    """Features, labels and queries of a set."""

    X: np.ndarray
    labels: np.ndarray
    sizes: np.ndarray

    @property
    def bounds(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self.sizes)]).astype(np.int64)

    def dataset(self) -> Any:
        import lightgbm

        params = {"verbose": -1, "force_col_wise": True, "num_threads": 1}
        return lightgbm.Dataset(self.X, self.labels, group=self.sizes, params=params)


def read(*paths: Path) -> Documents:
    """The documents of some files, by a reader that isn't Surefoot's."""
    parts = [load_svmlight_file(str(path), query_id=True, dtype=np.float64) for path in paths]
    sizes = [np.diff(np.flatnonzero(np.r_[True, np.diff(qid) != 0, True])) for _, _, qid in parts]
    return Documents(
        np.vstack([features.toarray() for features, _, _ in parts]),
        np.concatenate([labels for _, labels, _ in parts]),
        np.concatenate(sizes),
    )


def made_up(queries: int = 60, longest: int = 40, seed: int = 0) -> Documents:
    """Documents whose labels depend on their features, with noise."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, longest + 1, queries)
    X = rng.normal(size=(sizes.sum(), 8)).round(2)
    merit = X[:, 0] + np.sin(2 * X[:, 1]) * X[:, 2] + rng.normal(size=X.shape[0])
    return Documents(X, np.digitize(merit, [0.5, 1.2, 2.0, 3.0]).astype(np.float64), sizes)


class Oracle:
    """LightGBM's lambdarank as a custom objective of LightGBM."""

    def __init__(
        self,
        truncation: int | None = 30,
        sigmoid: float = 1.0,
        norm: bool = True,
        label_gain: tuple[float, ...] | None = None,
        table: bool = True,
    ) -> None:
        self.truncation, self.sigmoid, self.norm = truncation or 2**31, sigmoid, norm
        self.gain = np.array(label_gain if label_gain is not None else [2.0**label - 1 for label in range(31)])
        smallest = -WIDEST / sigmoid / 2
        per_bin = BINS / (-smallest - smallest)
        at = np.arange(BINS) / per_bin + smallest
        self.table = 1 / (1 + np.exp(at * sigmoid)) if table else np.zeros(0)

    def __call__(self, scores: np.ndarray, dataset: Any) -> tuple[np.ndarray, np.ndarray]:
        bounds = np.concatenate([[0], np.cumsum(dataset.get_group())]).astype(np.int64)
        return self.of(scores, dataset.get_label(), bounds)

    def __deepcopy__(self, memo: Any) -> Oracle:
        return self  # the table is large

    def of(self, scores: np.ndarray, labels: np.ndarray, bounds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients and hessians."""
        gradients, hessians = np.zeros((2, scores.size), np.float32)
        discounts = 1 / np.log2(2.0 + np.arange(np.diff(bounds).max()))
        lambdarank(
            np.asarray(scores, np.float64), np.asarray(labels, np.int64), bounds, self.gain, discounts, self.table,
            self.truncation, self.sigmoid, self.norm, gradients, hessians,
        )  # fmt: skip
        return gradients, hessians


def trees(booster: Any) -> str:
    """The trees in a model's text, without the parameters around them."""
    text: str = booster.model_to_string()
    return text[text.index("Tree=0") : text.index("end of trees")]


@numba.njit(cache=True)  # type: ignore[misc]
def sigmoid_of(apart: float, sigmoid: float, table: np.ndarray) -> float:
    if table.size == 0:
        return 1 / (1 + np.exp(apart * sigmoid))
    smallest = -WIDEST / sigmoid / 2
    if apart <= smallest:
        return table[0]
    if apart >= -smallest:
        return table[BINS - 1]
    return table[int((apart - smallest) * (BINS / (-smallest - smallest)))]


@numba.njit(cache=True)  # type: ignore[misc]
def lambdarank(scores, labels, bounds, gain, discounts, table, truncation, sigmoid, norm, gradients, hessians):  # type: ignore[no-untyped-def]
    for query in range(bounds.size - 1):
        begin, stop = bounds[query], bounds[query + 1]
        n = stop - begin
        if n == 0:
            continue
        label, score = labels[begin:stop], scores[begin:stop]
        pull, curve = gradients[begin:stop], hessians[begin:stop]
        ideal = 0.0
        for rank, best in enumerate(np.sort(label)[::-1][:truncation]):
            ideal += gain[best] * discounts[rank]
        inverse = 1 / ideal if ideal > 0 else 0.0
        order = np.argsort(-score, kind="mergesort")
        uneven = score[order[0]] != score[order[n - 1]]
        total = 0.0
        for i in range(min(n - 1, truncation)):
            for j in range(i + 1, n):
                if label[order[i]] == label[order[j]]:
                    continue
                above, below = (i, j) if label[order[i]] > label[order[j]] else (j, i)
                high, low = order[above], order[below]
                apart = score[high] - score[low]
                delta = (gain[label[high]] - gain[label[low]]) * abs(discounts[above] - discounts[below]) * inverse
                if norm and uneven:
                    delta /= np.float64(np.float32(0.01)) + abs(apart)
                share = sigmoid_of(apart, sigmoid, table)
                other = 1 - share if table.size else sigmoid_of(-apart, sigmoid, table)
                bend = share * other * sigmoid * sigmoid * delta
                share *= -sigmoid * delta
                pull[low] -= np.float32(share)
                curve[low] += np.float32(bend)
                pull[high] += np.float32(share)
                curve[high] += np.float32(bend)
                total -= 2 * share
        if norm and total > 0:
            factor = np.log2(1 + total) / total
            for row in range(n):
                pull[row] = np.float32(pull[row] * factor)
                curve[row] = np.float32(curve[row] * factor)
