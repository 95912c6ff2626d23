"""How many topics are needed to detect a risk of this size? T_Risk on many simulated collections."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.results import Result, signature
from surefoot.risk.distributions import beta_quantile, normal_cdf, normal_quantile, probit
from surefoot.risk.moments import CHUNK, Moments, WeightedMoments
from surefoot.risk.statistics import Comparison
from surefoot.risk.values import Linear, normalise_alphas
from surefoot.scores import VIRTUAL, Scores
from surefoot.stats.inference import LEVEL, POWER, critical_value
from surefoot.stats.simulator import TYPICAL_CORRELATION, Simulator

TOPICS = (25, 50, 100, 200, 400)
TRUTH_TOPICS = 400_000
ERROR_TOPICS = 20_000
FIT_ERROR = 0.1
"""The share of fitted simulators whose interval may miss the true power."""
BAR = 20
"""The number of characters of a bar."""


@dataclass(frozen=True, kw_only=True)
class Power(Result):
    """A row for each alpha and number of topics; ``needed`` is the number of topics that is enough for each alpha."""

    needed: dict[float, float | None]
    sequential: dict[str, float] | None = None

    def extra(self) -> dict[str, object]:
        """The number of topics with enough power for each alpha, for JSON; null where the largest number is too small.

        ``sequential`` has the items that a sequential gate needs, where that was computed.
        """
        needed = {f"{alpha:g}": topics for alpha, topics in self.needed.items()}
        return {"needed": needed, "wanted": POWER, "sequential": self.sequential}

    def with_bars(self) -> Power:
        """The same with the power drawn as bars."""
        bars = [bar(float(power)) for power in self.columns["power"]]
        return replace(self, columns={**self.columns, "curve": bars})


def power(
    simulator: Simulator,
    system: str,
    baseline: str,
    alpha: npt.ArrayLike = 1.0,
    topics: Sequence[int] = TOPICS,
    *,
    level: float = LEVEL,
    n_simulations: int = 2000,
    seed: int = 0,
) -> Power:
    """How often T_Risk detects a known risk, by the number of topics.

    The null hypothesis of T_Risk is E[v(d)] = 0.

    Parameters
    ----------
    simulator
        Draws collections, with the truth planted or fitted; see `fitted_pair` and `planted_pair`.
    system, baseline
        Two systems of the simulator.
    alpha
        The additional weight of losses; one or several.
    topics
        Numbers of topics.
    level
        The significance level, two-sided.
    n_simulations, seed
        The number of simulated collections, and the random seed.

    Returns
    -------
    Power
        Columns ``alpha, topics, urisk`` (the truth, from a very large collection), ``power`` (how often T_Risk is
        beyond its two-sided critical value, on the side of the truth) with its interval ``power_low`` to
        ``power_high`` (95 % over simulations; for a fitted simulator also 90 % over samples of as many topics as it was
        fitted to), ``no_effect`` (the same for two exchangeable systems) and ``power_mean`` (how often the
        paired t test finds the difference of means, on the side of the truth).

    Examples
    --------
    >>> planted = Simulator.standard(["old", "new"]).change("new", amount=-0.2, fraction=0.3)
    >>> result = power(planted, "new", "old", alpha=0, topics=[50, 200], n_simulations=400)
    >>> [round(row["power"], 2) for row in result.rows()]
    [0.13, 0.32]

    """
    alphas = normalise_alphas(alpha)
    sizes = _validate(topics, n_simulations)
    pair, null = (_Pair(made, system, baseline) for made in (simulator, simulator.null(system, baseline)))
    truth = pair.moments([0.0, *alphas], TRUTH_TOPICS, 1, seed).mean[:, 0]
    found = [pair.t([0.0, *alphas], size, n_simulations, seed) for size in sizes]
    chance = [null.t(alphas, size, n_simulations, seed) for size in sizes]
    rates = np.stack([_beyond(t, truth, size, level) for t, size in zip(found, sizes, strict=True)], axis=1)
    none = np.stack([_beyond(t, truth[1:], size, level) for t, size in zip(chance, sizes, strict=True)], axis=1)
    low, high = binomial_interval(rates[1:] * n_simulations, n_simulations)
    if simulator.fitted is not None:
        reach = normal_quantile(1 - FIT_ERROR / 2) * np.sqrt(sizes) * pair.effect_errors(alphas, simulator.fitted, seed)
        low, high = _shifted(low, -reach), _shifted(high, reach)
    columns = {
        "alpha": np.repeat(alphas, len(sizes)),
        "topics": np.tile(sizes, len(alphas)),
        "urisk": np.repeat(truth[1:], len(sizes)),
        "power": rates[1:].ravel(),
        "power_low": low.ravel(),
        "power_high": high.ravel(),
        "no_effect": none.ravel(),
        "power_mean": np.tile(rates[0], len(alphas)),
    }
    needed = {float(alpha): topics_needed(sizes, row) for alpha, row in zip(alphas, rates[1:], strict=True)}
    stated = signature(
        "power",
        measure=simulator.measure,
        system=system,
        baseline=baseline,
        alpha=alphas.tolist(),
        change=[f"{change.amount:g}:{change.fraction:g}" for change in simulator.changes] or None,
        level=level,
        n_simulations=n_simulations,
        seed=seed,
    )
    notes = (f"simulated: {simulator.source}", *_sentences(truth[1:], sizes, needed, none, level))
    return Power(signature=stated, columns=columns, notes=notes, needed=needed)


def fitted_pair(scores: Scores, system: str, baseline: str) -> Simulator:
    """A system and its baseline as they were measured: a simulator fitted to their scores.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure.
    system, baseline
        The system, and a system or MEAN, MEDIAN or MAX of each topic to compare it with.

    Returns
    -------
    Simulator
        Draws collections of the two.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.6], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"])
    >>> fitted_pair(scores, "new", "old").systems
    ('new', 'old')

    """
    if system == baseline:
        raise SurefootError(f"{system} is its own baseline, so there is no risk to see; name another")
    name = f"{baseline} of all" if baseline in VIRTUAL else baseline
    values = np.stack([scores[system], scores.baseline(baseline)])
    return Simulator.fit(Scores(values, [system, name], scores.topics, scores.measure))


def planted_pair(loss: float, fraction: float = 1.0, scores: Scores | None = None, baseline: str = "") -> Simulator:
    """A baseline, and a copy that is exchangeable with it except for a planted loss on a fraction of the topics.

    The margin of the baseline is built in, or that of a measured baseline. In the second case the two correlate as that
    baseline does with the other systems on average.

    Parameters
    ----------
    loss
        How much the copy loses on the topics that change.
    fraction
        The fraction of topics that change.
    scores, baseline
        Scores with the baseline to imitate; built-in margins without.

    Returns
    -------
    Simulator
        Draws collections of the copy and the baseline.

    Examples
    --------
    >>> planted_pair(loss=0.2, fraction=0.1).systems
    ('copy', 'baseline')

    """
    if scores is None:
        pair = Simulator.standard(["copy", "baseline"])
    else:
        if baseline in VIRTUAL:
            name, row = f"{baseline} of all", scores.baseline(baseline)
            scores = Scores.concat([scores, Scores([row], [name], scores.topics, scores.measure)])
            baseline = name
        names = [*(name for name in scores.systems if name != baseline), baseline]
        fitted = Simulator.fit(scores.select(names))
        correlation = fitted.correlation[-1, :-1].mean() if len(names) > 1 else TYPICAL_CORRELATION
        pair = Simulator.standard([f"copy of {baseline}", baseline], fitted.margins[-1], float(correlation))
        pair = replace(pair, measure=fitted.measure, scale=fitted.scale, source=fitted.source)
    return pair.change(pair.systems[0], -loss, fraction)


class _Pair:
    """Simulated score differences of a system and its baseline."""

    def __init__(self, simulator: Simulator, system: str, baseline: str) -> None:
        self._simulator = simulator
        self._rows = [simulator.systems.index(system), simulator.systems.index(baseline)]

    def moments(self, alphas: npt.ArrayLike, topics: int, collections: int, seed: int) -> Moments | WeightedMoments:
        """The moments of the values on each collection, alphas × collections."""
        drawn = self._simulator.values(topics * collections, seed)[self._rows]
        system, baseline = drawn.reshape(2, collections, topics)
        return Comparison.of(system, baseline).at(np.asarray(alphas, dtype=np.float64))

    def t(self, alphas: npt.ArrayLike, topics: int, collections: int, seed: int) -> FloatArray:
        """T_Risk on each collection, alphas × collections, some collections at a time."""
        at_once = max(1, CHUNK // topics)
        parts = [
            self.moments(alphas, topics, min(at_once, collections - start), seed + 1 + number).t
            for number, start in enumerate(range(0, collections, at_once))
        ]
        return np.concatenate(parts, axis=-1)

    def effect_errors(self, alphas: FloatArray, topics: int, seed: int) -> FloatArray:
        """The standard error of the ratio of mean to spread of the values on ``topics`` topics, alphas × 1.

        It follows from the influence function z - d (z² - 1) / 2, d the ratio and z a standardised value.
        """
        own, base = self._simulator.values(ERROR_TOPICS, seed)[self._rows]
        errors = []
        for alpha in alphas:
            x = Linear(float(alpha))(own - base)
            spread = max(float(x.std()), 1e-12)
            z = (x - x.mean()) / spread
            errors.append(float(np.std(z - x.mean() / spread * (z**2 - 1) / 2)))
        return np.asarray(np.array(errors)[:, np.newaxis] / np.sqrt(topics))


def _shifted(power: FloatArray, reach: FloatArray) -> FloatArray:
    """Powers whose normal quantiles are shifted; 0 and 1 stay."""
    inner = np.clip(power, 1e-12, 1 - 1e-12)
    moved = normal_cdf(np.vectorize(normal_quantile)(inner) + reach)
    return np.where(power == inner, moved, power)


def _beyond(t: FloatArray, truth: FloatArray, topics: int, level: float) -> FloatArray:
    """The fraction of collections on which T is significant on the side of the truth."""
    side = np.where(truth < 0, -1.0, 1.0)[:, np.newaxis]
    return np.asarray(np.mean(side * t > critical_value(topics, level), axis=-1))


def binomial_interval(count: npt.ArrayLike, n: int) -> tuple[FloatArray, FloatArray]:
    """The 95 % interval of a rate by a count out of n (Clopper and Pearson 1934).

    >>> low, high = binomial_interval(0, 10)
    >>> float(low), round(float(high), 3)
    (0.0, 0.308)
    """
    k = np.asarray(count, dtype=np.float64)
    low = np.where(k > 0, beta_quantile(LEVEL / 2, np.maximum(k, 1), n - k + 1), 0.0)
    high = np.where(k < n, beta_quantile(1 - LEVEL / 2, k + 1, np.maximum(n - k, 1)), 1.0)
    return low, high


def topics_needed(topics: Sequence[int], rates: npt.ArrayLike) -> float | None:
    """The number of topics at which the power reaches `POWER`; None if the largest does not.

    Between two numbers of topics the normal quantile of the power is interpolated linearly in the square root of the
    number, as for a normal mean. If the smallest is enough, it is the answer.

    >>> topics_needed([50, 100, 200], [0.4, 0.7, 0.9])
    138.0
    """
    power = np.maximum.accumulate(np.asarray(rates, dtype=np.float64))
    enough = np.flatnonzero(power >= POWER)
    if not enough.size:
        return None
    first = int(enough[0])
    if first == 0:
        return float(topics[0])
    quantile = probit(np.clip(power[[first - 1, first]], 1e-4, 1 - 1e-4))
    root = np.interp(normal_quantile(POWER), quantile, np.sqrt([topics[first - 1], topics[first]]))
    return float(np.ceil(root**2 - 1e-9))


def bar(fraction: float) -> str:
    """A fraction as a bar.

    >>> bar(0.5)
    '██████████··········'
    """
    filled = round(fraction * BAR)
    return "█" * filled + "·" * (BAR - filled)


def _validate(topics: Sequence[int], n_simulations: int) -> list[int]:
    sizes = sorted({int(size) for size in topics})
    if not sizes or sizes[0] < 2:
        raise SurefootError("the power needs numbers of topics of 2 or more")
    if n_simulations < 1:
        raise SurefootError(f"n_simulations must be at least 1; got {n_simulations}")
    return sizes


def _sentences(
    truth: FloatArray, sizes: Sequence[int], needed: dict[float, float | None], none: FloatArray, level: float
) -> list[str]:
    """The table in sentences."""
    sentences = [
        "the null hypothesis of T_Risk is that v(d) is 0 on average: the gains pay for 1 + alpha times the losses"
    ]
    for (alpha, enough), urisk, chance in zip(needed.items(), truth, none, strict=True):
        seen = f"alpha {alpha:g}: a U_Risk of {urisk:.4f} is seen with power {POWER:g}"
        if enough is None:
            sentences.append(f"{seen} only on more than {sizes[-1]} topics")
        else:
            sentences.append(f"{seen} on {enough:.0f} topics{' or fewer' if enough == sizes[0] else ''}")
        if chance.max() > 2 * level:
            sentences.append(
                f"alpha {alpha:g}: two exchangeable systems would give as significant a T_Risk on up to "
                f"{100 * chance.max():.0f} % of the collections; power_mean is how often the means differ significantly"
            )
    return sentences
