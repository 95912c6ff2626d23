"""Student's t inference over topics, topic by topic, the jackknife, and corrections for many tests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sized
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, Progress
from surefoot.errors import SurefootError, choose
from surefoot.risk.distributions import student_quantile
from surefoot.risk.moments import CHUNK, Moments, WeightedMoments
from surefoot.risk.statistics import paired, rounding, value_moments
from surefoot.risk.values import Family, Linear

LEVEL = 0.05
"""The significance level used throughout, two-sided."""

POWER = 0.8
"""The power that is asked for throughout."""

ROUNDING = 1e-9
"""The rounding error that a p value may have above 1."""

ALTERNATIVES = ("two-sided", "worse")
"""The alternative hypotheses of tests: the system differs, or it is worse."""


@dataclass(frozen=True)
class TInference:
    """U_Risk with its standard error, T_Risk, two-sided p, and the interval of U_Risk at the level."""

    urisk: FloatArray
    se: FloatArray
    trisk: FloatArray
    p: FloatArray
    df: int
    critical: float
    low: FloatArray
    high: FloatArray


def t_inference(
    system: npt.ArrayLike,
    baseline: npt.ArrayLike,
    alpha: npt.ArrayLike = 1.0,
    value: Family = Linear,
    level: float = LEVEL,
) -> TInference:
    """Is U_Risk different from 0? Student's t with c - 1 degrees of freedom (SIGIR 2014).

    The null hypothesis is E[v(d)] = 0. At alpha = 0 it says that the means are equal; at alpha > 0, that the gains make
    up for the losses *times* 1 + alpha, which symmetric differences do not. So a significantly negative T_Risk at
    alpha = 5 says that the gains do not pay for the risk at that exchange rate, not that the system is worse.

    Parameters
    ----------
    system, baseline
        Scores on the same topics, one system or several.
    alpha
        The additional weight of losses; one or several.
    value
        The family of value functions.
    level
        The significance level of the interval, two-sided.

    Returns
    -------
    TInference
        U_Risk, its standard error and interval, T_Risk and p.

    Examples
    --------
    >>> float(t_inference([0.2, 0.5, 0.3], [0.4, 0.1, 0.2], alpha=0).p.round(3))
    0.622

    """
    return t_inference_of(value_moments(system, baseline, alpha, value), level)


def t_inference_of(moments: Moments | WeightedMoments, level: float = LEVEL) -> TInference:
    """The t inference of values whose moments are known."""
    topics = int(np.max(moments.n))
    mean, se, t, critical = moments.mean, moments.se, moments.t, critical_value(topics, level)
    reach = np.where(np.isnan(t), np.nan, critical * se)
    return TInference(mean[()], se[()], t[()], moments.p[()], topics - 1, critical, mean - reach, mean + reach)


def critical_value(topics: int, level: float = LEVEL) -> float:
    """t(level / 2, c - 1): beyond it T_Risk is significant. The papers round it to 2. NaN for one topic.

    >>> round(critical_value(50), 4)
    2.0096
    """
    return student_quantile(validate_level(level), topics - 1) if topics > 1 else float("nan")


def validate_level(level: float) -> float:
    """Return a significance level if it is above 0 and at most 0.5, else raise: 0.95 would give intervals of 5 %.

    >>> validate_level(0.05)
    0.05
    """
    if not 0 < level <= 0.5:
        hint = f"; for intervals of {100 * level:g} % give {1 - level:g}" if 0.5 < level < 1 else ""
        raise SurefootError(f"the significance level must be above 0 and at most 0.5; got {level:g}{hint}")
    return level


def differences(system: npt.ArrayLike, baseline: npt.ArrayLike) -> FloatArray:
    """The difference of each topic, if both have scores on the same topics."""
    return np.asarray(np.subtract(*paired(system, baseline)))


@dataclass(frozen=True)
class TopicInference:
    """Per topic: the value x = v(d), T_R and T_J."""

    x: FloatArray
    tr: FloatArray
    tj: FloatArray


def topic_inference(
    system: npt.ArrayLike, baseline: npt.ArrayLike, alpha: float = 1.0, value: Family = Linear
) -> TopicInference:
    """Which topics carry the risk? T_R = x_q / s_x and T_J = sqrt(c / (c - 1)) (x_q - mean x) / s_x.

    T_J has the sign that the plot and the text of SIGIR 2014 use; its eq. 23 as printed has the opposite one. NaN
    where all x are equal.

    Parameters
    ----------
    system, baseline
        Scores of one system and one baseline on the same topics.
    alpha
        The additional weight of losses.
    value
        The family of value functions.

    Returns
    -------
    TopicInference
        The value, T_R and T_J of each topic.

    Examples
    --------
    >>> topic_inference([0.2, 0.5, 0.3], [0.4, 0.1, 0.3], alpha=0).tj.round(3)
    array([-1.069,  1.336, -0.267])

    """
    own, base = np.asarray(system, dtype=np.float64), np.asarray(baseline, dtype=np.float64)
    if own.ndim != 1 or own.shape != base.shape:
        raise SurefootError(f"one system and one baseline on the same topics are needed; got {own.shape}, {base.shape}")
    x = value(alpha)(own - base)
    moments = Moments.of(x, noise=(1 + alpha) * rounding(own, base))
    spread = moments.sd if moments.sd > 0 else np.nan
    topics = x.shape[-1]
    return TopicInference(x, x / spread, np.sqrt(topics / max(topics - 1, 1)) * (x - moments.mean) / spread)


@dataclass(frozen=True)
class Jackknife:
    """A statistic with each topic left out in turn. Topics lead ``leave_one_out`` and ``pseudo_values``."""

    estimate: FloatArray
    leave_one_out: FloatArray
    bias: FloatArray
    bias_reduced: FloatArray
    pseudo_values: FloatArray
    se: FloatArray


def jackknife(statistic: Callable[[FloatArray], FloatArray], sample: npt.ArrayLike) -> Jackknife:
    """The jackknife of any statistic of a sample whose last axis are the topics.

    For U_Risk the standard error is s_x / sqrt(c) exactly. Quenouille 1956, Tukey 1958; SIGIR 2014 section 4.2.

    Parameters
    ----------
    statistic
        Maps an array (…, topics) to an array without the last axis, as all measures do. It is called with many samples
        at once, which are then the leading axis.
    sample
        The array whose last axis are the topics.

    Returns
    -------
    Jackknife
        Estimate, bias, pseudo-values and standard error.

    Examples
    --------
    >>> from surefoot.risk import georisk
    >>> scores = np.array([[0.05, 0.15, 0.55], [0.40, 0.35, 0.20]])
    >>> jackknife(lambda x: georisk(x, alpha=1), scores).se.round(4)
    array([0.1065, 0.0425])

    """
    whole = np.asarray(sample, dtype=np.float64)
    topics = whole.shape[-1]
    if topics < 2:
        raise SurefootError("the jackknife needs at least two topics")
    estimate = np.asarray(statistic(whole))
    left_out = np.concatenate([statistic(part) for part in _leave_one_out(whole)])
    centre = left_out.mean(axis=0)
    return Jackknife(
        estimate=estimate,
        leave_one_out=left_out,
        bias=(topics - 1) * (centre - estimate),
        bias_reduced=topics * estimate - (topics - 1) * centre,
        pseudo_values=topics * estimate - (topics - 1) * left_out,
        se=jackknife_error(np.moveaxis(left_out, 0, -1)),
    )


def jackknife_error(left_out: FloatArray) -> FloatArray:
    """SE_J: sqrt((c - 1) / c) times the root of the squared deviations of the c samples, which are the last axis.

    >>> float(jackknife_error(np.array([0.35, 0.2, 0.25])).round(4))
    0.0882
    """
    samples = left_out.shape[-1]
    spread = np.square(left_out - left_out.mean(axis=-1, keepdims=True)).sum(axis=-1)
    return np.asarray(np.sqrt((samples - 1) / samples * spread))


def _leave_one_out(sample: FloatArray) -> Iterator[FloatArray]:
    """The samples without each topic in turn, as many at a time as fit in a chunk."""
    topics = sample.shape[-1]
    others = np.arange(topics - 1)
    at_once = max(1, CHUNK // sample.size)
    for start in range(0, topics, at_once):
        out = np.arange(start, min(start + at_once, topics))[:, np.newaxis]
        yield np.moveaxis(sample[..., others + (others >= out)], -2, 0)


Chunk = TypeVar("Chunk", bound=Sized)


def reported(chunks: Iterable[Chunk], total: int, progress: Progress | None, what: str) -> Iterator[Chunk]:
    """Yield the chunks unchanged, and report after each how many of ``what`` are done.

    >>> for chunk in reported([[1, 2], [3]], 3, lambda done, total, message: print(message), "flips"):
    ...     pass
    flips: 2 of 3
    flips: 3 of 3
    """
    done = 0
    for chunk in chunks:
        yield chunk
        done += len(chunk)
        if progress is not None:
            progress(done, total, f"{what}: {done:,} of {total:,}")


def correct(p: npt.ArrayLike, method: str) -> FloatArray:
    """Adjust p values for all tests in the array together.

    Parameters
    ----------
    p
        The p values; NaN (no test) stays and does not count.
    method
        ``holm`` and ``bonferroni`` bound the probability of any false positive, ``bh`` (Benjamini and Hochberg 1995)
        the fraction of false positives among the positives.

    Returns
    -------
    FloatArray
        The adjusted p values.

    Examples
    --------
    >>> correct([0.01, 0.04, 0.03], "holm")
    array([0.03, 0.06, 0.06])

    """
    choose(method, ("holm", "bonferroni", "bh"), "correct")
    raw = np.asarray(p, dtype=np.float64)
    adjusted, tested = np.full(raw.shape, np.nan), ~np.isnan(raw)
    if not ((raw[tested] >= 0) & (raw[tested] <= 1 + ROUNDING)).all():
        raise SurefootError("p values must lie between 0 and 1")
    adjusted[tested] = np.minimum(_corrected(raw[tested], method), 1.0)
    return adjusted


def _corrected(p: FloatArray, method: str) -> FloatArray:
    if method == "bonferroni":
        return p * p.size
    order, others = np.argsort(p, kind="stable"), np.arange(p.size, 0, -1)
    if method == "bh":
        order = order[::-1]
        steps = np.minimum.accumulate(p[order] * p.size / others)
    else:
        steps = np.maximum.accumulate(p[order] * others)
    return np.asarray(steps[np.argsort(order)])
