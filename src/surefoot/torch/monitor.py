"""The risk of a model on validation queries while it learns."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from torch import Tensor

from surefoot.learn.data import RankingData
from surefoot.learn.settings import Settings
from surefoot.learn.validation import History, Validation
from surefoot.scores import Scores
from surefoot.torch.loss import Lists


class RiskMonitor:
    """Measures the rankings of validation queries after each epoch, and decides which was best and when to stop.

    Parameters
    ----------
    labels, baseline_scores, mask, groups
        The validation queries, as `RiskLoss` takes them.
    objective : str
        The objective of the training; by default its own measure decides.
    alpha : float
        The risk sensitivity.
    stop_on : str, optional
        Another measure that decides: ``mean``, ``urisk``, ``trisk``, ``georisk``, ``frisk``, ``losses``, ...
    patience : int, optional
        Stop after this number of epochs without a better one.
    **settings
        Further fields of `surefoot.learn.Settings`: ``cutoff``, ``metric``, ``empty``, ...

    Examples
    --------
    >>> import torch
    >>> labels, baseline = torch.tensor([[1, 0, 0], [0, 2, 1]]), torch.tensor([[3.0, 2, 1], [1, 2, 3]])
    >>> monitor = RiskMonitor(labels, baseline, alpha=2, patience=1)
    >>> monitor(torch.tensor([[0.9, 0.5, 0.1], [0.2, 0.8, 0.5]]))["losses"], monitor.is_best
    (0, True)
    >>> monitor(torch.tensor([[0.1, 0.5, 0.9], [0.2, 0.8, 0.5]]))["losses"], monitor.is_best, monitor.should_stop
    (1, False, True)
    """

    def __init__(
        self,
        labels: Tensor,
        baseline_scores: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        groups: Sequence[int] | Tensor | None = None,
        objective: str = "ucro",
        alpha: float = 1.0,
        stop_on: str | None = None,
        patience: int | None = None,
        **settings: Any,
    ) -> None:
        self.lists = Lists.of(labels, mask, groups)
        data = RankingData.of_labels(self.lists.labels(labels), self.lists.bounds)
        baselines = self.lists.baselines(baseline_scores)
        self.validation = Validation.of(Settings(objective, alpha, **settings), data, baselines)
        self.stop_on = self.validation.stop_on(stop_on)
        higher = self.validation.higher_is_better(self.stop_on)
        self._watched = History(sys.maxsize, self.stop_on, patience, higher_is_better=higher)

    def __call__(self, scores: Tensor) -> dict[str, float]:
        """Measure the rankings by these scores: the mean of the metric, U_Risk, F_Risk, losses and more."""
        measures = self.validation(self.lists.numbers(scores))
        self._watched.append(measures)
        return measures

    def scores(self, scores: Tensor, name: str = "model") -> Scores:
        """The model beside its baselines, query by query, for `surefoot.evaluate` and other analyses."""
        return self.validation.scores(name, self.lists.numbers(scores))

    @property
    def history(self) -> list[dict[str, float]]:
        """The measures of each call."""
        return self._watched.complete()

    @property
    def best(self) -> int:
        """The best call so far, counted from 0; the first of equal ones."""
        return self._watched.best_iteration - 1

    @property
    def is_best(self) -> bool:
        """Whether the last call was the best so far, so that the model should be saved."""
        return self.best == len(self.history) - 1

    @property
    def should_stop(self) -> bool:
        """Whether the last ``patience`` calls were not better."""
        return self._watched.finished
