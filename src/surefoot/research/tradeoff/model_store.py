"""One model after another on the same data; what a folder holds of an earlier call is not trained again."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from surefoot._version import __version__
from surefoot.errors import InputError, SurefootError, counted
from surefoot.io.atomic import write_text
from surefoot.learn.baseline import Baselines, Missing, baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import Progress
from surefoot.learn.models import CARD, Model, engine_of, load_model
from surefoot.learn.training import Settings, train
from surefoot.learn.validation import Judge
from surefoot.results import plain
from surefoot.scores import Scores

PLAN, HISTORY, CHECKPOINT = "plan.json", "history.csv", "checkpoint.json"

History = list[dict[str, float]]
Report = Callable[[str, Progress], None]
"""Told the name of the model in training, and how far it is."""


@dataclass(frozen=True, eq=False)
class Made:
    """A model, and what each iteration brought on the validation queries (or, without any, on the training ones)."""

    model: Model
    history: History

    @property
    def trees(self) -> int:
        """How many trees the model has."""
        return int(self.model.card["trees"])


@dataclass(eq=False)
class Workshop:
    """Trains models that differ in their settings alone, each in a folder of its own if there is one.

    ``baseline`` is anything that `surefoot.learn.baseline.baselines_of` takes, and must fit all sets of queries.
    """

    data: RankingData
    baseline: Any
    valid: RankingData | None = None
    missing: Missing = "error"
    folder: Path | None = None
    report: Report | None = None
    _known: dict[str, Baselines] = field(default_factory=dict)

    def baselines(self, data: RankingData) -> Baselines:
        """The baselines on a set of queries, found once."""
        if data.fingerprint not in self._known:
            found = baselines_of(self.baseline, data, self.missing)
            if not found.names:
                raise SurefootError("risk and gain are against a baseline; name one, as feature:25")
            self._known[data.fingerprint] = found
        return self._known[data.fingerprint]

    def settled(self, settings: Settings) -> Settings:
        """Settings that say the same of all sets of queries: the scale of ERR is that of the training data."""
        lambdas = settings.lambdas
        if lambdas.metric != "err" or lambdas.top is not None:
            return settings
        return replace(settings, lambdas=replace(lambdas, top=int(self.data.labels.max(initial=0))))

    def make(self, name: str, settings: Settings) -> Made:
        """The model of these settings: loaded if an earlier call finished it, else trained from where that got."""
        if self.folder is None:
            return self._train(name, settings)
        place, plan = self.folder / name, self._plan(settings)
        if (place / PLAN).exists():
            _refuse_another(place / PLAN, plan)
        if (place / CARD).exists():
            return Made(load_model(place), read_history(place / HISTORY))
        place.mkdir(parents=True, exist_ok=True)
        write_text(place / PLAN, json.dumps(plan, indent=2) + "\n")
        made = self._train(name, settings, place / CHECKPOINT)
        write_text(place / HISTORY, history_text(made.history))
        made.model.save(place)
        (place / CHECKPOINT).unlink(missing_ok=True)
        return made

    def compared(self, models: Mapping[str, tuple[Model, Settings]], data: RankingData) -> Scores:
        """The reported metric of each query: first the baseline, or the mean of several, then the models."""
        baselines, rows = self.baselines(data), []
        for name, (model, settings) in models.items():
            judge = Judge(data, settings.reported(), baselines, settings.alpha, empty=settings.lambdas.empty)
            found = judge.scores(name, model.predict(data))
            rows.append(found.values[0])
        several = len(baselines.names) > 1
        against = f"mean of {counted(len(baselines.names), 'baseline')}" if several else baselines.names[0]
        return Scores(np.stack([found.values[1:].mean(axis=0), *rows]), [against, *models], found.topics, found.measure)

    def _train(self, name: str, settings: Settings, checkpoint: Path | None = None) -> Made:
        valid, tell = self.valid, self.report
        trained = train(
            settings,
            self.data,
            self.baselines(self.data),
            valid,
            None if valid is None else self.baselines(valid),
            checkpoint=checkpoint,
            resume=checkpoint is not None and checkpoint.exists(),
            report=None if tell is None else lambda progress: tell(name, progress),
        )
        return Made(trained.model, trained.history)

    def _plan(self, settings: Settings) -> dict[str, Any]:
        """What must be the same for a model to be the one that is asked for."""
        engine_of(settings.engine)
        data, valid = self.data, self.valid
        plan = {
            **plain(asdict(replace(settings, threads=None))),
            "version": [__version__, str(import_module(settings.engine).__version__)],
            "training data": data.fingerprint,
            "baseline": self.baselines(data).fingerprint,
            "validation data": None if valid is None else valid.fingerprint,
            "validation baseline": None if valid is None else self.baselines(valid).fingerprint,
        }
        return dict(json.loads(json.dumps(plan)))


def at_alpha(settings: Settings, alpha: float) -> Settings:
    """The settings of the model at an alpha. At 0 it is LambdaMART, which sees the gain only, in validation too.

    Most objectives are LambdaMART there; georisk and smooth are not, and would not be a yardstick.

    >>> at_alpha(Settings("georisk"), 2.0).objective, at_alpha(Settings("georisk"), 0.0).objective
    ('georisk', 'lambdamart')
    """
    if alpha:
        return replace(settings, alpha=float(alpha))
    return replace(settings, objective="lambdamart", alpha=0.0, options={})


def _refuse_another(path: Path, plan: Mapping[str, Any]) -> None:
    try:
        kept = dict(json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError):
        raise InputError(path, "is not the plan of a training; remove the folder that it is in") from None
    other = [key for key in sorted({*plan, *kept}) if plan.get(key) != kept.get(key)]
    if other:
        raise InputError(path, f"belongs to a training with another {', '.join(other)}; name another folder")


def history_text(history: Sequence[Mapping[str, float]]) -> str:
    """A training's history as CSV, a row an iteration."""
    text = io.StringIO()
    names = list(history[0]) if history else []
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["iteration", *names])
    writer.writerows([iteration, *(figures[name] for name in names)] for iteration, figures in enumerate(history, 1))
    return text.getvalue()


def read_history(path: Path) -> History:
    """The history that `history_text` wrote."""
    try:
        rows = list(csv.DictReader(path.read_text("utf-8").splitlines()))
        return [{name: float(value) for name, value in row.items() if name != "iteration"} for row in rows]
    except FileNotFoundError:
        raise InputError(path, "is missing, so the trade-off is not complete; train it again") from None
    except (ValueError, TypeError):
        raise InputError(path, "is not the history of a training; remove the folder that it is in") from None
