"""The base class and the registry of objectives, the metrics that they see, and sums over workers."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeVar

import numpy as np

from surefoot.errors import SurefootError, choose, counted
from surefoot.lambdas.gradients import PairWeights, by_factor, by_line
from surefoot.lambdas.metrics import QueryMetric
from surefoot.learn.baseline import Baselines
from surefoot.risk import measures
from surefoot.risk.measures import Risk
from surefoot.risk.values import Linear
from surefoot.scores import FloatArray


class Comm:
    """Sums over all queries: here of one process that holds them all.

    Training is the same code everywhere. All that depends on all queries goes through a ``Comm``, and every worker of a
    cluster calls it equally often, also without rows.
    """

    def sum(self, values: FloatArray) -> FloatArray:
        """The sum of these values over all workers."""
        return values

    def max(self, values: FloatArray) -> FloatArray:
        """The maximum of these values over all workers."""
        return values

    def gather(self, columns: FloatArray) -> FloatArray:
        """The columns of all workers side by side, in the order of the workers."""
        return columns

    def offset(self, count: int) -> tuple[int, int]:
        """The sum of this number over the workers before this one, and over all."""
        return 0, count

    def raise_together(self) -> AbstractContextManager[None]:
        """A block after which all workers go on or all raise, so that none waits for a worker that failed."""
        return nullcontext()


@dataclass
class QueryMetrics:
    """The metric of each query that counts, of the model (``x``) and of its baselines (rows), before an iteration.

    ``started`` is False before the first tree, when all scores are equal. An objective calls `sum` equally often on
    every worker of a cluster.
    """

    x: FloatArray
    baselines: FloatArray
    started: bool = True
    comm: Comm = field(default_factory=Comm)

    def sum(self, *columns: FloatArray) -> list[float]:
        """The sum of each column over the queries of all workers."""
        return [float(total) for total in self.comm.sum(np.array([column.sum() for column in columns]))]

    def smallest(self, values: FloatArray, rank: int) -> float:
        """The value of this rank, counted from 1, among the values of all workers' queries.

        It is found byte by byte, from sums of how many values have each byte: eight sums for any number of queries.

        >>> QueryMetrics(np.zeros(3), np.zeros((1, 3))).smallest(np.array([0.5, -0.25, -1.0]), 2)
        -0.25
        """
        bits = (values + 0.0).view(np.int64)  # 0.0 in place of -0.0
        keys = np.where(bits < 0, ~bits, bits | np.int64(-(2**63))).view(np.uint64)  # in the order of the values
        found = 0
        for shift in range(56, -8, -8):
            digits = (keys >> np.uint64(shift) & np.uint64(255)).astype(np.int64)
            counts = self.comm.sum(np.bincount(digits, minlength=256).astype(np.float64))
            digit = int(np.searchsorted(np.cumsum(counts), rank))
            rank -= int(counts[:digit].sum())
            keys, found = keys[digits == digit], found << 8 | digit
        bits_found = found ^ 2**63 if found >= 2**63 else found ^ (2**64 - 1)
        return float(np.array(bits_found, np.uint64).view(np.float64))

    @property
    def b(self) -> FloatArray:
        """The only baseline."""
        if self.baselines.shape[0] != 1:
            raise SurefootError(
                f"this objective compares with one baseline; got {counted(self.baselines.shape[0], 'baseline')}: "
                "choose one, virtual_baseline MEAN, MEDIAN or MAX, or an objective for several (georisk, tstar-faro)"
            )
        return np.asarray(self.baselines[0])


@dataclass
class LambdaMART:
    """dM' = dM: the mean of the metric, without regard to baselines. The base class of all objectives.

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
    takes_negative: ClassVar[bool] = True

    def __post_init__(self) -> None:
        Linear(self.alpha)  # validates it

    def metric(self, trained: QueryMetric, baselines: Baselines) -> QueryMetric:
        """The metric whose changes are used: the trained one, unless the objective adds another."""
        return trained

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        return by_factor(np.ones(metrics.x.size))

    def own_measure(self) -> Risk:
        """The risk measure that it optimises, which picks the best iteration on validation queries."""
        return measures.MEAN

    @property
    def state(self) -> dict[str, float]:
        """Estimates of the training that a checkpoint must keep."""
        return {}

    @state.setter
    def state(self, kept: Mapping[str, float]) -> None:
        for key, value in kept.items():
            setattr(self, key, value)


@dataclass
class UCRO(LambdaMART):
    """dM' = v(d + dM) - v(d) with the linear value function: U_Risk itself.

    This line covers all cases of Wang, Bennett and Collins-Thompson, *Robust ranking models via risk-sensitive
    optimization*, SIGIR 2012.
    """

    alpha: float = 1.0
    name: ClassVar[str] = "ucro"
    fewest_baselines: ClassVar[int] = 1

    def lambda_weights(self, metrics: QueryMetrics) -> PairWeights:
        d = metrics.x - metrics.b
        return by_line(self.alpha, d, -d)

    def own_measure(self) -> Risk:
        return measures.URISK


OBJECTIVES: dict[str, type[LambdaMART]] = {}
"""All objectives by name."""

Kind = TypeVar("Kind", bound=type[LambdaMART])


def register(kind: Kind) -> Kind:
    """Make an objective known by its name; use it as a class decorator.

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
    ...     '''Queries with a lower metric weigh more.'''
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
