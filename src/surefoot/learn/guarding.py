"""The guard of bags, fitted on their out-of-bag scores, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.guard.blends import TREES
from surefoot.guard.fitting import CHOSEN, LEFT_ALONE, GuardFit, fit_guard
from surefoot.guard.pairs import Scored
from surefoot.guard.second_stage import FEWEST_QUERIES
from surefoot.guard.selection import ERRORS
from surefoot.learn.baseline import Baselines, feature_form, form_scores, guard_scores
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings
from surefoot.learn.validation import Validation
from surefoot.scores import FloatArray

FOLDS = 3
"""For what the guard does on queries that it did not see; more of them take longer than the bags."""

ALWAYS = -1e6
"""So many standard errors below leaving the bags alone a second stage may be, and is taken.

Whether it helps on a few hundred queries is mostly chance: a choice gave up as much risk as it saved mean.
"""


@dataclass(frozen=True, eq=False)
class Guarding:
    """How a model is guarded: the baseline's scores of all its queries, and where they come from elsewhere."""

    settings: Settings
    baseline_scores: FloatArray
    form: tuple[str, int] | None
    validation: Validation

    @classmethod
    def of(cls, settings: Settings, data: RankingData, baseline: Any, baselines: Baselines) -> Guarding:
        """Tells at once what would fail after the training."""
        form = feature_form(baseline, data)
        scores = guard_scores(baselines.ranking("a guard") if form is None else form_scores(*form, data))
        if not Scored(scores, data.bounds).spread.any():
            raise SurefootError(
                f"{data.source}: the baseline {baselines.names[0]} is the same for all documents of a query, so it "
                "can't guard; name another one, or train without a guard"
            )
        return cls(settings, scores, form, Validation.of(settings, data, baselines))

    def fit(self, model: Model, out_of_bag: FloatArray) -> Model:
        """The model with a guard fitted on these scores, and what both did on queries that they did not see."""
        validation, data = self.validation, self.validation.data
        kinds = self._kinds(len(data))
        fit = fit_guard(
            self.baseline_scores, out_of_bag, data.labels, data.bounds, metric=validation.metric,
            measure=str(validation.metric.metric), kinds=kinds, seed=self.settings.seed, folds=FOLDS,
            errors=ALWAYS if kinds == [TREES] else ERRORS,
        )  # fmt: skip
        why = "the second stage is taken in any case" if kinds == [TREES] else fit.why
        form, column = self.form or (None, None)
        card = {
            **model.card,
            "guard": {
                "baseline": validation.baselines.names[0], "form": form, "column": column,
                "kind": str(fit.guard), "why": why,
            },
            "unguarded": self._measures(fit, LEFT_ALONE),
            "validation": self._measures(fit, CHOSEN),
        }  # fmt: skip
        return replace(model, card=card, guard=replace(fit.guard, card={**fit.guard.card, "why": why}))

    def _measures(self, fit: GuardFit, way: str) -> dict[str, float]:
        return self.validation.measures_of(np.asarray(fit.outcomes[way])[self.validation.metric.counted])

    def _kinds(self, queries: int) -> list[str] | None:
        """Those to choose from; None for all. A second stage needs queries to learn from."""
        wanted = self.settings.guard
        few = wanted == TREES and queries < FEWEST_QUERIES
        return None if wanted is None or wanted == "any" or few else [wanted]
