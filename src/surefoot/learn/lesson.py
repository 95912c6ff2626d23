"""What a training is made of, for any engine: the objective, the data, who watches, where it is kept."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from surefoot.learn.boosting import RiskObjective
from surefoot.learn.checkpoint import Keeper
from surefoot.learn.data import RankingData
from surefoot.learn.early_stopping import Watch
from surefoot.learn.validation import Judge


@dataclass(eq=False)
class Lesson:
    """A training. The judge looks at the validation set after each iteration, the keeper keeps checkpoints."""

    objective: RiskObjective
    data: RankingData
    watch: Watch
    judge: Judge | None = None
    keeper: Keeper | None = None
    _model: Callable[[int], str] | None = None

    def resumed(self, random: bool) -> str | None:
        """The model of the last checkpoint, after taking up all else that it kept; None if there is none.

        A training that is random goes on where a stretch of iterations began: the model may have more trees.
        """
        kept = None if self.keeper is None else self.keeper.load()
        if kept is None:
            return None
        self.watch.resume(kept.history, random)
        self.objective.objective.state = kept.state
        return kept.model

    def keep(self, model: Callable[[int], str]) -> None:
        """Keep a checkpoint, if it is time; ``model`` gives the first trees, so many as asked for."""
        self._model = model
        if self.keeper is not None and self.keeper.due:
            self.keep_now()

    def keep_now(self) -> None:
        """Keep a checkpoint of the last iteration."""
        if self.keeper is not None and self._model is not None:
            self.keeper.save(self._model(self.watch.trees), self.watch.history, self.objective.objective.state)

    def training_figures(self) -> dict[str, float]:
        """Where the training queries stood before the last tree, in the training form of the metric."""
        objective = self.objective
        x = objective.x[objective.counted]
        figures = {"mean": float(x.mean())}
        if objective.baselines.size:
            d = x - objective.baselines[:, objective.counted].mean(axis=0)
            urisk = d + objective.objective.alpha * np.minimum(d, 0)
            figures |= {"urisk": float(urisk.mean()), "losses": int((d < 0).sum())}
        return figures
