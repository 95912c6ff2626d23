"""Every system against a baseline and against all others: the table that most users come for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from surefoot import risk
from surefoot.errors import SurefootError, listed
from surefoot.inference import correct as corrected
from surefoot.inference import t_inference_of
from surefoot.results import Result, signature
from surefoot.scores import FloatArray, Scores
from surefoot.setting import Baseline, Population, Setting
from surefoot.values import Family, Linear

Columns = dict[str, npt.NDArray[Any]]
"""Figures by name, each for all systems, or for all alphas × systems."""


@dataclass(frozen=True)
class Evaluation(Result):
    """One row for each measure, system and alpha; see `evaluate` for the columns."""

    def ranked(self) -> Evaluation:
        """The rows as a reader wants them: by measure and alpha, the best mean first."""
        measures = list(self.columns.get("measure", [""] * len(self)))
        place = np.array([measures.index(measure) for measure in measures])
        order = np.lexsort((-np.asarray(self.columns["mean"]), np.asarray(self.columns["alpha"]), place))
        sorted_columns = {name: np.asarray(column)[order] for name, column in self.columns.items()}
        return Evaluation(self.signature, sorted_columns, self.notes)


def evaluate(
    scores: Scores | Sequence[Scores],
    baseline: Baseline = None,
    alpha: npt.ArrayLike = 1.0,
    *,
    systems: Sequence[str] | None = None,
    population: Population = None,
    value: str | Family = "linear",
    tail: Sequence[float] = (),
    geometric: bool = False,
    minus: bool = False,
    ci: bool = False,
    correct: str | None = None,
) -> Evaluation:
    """The risk of every system, for each alpha (and each measure, if ``scores`` are several).

    Columns: ``system, baseline, alpha, mean, urisk, frisk, freward, trisk, se, p, zrisk, georisk, wins, losses, ties,
    loss20``; without a baseline only those that need none. Undefined figures are NaN: T_Risk of the baseline itself, or
    where all differences are alike.

    ``baseline`` is a system, MEAN, MEDIAN or MAX of each topic, or a mapping that gives each system its own.
    ``population`` holds the systems behind Z_Risk, GeoRisk and the virtual baselines: all, a list, or ``"PAIR"`` for a
    system and its baseline alone. ``value`` is ``"linear"``, ``"smooth"`` (fitted to the differences at hand) or a
    family of value functions. ``tail`` adds a column for each share, ``geometric`` the geometric mean, ``minus`` the
    forms of ECIR 2020, ``ci`` the 95 % t interval of U_Risk, ``correct`` p values adjusted over all rows.

    >>> scores = Scores([[0.2, 0.4, 0.4], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"])
    >>> result = evaluate(scores, baseline="old", alpha=[0, 5])
    >>> [round(row["urisk"], 4) for row in result.rows() if row["system"] == "new"]
    [-0.0333, -0.5333]
    """
    several = [scores] if isinstance(scores, Scores) else list(scores)
    if baseline is None and (tail or ci or correct):
        raise SurefootError("tail risk, intervals and p values need a baseline; name one")
    alphas = np.atleast_1d(risk.alphas_of(alpha))
    settings = [Setting.of(one, baseline, systems, population, value) for one in several]
    tables = [_table(setting, alphas, tail, geometric, minus, ci) for setting in settings]
    columns = {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}
    if correct is not None:
        columns[f"p_{correct}"] = corrected(columns["p"], correct)
    if len(several) > 1:
        columns = {"measure": np.repeat([one.measure for one in several], len(tables[0]["system"])), **columns}
    stated = signature(
        "evaluate",
        measure=[one.measure for one in several],
        baseline=baseline if baseline is None or isinstance(baseline, str) else "map",
        alpha=alphas.tolist(),
        value=settings[0].value,
        population=settings[0].population_word(),
        topics=list(dict.fromkeys(len(one.topics) for one in several)),
        correct=correct,
    )
    notes = (note for setting, table in zip(settings, tables, strict=True) for note in _notes(setting, alphas, table))
    return Evaluation(stated, columns, tuple(dict.fromkeys(notes)))


def _table(
    setting: Setting, alphas: FloatArray, tail: Sequence[float], geometric: bool, minus: bool, ci: bool
) -> Columns:
    """The columns of one measure, a row for each system and alpha."""
    one = against_one(setting, alphas)
    many = against_many(setting, alphas)
    table: Columns = {"system": np.array(setting.systems)}
    if setting.baselines is not None:
        table["baseline"] = np.array(setting.baseline_names)
    table["alpha"] = np.repeat(alphas[:, np.newaxis], len(setting.systems), axis=1)
    table["mean"] = setting.rows.mean(axis=1)
    table |= {name: one[name] for name in ("urisk", "frisk", "freward", "trisk", "se", "p") if one}
    table |= {name: many[name] for name in ("zrisk", "georisk")}
    table |= {name: one[name] for name in ("wins", "losses", "ties", "loss20") if one}
    if ci:
        table |= {name: one[name] for name in ("urisk_low", "urisk_high")}
    if setting.baselines is not None:
        table |= {f"tail_{share:g}": risk.tail(setting.rows, setting.baselines, share) for share in tail}
    if geometric:
        table["gmean"] = risk.gmean(setting.rows)
    if minus:
        forms = {"uminus": "urisk", "tminus": "trisk", "zminus": "zrisk", "geominus": "georisk"}
        table |= {form: -table[plain] for form, plain in forms.items() if plain in table}
        table["geominus_published"] = many["geominus_published"]
    shape = (len(alphas), len(setting.systems))
    return {name: np.broadcast_to(column, shape).T.ravel() for name, column in table.items()}


def against_one(setting: Setting, alphas: FloatArray) -> Columns:
    """The measures against each system's own baseline; none without a baseline."""
    if setting.baselines is None:
        return {}
    rows, baselines = setting.rows, setting.baselines
    compared = risk.compare(rows, baselines)
    linear = setting.family is Linear
    moments = compared.at(alphas) if linear else risk.value_moments(rows, baselines, alphas, setting.family)
    found = t_inference_of(moments)
    return {
        "urisk": found.urisk,
        "frisk": risk.loss_share(compared),
        "freward": risk.gain_share(compared),
        "trisk": found.trisk,
        "se": found.se,
        "p": found.p,
        "wins": compared.wins.astype(np.int64),
        "losses": compared.losses.n.astype(np.int64),
        "ties": (compared.topics - compared.wins - compared.losses.n).astype(np.int64),
        "loss20": compared.loss20.astype(np.int64),
        "urisk_low": found.low,
        "urisk_high": found.high,
    }


def against_many(setting: Setting, alphas: FloatArray) -> Columns:
    """The measures against the whole population; NaN for systems outside it, and where a score is below 0."""
    z, geo, published = (np.full((len(alphas), len(setting.systems)), np.nan) for _ in range(3))
    if setting.scores.values.min() >= 0:
        for matrix, rows, places in setting.matrices():
            found = risk.zrisk(matrix, alphas, setting.family)
            z[:, places] = found[:, rows]
            geo[:, places] = risk.geo(matrix, found)[:, rows]
            published[:, places] = -risk.geo(matrix, -found)[:, rows]
    return {"zrisk": z, "georisk": geo, "geominus_published": published}


def _notes(setting: Setting, alphas: FloatArray, table: Columns) -> list[str]:
    """What was assumed, and what a reader should know before trusting a column."""
    notes = list(setting.scores.notes)
    if alphas.max() > 2:
        notes.append("GeoRisk at alpha > 2 is not consistent: a better score on one topic can lower it")
    if setting.population not in (None, "PAIR"):
        outside = [name for name in setting.systems if name not in (setting.population or ())]
        if outside:
            notes.append(f"Z_Risk and GeoRisk are undefined outside the population: {listed(outside)}")
    if setting.scores.values.min() < 0:
        notes.append("Z_Risk and GeoRisk are undefined: some scores are below 0")
    if setting.baselines is not None:
        untested = table["system"][np.isnan(table["trisk"]) & (table["system"] != table["baseline"])]
        if len(untested):
            reason = "all values are alike" if len(setting.scores.topics) > 1 else "there is only one topic"
            notes.append(f"T_Risk and p are undefined where {reason}: {listed(dict.fromkeys(untested.tolist()))}")
    return notes
