"""The documents of a batch of queries, whether they come as padded lists or one query after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from surefoot.errors import SurefootError
from surefoot.learn.baseline import Baselines
from surefoot.learn.metrics import Ints
from surefoot.scores import FloatArray


@dataclass(frozen=True, eq=False)
class Lists:
    """Where the documents of each query are: those of query ``q`` are the rows from ``bounds[q]`` to ``bounds[q + 1]``.

    ``mask`` marks the documents in padded tensors; without it tensors hold the rows as they are.
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
            raise SurefootError("padded lists have a mask, rows have groups; give one of them")
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
        """The values of the documents alone; leading dimensions stay."""
        if values.shape[values.ndim - len(self.shape) :] != self.shape:
            expected, found = _shown(self.shape), _shown(values.shape)
            raise SurefootError(f"{name} must have the shape of scores, {expected}; got {found}")
        return values if self.mask is None else values[..., self.mask]

    def numbers(self, values: Tensor, name: str = "scores") -> FloatArray:
        """The same as an array of finite numbers."""
        found: FloatArray = self.rows(values, name).detach().to("cpu", torch.float64).numpy()
        if not np.isfinite(found).all():
            raise SurefootError(f"{name} must be finite numbers; some are not (mask out what is padding)")
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
