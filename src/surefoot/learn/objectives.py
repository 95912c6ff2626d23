"""Risk-sensitive objectives for LambdaMART: what a swap of two documents is worth.

Plain LambdaMART weighs a pair by |dM|, the change of the query's metric M if the two documents swapped ranks. An
objective turns dM into dM', depending on the query's metric and that of its baselines; the kernels then walk the pairs
(`surefoot.learn.weight_kernels` has the forms that they know). At alpha = 0 every objective is LambdaMART, except
`smooth`, which is not linear at any alpha, and `georisk`, which depends on Z at any alpha.

In the formulas x is the model's metric on query q, b the baseline's, d = x - b, c the number of queries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeVar

import numpy as np
from scipy.special import erfcx, ndtr

from surefoot.errors import SurefootError, choose, counted
from surefoot.learn.baseline import Baselines
from surefoot.learn.comm import Comm, Local
from surefoot.learn.metrics import QueryMetric
from surefoot.learn.pair_weights import by_factor, by_line, by_step, columns_of, row_of
from surefoot.learn.weight_kernels import CUBIC, GEO, PairWeights
from surefoot.risk import tail_count
from surefoot.risk.values import Linear, Smooth
from surefoot.scores import FloatArray

MILLS = np.sqrt(np.pi / 2)


@dataclass
class QueryMetrics:
    """The metric of each query that counts, of the model (``x``) and of its baselines (rows), before an iteration.

    ``started`` is False before the first tree, when the ranking says nothing yet. An objective calls `sum` equally
    often on every worker of a cluster, whatever its queries.
    """

    x: FloatArray
    baselines: FloatArray
    started: bool = True
    comm: Comm = field(default_factory=Local)

    def sum(self, *columns: FloatArray) -> list[float]:
        """The sum of each column over all queries, on whichever worker they are."""
        return [float(total) for total in self.comm.sum(np.array([column.sum() for column in columns]))]

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
    """dM' = dM: the mean of the metric, whatever the baselines. The base class of all objectives.

    Burges, *From RankNet to LambdaRank to LambdaMART: an overview*, Microsoft Research 2010.

    Parameters
    ----------
    alpha : float
        The risk sensitivity, without effect here.

    Examples
    --------
    >>> LambdaMART().lambda_weights(QueryMetrics(np.array([0.5]), np.zeros((0, 1)))).per_query[0, 0]
    np.float32(1.0)
    """

    alpha: float = 0.0
    name: ClassVar[str] = "lambdamart"
    fewest_baselines: ClassVar[int] = 0
    ranks_queries: ClassVar[bool] = False
    """Whether it compares all queries with each other, which sums over workers can't do."""

    def __post_init__(self) -> None:
        Linear(self.alpha)  # validates it

    def metric(self, trained: QueryMetric, baselines: Baselines) -> QueryMetric:
        """The metric whose changes are used: the one that is trained for, unless the objective mixes others in."""
        return trained

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        return by_factor(np.ones(metrics.x.size))

    @property
    def state(self) -> dict[str, float]:
        """What was estimated in training and must be saved in a checkpoint."""
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

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        return by_line(self.alpha, d, -d)


@dataclass
class UCROEq9(UCRO):
    """dM' = (1 + alpha) dM where the swap ends below the baseline, else dM.

    As Dinçer, Macdonald and Ounis, *Risk-sensitive evaluation and learning to rank using multiple baselines*, SIGIR
    2016, state U-CRO in their equation 9: a swap across the baseline counts whole, not by the part below it.
    """

    name: ClassVar[str] = "ucro-eq9"

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        return by_step(self.alpha, metrics.x - metrics.b)


@dataclass
class SmoothUCRO(UCRO):
    """dM' = v(d + dM) - v(d) with the smooth value function of Benham, Moffat and Culpepper, ECIR 2020.

    The fences are those of their TREC 2012 runs unless given; see `surefoot.risk.values.Smooth`.
    """

    lower: float = -0.241
    upper: float = 0.292
    name: ClassVar[str] = "smooth"

    def __post_init__(self) -> None:
        Smooth(self.alpha, self.lower, self.upper)  # validates them

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        coefficients = Smooth(self.alpha, self.lower, self.upper).coefficients
        return PairWeights(CUBIC, columns_of(metrics.x - metrics.b), row_of(*coefficients))


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

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - self.baseline(metrics)
        return by_line(self.alphas(d, metrics), d, -d)

    def baseline(self, metrics: QueryMetrics) -> FloatArray:
        return metrics.b

    def alphas(self, d: FloatArray, metrics: QueryMetrics) -> FloatArray:
        """alpha'_q; half of alpha for all queries while there is nothing to tell them apart."""
        values = Linear(self.alpha)(d)
        count, total = metrics.sum(np.ones_like(d), values)
        (squares,) = metrics.sum((values - total / max(count, 1)) ** 2)
        if not metrics.started:
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

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - self.baseline(metrics)
        return by_step(self.alphas(d, metrics), d)


@dataclass
class FARO(SARO):
    """dM' = (1 + alpha'_q) dM for every swap of the query, alpha'_q as in SARO (SIGIR 2014)."""

    name: ClassVar[str] = "faro"

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - self.baseline(metrics)
        return by_factor(1 + self.alphas(d, metrics))


@dataclass
class TStarFARO(FARO):
    """FARO against the per-query mean of several baselines (SIGIR 2016)."""

    name: ClassVar[str] = "tstar-faro"

    def baseline(self, metrics: QueryMetrics) -> FloatArray:
        return np.asarray(metrics.baselines.mean(axis=0))


@dataclass
class Tail(UCRO):
    """dM' = the change of mean d + alpha × the sum of the worst ceil(share c) values of d, over c: conditional risk.

    Only queries in the worst share weigh more, and one more or less as it enters or leaves it: Wang, Bennett and
    Collins-Thompson name such an objective in the discussion of SIGIR 2012.
    """

    share: float = 0.1
    name: ClassVar[str] = "tail"
    ranks_queries: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self.share <= 1:
            raise SurefootError(f"share must lie above 0 and at most at 1; got {self.share:g}")

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
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

    def metric(self, trained: QueryMetric, baselines: Baselines) -> QueryMetric:
        """Gains of relevance and of agreement added up: a swap changes both by gains times discounts."""
        if trained.metric.name != "ndcg":
            raise SurefootError(f"churn mixes gains of ndcg; it can't be trained for {trained.metric.name}")
        bounds = trained.bounds
        queries = np.repeat(np.arange(bounds.size - 1), np.diff(bounds))
        ranked = np.lexsort((-baselines.ranking(), queries))  # stable: ties in the order of the rows
        discount = 1 / np.log2(2 + np.arange(queries.size) - bounds[queries])
        agreement = np.empty_like(discount)
        agreement[ranked] = discount
        ideal = np.bincount(queries, weights=discount**2)
        return replace(trained, gains=trained.gains + self.alpha * agreement / ideal[queries])


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

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        x = metrics.x
        column = x + metrics.baselines.sum(axis=0)
        S, N, c = metrics.sum(x, column, np.ones_like(x))
        e = S * column / N if N > 0 else np.zeros_like(x)
        root = np.sqrt(e)
        inverse = np.divide(1, root, out=np.zeros_like(root), where=root > 0)
        z = (x - e) * inverse
        falls = np.where(z < 0, 1 + self.alpha, 1.0) * (x + e) * inverse / 2
        Z, K = metrics.sum(Linear(self.alpha)(z), falls)
        if S <= 0:
            return by_factor(np.ones(x.size))  # GeoRisk is 0, and so is every change of it
        linear = S + column - e if self.full else S * (N - column) / N
        others = -(K - falls) * (1 / S - 1 / N) if self.full else np.zeros_like(x)
        own = columns_of(x, root, inverse, linear, np.maximum(z, 0), np.maximum(-z, 0), others)
        return PairWeights(GEO, own, row_of(self.alpha, float(self.full), N, S, c, *_log_phi(Z / c)))


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


OBJECTIVES: dict[str, type[LambdaMART]] = {}
"""All objectives by name."""

Kind = TypeVar("Kind", bound=type[LambdaMART])


def register(kind: Kind) -> Kind:
    """Make an objective known by its name; to be used as a class decorator.

    Parameters
    ----------
    kind : class
        A dataclass derived from `LambdaMART` or another objective, with a ``name`` of its own and a method
        ``lambda_weights``.

    Returns
    -------
    class
        The same class.

    Examples
    --------
    >>> @register
    ... @dataclass
    ... class Hard(LambdaMART):
    ...     '''A query counts the more the worse it does.'''
    ...     name = "hard"
    ...     def lambda_weights(self, metrics):
    ...         return by_factor(1 + self.alpha * (1 - metrics.x))
    >>> objective_of("hard", alpha=2)
    Hard(alpha=2)
    """
    known = OBJECTIVES.get(kind.name)
    if known is not None and (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise SurefootError(f"there is an objective {kind.name} already; give yours another name")
    OBJECTIVES[kind.name] = kind
    return kind


for _kind in (LambdaMART, UCRO, UCROEq9, SmoothUCRO, SARO, SAROEq9, FARO, TStarFARO, GeoRisk, GeoRiskFull, Tail, Churn):
    register(_kind)


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
