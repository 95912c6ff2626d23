"""The objectives of `surefoot.learn` as losses for PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from surefoot.errors import SurefootError, choose
from surefoot.lambdas.gradients import LambdaGradients, Pairs, PairWeights, for_all_queries
from surefoot.lambdas.metrics import Ints, QueryMetric
from surefoot.learn.baseline import Baselines
from surefoot.learn.boosting import BatchObjective
from surefoot.learn.settings import PairOptions
from surefoot.scores import FloatArray

LEAST_DIFFERENCE = 0.01
"""LightGBM's normalisation adds this to a difference of scores."""


class RiskLoss(nn.Module):  # type: ignore[misc]
    """A risk-sensitive objective as a loss for any ranker: pairwise logistic losses with the gradients of LambdaMART.

    The loss of a pair of documents is weighted by the change of the objective if they swapped ranks.
    Pairs of documents are weighed by the same code as for trees, so the weights do not depend on PyTorch. The ranking
    by the current scores decides on which side of its baseline a query is.

    Parameters
    ----------
    objective : str
        A name of `surefoot.learn.objectives`: ``ucro``, ``saro``, ``faro``, ``georisk``, ``smooth``, ``tail``, ...;
        ``lambdamart`` is plain LambdaRank.
    alpha : float
        The risk sensitivity: a loss against the baseline weighs 1 + alpha.
    pairs : PairOptions, optional
        How pairs are compared; the defaults are those of trees.
    memory : int
        The number of queries before the batch that stand for all others; see `surefoot.learn.boosting.BatchObjective`.
    reduction : {"mean", "sum"}
        Over the queries of the batch.
    **options
        Options of the objective itself, such as ``share`` of tail.

    Examples
    --------
    >>> scores = torch.tensor([[0.2, 0.9, 0.4], [0.7, 0.1, 0.0]], requires_grad=True)
    >>> labels = torch.tensor([[2, 0, 1], [0, 1, 0]])
    >>> baseline = torch.tensor([[3.0, 1.0, 2.0], [1.0, 2.0, 0.0]])
    >>> mask = torch.tensor([[True, True, True], [True, True, False]])
    >>> loss = RiskLoss("ucro", alpha=2)(scores, labels, baseline, mask)
    >>> loss.backward()
    >>> (scores.grad < 0).tolist()  # what should rise
    [[True, False, False], [False, True, False]]
    """

    def __init__(
        self,
        objective: str = "ucro",
        alpha: float = 1.0,
        *,
        pairs: PairOptions | None = None,
        memory: int = 1024,
        reduction: Literal["mean", "sum"] = "mean",
        **options: Any,
    ) -> None:
        super().__init__()
        self.weights = BatchObjective(objective, alpha, memory=memory, **options)
        self.reduction = choose(reduction, ("mean", "sum"), "reduction")
        self.pairs = pairs or PairOptions()
        if self.pairs.of_risk is not None:
            raise SurefootError("RiskLoss takes risk and reward in one metric; leave risk_metric out")

    def forward(
        self,
        scores: Tensor,
        labels: Tensor,
        baseline_scores: Tensor | None = None,
        mask: Tensor | None = None,
        *,
        groups: Sequence[int] | Tensor | None = None,
    ) -> Tensor:
        """The loss of a batch of queries.

        Parameters
        ----------
        scores : Tensor
            Queries × documents, padded; or all documents in one row, with ``groups``.
        labels : Tensor
            A grade of 0 or more for each document, in the same shape.
        baseline_scores : Tensor, optional
            The baseline's score of each document, in the same shape; several baselines are stacked along a first
            dimension.
        mask : Tensor, optional
            True where there is a document, False where there is padding.
        groups : sequence of int, optional
            The number of documents of each query.

        Returns
        -------
        Tensor
            A scalar.
        """
        lists = Lists.of(scores, mask, groups)
        if not lists.bounds[-1]:
            return scores.sum() * 0.0
        baselines = lists.baselines(baseline_scores)
        metric = self.pairs.trained_metric.bind(lists.labels(labels), lists.bounds, self.pairs.empty)
        mixed = self.weights.objective.metric(metric, baselines)
        lambdas = LambdaGradients(mixed, self.pairs.loop, n_jobs=1)
        weights = self._weights(metric, lambdas.rank(lists.numbers(scores)), baselines.values(metric))
        ranked = _by_rank(lists, lambdas, _precise(lists.rows(scores)))
        losses = lambda_losses(ranked, lambdas.pairs(weights), self.pairs)
        return losses.sum() if self.reduction == "sum" else losses.mean()

    def _weights(self, metric: QueryMetric, x: FloatArray, baselines: FloatArray) -> PairWeights:
        counted = np.flatnonzero(metric.counted)
        remember = self.training and torch.is_grad_enabled()
        weights = self.weights.weigh(x[counted], baselines[:, counted], remember)
        return for_all_queries(weights, counted, x.size)

    def get_extra_state(self) -> dict[str, Any]:
        """The state for a checkpoint of the training: the remembered queries."""
        return {"remembered": torch.from_numpy(self.weights.remembered.copy())}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Restore the state of a checkpoint."""
        self.weights.remembered = state["remembered"].numpy().copy()


def lambda_losses(ranked: Tensor, pairs: Pairs, options: PairOptions) -> Tensor:
    """The loss of each query: logistic losses of its pairs, weighted; its gradients are those of `LambdaGradients`.

    ``ranked`` are the scores by rank. Normalisation divides by constants, as there.
    """
    cells = np.unravel_index(np.flatnonzero(pairs.change != 0), pairs.change.shape)  # few cells: most labels are equal
    change, weight = (_tensor(values[cells], ranked) for values in pairs)
    query, upper, lower = (torch.from_numpy(index).to(ranked.device) for index in cells)
    gaps = ranked[query, upper] - ranked[query, lower]
    errors = weight * softplus(options.sigmoid * change.sign() * gaps)
    per_query = ranked.new_zeros(ranked.shape[0])
    if not options.norm:
        return per_query.index_add(0, query, errors)
    with torch.no_grad():
        is_ordered = (ranked.amax(dim=1) > ranked.amin(dim=1))[query]
        damping = torch.where(is_ordered, LEAST_DIFFERENCE + gaps, 1.0)
        wrong = torch.sigmoid(options.sigmoid * change.sign() * gaps)
        total = 2 * options.sigmoid * per_query.index_add(0, query, change.abs() * wrong / damping)
        scale = torch.where(total > 0, torch.log2(1 + total) / total.clamp(min=1e-30), 1.0)
    return scale * per_query.index_add(0, query, errors / damping)


def _by_rank(lists: Lists, lambdas: LambdaGradients, rows: Tensor) -> Tensor:
    """Values of documents as queries × ranks; a list that is too short repeats its last document."""
    sizes = np.diff(lists.bounds)
    ranks = np.minimum(np.arange(max(sizes.max(initial=1), 1)), np.maximum(sizes - 1, 0)[:, np.newaxis])
    first, last = lists.bounds[:-1, np.newaxis], lists.bounds[-1] - 1
    index = first + lambdas.order[np.minimum(first + ranks, last)]
    return rows[torch.from_numpy(np.minimum(index, last)).to(rows.device)]  # a query without documents gets any value


def _precise(scores: Tensor) -> Tensor:
    """Scores in single precision at least: differences of half-precision scores are too coarse."""
    return scores if scores.dtype == torch.float64 else scores.float()


def _tensor(values: Any, like: Tensor) -> Tensor:
    return torch.from_numpy(values).to(like)


@dataclass(frozen=True, eq=False)
class Lists:
    """The documents of a batch of queries: those of query ``q`` are the rows from ``bounds[q]`` to ``bounds[q + 1]``.

    ``mask`` marks the documents in padded tensors. Without it the documents of the queries follow one another.
    """

    bounds: Ints
    shape: torch.Size
    mask: Tensor | None = None

    @classmethod
    def of(cls, scores: Tensor, mask: Tensor | None = None, groups: Sequence[int] | Tensor | None = None) -> Lists:
        """Lists of scores: queries × documents with a mask (True: a document), or one row of all with group sizes."""
        if groups is not None:
            return cls._of_groups(scores, mask, groups)
        if scores.ndim != 2:
            raise SurefootError(
                f"scores must be queries × documents, or one row with groups=; got {scores.ndim} dimensions"
            )
        if mask is None:
            mask = torch.ones(scores.shape, dtype=torch.bool, device=scores.device)
        elif mask.shape != scores.shape or mask.dtype != torch.bool:
            raise SurefootError(
                f"mask must be a bool for each of {_shown(scores.shape)} scores; got {_shown(mask.shape)} {mask.dtype}"
            )
        return cls(_bounds(mask.sum(dim=1).tolist()), scores.shape, mask)

    @classmethod
    def _of_groups(cls, scores: Tensor, mask: Tensor | None, groups: Sequence[int] | Tensor) -> Lists:
        bounds = _bounds([int(size) for size in groups])
        if mask is not None:
            raise SurefootError("padded lists have a mask, rows have groups; give one of the two")
        if scores.ndim != 1 or bounds[-1] != scores.numel() or (np.diff(bounds) < 0).any():
            raise SurefootError(
                f"groups must be the number of documents of each query; they are {int(bounds[-1])} documents in all, "
                f"and there are {_shown(scores.shape)} scores"
            )
        return cls(bounds, scores.shape)

    def __len__(self) -> int:
        """The number of queries."""
        return self.bounds.size - 1

    def rows(self, values: Tensor, name: str = "scores") -> Tensor:
        """The values of the documents, without padding; leading dimensions stay."""
        if values.shape[values.ndim - len(self.shape) :] != self.shape:
            expected, found = _shown(self.shape), _shown(values.shape)
            raise SurefootError(f"{name} must have the shape of scores, {expected}; got {found}")
        return values if self.mask is None else values[..., self.mask]

    def numbers(self, values: Tensor, name: str = "scores") -> FloatArray:
        """The same as an array of finite numbers."""
        found: FloatArray = self.rows(values, name).detach().to("cpu", torch.float64).numpy()
        if not np.isfinite(found).all():
            raise SurefootError(f"{name} must be finite numbers; some are not (mask out padding)")
        return found

    def labels(self, values: Tensor) -> FloatArray:
        """The labels of the documents."""
        found = self.numbers(values, "labels")
        if (found < 0).any() or (found != np.rint(found)).any():
            raise SurefootError("labels must be whole numbers of 0 or more")
        return found

    def baselines(self, values: Tensor | None) -> Baselines:
        """The baselines of these scores: of one, or of several stacked along a first dimension."""
        found = () if values is None else tuple(np.atleast_2d(self.numbers(values, "baseline_scores")))
        names = tuple(f"baseline {number}" for number in range(1, len(found) + 1))
        return Baselines(names, found, (None,) * len(names))


def _bounds(sizes: Sequence[int]) -> Ints:
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]).astype(np.int64)


def _shown(shape: Sequence[int]) -> str:
    return " × ".join(str(size) for size in shape) or "1"
