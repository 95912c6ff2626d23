"""Dinçer, Macdonald and Ounis, Hypothesis testing for the risk-sensitive evaluation of retrieval systems (2014)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surefoot import risk
from surefoot._typing import FloatArray
from surefoot.scores import Scores
from surefoot.stats.inference import jackknife, t_inference
from surefoot_lab.reproduce.cells import Cell, cells_of, printed

ALPHAS = (0, 1, 5, 10)
BASELINE = "indriCASP"


def table1(scores: Scores) -> Iterator[Cell]:
    """U_Risk with its parametric and its jackknife standard error."""
    for line in printed("sigir2014-table1-standard-errors"):
        name = line["system"]
        inference, jackknifed = t_inference(scores[name], scores[BASELINE], ALPHAS), jackknife_se(scores, name)
        found: dict[str, float | None] = {"err20": float(scores[name].mean())}
        for index, alpha in enumerate(ALPHAS):
            found[f"urisk_a{alpha}"] = float(inference.urisk[index])
            found[f"se_a{alpha}"] = float(inference.se[index])
            found[f"se_jackknife_a{alpha}"] = float(jackknifed[index])
        yield from cells_of(line, found)


def table2(scores: Scores) -> Iterator[Cell]:
    """T_Risk and its p value."""
    for line in printed("sigir2014-table2-trisk-pvalues"):
        inference = t_inference(scores[line["system"]], scores[BASELINE], ALPHAS)
        found: dict[str, float | None] = {}
        for index, alpha in enumerate(ALPHAS):
            found |= {f"trisk_a{alpha}": float(inference.trisk[index]), f"p_a{alpha}": float(inference.p[index])}
        yield from cells_of(line, found)


def jackknife_se(scores: Scores, system: str) -> FloatArray:
    """The jackknife standard errors of U_Risk, one for each alpha."""
    pair = np.stack([scores[system], scores[BASELINE]])
    return jackknife(lambda x: np.moveaxis(risk.urisk(x[..., 0, :], x[..., 1, :], ALPHAS), 0, -1), pair).se
