"""Claims in the papers' text: tests, fractions, fences, coefficients, agreement of rankings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surefoot import risk
from surefoot.analysis.cross import cross
from surefoot.analysis.explore import explore
from surefoot.analysis.value_agreement import value_agreement
from surefoot.research.reproduce import sigir2014
from surefoot.research.reproduce.cells import Cell, printed
from surefoot.research.reproduce.ecir2014 import SWAPPED
from surefoot.research.reproduce.reasons import MIXED, OTHER_COPIES
from surefoot.risk.values import Smooth, fences
from surefoot.scores import Scores
from surefoot.stats.agreement import kendall, pca
from surefoot.stats.inference import t_inference

BASELINE = "indriCASP"
CUT_OFF = "the paper cuts digits off instead of rounding"
FROM_PRINTED_T = "the p of T_Risk as the paper prints it, 2.332, is 0.02385"
NEEDS_MSLR = "needs MSLR-WEB10K and `surefoot experiment`"


def claims(scores: Scores) -> Iterator[Cell]:
    """Every claim of claims.csv, and the taus that the printed tables of ECIR 2014 imply."""
    found = _recomputed(scores) | _taus(scores)
    for line in (*printed("claims"), *printed("ecir2014-implied-taus")):
        cell = Cell(line["paper"], line["claim"], line["value"], found.get(line["claim"]))
        yield cell.not_run(NEEDS_MSLR) if _needs_mslr(line) else _explain(cell)


def _needs_mslr(line: dict[str, str]) -> bool:
    return line["paper"] == "sigir2012" or "mslr" in line["claim"]


def _explain(cell: Cell) -> Cell:
    reasons = {
        "pca_first_axis_pct": (MIXED, 0.05),
        "pca_second_axis_pct": (MIXED, 0.06),
        "lower_fence": (CUT_OFF, 1e-3),
        "rbo_geo_all": (CUT_OFF, 1e-3),
        "paired_t_p_srchvrs12c00_vs_indriCASP": (FROM_PRINTED_T, 1e-4),
        "paired_t_p_DFalah121A_vs_srchvrs12c00": (OTHER_COPIES["DFalah121A"], 0.12),
        "tau_mean_a5_vs_mean_implied": (MIXED, 0.06),
        "tau_mean_a10_vs_mean_implied": (MIXED, 0.06),
        "tau_median_a5_vs_mean_implied": (SWAPPED, 0.06),
        "tau_median_a10_vs_mean_implied": (SWAPPED, 0.17),
    }
    return cell.explain(*reasons[cell.column]) if cell.column in reasons else cell


def _recomputed(scores: Scores) -> dict[str, float | str]:
    nine_of_2014 = [line["system"] for line in printed("ecir2014-table1-urisk")]
    eight = [name for name in nine_of_2014 if name != BASELINE]
    nine_of_2020 = [line["system"] for line in printed("ecir2020-table2-linear-vs-smooth")] + [BASELINE]
    test = cross(scores, alpha=10, systems=eight).friedman
    shares = pca(scores, systems=nine_of_2014, virtual=()).shares
    lower, upper = fences(np.delete(scores.values, scores.row(BASELINE), axis=0) - scores[BASELINE])
    cubic, square, linear = Smooth(1.0).coefficients
    return {
        "friedman_p_every_run_as_baseline": test.p if test else float("nan"),
        "pca_first_axis_pct": 100 * float(shares[0]),
        "pca_second_axis_pct": 100 * float(shares[1]),
        "rmse_parametric_vs_jackknife_se": _rmse_of_standard_errors(scores),
        "significant_loss_topics_uogTrA44xi_a0": _significant_losses(scores, "uogTrA44xi"),
        "significant_loss_topics_qutwb_a0": _significant_losses(scores, "qutwb"),
        "lower_fence": lower,
        "upper_fence": upper,
        "smooth_cubic": cubic,
        "smooth_square": square,
        "smooth_linear": linear,
        **_overlaps(scores),
        **{
            f"paired_t_p_{one}_vs_{other}": float(t_inference(scores[one], scores[other], 0.0).p)
            for one, other in (
                ("srchvrs12c00", BASELINE),
                ("DFalah121A", "srchvrs12c00"),
                ("QUTparaBline", "srchvrs12c00"),
            )
        },
        "median_err20_of_nine": float(np.median(scores.select(nine_of_2020).values.mean(axis=1))),
    }


def _rmse_of_standard_errors(scores: Scores) -> float:
    gaps = [
        sigir2014.jackknife_se(scores, line["system"], alpha)
        - t_inference(scores[line["system"]], scores[BASELINE], alpha).se
        for line in printed("sigir2014-table1-standard-errors")
        for alpha in sigir2014.ALPHAS
    ]
    return float(np.sqrt(np.mean(np.square(gaps))))


def _significant_losses(scores: Scores, system: str) -> str:
    rows = explore(scores, system, BASELINE, alpha=0.0).rows()
    return " ".join(sorted(row["topic"] for row in rows if row["significant"] == "loss"))


def _overlaps(scores: Scores) -> dict[str, float]:
    """RBO (its minimum, p = 0.9) of linear and smooth rankings of all systems, Geo- as published."""
    names = {"urisk": "rbo_u_all", "zrisk": "rbo_z_all", "geominus_published": "rbo_geo_all"}
    rows = value_agreement(scores, BASELINE, 1.0, value=Smooth).rows()
    largest = max(row["systems"] for row in rows)
    return {
        names[row["measure"]]: row["minimum"] for row in rows if row["systems"] == largest and row["measure"] in names
    }


def _taus(scores: Scores) -> dict[str, float]:
    """Kendall's tau of the order under each virtual baseline with that by the mean (ECIR 2014, section 4).

    The published values, stored as data, follow from the orders printed in tables 1 and 3.
    """
    nine = [line["system"] for line in printed("ecir2014-table3-mean-median-max")]
    means = {name: float(scores[name].mean()) for name in nine}
    found = {}
    for virtual in ("MEAN", "MEDIAN", "MAX"):
        baseline = scores.baseline(virtual, over=nine)
        for alpha in (5, 10):
            urisk = {name: float(risk.urisk(scores[name], baseline, alpha)) for name in nine}
            found[f"tau_{virtual.lower()}_a{alpha}_vs_mean_implied"] = kendall(urisk, means).tau
    return found
