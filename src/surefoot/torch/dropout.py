"""RiskLoss of Silva Rodrigues and others, for comparison: sub-networks made by dropout are the baselines."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity

from surefoot.errors import SurefootError
from surefoot.torch.loss import Lists


class DropoutRiskLoss(nn.Module):  # type: ignore[misc]
    """GeoRisk of a network among its own sub-networks, differentiable; no outside baseline is needed.

    Silva Rodrigues, Sousa, Couto Rosa and Gonçalves, *Risk-sensitive deep neural learning to rank*, SIGIR 2022. The
    network scores a batch several times with dropout: once as the model, the other times as baselines. Effectiveness is
    the cosine of the softmax of scores and that of labels; a row of ones is the ideal ranking. The loss is the ideal's
    GeoRisk less the model's, without the root, as in the authors' code.

    Parameters
    ----------
    alpha : float
        The risk sensitivity.
    n_baselines : int
        The number of sub-networks that are baselines.

    Examples
    --------
    >>> _ = torch.manual_seed(1)
    >>> model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.5), nn.Linear(8, 1))
    >>> features, labels = torch.randn(2, 3, 4), torch.tensor([[1, 0, 0], [0, 2, 1]])
    >>> DropoutRiskLoss(alpha=2)(lambda: model(features).squeeze(-1), labels).backward()
    """

    def __init__(self, alpha: float = 1.0, n_baselines: int = 5) -> None:
        super().__init__()
        if n_baselines < 1:
            raise SurefootError(f"n_baselines must be 1 or more; got {n_baselines}")
        self.alpha, self.n_baselines = alpha, n_baselines

    def forward(self, score: Callable[[], Tensor], labels: Tensor, mask: Tensor | None = None) -> Tensor:
        """The loss of a batch.

        Parameters
        ----------
        score : callable
            Scores the documents, queries × documents; called once for each sub-network.
        labels : Tensor
            The grades, in the same shape.
        mask : Tensor, optional
            True where there is a document.

        Returns
        -------
        Tensor
            A scalar.
        """
        scores = torch.stack([score() for _ in range(1 + self.n_baselines)])
        if torch.is_grad_enabled() and torch.equal(scores[0], scores[1]):
            raise SurefootError("the model gives the same scores twice: it has no dropout, or is not in training mode")
        lists = Lists.of(scores[0], mask)
        truth = _softmax(lists, labels.to(scores.dtype))
        rows = torch.stack([cosine_similarity(_softmax(lists, one), truth, dim=1) for one in scores])
        matrix = torch.cat([rows, torch.ones_like(rows[:1])])
        return squared_georisk(matrix, matrix.shape[0] - 1, self.alpha) - squared_georisk(matrix, 0, self.alpha)


def squared_georisk(matrix: Tensor, row: int, alpha: float) -> Tensor:
    """GeoRisk of a row among all rows (systems × queries), without the root; differentiable in every cell.

    >>> from surefoot.risk import georisk
    >>> matrix = torch.tensor([[0.2, 0.6, 0.4], [0.3, 0.3, 0.5]], dtype=torch.float64)
    >>> bool(abs(squared_georisk(matrix, 0, 2.0).item() - georisk(matrix.numpy(), 2.0)[0] ** 2) < 1e-12)
    True
    """
    own = matrix[row]
    expected = own.sum() * matrix.sum(dim=0) / matrix.sum()
    z = (own - expected) / expected.clamp(min=1e-12).sqrt()
    zrisk = torch.where(z < 0, (1 + alpha) * z, z).mean()
    return own.mean() * torch.special.ndtr(zrisk)


def _softmax(lists: Lists, values: Tensor) -> Tensor:
    return values.masked_fill(~lists.mask, -torch.inf).softmax(dim=1) if lists.mask is not None else values.softmax(1)
