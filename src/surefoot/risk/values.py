"""Alpha, the weight of losses, and value functions, which map a score difference to its value.

A value function v maps a difference d in [-1, 1] to its value; v(0) = 0 and v is strictly increasing, so that a
measure built on it never penalises an improvement. Measures take a *family*: a callable that makes the value function
of an alpha, such as `Linear`, `Smooth`, `Monotone`, the result of `Smooth.fitted`, or a `Custom` one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Protocol

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError

LARGEST_ALPHA = 1e6
"""The largest alpha; beyond it the gains are negligible."""


def validate_alphas(alpha: npt.ArrayLike) -> FloatArray:
    """One alpha or several as an array; each must be a number of 0 or more."""
    try:
        sweep = np.asarray(alpha, dtype=np.float64)
    except (TypeError, ValueError):
        raise SurefootError(f"alpha must be a number of 0 or more, or several; got {alpha!r}") from None
    wrong = ~((sweep >= 0) & (sweep <= LARGEST_ALPHA))
    if wrong.any() or sweep.size == 0 or sweep.ndim > 1:
        found = f"{sweep[wrong].flat[0]:g}" if wrong.any() else f"an array of shape {sweep.shape}"
        raise SurefootError(f"alpha must be a number of 0 or more, up to {LARGEST_ALPHA:g}, or several; got {found}")
    return sweep


def normalise_alphas(alpha: npt.ArrayLike) -> FloatArray:
    """One alpha or several as a 1-d array without duplicates.

    >>> normalise_alphas([1, 5, 1])
    array([1., 5.])
    """
    return np.array(list(dict.fromkeys(np.atleast_1d(validate_alphas(alpha)).tolist())))


def validate_alpha(alpha: float) -> float:
    """Return the alpha of an analysis that takes only one."""
    sweep = validate_alphas(alpha)
    if sweep.ndim:
        raise SurefootError(f"one alpha is needed here; got {sweep.size}")
    return float(sweep)


class Value(Protocol):
    """Maps score differences to their values."""

    def __call__(self, d: FloatArray) -> FloatArray: ...


Family = Callable[[float], Value]
"""Makes the value function of an alpha."""


def value_functions(family: Family, alpha: npt.ArrayLike) -> dict[float, Value]:
    """The value function of each alpha; none for linear values, whose measures have closed forms in alpha."""
    return {} if family is Linear else {one: family(one) for one in np.ravel(alpha).tolist()}


@dataclass(frozen=True)
class Linear:
    """v(d) = d for a gain, (1 + alpha) d for a loss.

    Wang, Bennett and Collins-Thompson, *Robust ranking models via risk-sensitive optimization*, SIGIR 2012.

    Parameters
    ----------
    alpha
        The additional weight of losses.

    Examples
    --------
    >>> Linear(alpha=5)(np.array([-0.1, 0.0, 0.1]))
    array([-0.6,  0. ,  0.1])

    """

    alpha: float = 1.0

    def __post_init__(self) -> None:
        validate_alpha(self.alpha)

    def __call__(self, d: FloatArray) -> FloatArray:
        return np.where(d < 0, (1 + self.alpha) * d, d)


@dataclass(frozen=True)
class Fenced:
    """A value function between fences; the defaults are those of the TREC 2012 runs in ECIR 2020."""

    alpha: float = 1.0
    lower: float = -0.241
    upper: float = 0.292

    @classmethod
    def fitted(cls, differences: npt.ArrayLike) -> Family:
        """The family whose fences are those of these score differences.

        >>> Smooth.fitted([-0.3, -0.05, 0.0, 0.05, 0.4])(alpha=1.0)
        Smooth(alpha=1.0, lower=-0.2, upper=0.2)
        """
        lower, upper = fences(differences)
        return partial(cls, lower=lower, upper=upper)

    def __call__(self, d: FloatArray) -> FloatArray:
        raise NotImplementedError


@dataclass(frozen=True)
class Smooth(Fenced):
    """A cubic without the kink at 0: small differences count for little, large losses for 1 + alpha.

    The least-squares cubic through (-1, -(1 + alpha)), (lower, -0.05), (0, 0), (upper, 0.05) and (1, 1), its
    intercept then dropped. A fit that is not strictly increasing on [-1, 1] is refused.

    Benham, Moffat and Culpepper, *On the pluses and minuses of risk*, ECIR 2020 (their alpha-hat is 1 + alpha).

    Parameters
    ----------
    alpha
        The additional weight of large losses.
    lower, upper
        The 1.5 IQR fences of the score differences; the defaults are those of the TREC 2012 runs in the paper.

    Examples
    --------
    >>> [round(c, 5) for c in Smooth(alpha=1).coefficients]
    [1.38426, -0.51659, 0.11578]

    """

    def __post_init__(self) -> None:
        validate_alpha(self.alpha)
        if not -1 < self.lower < 0 < self.upper < 1:
            raise SurefootError(
                f"a smooth value function needs fences -1 < lower < 0 < upper < 1; got {self.lower:g} and "
                f"{self.upper:g}: the score differences are too alike, too far apart, or all of one sign; "
                "use the monotone or the linear one"
            )
        if not _increases(*self.coefficients):
            raise SurefootError(
                f"the smooth value function of alpha={self.alpha:g} and fences {self.lower:g}, {self.upper:g} does "
                "not increase everywhere on [-1, 1]; choose a smaller alpha, or the monotone or the linear one"
            )

    @cached_property
    def coefficients(self) -> tuple[float, float, float]:
        """Of d³, d² and d."""
        points, values = np.transpose(five_points(self.alpha, self.lower, self.upper))
        cubic, square, linear, _ = np.polyfit(points, values, 3)
        return float(cubic), float(square), float(linear)

    @property
    def _increases_everywhere(self) -> bool:
        """Whether it is valid beyond [-1, 1] too: the score that Z_Risk expects on an easy topic may exceed 1."""
        cubic, square, linear = self.coefficients
        return square**2 < 3 * cubic * linear

    def __call__(self, d: FloatArray) -> FloatArray:
        beyond = np.abs(d) > (2 if self._increases_everywhere else 1)
        if beyond.any():
            raise SurefootError(
                f"a smooth value function is made for differences in [-1, 1]; got {d[beyond].flat[0]:g}: "
                "use the monotone or the linear one, or a measure between 0 and 1"
            )
        cubic, square, linear = self.coefficients
        return ((cubic * d + square) * d + linear) * d


@dataclass(frozen=True)
class Monotone(Fenced):
    """A monotone piecewise cubic *through* the five points of `Smooth`, for any alpha and any fences.

    The cubic of ECIR 2020 passes near its five points and increases only for small alpha and some fences. Five points
    that increase have a once differentiable interpolant that increases as they do: cubic Hermite pieces whose slopes
    are harmonic means of those of the neighbouring chords (Fritsch and Carlson, *Monotone piecewise cubic
    interpolation*, SIAM J. Numer. Anal. 1980; Fritsch and Butland 1984), and that of the last chord at either end.
    So a difference at a fence is worth exactly 0.05, v(-1) = -(1 + alpha) and v(1) = 1, and an improvement is never
    penalised. Beyond [-1, 1] v goes on straight. A fence that does not lie between 0 and ±1 marks no difference as
    large, and its point is left out.

    Parameters
    ----------
    alpha
        The additional weight of large losses.
    lower, upper
        The 1.5 IQR fences of the score differences; the defaults are those of the TREC 2012 runs in ECIR 2020.

    Examples
    --------
    >>> Monotone(alpha=5)(np.array([-1, -0.241, -0.05, 0, 0.05, 0.292, 1])).round(3)
    array([-6.   , -0.05 , -0.009,  0.   ,  0.008,  0.05 ,  1.   ])

    """

    def __post_init__(self) -> None:
        validate_alpha(self.alpha)
        if not (np.isfinite(self.lower) and np.isfinite(self.upper)):
            raise SurefootError(f"fences must be finite numbers; got {self.lower:g} and {self.upper:g}")

    @cached_property
    def _interpolant(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """The points, the slopes there, and the four coefficients of each cubic piece between two."""
        low, left, zero, right, high = five_points(self.alpha, self.lower, self.upper)
        inner = [*([left] if -1 < self.lower < 0 else []), zero, *([right] if 0 < self.upper < 1 else [])]
        x, y = np.transpose([low, *inner, high])
        slopes = _increasing_slopes(x, y)
        width = np.diff(x)
        chord = np.diff(y) / width
        bend = (slopes[:-1] + slopes[1:] - 2 * chord) / width
        return x, slopes, np.stack([y[:-1], slopes[:-1], (chord - slopes[:-1]) / width - bend, bend / width])

    def __call__(self, d: FloatArray) -> FloatArray:
        x, slopes, coefficients = self._interpolant
        beyond = d - np.clip(d, -1, 1)
        piece = np.searchsorted(x[1:-1], d - beyond, side="right")
        step = d - beyond - x[piece]
        constant, linear, square, cube = coefficients[:, piece]
        inside = constant + linear * step + square * (step * step) + cube * (step * step * step)
        return np.asarray(inside + np.where(beyond < 0, slopes[0], slopes[-1]) * beyond)


@dataclass(frozen=True, repr=False)
class Custom:
    """A family made from any value function, such as an elicited one; its losses are weighted by 1 + alpha.

    So alpha = 0 gives the function itself. A function with v(0) other than 0, or that does not increase on
    [-1, 1], is refused.

    Parameters
    ----------
    function
        Maps an array of differences to their values.
    name
        Its name in signatures.

    Examples
    --------
    >>> Custom(np.tanh, "tanh")(alpha=1)(np.array([-0.5, 0.5])).round(3)
    array([-0.924,  0.462])

    """

    function: Value
    name: str

    def __post_init__(self) -> None:
        grid = np.linspace(-1, 1, 2001)
        values = np.asarray(self.function(grid))
        if values.shape != grid.shape or not np.isfinite(values).all():
            raise SurefootError(f"the value function {self.name} must give a finite number for each difference")
        if abs(values[1000]) > 1e-9:
            raise SurefootError(f"the value function {self.name} must be 0 at 0; it is {values[1000]:g}")
        if (np.diff(values) <= 0).any():
            at = grid[int(np.argmax(np.diff(values) <= 0))]
            raise SurefootError(f"the value function {self.name} must increase from -1 to 1; it does not at {at:g}")

    @classmethod
    def table(cls, differences: npt.ArrayLike, values: npt.ArrayLike, name: str = "") -> Custom:
        """Straight lines through increasing points, extended beyond the first and the last.

        >>> Custom.table([-1, 0, 1], [-3, 0, 1])(alpha=0)(np.array([-0.5, 0.5]))
        array([-1.5,  0.5])
        """
        x, y = np.asarray(differences, dtype=np.float64), np.asarray(values, dtype=np.float64)
        if x.shape != y.shape or x.ndim != 1 or len(x) < 2 or (np.diff(x) <= 0).any():
            raise SurefootError("a table of values needs two or more differences that increase, each with its value")
        slopes = np.diff(y) / np.diff(x)

        def lines(d: FloatArray) -> FloatArray:
            piece = np.clip(np.searchsorted(x, d, side="right") - 1, 0, len(slopes) - 1)
            return np.asarray(y[piece] + slopes[piece] * (d - x[piece]))

        points = ";".join(f"{one:g}:{other:g}" for one, other in zip(x.tolist(), y.tolist(), strict=True))
        return cls(lines, name or f"table({points})")

    def __repr__(self) -> str:
        return self.name

    def __call__(self, alpha: float) -> Value:
        """The value function of an alpha."""
        validate_alpha(alpha)

        def weighted(d: FloatArray) -> FloatArray:
            values = self.function(d)
            return np.where(d < 0, (1 + alpha) * values, values)

        return weighted


def _increasing_slopes(x: FloatArray, y: FloatArray) -> FloatArray:
    """Slopes with which cubic pieces increase as their points do: weighted harmonic means of the chords', none at 0."""
    width = np.diff(x)
    chord = np.diff(y) / width
    before, after = width[:-1] + 2 * width[1:], 2 * width[:-1] + width[1:]
    inner = (before + after) / (before / chord[:-1] + after / chord[1:])
    return np.concatenate([chord[:1], inner, chord[-1:]])


FITTED: dict[str, type[Fenced]] = {"smooth": Smooth, "monotone": Monotone}
"""The families that are fitted to the fences of the differences at hand, by name."""

VALUES = ("linear", *FITTED)


def five_points(alpha: float, lower: float, upper: float) -> list[tuple[float, float]]:
    """The points of a smooth value function: both ends, both fences, and 0."""
    return [(-1.0, -(1.0 + alpha)), (lower, -0.05), (0.0, 0.0), (upper, 0.05), (1.0, 1.0)]


def fences(differences: npt.ArrayLike) -> tuple[float, float]:
    """Tukey's fences: 1.5 interquartile ranges below the first and above the third quartile (numpy's linear ones).

    >>> fences([-0.3, -0.05, 0.0, 0.05, 0.4])
    (-0.2, 0.2)
    """
    found = np.asarray(differences, dtype=np.float64)
    if not found.size:
        raise SurefootError("fences need score differences; compare at least two systems")
    first, third = np.percentile(found, [25, 75])
    reach = 1.5 * (third - first)
    return float(first - reach), float(third + reach)


def _increases(cubic: float, square: float, linear: float) -> bool:
    """Whether the derivative 3 cubic d² + 2 square d + linear is positive on all of [-1, 1]."""
    turns = [-1.0, 1.0]
    if cubic != 0 and -1 < -square / (3 * cubic) < 1:
        turns.append(-square / (3 * cubic))
    return all(3 * cubic * d**2 + 2 * square * d + linear > 0 for d in turns)
