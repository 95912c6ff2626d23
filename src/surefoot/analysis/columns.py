"""The columns of an evaluation: the usual ones, and those asked for beside them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from surefoot import risk
from surefoot.analysis.design import Setting
from surefoot.analysis.figures import Columns, against_many, against_one
from surefoot.errors import SurefootError, choose
from surefoot.scores import FloatArray
from surefoot.stats.inference import LEVEL
from surefoot.stats.intervals import METHODS, How, interval_columns
from surefoot.stats.permutation import run_tests

BOUNDED = ("urisk", "trisk", "zrisk", "georisk")
"""What has bootstrap and jackknife intervals, beside tails."""


@dataclass(frozen=True)
class Wanted:
    """What an evaluation shows beside its usual columns; see `surefoot.analysis.evaluate.evaluate` for the words."""

    tail: tuple[float, ...] = ()
    geometric: bool = False
    minus: bool = False
    ci: str | None = None
    tests: tuple[str, ...] = ()
    correct: str | None = None
    n_resamples: int = 10_000
    seed: int = 0

    def __post_init__(self) -> None:
        if self.ci is not None:
            choose(self.ci, ("t", *METHODS), "ci")

    def check(self, setting: Setting) -> None:
        """Refuse what needs a baseline where there is none."""
        if setting.baselines is None and (self.tail or self.ci == "t" or self.tests or self.correct):
            raise SurefootError("tail risk, t intervals and p values need a baseline; name one")

    def stated(self) -> dict[str, object]:
        """What a signature says of it."""
        drawn = self.tests or self.ci in ("percentile", "bca")
        return {
            "interval": self.ci and f"{self.ci}({1 - LEVEL:g})",
            "tests": self.tests or None,
            "n_resamples": self.n_resamples if drawn else None,
            "seed": self.seed if drawn else None,
            "correct": self.correct,
        }

    def table(self, setting: Setting, alphas: FloatArray) -> Columns:
        """The columns of one measure, a row for each system and alpha."""
        one, many = against_one(setting, alphas), against_many(setting, alphas)
        table = _usual(setting, alphas, one, many)
        if setting.baselines is not None:
            table |= {f"tail_{share:g}": risk.tail(setting.rows, setting.baselines, share) for share in self.tail}
        if self.geometric:
            table["gmean"] = risk.gmean(setting.rows)
        table |= self._intervals(setting, alphas, table, one)
        if self.minus:
            forms = {"uminus": "urisk", "tminus": "trisk", "zminus": "zrisk", "geominus": "georisk"}
            table |= {form: -table[plain] for form, plain in forms.items() if plain in table}
            table["geominus_published"] = many["geominus_published"]
        shape = (len(alphas), len(setting.systems))
        rows = {name: np.broadcast_to(column, shape).T.ravel() for name, column in table.items()}
        return rows | self._tests(setting, alphas, rows)

    def _intervals(self, setting: Setting, alphas: FloatArray, table: Columns, one: Columns) -> Columns:
        if self.ci is None:
            return {}
        if self.ci == "t":
            return {name: one[name] for name in ("urisk_low", "urisk_high")}
        bounded = [name for name in table if name in BOUNDED or name.startswith("tail_")]
        how = How(self.ci, n_resamples=self.n_resamples, seed=self.seed)
        return interval_columns(setting, alphas, bounded, how)

    def _tests(self, setting: Setting, alphas: FloatArray, rows: Columns) -> Columns:
        if not self.tests:
            return {}
        found = run_tests(
            setting.scores,
            setting.baseline,
            alphas,
            tests=self.tests,
            systems=setting.systems,
            population=setting.population,
            value=setting.family,
            correct=self.correct,
            n_resamples=self.n_resamples,
            seed=self.seed,
        )
        return {name: found[name] for name in found.columns if name not in rows}


def _usual(setting: Setting, alphas: FloatArray, one: Columns, many: Columns) -> Columns:
    """The columns that every evaluation has, in their order."""
    table: Columns = {"system": np.array(setting.systems)}
    if setting.baselines is not None:
        table["baseline"] = np.array(setting.baseline_names)
    table["alpha"] = np.repeat(alphas[:, np.newaxis], len(setting.systems), axis=1)
    table["mean"] = setting.rows.mean(axis=1)
    table |= {name: one[name] for name in ("urisk", "frisk", "freward", "trisk", "se", "p") if one}
    table |= {name: many[name] for name in ("zrisk", "georisk")}
    return table | {name: one[name] for name in ("wins", "losses", "ties", "loss20") if one}
