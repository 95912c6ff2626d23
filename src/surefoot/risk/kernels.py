"""The inner loops of risk measures, and distribution functions; compiled."""

from __future__ import annotations

import math

import numpy as np

from surefoot._numba import inlined, kernel, vectorised
from surefoot._typing import FloatArray

BLOCK = 2048
"""How many topics are compared at a time: what the innermost cache holds of a system and its baseline."""

LARGE_LOSS = 0.2 + 1e-9
"""A loss of more than 20 % of the baseline's score; the margin keeps rounding from counting one of exactly 20 %."""

MAGNITUDE = 0x7FFF_FFFF_FFFF_FFFF
"""The bits of a float without its sign."""

SMALLEST = 1e-300
"""Instead of 0, by which a continued fraction must not be divided."""


@kernel
def compare(system: FloatArray, baseline: FloatArray, found: FloatArray) -> None:
    """Fill in what `Comparison` keeps of each pair of rows; either may have one row for all.

    Columns: count, mean and squared deviations of the gains (ties among them), the same of the losses, the number of
    wins, that of large losses, and the largest score of both rows, its sign left out. Blocks of topics are combined as
    by Chan, Golub and LeVeque (1983).
    """
    bits = found.view(np.int64)
    for row in range(len(found)):
        found[row] = 0.0
        own, base = system[min(row, len(system) - 1)], baseline[min(row, len(baseline) - 1)]
        for begin in range(0, own.size, BLOCK):
            x, b = own[begin : begin + BLOCK], base[begin : begin + BLOCK]
            gain, loss, losses, wins, large = difference_sums(x, b)
            gains = x.size - losses
            gain, loss = gain / max(gains, 1.0), loss / max(losses, 1.0)
            above, below = squared_deviations(x, b, gain, loss)
            add_moments(found[row, 0:3], gains, gain, above)
            add_moments(found[row, 3:6], losses, loss, below)
            found[row, 6] += wins
            found[row, 7] += large
            bits[row, 8] = max(bits[row, 8], largest_bits(x, b))


@vectorised
def difference_sums(x: FloatArray, b: FloatArray) -> tuple[float, float, float, float, float]:
    """The sums of the gains and of the losses, and the numbers of losses, wins and large losses."""
    gain, loss, losses, wins, large = 0.0, 0.0, 0.0, 0.0, 0.0
    for index in range(x.size):
        d = x[index] - b[index]
        gain += d if d > 0.0 else 0.0
        loss += d if d < 0.0 else 0.0
        losses += 1.0 if d < 0.0 else 0.0
        wins += 1.0 if d > 0.0 else 0.0
        limit = -LARGE_LOSS * b[index] if b[index] > 0.0 else -math.inf
        large += 1.0 if d < limit else 0.0
    return gain, loss, losses, wins, large


@vectorised
def squared_deviations(x: FloatArray, b: FloatArray, gain: float, loss: float) -> tuple[float, float]:
    """The sums of squared deviations of the gains and of the losses from their means."""
    above, below = 0.0, 0.0
    for index in range(x.size):
        d = x[index] - b[index]
        from_gain, from_loss = d - gain, d - loss
        above += 0.0 if d < 0.0 else from_gain * from_gain
        below += from_loss * from_loss if d < 0.0 else 0.0
    return above, below


@vectorised
def largest_bits(x: FloatArray, b: FloatArray) -> int:
    """The bits of the largest number, signs left out: they are in the order of the numbers, and compared faster."""
    own, base, largest = x.view(np.int64), b.view(np.int64), 0
    for index in range(x.size):
        either = max(own[index] & MAGNITUDE, base[index] & MAGNITUDE)
        largest = max(largest, either)  # of two, not of three, which LLVM does not vectorise
    return largest


@inlined
def add_moments(into: FloatArray, n: float, mean: float, m2: float) -> None:
    """Add count, mean and squared deviations of a sample to those of another."""
    if n > 0.0:
        total, shift = into[0] + n, mean - into[1]
        into[2] += m2 + shift * shift * (into[0] * n / total)
        into[1] = mean if into[0] == 0.0 else into[1] + shift * n / total
        into[0] = total


@kernel
def sum_z(
    matrix: FloatArray,
    shares: FloatArray,
    totals: FloatArray,
    inverse_roots: FloatArray,
    gains: FloatArray,
    losses: FloatArray,
) -> None:
    """Fill in the sums of positive and of negative z of each row.

    z = (x - e) / sqrt(e) with e = share × T; ``inverse_roots`` are 1 / sqrt(|T|). Where e is not above 0, z is 0.
    """
    for row in range(len(matrix)):
        gain, loss = z_sums(matrix[row], shares[row], totals, inverse_roots)
        factor = 1.0 / math.sqrt(abs(shares[row])) if shares[row] != 0.0 else 0.0
        gains[row], losses[row] = factor * gain, factor * loss


@vectorised
def z_sums(x: FloatArray, share: float, totals: FloatArray, inverse_roots: FloatArray) -> tuple[float, float]:
    """The sums of (x - e) / sqrt(|T|) above and below 0."""
    gain, loss = 0.0, 0.0
    for index in range(x.size):
        expected = share * totals[index]
        z = (x[index] - expected) * (inverse_roots[index] if expected > 0.0 else 0.0)
        gain += z if z > 0.0 else 0.0
        loss += z if z < 0.0 else 0.0
    return gain, loss


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
