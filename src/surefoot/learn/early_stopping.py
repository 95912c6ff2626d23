"""Watching a training: what each iteration brought, when to stop, what is left to do."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from surefoot.learn.validation import HIGHER

STRETCH = 50
"""Iterations between two points at which an engine's random numbers start afresh, so that one can go on there."""


@dataclass(frozen=True)
class Progress:
    """Where a training stands; ``figures`` are those of the validation queries, or of the training queries."""

    iteration: int
    rounds: int
    figures: Mapping[str, float]
    seconds_left: float


Report = Callable[[Progress], None]


@dataclass
class Watch:
    """The history of a training, and its early stopping on one figure.

    Training stops when ``patience`` iterations brought nothing better; the best iteration is the model.
    """

    rounds: int
    stop_on: str = "mean"
    patience: int | None = None
    report: Report | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    validated: bool = False
    finished: bool = False
    _started: float = field(default_factory=time.monotonic)
    _begun: int = 0

    def resume(self, history: list[dict[str, float]], random: bool = False) -> None:
        """Go on after these iterations; if it is random, after the last of them that ended a stretch."""
        self.history[:] = history
        self.finished = len(history) >= self.rounds or self._gave_up()
        if random and not self.finished:
            del self.history[len(history) - len(history) % STRETCH :]
        self._begun = len(self.history)

    def after(self, figures: Mapping[str, float], trees: int) -> bool:
        """Take note of an iteration and of the trees so far; returns whether to stop."""
        self.history.append({**figures, "trees": trees})
        if self.report is not None:
            self.report(Progress(len(self.history), self.rounds, figures, self._seconds_left()))
        self.finished = len(self.history) >= self.rounds or self._gave_up()
        return self.finished

    def _gave_up(self) -> bool:
        return self.patience is not None and len(self.history) - self.best_iteration >= self.patience

    @property
    def best_iteration(self) -> int:
        """The iteration with the best model; the last, if nothing was validated."""
        if not self.validated or not self.history:
            return len(self.history)
        sign = 1 if HIGHER[self.stop_on] else -1
        worth = [sign * figures[self.stop_on] for figures in self.history]
        worth = [-math.inf if math.isnan(value) else value for value in worth]
        return worth.index(max(worth)) + 1

    @property
    def trees(self) -> int:
        """The trees so far; LightGBM grows none in an iteration that finds nothing to split."""
        return int(self.history[-1]["trees"]) if self.history else 0

    @property
    def best_trees(self) -> int:
        """The trees of the best model."""
        return int(self.history[self.best_iteration - 1]["trees"]) if self.history else 0

    def _seconds_left(self) -> float:
        done = len(self.history) - self._begun
        return (time.monotonic() - self._started) / done * (self.rounds - len(self.history))
