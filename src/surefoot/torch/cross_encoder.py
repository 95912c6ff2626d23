"""Cross-encoders of sentence-transformers: risk weights for their LambdaLoss, and an evaluator."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sentence_transformers.cross_encoder.losses import LambdaLoss
from sentence_transformers.cross_encoder.losses.lambda_loss import BaseWeightingScheme
from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
from torch import Tensor

from surefoot.errors import SurefootError
from surefoot.io.atomic import write_text
from surefoot.io.tables import scores_csv
from surefoot.lambdas import PairLoop
from surefoot.lambdas.gradients import LambdaGradients
from surefoot.lambdas.metrics import NDCG, Metric, QueryMetric
from surefoot.learn.boosting import BatchObjective
from surefoot.torch.monitor import RiskMonitor


class RiskWeights(BaseWeightingScheme):  # type: ignore[misc]
    """An objective as a weighting scheme of LambdaLoss; with ``lambdamart`` it is LambdaRankScheme.

    `RiskLambdaLoss` sets the baselines' NDCG before each batch (``baselines``, a row for each baseline).

    Parameters
    ----------
    objective, alpha, memory, **options
        As for `RiskLoss`.

    Examples
    --------
    ``RiskLambdaLoss(model, RiskWeights("ucro", alpha=2))``
    """

    def __init__(self, objective: str = "ucro", alpha: float = 1.0, *, memory: int = 1024, **options: Any) -> None:
        super().__init__()
        self.weights = BatchObjective(objective, alpha, memory=memory, **options)
        self.baselines: Tensor | None = None

    def forward(self, gain: Tensor, discount: Tensor, true_sorted: Tensor) -> Tensor:
        """The weight of each pair of ranks, from the gains by rank; ``discount`` is that of NDCG."""
        queries, documents = gain.shape
        gains = gain.detach().to("cpu", torch.float64).numpy()
        bounds = np.arange(queries + 1, dtype=np.int64) * documents
        ndcg = Metric("ndcg")
        metric = QueryMetric(ndcg, bounds, gains.ravel(), ndcg.discounts(documents), ~gains.any(axis=1))
        lambdas = LambdaGradients(metric, PairLoop(truncation=None), n_jobs=1)
        x = lambdas.rank(np.tile(-np.arange(documents, dtype=np.float64), queries))
        baselines = torch.zeros(0, queries) if self.baselines is None else self.baselines
        if baselines.shape[-1] != queries:
            raise SurefootError(f"a batch of {queries} queries needs as many NDCGs of a baseline; use RiskLambdaLoss")
        remember = self.training and torch.is_grad_enabled()
        upper = lambdas.pairs(self.weights.weigh(x, baselines.double().numpy(), remember)).weight
        return torch.from_numpy(upper + upper.transpose(0, 2, 1)).to(gain)


class RiskLambdaLoss(LambdaLoss):  # type: ignore[misc]
    """LambdaLoss for data with one more column after queries and documents: the baseline's scores.

    Parameters
    ----------
    model : CrossEncoder
        With one output label.
    weighting_scheme : RiskWeights
        The objective.
    **options
        Options of LambdaLoss: ``k``, ``sigma``, ``mini_batch_size``, ...

    Examples
    --------
    A row of the training data: ``{"query": "what is plum brandy", "docs": [text, text], "baseline": [12.1, 8.7],
    "labels": [0, 1]}``; several baselines are a list of such lists.
    """

    def __init__(self, model: Any, weighting_scheme: RiskWeights, **options: Any) -> None:
        super().__init__(model, weighting_scheme, **options)

    def forward(
        self, inputs: list[Any], labels: list[Tensor], prompt: str | None = None, task: str | None = None
    ) -> Tensor:
        """The loss of a batch of queries, their documents, and the baseline's scores of these."""
        if len(inputs) != 3:
            raise SurefootError(
                f"RiskLambdaLoss takes three columns: queries, documents, scores of the baseline; got {len(inputs)}"
            )
        found = [self._ndcg(*one) for one in zip(inputs[2], labels, strict=True)]
        self.weighting_scheme.baselines = torch.stack(found, dim=1)
        return super().forward(inputs[:2], labels, prompt, task)

    def _ndcg(self, baseline: Any, labels: Tensor) -> Tensor:
        """NDCG of each baseline's ranking of one query, computed as in LambdaLoss; ties in the order of the rows."""
        scores = torch.atleast_2d(torch.as_tensor(baseline, dtype=torch.float64)).cpu()
        size = labels.numel()
        if scores.shape[1] != size:
            raise SurefootError(f"{size} documents need as many scores of the baseline; got {scores.shape[1]}")
        gains = torch.exp2(labels.double().cpu()) - 1
        discounts = torch.from_numpy(NDCG.discounts(size))
        ideal = (gains.sort(descending=True).values * discounts)[: self.k].sum().clamp(min=self.eps)
        return (gains[scores.argsort(dim=1, descending=True, stable=True)] * discounts).sum(dim=1) / ideal


class CrossEncoderRiskEvaluator(SentenceEvaluator):  # type: ignore[misc]
    """The risk of a cross-encoder on validation queries, for the trainer's ``evaluator``.

    Parameters
    ----------
    queries : sequence of str
        The queries' texts.
    documents : sequence of sequence of str
        The texts of each query's candidates.
    labels, baseline_scores : sequence of sequence of numbers
        Their grades, and their scores by the baseline.
    name : str
        The prefix of the metrics.
    **options
        Options of `RiskMonitor`: ``objective``, ``alpha``, ``stop_on``, ``cutoff``, ...

    Examples
    --------
    ``evaluator = CrossEncoderRiskEvaluator(queries, documents, labels, bm25, alpha=2); evaluator(model)`` returns
    ``mean``, ``urisk``, ``frisk``, ``losses`` and more; ``evaluator.monitor.history`` keeps all.
    """

    def __init__(
        self,
        queries: Sequence[str],
        documents: Sequence[Sequence[str]],
        labels: Sequence[Sequence[float]],
        baseline_scores: Sequence[Sequence[float]],
        *,
        name: str = "",
        **options: Any,
    ) -> None:
        super().__init__()
        self.pairs = [(query, text) for query, texts in zip(queries, documents, strict=True) for text in texts]
        flat_labels, flat_scores = (torch.tensor(list(chain(*rows))) for rows in (labels, baseline_scores))
        self.monitor = RiskMonitor(flat_labels, flat_scores, groups=[len(texts) for texts in documents], **options)
        self.name = name
        self.primary_metric = self.monitor.stop_on
        self.greater_is_better = self.monitor.validation.higher_is_better(self.monitor.stop_on)

    def __call__(
        self, model: Any, output_path: str | None = None, epoch: int = -1, steps: int = -1, **_: Any
    ) -> dict[str, float]:
        """Score all pairs and measure; with ``output_path`` the scores of each query are written there."""
        scores = model.predict(self.pairs, convert_to_tensor=True, show_progress_bar=False)
        measures = self.monitor(scores)
        if output_path is not None:
            label = "model" if epoch < 0 else f"epoch{epoch:g}-step{steps}"
            write_text(Path(output_path) / f"surefoot_{self.name}{label}.csv", scores_csv(self.monitor.scores(scores)))
        return dict(self.prefix_name_to_metrics(measures, self.name))
