"""Risk measures as values, and the registry of them.

A measure declares its name, its label, what it needs, whether higher is better, and how it is computed from a
statistic. Columns of `evaluate`, intervals, tests, highlights, plots, streaming and early stopping all read the
registry, so adding a measure is one line::

    register(Risk("lost", needs="baseline", higher_is_better=False, compute=lambda c, alpha: c.losses.n / c.topics))
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache, partial
from typing import Any, Literal

import numpy as np

from surefoot._typing import Columns, FloatArray
from surefoot.errors import SurefootError, did_you_mean
from surefoot.risk.moments import Correlation, Statistic, Tail
from surefoot.risk.statistics import Comparison, Expectation, Mean

Needs = Literal["baseline", "population"] | None
GMEAN_FLOOR = 1e-5
_STATISTICS: dict[Needs, Callable[..., Statistic]] = {
    None: Mean.of,
    "baseline": Comparison.of,
    "population": Expectation.of,
}
_RESERVED = ("measure", "system", "baseline", "alpha", "signature")


@dataclass(frozen=True)
class Risk:
    """A risk measure.

    Parameters
    ----------
    name
        The name of its column and in ``measures=``, ``stop_on=`` and the like.
    label
        Its name in tables and plots; ``X_Word`` is printed with a subscript. The name, if empty.
    needs
        ``"baseline"``: it compares a system with its baseline, by a `Comparison`. ``"population"``: it compares a
        system with all others, by an `Expectation`. None: the system's own scores are enough, by a `Mean`.
    higher_is_better
        Decides the best value of a column and the direction of early stopping; None for neither.
    compute
        The value from the statistic and an array of alphas. The axis of alphas leads, then the axes of the statistic;
        a measure that does not depend on alpha may leave its axis out.
    statistic
        Makes a statistic other than the usual one from the same arguments.
    uses_alpha
        Whether the value depends on alpha.
    reference
        The value without a change, drawn as a line in plots.
    is_count
        Whether the value is a number of topics.
    in_evaluate
        Whether `surefoot.evaluate` shows it by default.
    has_interval
        Whether ``evaluate(..., ci=...)`` adds its interval.
    usual
        Whether analyses that take a list of measures, such as intervals and rank agreement, take it by default.
    in_training
        Whether training reports it for validation queries.
    error
        Its standard error from the same arguments as ``compute``, where one is known: intervals are studentised by it.

    Examples
    --------
    >>> lost = Risk("lost", needs="baseline", higher_is_better=False, compute=lambda c, alpha: c.losses.n / c.topics)
    >>> float(lost.compute(Comparison.of(np.array([0.2, 0.5]), np.array([0.4, 0.1])), np.array(1.0)))
    0.5

    """

    name: str
    label: str = ""
    _: KW_ONLY
    needs: Needs
    higher_is_better: bool | None = True
    compute: Callable[[Any, FloatArray], FloatArray]
    statistic: Callable[..., Statistic] | None = None
    uses_alpha: bool = True
    reference: float | None = None
    is_count: bool = False
    in_evaluate: bool = True
    has_interval: bool = True
    usual: bool = True
    in_training: bool = True
    error: Callable[[Any, FloatArray], FloatArray] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.label or self.name)

    @property
    def math_label(self) -> str:
        r"""The label in the mathematics of LaTeX and of plots.

        >>> URISK.math_label, GEORISK.math_label
        ('$U_{\\mathrm{Risk}}$', 'GeoRisk')
        """
        letter, _, word = self.label.partition("_")
        return rf"${letter}_{{\mathrm{{{word}}}}}$" if len(letter) == 1 and word.isalpha() else self.label

    @property
    def source(self) -> Callable[..., Statistic]:
        """The function that makes its statistic."""
        return _STATISTICS[self.needs] if self.statistic is None else self.statistic

    @property
    def is_additive(self) -> bool:
        """Whether its statistic can be added up over chunks of topics."""
        return self.statistic is None


def sources(measures: Iterable[Risk]) -> dict[Callable[..., Statistic], Risk]:
    """The distinct statistics that measures need, each with a measure that needs it."""
    return {measure.source: measure for measure in measures}


def compute_all(
    measures: Iterable[Risk], statistics: Mapping[Callable[..., Statistic], Statistic | None], alphas: FloatArray
) -> Columns:
    """The values of measures by name, from their statistics; NaN where a statistic is None."""
    return {
        measure.name: np.array(np.nan)
        if (statistic := statistics[measure.source]) is None
        else measure.compute(statistic, alphas)
        for measure in measures
    }


_of_baseline, _of_population = partial(Risk, needs="baseline"), partial(Risk, needs="population")
_AVERAGE: dict[str, Any] = {"uses_alpha": False, "has_interval": False}
_PART: dict[str, Any] = {**_AVERAGE, "usual": False}
_COUNT: dict[str, Any] = {**_PART, "is_count": True}
_TEST: dict[str, Any] = {"higher_is_better": None, "has_interval": False, "usual": False, "in_training": False}
_EXTRA: dict[str, Any] = {"higher_is_better": None, "in_evaluate": False}

MEAN = Risk("mean", needs=None, compute=lambda mean, _: mean.value, **_AVERAGE)
GMEAN = Risk(
    "gmean",
    "geometric mean",
    needs=None,
    statistic=lambda system, weights=None: Mean.of(np.log(np.maximum(system, GMEAN_FLOOR)), weights),
    compute=lambda logs, _: np.exp(logs.value),
    in_evaluate=False,
    **_AVERAGE,
)
URISK = _of_baseline(
    "urisk", "U_Risk", compute=lambda c, alpha: c.at(alpha).mean, error=lambda c, alpha: c.at(alpha).se, reference=0.0
)
FRISK = _of_baseline("frisk", "F_Risk", compute=lambda c, _: c.frisk, higher_is_better=False, **_PART)
FREWARD = _of_baseline("freward", "F_Reward", compute=lambda c, _: c.freward, **_PART)
TRISK = _of_baseline("trisk", "T_Risk", compute=lambda c, alpha: c.at(alpha).t, reference=0.0)
SE = _of_baseline("se", compute=lambda c, alpha: c.at(alpha).se, **_TEST)
P = _of_baseline("p", compute=lambda c, alpha: c.at(alpha).p, **_TEST)
ZRISK = _of_population("zrisk", "Z_Risk", compute=lambda e, alpha: e.zrisk(alpha), reference=0.0, in_training=False)
GEORISK = _of_population("georisk", "GeoRisk", compute=lambda e, alpha: e.georisk(e.zrisk(alpha)))
WINS = _of_baseline("wins", compute=lambda c, _: c.wins, in_training=False, **_COUNT)
LOSSES = _of_baseline("losses", compute=lambda c, _: c.losses.n, higher_is_better=False, **_COUNT)
TIES = _of_baseline("ties", compute=lambda c, _: c.ties, higher_is_better=None, in_training=False, **_COUNT)
LOSS20 = _of_baseline("loss20", compute=lambda c, _: c.loss20, higher_is_better=False, **_COUNT)

EFFECT = _of_baseline(
    "effect",
    "T_Risk / √c",
    compute=lambda c, alpha: c.at(alpha).t / np.sqrt(c.topics),
    reference=0.0,
    in_evaluate=False,
)
ROBUSTNESS = _of_baseline(
    "robustness",
    "robustness index",
    compute=lambda c, _: (c.wins - c.losses.n) / c.topics,
    uses_alpha=False,
    reference=0.0,
    in_evaluate=False,
)
"""Wins minus losses, as a share of the topics (Collins-Thompson, 2009; Sakai, Manabe and Koyama, 2005)."""

CORRELATION = _of_baseline(
    "correlation",
    "correlation with the baseline",
    statistic=Correlation.of,
    compute=lambda found, _: found.value,
    uses_alpha=False,
    reference=0.0,
    **_EXTRA,
)
GEOMINUS_PUBLISHED = _of_population(
    "geominus_published", "Geo− as printed", compute=lambda e, alpha: -e.georisk(-e.zrisk(alpha)), **_EXTRA
)


def _negative(name: str, measure: Risk) -> Risk:
    """The form of ECIR 2020, in which lower is better."""

    def compute(statistic: Any, alpha: FloatArray) -> FloatArray:
        return -measure.compute(statistic, alpha)

    return Risk(name, needs=measure.needs, compute=compute, **_EXTRA)


MINUS = (
    _negative("uminus", URISK),
    _negative("tminus", TRISK),
    _negative("zminus", ZRISK),
    _negative("geominus", GEORISK),
    GEOMINUS_PUBLISHED,
)
"""The forms of Benham, Moffat and Culpepper (ECIR 2020)."""


@lru_cache
def tail_risk(fraction: float) -> Risk:
    """Tail risk at a fraction of the topics, see `surefoot.risk.tail`.

    >>> tail_risk(0.1).name
    'tail_0.1'
    """
    validate_fraction(fraction)
    return _of_baseline(
        f"tail_{fraction:g}",
        f"tail risk, worst {100 * fraction:g} %",
        statistic=lambda system, baseline, weights=None, values=None: Tail.of(system, baseline, weights, fraction),
        compute=lambda tail, _: tail.value,
        error=lambda tail, _: tail.se,
        uses_alpha=False,
        reference=0.0,
        in_evaluate=False,
    )


def validate_fraction(fraction: float) -> float:
    """Return the fraction of topics in a tail if it is valid, else raise."""
    if not 0 < fraction <= 1:
        raise SurefootError(f"the tail's fraction must lie above 0 and be at most 1; got {fraction:g}")
    return fraction


_STANDARD = (MEAN, URISK, FRISK, FREWARD, TRISK, SE, P, ZRISK, GEORISK, WINS, LOSSES, TIES, LOSS20)
"""The columns of `surefoot.evaluate`, in their order."""

_BUILT_IN = {measure.name: measure for measure in (*_STANDARD, GMEAN, EFFECT, ROBUSTNESS, CORRELATION, *MINUS)}
_REGISTRY: dict[str, Risk] = dict(_BUILT_IN)


def register(measure: Risk) -> Risk:
    """Make a measure known to `evaluate`, intervals, plots, streaming and early stopping.

    Parameters
    ----------
    measure
        The measure. One of the same name that was registered before is replaced; the built-in ones cannot be.

    Returns
    -------
    Risk
        The measure itself.

    Examples
    --------
    >>> lost = Risk("lost", needs="baseline", higher_is_better=False, compute=lambda c, alpha: c.losses.n / c.topics)
    >>> register(lost).name
    'lost'
    >>> unregister("lost")

    """
    if measure.name in _BUILT_IN or measure.name in _RESERVED or measure.name.startswith(("tail_", "p_")):
        raise SurefootError(f"the name {measure.name!r} is taken; choose another for the measure")
    _REGISTRY[measure.name] = measure
    return measure


def unregister(name: str) -> None:
    """Forget a measure that was registered.

    Parameters
    ----------
    name
        The name of the measure.

    Examples
    --------
    >>> unregister("no such measure")

    """
    if name not in _BUILT_IN:
        _REGISTRY.pop(name, None)


def registered() -> tuple[Risk, ...]:
    """All measures by name, the built-in ones first."""
    return tuple(_REGISTRY.values())


def added() -> tuple[Risk, ...]:
    """The measures that were registered beside the built-in ones."""
    return tuple(measure for name, measure in _REGISTRY.items() if name not in _BUILT_IN)


def evaluated(has_baseline: bool) -> tuple[Risk, ...]:
    """The measures that `surefoot.evaluate` shows by default, with or without a baseline."""
    return tuple(
        measure for measure in (*_STANDARD, *added())
        if measure.in_evaluate and (has_baseline or measure.needs != "baseline")
    )  # fmt: skip


def usual(has_baseline: bool) -> tuple[Risk, ...]:
    """The measures that analyses take by default, with or without a baseline.

    >>> [measure.name for measure in usual(has_baseline=True)]
    ['mean', 'urisk', 'trisk', 'zrisk', 'georisk']
    """
    return tuple(measure for measure in evaluated(has_baseline) if measure.usual)


def monitored() -> tuple[Risk, ...]:
    """The measures that training reports.

    >>> [measure.name for measure in monitored()]
    ['mean', 'urisk', 'frisk', 'freward', 'trisk', 'georisk', 'losses', 'loss20']
    """
    return tuple(measure for measure in (*_STANDARD, *added()) if measure.in_training)


def get_risk(measure: str | Risk) -> Risk:
    """A measure by name: a registered one, or ``tail_FRACTION`` such as ``tail_0.1``.

    Parameters
    ----------
    measure
        A name; a `Risk` is returned as it is.

    Returns
    -------
    Risk
        The measure.

    Examples
    --------
    >>> get_risk("urisk").label, get_risk("tail_0.05").label
    ('U_Risk', 'tail risk, worst 5 %')

    """
    if isinstance(measure, Risk):
        return measure
    if measure in _REGISTRY:
        return _REGISTRY[measure]
    prefix, _, fraction = measure.partition("_")
    if prefix == "tail":
        try:
            return tail_risk(float(fraction))
        except ValueError:
            pass
    hint = did_you_mean(measure, _REGISTRY)
    raise SurefootError(
        f"no measure {measure!r}{hint}; there are {', '.join(_REGISTRY)} and tail_FRACTION such as tail_0.1"
    )
