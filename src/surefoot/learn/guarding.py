"""The guard of bags, fitted on their out-of-bag scores, and what it promises."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot.errors import SurefootError
from surefoot.guard.blends import TREES
from surefoot.guard.certificate import Budget
from surefoot.guard.fitting import fit_guard
from surefoot.guard.guard import Guard
from surefoot.guard.pairs import Pair, Scored
from surefoot.guard.second_stage import FEWEST_QUERIES
from surefoot.guard.selection import ALPHA
from surefoot.guard.trial import CHOSEN, LabelledPair, Trial
from surefoot.learn.baseline import Baselines, feature_form, form_scores, guard_scores
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings
from surefoot.learn.validation import Validation
from surefoot.scores import FloatArray

OUT_OF_BAG = (
    "What was tested is each query's ranking by the bags that did not see it; the model is the average of all bags, "
    "which no test covers."
)
"""What the promise of a guarded model is about, and what not."""


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
        """The model with a guard fitted on these scores, and what both do on queries that they did not see."""
        validation, settings = self.validation, self.settings
        enough = len(validation.data) >= FEWEST_QUERIES
        fit = self._second_stage if settings.guard == TREES and settings.max_loss is None and enough else self._fit
        guard, measures = fit(out_of_bag)
        form, column = self.form or (None, None)
        named = {"baseline": validation.baselines.names[0], "form": form, "column": column}
        told = {key: guard.card[key] for key in ("why", "certificate") if key in guard.card}
        kept = {"guard": {**named, "kind": str(guard), **told}, "unguarded": validation(out_of_bag)}
        return replace(model, card={**model.card, **kept, **measures}, guard=guard)

    def _second_stage(self, out_of_bag: FloatArray) -> tuple[Guard, dict[str, Any]]:
        """The second stage, as strong as the mean can bear."""
        validation = self.validation
        judged = LabelledPair(self._pair(out_of_bag), validation.data.labels.astype(np.float64), validation.metric)
        trial = Trial(judged, np.arange(len(validation.data)), (TREES,), ALPHA, self.settings.seed)
        guard, values = trial.priced()
        card = {"measure": str(validation.metric.metric), "queries": len(trial), **guard.card}
        return replace(guard, card=card), {"validation": validation.measures_of(values[validation.metric.counted])}

    def _fit(self, out_of_bag: FloatArray) -> tuple[Guard, dict[str, Any]]:
        """The guard that is best of those asked for, within the budget if there is one."""
        settings, validation = self.settings, self.validation
        budget = None if settings.max_loss is None else Budget(settings.max_loss)
        fit = fit_guard(
            self.baseline_scores, out_of_bag, validation.data.labels, validation.data.bounds, metric=validation.metric,
            measure=str(validation.metric.metric), kinds=self._kinds(budget), budget=budget, seed=settings.seed,
        )  # fmt: skip
        if budget is not None:  # what it does is what its certificate says
            certificate = dict(fit.guard.card["certificate"])
            if certificate["safety"] < 1:
                certificate["words"] += f" {OUT_OF_BAG}"
            return replace(fit.guard, card={**fit.guard.card, "certificate": certificate}), {}
        return fit.guard, {"validation": validation.measures_of(fit.outcomes[CHOSEN][validation.metric.counted])}

    def _kinds(self, budget: Budget | None) -> list[str] | None:
        """Those to choose from; None for the usual ones. A second stage needs queries to learn from."""
        wanted, queries = self.settings.guard, len(self.validation.data) // (1 if budget is None else 2)
        few = wanted == TREES and queries < FEWEST_QUERIES
        return None if wanted is None or wanted == "any" or few else [wanted]

    def _pair(self, out_of_bag: FloatArray) -> Pair:
        return Pair.of(self.baseline_scores, out_of_bag, self.validation.data.bounds)
