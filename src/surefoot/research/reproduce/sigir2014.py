"""Dinçer, Macdonald and Ounis, Hypothesis testing for the risk-sensitive evaluation of retrieval systems (2014)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surefoot import risk
from surefoot.research.reproduce.cells import Cell, cells_of, printed
from surefoot.research.reproduce.reasons import FIVE_DECIMALS, explain_by_copies
from surefoot.scores import Scores
from surefoot.stats.inference import jackknife, t_inference

ALPHAS = (0, 1, 5, 10)
BASELINE = "indriCASP"


def table1(scores: Scores) -> Iterator[Cell]:
    """U_Risk with its parametric and its jackknife standard error."""
    for line in printed("sigir2014-table1-standard-errors"):
        name = line["system"]
        found: dict[str, float | None] = {"err20": float(scores[name].mean())}
        for alpha in ALPHAS:
            inference = t_inference(scores[name], scores[BASELINE], alpha)
            found[f"urisk_a{alpha}"] = float(inference.urisk)
            found[f"se_a{alpha}"] = float(inference.se)
            found[f"se_jackknife_a{alpha}"] = jackknife_se(scores, name, alpha)
        yield from (explain_by_copies(cell, name, within=0.015) for cell in cells_of(line, found))


def table2(scores: Scores) -> Iterator[Cell]:
    """T_Risk and its p value."""
    for line in printed("sigir2014-table2-trisk-pvalues"):
        name = line["system"]
        found: dict[str, float | None] = {}
        for alpha in ALPHAS:
            inference = t_inference(scores[name], scores[BASELINE], alpha)
            found[f"trisk_a{alpha}"], found[f"p_a{alpha}"] = float(inference.trisk), float(inference.p)
        for cell in cells_of(line, found):
            yield explain_by_copies(cell, name, within=0.12).explain(FIVE_DECIMALS, within=1e-4)


def jackknife_se(scores: Scores, system: str, alpha: float) -> float:
    """The jackknife standard error of U_Risk."""
    pair = np.stack([scores[system], scores[BASELINE]])
    return float(jackknife(lambda x: risk.urisk(x[..., 0, :], x[..., 1, :], alpha), pair).se)
