"""The data of a trade-off (queries to train, validate and test on, with their baseline), and its models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from surefoot._typing import FloatArray, PathLike
from surefoot.errors import SurefootError, counted
from surefoot.learn.baseline import Baselines, Missing, baseline_for, baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings
from surefoot.learn.training import resolve_run
from surefoot.learn.validation import Progress, Validation
from surefoot.scores import Scores
from surefoot_lab.tradeoff.store import ModelStore


@dataclass(frozen=True, eq=False)
class DataSplit:
    """Training, validation and test queries with their baseline.

    Parameters
    ----------
    train, valid, test
        The queries; validation and test queries are optional.
    baseline
        What models are compared with, on all sets: anything that `surefoot.learn.baselines_of` takes.
    missing
        What happens to documents that a run lacks: ``error``, or ``last`` to rank them last.
    valid_baseline, test_baseline
        The baselines of these sets, where ``baseline`` is known only for the training queries, as a file of scores.

    Examples
    --------
    >>> data = RankingData.of([[1.0], [2.0]], [0, 1], ["a", "a"])
    >>> DataSplit(data, "feature:0").baselines(data).names
    ('feature:0',)

    """

    train: RankingData
    baseline: Any
    valid: RankingData | None = None
    test: RankingData | None = None
    missing: Missing = "error"
    valid_baseline: Any = None
    test_baseline: Any = None
    _baselines: dict[str, Baselines] = field(init=False, default_factory=dict, repr=False)

    @classmethod
    def read(
        cls,
        train: Sequence[PathLike],
        baseline: Any,
        valid: Sequence[PathLike] = (),
        test: Sequence[PathLike] = (),
        **more: Any,
    ) -> DataSplit:
        """Read the sets from LETOR files; all get as many features as the widest has. ``more`` are other fields."""
        from surefoot.learn.joining import same_features
        from surefoot.learn.letor import read_letor

        files = {"train": train, "valid": valid, "test": test}
        found = {name: read_letor(list(paths)) for name, paths in files.items() if paths}
        widened = dict(zip(found, same_features(list(found.values())), strict=True))
        return cls(widened["train"], baseline, widened.get("valid"), widened.get("test"), **more)

    def baselines(self, data: RankingData) -> Baselines:
        """The baselines on one of the sets, resolved once."""
        role = next(name for name in ("train", "valid", "test") if data is getattr(self, name))
        if role not in self._baselines:
            found = baselines_of(self._given(role), data, self.missing)
            if not found.names:
                raise SurefootError("risk and gain are against a baseline; name one, as feature:25")
            self._baselines[role] = found
        return self._baselines[role]

    def _given(self, role: str) -> Any:
        if role == "train":
            return self.baseline
        own, queries = (self.valid_baseline, "validation") if role == "valid" else (self.test_baseline, "test")
        return baseline_for(queries, own, self.baseline)

    def resolve(self, settings: Settings) -> Settings:
        """Settings with ERR's scale of grades, that of the training data, so that all sets are measured alike."""
        if settings.metric != "err" or settings.max_label is not None:
            return settings
        return replace(settings, max_label=int(self.train.labels.max(initial=0)))


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
