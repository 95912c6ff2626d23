"""The history of a training: the measures after each iteration, which was best, when to stop."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from surefoot.errors import SurefootError
from surefoot.learn.settings import Settings
from surefoot.learn.validation import Measures, Validation

RESEED_EVERY = 50
"""The RNG of an engine is reseeded after so many iterations, so that a resumed run equals an uninterrupted one."""

COMPLETE_EVERY = 50
"""After so many iterations all their measures are computed: values of the metric are kept for no more."""


Iteration = dict[str, float] | Measures


@dataclass(frozen=True)
class Progress:
    """How far a training is; ``measures`` are those of the validation queries, or else of the training queries."""

    iteration: int
    n_iterations: int
    measures: Mapping[str, float]
    seconds_left: float


Report = Callable[[Progress], None]


@dataclass
class History:
    """The measures after each iteration, and early stopping on one of them.

    Training stops when ``patience`` iterations brought nothing better; the best iteration is the model. Without
    validation (``stop_on`` is None) the last iteration is the best.
    """

    n_iterations: int
    stop_on: str | None = None
    patience: int | None = None
    report: Report | None = None
    iterations: list[Iteration] = field(default_factory=list)
    finished: bool = False
    higher_is_better: bool = True
    _started: float = field(default_factory=time.monotonic)
    _resumed: int = 0

    @classmethod
    def of(cls, settings: Settings, validation: Validation | None, report: Report | None = None) -> History:
        """An empty history of a training that stops as the settings say."""
        if validation is None:
            validate_stopping(settings, has_valid=False)
            return cls(settings.n_estimators, report=report)
        stop_on = validation.stop_on(settings.stop_on)
        higher = validation.higher_is_better(stop_on)
        return cls(settings.n_estimators, stop_on, settings.early_stopping_rounds, report, higher_is_better=higher)

    def resume(self, iterations: list[dict[str, float]], random: bool = False) -> None:
        """Go on after these iterations; if training is random, after the last at which the RNG was reseeded."""
        self.iterations[:] = iterations
        self.finished = len(iterations) >= self.n_iterations or self._gave_up()
        if random and not self.finished:
            del self.iterations[len(iterations) - len(iterations) % RESEED_EVERY :]
        self._resumed = len(self.iterations)

    def append(self, measures: dict[str, float] | Measures, trees: int | None = None) -> bool:
        """Record an iteration and the number of trees so far, if it has any; returns whether to stop."""
        last: Iteration = measures | ({} if trees is None else {"trees": trees})
        self.iterations.append(last)
        if len(self.iterations) % COMPLETE_EVERY == 0:
            self.complete()
        if self.report is not None:
            self.report(Progress(len(self.iterations), self.n_iterations, last, self._seconds_left()))
        self.finished = len(self.iterations) >= self.n_iterations or self._gave_up()
        return self.finished

    def complete(self) -> list[dict[str, float]]:
        """All iterations, with all their measures."""
        Measures.complete([one for one in self.iterations if isinstance(one, Measures)])
        whole = [dict(one) for one in self.iterations]
        self.iterations[:] = whole
        return whole

    def _gave_up(self) -> bool:
        return self.patience is not None and len(self.iterations) - self.best_iteration >= self.patience

    @property
    def best_iteration(self) -> int:
        """The iteration with the best model, counted from 1; the first of equal ones."""
        if self.stop_on is None or not self.iterations:
            return len(self.iterations)
        sign = 1 if self.higher_is_better else -1
        values = [sign * measures[self.stop_on] for measures in self.iterations]
        values = [-math.inf if math.isnan(value) else value for value in values]
        return values.index(max(values)) + 1

    @property
    def trees(self) -> int:
        """The trees so far; LightGBM grows none in an iteration that finds nothing to split."""
        return int(self.iterations[-1]["trees"]) if self.iterations else 0

    @property
    def best_trees(self) -> int:
        """The trees of the best model."""
        return int(self.iterations[self.best_iteration - 1]["trees"]) if self.iterations else 0

    def _seconds_left(self) -> float:
        done = len(self.iterations) - self._resumed
        return (time.monotonic() - self._started) / done * (self.n_iterations - len(self.iterations))


def validate_stopping(settings: Settings, has_valid: bool) -> None:
    """Early stopping, or keeping the best iteration, needs validation queries."""
    if not has_valid and (settings.early_stopping_rounds is not None or settings.stop_on is not None):
        raise SurefootError("early stopping, or keeping the best iteration, needs validation queries; give --valid")
