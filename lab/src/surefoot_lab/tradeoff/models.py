"""The models of a trade-off: trained on the same data one after the other, and scored against the same baseline."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from surefoot._typing import FloatArray, PathLike
from surefoot.errors import counted
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings
from surefoot.learn.training import ModelStore, resolve_run
from surefoot.learn.validation import Progress, Validation
from surefoot.scores import Scores
from surefoot_lab.tradeoff.data_split import DataSplit

History = list[dict[str, float]]
Report = Callable[[str, Progress], None]
"""Called with the name of the model in training, and its progress."""


@dataclass(frozen=True, eq=False)
class TrainedModel:
    """A model, and the measures of each iteration on the validation queries (or, without any, the training ones)."""

    model: Model
    history: History
    settings: Settings

    @property
    def n_trees(self) -> int:
        """How many trees the model has."""
        return int(self.model.card["trees"])


@dataclass(frozen=True, eq=False)
class Trainer:
    """Trains models that differ only in their settings, and keeps them in a folder if one is given."""

    split: DataSplit
    folder: PathLike | None = None
    report: Report | None = None

    def get(self, name: str, settings: Settings) -> TrainedModel:
        """The model of these settings, loaded from the folder if it is complete, else trained."""
        split, report = self.split, self.report
        valid = split.valid if settings.n_bags == 1 else None  # bags would train on them; here they choose a model
        run = resolve_run(
            split.train,
            split.baselines(split.train),
            settings,
            valid=valid,
            valid_baseline=None if valid is None else split.baselines(valid),
        )
        named = None if report is None else lambda progress: report(name, progress)
        trained = ModelStore(self.folder).get_or_train(run, name, named)
        return TrainedModel(trained.model, trained.history, settings)

    def rank(self, trained: TrainedModel, data: RankingData) -> FloatArray:
        """The scores of a model, which may be guarded by the baseline."""
        return trained.model.predict(data, baseline=self.split.baselines(data))

    def scores(self, models: Mapping[str, TrainedModel], data: RankingData) -> Scores:
        """The reported metric of each query: first the baseline, or the mean of several, then the models."""
        baselines, rows = self.split.baselines(data), []
        for name, trained in models.items():
            found = Validation.of(trained.settings, data, baselines).scores(name, self.rank(trained, data))
            rows.append(found.values[0])
        names = found.systems[1:]
        name = names[0] if len(names) == 1 else f"mean of {counted(len(names), 'baseline')}"
        return Scores(np.stack([found.values[1:].mean(axis=0), *rows]), [name, *models], found.topics, found.measure)


def at_alpha(settings: Settings, alpha: float) -> Settings:
    """The settings of the model at an alpha; at 0 those of LambdaMART, which optimises only the gain.

    Most objectives equal LambdaMART at alpha 0; georisk and smooth do not, and would be no reference.

    >>> at_alpha(Settings("georisk"), 2.0).objective, at_alpha(Settings("georisk"), 0.0).objective
    ('georisk', 'lambdamart')
    """
    if alpha:
        return replace(settings, alpha=float(alpha))
    return replace(settings, objective="lambdamart", alpha=0.0, objective_options={})
