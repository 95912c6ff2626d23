"""Claims in the papers' text: tests, fractions, fences, coefficients, agreement of rankings."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surefoot import risk
from surefoot.analysis.cross import cross
from surefoot.analysis.explore import explore
from surefoot.risk.values import Smooth, fences
from surefoot.scores import Scores
from surefoot.stats.inference import LEVEL, t_inference, topic_inference
from surefoot.stats.principal_axes import pca
from surefoot.stats.ranks import kendall
from surefoot_lab.agreement.rankings import value_agreement
from surefoot_lab.reproduce import sigir2014
from surefoot_lab.reproduce.cells import Cell, printed, ranks
from surefoot_lab.reproduce.ecir2014 import VIRTUAL_TABLE, mended, swap_reason
from surefoot_lab.reproduce.learned import NEEDS_MSLR, RETRAINED, Experiment
from surefoot_lab.reproduce.sigir2016 import BEYOND

BASELINE = "indriCASP"
FILES = ("claims", "ecir2014-implied-taus", "statements")
"""Figures in the text; taus that the tables of ECIR 2014 imply; statements on topics and orders."""

REMARKS = {
    "growth_of_topic_166_a15": "T_J of topic 166 of uogTrA44xi grows 1.57 times from alpha 0 to 15, at most 1.59 times",
    "tau_georisk_a20_zrisk_a5": "the tau of the printed columns; those columns are unexplained",
}
CUT_OFF = "the paper cuts digits off instead of rounding"


def claims(scores: Scores, found: Experiment) -> Iterator[Cell]:
    """Every claim of the files."""
    values = _recomputed(scores) | _statements(scores)
    for line in (line for file in FILES for line in printed(file)):
        if line["paper"] == "sigir2012" or "mslr" in line["claim"]:
            own = found.claims.get((line["paper"], line["claim"]))
            cell = Cell(line["paper"], line["claim"], line["value"], own)
            yield cell.not_run(NEEDS_MSLR) if own is None else cell.remark(RETRAINED)
        else:
            yield Cell(line["paper"], line["claim"], line["value"], values.get(line["claim"]))


def explain(cell: Cell, twin: Cell) -> Cell:
    """Explain digits cut off, swapped cells, and values that the fitted copies do not give."""
    if cell.equal or not isinstance(cell.recomputed, float) or cell.standing != "unexplained" or cell.reason:
        return cell
    if cell.column in ("lower_fence", "rbo_geo_all"):
        digits = 2 * cell.half_digit
        cut = float(np.trunc(cell.recomputed / digits)) * digits
        return cell.prove(CUT_OFF, cut, cut)
    if cell.column.endswith("_implied"):
        virtual, alpha = cell.column.split("_")[1:3]
        true = f"{_mended_tau(f'{virtual}_{alpha}'):.3f}"
        return cell.prove(swap_reason("", virtual), cell.recomputed, cell.recomputed, of=true)
    remark = REMARKS.get(cell.column, BEYOND if cell.column.startswith("pca_") and not twin.equal else "")
    return cell.remark(remark) if remark else cell


def _mended_tau(column: str) -> float:
    """Kendall's tau with the mean that a column of ECIR 2014's table 3 has after its swapped cells are put right."""
    nine = [line["system"] for line in printed(VIRTUAL_TABLE)]
    means = {line["system"]: float(line["err20"]) for line in printed("ecir2014-table1-urisk")}
    return kendall({name: float(mended(name, column)) for name in nine}, means).tau


def _recomputed(scores: Scores) -> dict[str, float | str]:
    nine_of_2014 = [line["system"] for line in printed("ecir2014-table1-urisk")]
    eight = [name for name in nine_of_2014 if name != BASELINE]
    nine_of_2020 = [line["system"] for line in printed("ecir2020-table2-linear-vs-smooth")] + [BASELINE]
    test = cross(scores, alpha=10, systems=eight).friedman
    lower, upper = fences(np.delete(scores.values, scores.row(BASELINE), axis=0) - scores[BASELINE])
    cubic, square, linear = Smooth(1.0).coefficients
    shares = pca(scores, systems=nine_of_2014, virtual=()).shares
    pairs = (("srchvrs12c00", BASELINE), ("DFalah121A", "srchvrs12c00"), ("QUTparaBline", "srchvrs12c00"))
    return {
        "friedman_p_every_run_as_baseline": test.p if test else float("nan"),
        "rmse_parametric_vs_jackknife_se": _rmse_of_standard_errors(scores),
        "significant_loss_topics_uogTrA44xi_a0": _significant_losses(scores, "uogTrA44xi"),
        "significant_loss_topics_qutwb_a0": _significant_losses(scores, "qutwb"),
        "lower_fence": lower,
        "upper_fence": upper,
        "smooth_cubic": cubic,
        "smooth_square": square,
        "smooth_linear": linear,
        **_overlaps(scores),
        "median_err20_of_nine": float(np.median(scores.select(nine_of_2020).values.mean(axis=1))),
        "pca_first_axis_pct": 100 * float(shares[0]),
        "pca_second_axis_pct": 100 * float(shares[1]),
        **{
            f"paired_t_p_{one}_vs_{other}": float(t_inference(scores[one], scores[other], 0.0).p)
            for one, other in pairs
        },
        **_taus(scores),
    }


def _statements(scores: Scores) -> dict[str, float | str]:
    """Statements in sentences: SIGIR 2014, sections 4.2 and 5.2; ECIR 2014, section 4; SIGIR 2016, section 5."""
    eight = [line["system"] for line in printed("sigir2014-table1-standard-errors")]
    found = {name: t_inference(scores[name], scores[BASELINE], (5, 15)) for name in eight}
    nine = [line["system"] for line in printed("sigir2016-table6-trec2012")]
    z, geo = (
        {alpha: dict(zip(nine, row, strict=True)) for alpha, row in zip(alphas, measured.tolist(), strict=True)}
        for alphas in ((0, 5, 20),)
        for measured in (
            risk.zrisk(scores.select(nine).values, alphas),
            risk.georisk(scores.select(nine).values, alphas),
        )
    )
    ones = (scores["srchvrs12c09"], scores["uogTrA44xi"])
    growth = [topic_inference(ones[1], scores[BASELINE], alpha).tj[scores.topics.index("166")] for alpha in (0, 15)]
    return {
        "largest_trisk_of_eight_a5": max(float(own.trisk[0]) for own in found.values()),
        "significant_of_top_four_a15": float(sum(found[name].p[1] < LEVEL for name in eight[:4])),
        "growth_of_topic_166_a15": float(growth[1] / growth[0]),
        "topics_above_0.8": " ".join(str((own > 0.8).sum()) for own in ones),
        "losses_of_srchvrs12c09_and_uogTrA44xi": f"{(ones[0] < ones[1]).sum()} {(ones[0] > ones[1]).sum()}",
        "ranks_of_ICTNET12ADR2_by_zrisk_a0_a5": " ".join(f"{ranks(z[alpha])['ICTNET12ADR2']:g}" for alpha in (0, 5)),
        "tau_georisk_a20_zrisk_a5": kendall(geo[20], z[5]).tau,
    }


def _rmse_of_standard_errors(scores: Scores) -> float:
    """Over all runs, as the paper says, not only over those that its table 1 shows."""
    others = [name for name in scores.systems if name != BASELINE]
    gaps = [
        sigir2014.jackknife_se(scores, name) - t_inference(scores[name], scores[BASELINE], sigir2014.ALPHAS).se
        for name in others
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
