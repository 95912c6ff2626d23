"""The inner loop of weighted Z_Risk, and distribution functions; compiled."""

from __future__ import annotations

import math

from surefoot._numba import inlined, kernel
from surefoot._typing import FloatArray

SMALLEST = 1e-300
"""Instead of 0, by which a continued fraction must not be divided."""


@kernel
def weighted_z(
    weights: FloatArray,
    scaled: FloatArray,
    root: FloatArray,
    root_share: FloatArray,
    gains: FloatArray,
    losses: FloatArray,
) -> None:
    """Fill in the weighted sums of positive and of negative z, for each row and resample; they come as 0.

    With T the column totals, ``scaled`` = x / sqrt(T), ``root`` = sqrt(T) and ``root_share`` = sqrt(S / N):
    z = (x - e) / sqrt(e) = scaled / root_share - root_share × root; 0 where the expected score is 0.
    """
    resamples, topics = weights.shape
    rows = len(scaled)
    for resample in range(resamples):
        for row in range(rows):
            own = root_share[row, resample]
            if own > 0.0:
                inverse, gain, loss = 1.0 / own, 0.0, 0.0
                for topic in range(topics):
                    z = weights[resample, topic] * (scaled[row, topic] * inverse - own * root[topic])
                    gain += max(z, 0.0)
                    loss += min(z, 0.0)
                gains[row, resample], losses[row, resample] = gain, loss


@kernel
def normal_cdf(x: FloatArray, out: FloatArray) -> None:
    """Fill in the probability that a normal variable is at most x."""
    for index in range(x.size):
        out[index] = 0.5 * math.erfc(-x[index] * math.sqrt(0.5))


@kernel
def logistic(x: FloatArray, out: FloatArray) -> None:
    """Fill in 1 / (1 + exp(-x))."""
    for index in range(x.size):
        out[index] = 1.0 / (1.0 + math.exp(-x[index]))


@kernel
def logit(p: FloatArray, out: FloatArray) -> None:
    """Fill in log(p / (1 - p)), near 1/2 by the distance from it, which is exact."""
    for index in range(p.size):
        if 0.3 <= p[index] <= 0.65:
            distance = 2.0 * (p[index] - 0.5)
            out[index] = math.log1p(distance) - math.log1p(-distance)
        else:
            out[index] = math.log(p[index] / (1.0 - p[index]))


@kernel
def student_p(t: FloatArray, df: FloatArray, out: FloatArray) -> None:
    """Fill in the two-sided p of t: the incomplete beta function I_x(df / 2, 1 / 2) at x = df / (df + t²)."""
    for index in range(t.size):
        a, square = 0.5 * df[index], t[index] * t[index]
        x, rest = df[index] / (df[index] + square), square / (df[index] + square)
        if not (x > 0.0 and rest > 0.0):  # t is 0, infinite or NaN
            out[index] = 1.0 if square == 0.0 else 0.0 if square > 0.0 else math.nan
            continue
        front = math.exp(-a * math.log1p(square / df[index])) * math.sqrt(rest / math.pi) * gamma_ratio(a)
        if x < (a + 1.0) / (a + 2.5):
            out[index] = front * beta_fraction(a, 0.5, x) / a
        else:
            out[index] = 1.0 - 2.0 * front * beta_fraction(0.5, a, rest)


@inlined
def gamma_ratio(a: float) -> float:
    """Gamma(a + 1/2) / Gamma(a): its series for large a (Tricomi and Erdélyi 1951); smaller ones are led up to it."""
    factor = 1.0
    while a < 30.0:
        factor *= a / (a + 0.5)
        a += 1.0
    u = 1.0 / a
    series = 1.0 + u * (-1 / 8 + u * (1 / 128 + u * (5 / 1024 + u * (-21 / 32768 + u * (-399 / 262144)))))
    return factor * math.sqrt(a) * (series + u**6 * (869 / 4194304))


@inlined
def beta_fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    fraction, c, d = 1.0, 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > SMALLEST else SMALLEST)
    fraction = d
    for m in range(1, 100_000):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for coefficient in (even, odd):
            d, c = 1.0 + coefficient * d, 1.0 + coefficient / c
            d = 1.0 / (d if abs(d) > SMALLEST else SMALLEST)
            c = c if abs(c) > SMALLEST else SMALLEST
            fraction *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return fraction
