"""Risk-sensitive objectives for LambdaMART: what a swap of two documents is worth.

Plain LambdaMART weighs a pair by |dM|, the change of the query's metric M if the two documents swapped places. An
objective turns dM into dM', looking at where the query stands against its baselines; the kernels then walk the pairs
(`surefoot.learn.weight_kernels` has the forms that they know). At alpha = 0 every objective is LambdaMART,
but `smooth` and `georisk`, which bend or look at Z at any alpha.

In the formulas x is the model's metric on query q, b the baseline's, d = x - b, c the number of queries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import erfcx, ndtr

from surefoot.errors import SurefootError, choose, counted
from surefoot.learn.weight_kernels import CUBIC, FACTOR, GEO, LINE, OWN, STEP, WORLD
from surefoot.risk import tail_count
from surefoot.risk.values import Linear, Smooth
from surefoot.scores import FloatArray

Singles = npt.NDArray[np.float32]
Weighing = tuple[int, Singles, Singles]
"""The form that turns dM into dM', its figures of each query, and those that all queries share."""

MILLS = np.sqrt(np.pi / 2)


def on_one_machine(sums: FloatArray) -> FloatArray:
    """Sums over all queries, where one process holds them all."""
    return sums


@dataclass
class Standing:
    """Where the model and its baselines stand before an iteration: a metric value for each query that counts.

    ``started`` is False before the first tree, when the ranking says nothing yet. ``everywhere`` turns sums over the
    queries at hand into sums over all; an objective calls `total` equally often wherever its queries are.
    """

    x: FloatArray
    baselines: FloatArray
    started: bool = True
    everywhere: Callable[[FloatArray], FloatArray] = on_one_machine

    def total(self, *figures: FloatArray) -> list[float]:
        """The sum of each figure over all queries, on whichever machine they are."""
        return [float(total) for total in self.everywhere(np.array([figure.sum() for figure in figures]))]

    @property
    def b(self) -> FloatArray:
        """The only baseline."""
        if self.baselines.shape[0] != 1:
            raise SurefootError(
                f"this objective compares with one baseline; got {counted(self.baselines.shape[0], 'baseline')}: "
                "choose one, or an objective for several (georisk, tstar-faro)"
            )
        return np.asarray(self.baselines[0])


@dataclass
class LambdaMART:
    """dM' = dM: the mean of the metric, whatever the baselines.

    Burges, *From RankNet to LambdaRank to LambdaMART: an overview*, Microsoft Research 2010.
    """

    alpha: float = 0.0
    name: ClassVar[str] = "lambdamart"
    fewest_baselines: ClassVar[int] = 0

    def __post_init__(self) -> None:
        Linear(self.alpha)  # checks it

    def weigh(self, standing: Standing) -> Weighing:
        return by_factor(np.ones(standing.x.size))

    @property
    def state(self) -> dict[str, float]:
        """What was estimated on the way and must be kept to go on from a checkpoint."""
        return {}

    @state.setter
    def state(self, kept: Mapping[str, float]) -> None:
        for key, value in kept.items():
            setattr(self, key, value)


@dataclass
class UCRO(LambdaMART):
    """dM' = v(d + dM) - v(d) with the linear value function: U_Risk itself.

    This one line is all of the cases of Wang, Bennett and Collins-Thompson, *Robust ranking models via
    risk-sensitive optimization*, SIGIR 2012.
    """

    alpha: float = 1.0
    name: ClassVar[str] = "ucro"
    fewest_baselines: ClassVar[int] = 1

    def weigh(self, standing: Standing) -> Weighing:
        d = standing.x - standing.b
        return by_line(self.alpha, d, -d)


@dataclass
class UCROEq9(UCRO):
    """dM' = (1 + alpha) dM where the swap ends below the baseline, else dM.

    As Dinçer, Macdonald and Ounis, *Risk-sensitive evaluation and learning to rank using multiple baselines*, SIGIR
    2016, state U-CRO in their equation 9: a swap across the baseline counts whole, not by the part below it.
    """

    name: ClassVar[str] = "ucro-eq9"

    def weigh(self, standing: Standing) -> Weighing:
        return by_step(self.alpha, standing.x - standing.b)


@dataclass
class SmoothUCRO(UCRO):
    """dM' = v(d + dM) - v(d) with the smooth value function of Benham, Moffat and Culpepper, ECIR 2020.

    The fences are those of their TREC 2012 runs unless given; see `surefoot.risk.values.Smooth`.
    """

    lower: float = -0.241
    upper: float = 0.292
    name: ClassVar[str] = "smooth"

    def __post_init__(self) -> None:
        Smooth(self.alpha, self.lower, self.upper)  # checks them

    def weigh(self, standing: Standing) -> Weighing:
        coefficients = Smooth(self.alpha, self.lower, self.upper).coefficients
        return CUBIC, _columns(standing.x - standing.b), _row(*coefficients)


@dataclass
class SARO(UCRO):
    """U-CRO with alpha'_q = alpha (1 - Phi(T_q)) in place of alpha: queries that lose significantly weigh most.

    Dinçer, Macdonald and Ounis, *Hypothesis testing for the risk-sensitive evaluation of retrieval systems*, SIGIR
    2014. ``spread``: "sd" is their equation 21, T_q = v(d) / s with s the standard deviation of v(d) over queries;
    "se" is their text, T_q = d / (s / sqrt(c)), which sends Phi to 0 or 1 once there are thousands of queries, so it
    is not the default. ``each`` estimates s anew in each iteration instead of once, after the first tree.
    """

    spread: Literal["sd", "se"] = "sd"
    each: bool = False
    kept_spread: float | None = field(default=None, init=False, repr=False)
    name: ClassVar[str] = "saro"

    def __post_init__(self) -> None:
        super().__post_init__()
        choose(self.spread, ("sd", "se"), "spread")

    def weigh(self, standing: Standing) -> Weighing:
        d = standing.x - self.baseline(standing)
        return by_line(self.alphas(d, standing), d, -d)

    def baseline(self, standing: Standing) -> FloatArray:
        return standing.b

    def alphas(self, d: FloatArray, standing: Standing) -> FloatArray:
        """alpha'_q; half of alpha for all queries while there is nothing to tell them apart."""
        values = Linear(self.alpha)(d)
        count, total = standing.total(np.ones_like(d), values)
        (squares,) = standing.total((values - total / max(count, 1)) ** 2)
        if not standing.started:
            self.kept_spread = None  # a training begins, perhaps not the first with this objective
        elif self.each or self.kept_spread is None:
            self.kept_spread = float(np.sqrt(squares / (count - 1))) if count > 1 else 0.0
        if not self.kept_spread:
            return np.full(d.size, self.alpha / 2)
        t = values / self.kept_spread if self.spread == "sd" else d / (self.kept_spread / np.sqrt(count))
        return np.asarray(self.alpha * ndtr(-t))

    @property
    def state(self) -> dict[str, float]:
        return {} if self.kept_spread is None else {"kept_spread": self.kept_spread}

    @state.setter
    def state(self, kept: Mapping[str, float]) -> None:
        self.kept_spread = kept.get("kept_spread")


@dataclass
class SAROEq9(SARO):
    """SARO as SIGIR 2016 states it: dM' = (1 + alpha'_q) dM where the swap ends below the baseline, else dM."""

    name: ClassVar[str] = "saro-eq9"

    def weigh(self, standing: Standing) -> Weighing:
        d = standing.x - self.baseline(standing)
        return by_step(self.alphas(d, standing), d)


@dataclass
class FARO(SARO):
    """dM' = (1 + alpha'_q) dM for every swap of the query, alpha'_q as in SARO (SIGIR 2014)."""

    name: ClassVar[str] = "faro"

    def weigh(self, standing: Standing) -> Weighing:
        d = standing.x - self.baseline(standing)
        return by_factor(1 + self.alphas(d, standing))


@dataclass
class TStarFARO(FARO):
    """FARO against the per-query mean of several baselines (SIGIR 2016)."""

    name: ClassVar[str] = "tstar-faro"

    def baseline(self, standing: Standing) -> FloatArray:
        return np.asarray(standing.baselines.mean(axis=0))


@dataclass
class Tail(UCRO):
    """dM' = the change of mean d + alpha × the sum of the worst ceil(share c) values of d, over c: conditional risk.

    Only queries in the worst share weigh more, and one more or less as it enters or leaves it: Wang, Bennett and
    Collins-Thompson name such an objective in the discussion of SIGIR 2012.
    """

    share: float = 0.1
    name: ClassVar[str] = "tail"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise SurefootError(f"share must lie above 0 and at most at 1; got {self.share:g}")

    def weigh(self, standing: Standing) -> Weighing:
        d = standing.x - standing.b
        if d.size == 0:
            return by_line(self.alpha, d, -d)
        count = int(tail_count(d.size, self.share))
        order = np.argsort(d, kind="stable")
        last_in = d[order[count - 1]]
        first_out = d[order[count]] if count < d.size else np.inf
        inside = np.zeros(d.size, np.bool_)
        inside[order[:count]] = True
        return by_line(self.alpha, np.where(inside, 0, d - last_in), np.where(inside, first_out - d, 0))


@dataclass
class Churn(LambdaMART):
    """dM' = dM + alpha × the change of agreement with the baseline's ranking, itself an NDCG.

    Agreement: the gain of a document is the discount of the rank that the baseline gives it. A swap that moves away
    from the baseline costs, so where relevance says little the order that users know stays. Named in the discussion
    of SIGIR 2012. Unlike the others it is not consistent: it may prefer the known order to a better one.
    """

    alpha: float = 1.0
    name: ClassVar[str] = "churn"
    fewest_baselines: ClassVar[int] = 1

    def mix(self, gains: FloatArray, baseline: FloatArray, bounds: npt.NDArray[np.int64]) -> FloatArray:
        """Gains of relevance and of agreement in one: a swap changes both by gains times discounts."""
        queries = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        ranked = np.lexsort((-baseline, queries))  # stable: ties in the order of the rows
        discount = 1 / np.log2(2 + np.arange(queries.size) - bounds[queries])
        agreement = np.empty_like(discount)
        agreement[ranked] = discount
        ideal = np.bincount(queries, weights=discount**2)
        return np.asarray(gains + self.alpha * agreement / ideal[queries])


@dataclass
class GeoRisk(LambdaMART):
    """dM' = the change of GeoRisk, the model being one row beside the baselines' rows (SIGIR 2016).

    It is scaled by 2 c GeoRisk / Phi(Z / c), so that dM' = dM where Z does not move and learning rates keep their
    meaning. As in the paper only the touched query's z is computed anew, with e' = S (T_q + dM) / (N + dM): a
    surrogate that never punishes an improvement, unlike GeoRisk itself beyond alpha = 2.
    """

    alpha: float = 1.0
    full: ClassVar[bool] = False
    name: ClassVar[str] = "georisk"
    fewest_baselines: ClassVar[int] = 1

    def weigh(self, standing: Standing) -> Weighing:
        x = standing.x
        column = x + standing.baselines.sum(axis=0)
        S, N, c = standing.total(x, column, np.ones_like(x))
        e = S * column / N if N > 0 else np.zeros_like(x)
        root = np.sqrt(e)
        inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
        z = (x - e) * inverse
        falls = np.where(z < 0, 1 + self.alpha, 1.0) * (x + e) * inverse / 2
        Z, K = standing.total(Linear(self.alpha)(z), falls)
        if S <= 0:
            return by_factor(np.ones(x.size))  # GeoRisk is 0, and so is every change of it
        linear = S + column - e if self.full else S * (N - column) / N
        others = -(K - falls) * (1 / S - 1 / N) if self.full else np.zeros_like(x)
        own = _columns(x, root, inverse, linear, np.maximum(z, 0), np.maximum(-z, 0), others)
        return GEO, own, _row(self.alpha, float(self.full), N, S, c, *_log_phi(Z / c))


@dataclass
class GeoRiskFull(GeoRisk):
    """GeoRisk with its whole change: S, T_q and N move all queries' z. A change of the wrong sign is dropped."""

    full: ClassVar[bool] = True
    name: ClassVar[str] = "georisk-full"


def _log_phi(z: float) -> tuple[float, float, float, float]:
    """The derivatives of log Phi, each divided by its order's factorial, so that they expand it around z."""
    first = 1 / (MILLS * erfcx(-z / np.sqrt(2)))
    second = -first * (z + first)
    third = -first - (z + 2 * first) * second
    fourth = -second - (1 + 2 * second) * second - (z + 2 * first) * third
    return float(first), float(second / 2), float(third / 6), float(fourth / 24)


def by_factor(factor: FloatArray) -> Weighing:
    """Every swap of a query counts ``factor`` times."""
    return FACTOR, _columns(factor), _row()


def by_line(extra: npt.ArrayLike, above: FloatArray, below: FloatArray) -> Weighing:
    """Change below a kink counts 1 + ``extra`` times; the query is so far above it, or below."""
    extras = np.broadcast_to(extra, above.shape)
    return LINE, _columns(extras, np.maximum(above, 0), np.clip(below, 0, 1e30)), _row()


def by_step(extra: npt.ArrayLike, d: FloatArray) -> Weighing:
    """A swap that ends below the baseline counts 1 + ``extra`` times."""
    return STEP, _columns(np.broadcast_to(extra, d.shape), d), _row()


def _columns(*figures: npt.ArrayLike) -> Singles:
    first = np.asarray(figures[0])
    own = np.zeros((first.size, OWN), np.float32)
    for place, figure in enumerate(figures):
        own[:, place] = figure
    return own


def _row(*figures: float) -> Singles:
    return np.array([*figures, *[0.0] * (WORLD - len(figures))], dtype=np.float32)


KINDS: tuple[type[LambdaMART], ...] = (
    *(LambdaMART, UCRO, UCROEq9, SmoothUCRO, SARO, SAROEq9, FARO),
    *(TStarFARO, GeoRisk, GeoRiskFull, Tail, Churn),
)
OBJECTIVES = {kind.name: kind for kind in KINDS}


def objective_of(name: str, alpha: float, **options: Any) -> LambdaMART:
    """The objective of a name.

    >>> objective_of("saro", alpha=5, spread="se")
    SARO(alpha=5, spread='se', each=False)
    """
    kind = OBJECTIVES[choose(name, OBJECTIVES, "objective")]
    try:
        return kind(alpha=alpha, **options)
    except TypeError:
        known = [field.name for field in fields(kind) if field.init]
        raise SurefootError(f"objective {name} has the options {', '.join(known)}; got {', '.join(options)}") from None
