"""The cost of batches that do not see all queries: weights with a memory against those of the whole training set.

A network learns MQ2008's first fold (U-CRO, alpha 2, as in `studies.neural`) for ten epochs of batches of 32 queries.
From the second epoch on, at every step, the batch's weights under objectives that compare queries are computed with
memories of several sizes, filled by the batches before, and with all training queries ranked by the network
of that step. The tables have the error of a query's weight (the slope of the objective) relative to the mean weight.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from studies import judged_collections
from studies.neural import Tensors, network
from studies.splits import splits
from surefoot.lambdas import PairLoop
from surefoot.lambdas.gradients import LambdaGradients, PairWeights
from surefoot.lambdas.metrics import Metric, QueryMetric
from surefoot.learn.baseline import baselines_of
from surefoot.learn.boosting import BatchObjective
from surefoot.learn.settings import PairOptions
from surefoot.results import Result, by_column, signature
from surefoot.scores import FloatArray
from surefoot.torch import RiskLoss

OBJECTIVES, ALPHA = ("georisk", "saro", "faro", "trisk", "tail"), 2.0
MEMORIES = (0, 128, 512, 2048)
BATCH, EPOCHS, RATE, HIDDEN, SEED = 32, 10, 1e-3, (64,), 1

SMALL_CHANGE = 1e-3

Errors = dict[tuple[str, int], list[FloatArray]]


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    judged_collections.data()
    found = errors(max(2, EPOCHS // less))
    rows = [
        {
            "objective": objective,
            "memory": memory,
            "median error": f"{np.median(np.abs(error)):.4f}",
            "95 % of errors below": f"{np.quantile(np.abs(error), 0.95):.4f}",
            "mean error (bias)": f"{error.mean():+.4f}",
        }
        for (objective, memory), parts in found.items()
        for error in [np.concatenate(parts)]
    ]
    stated = signature("batch-memory", data="mq2008", fold=1, alpha=ALPHA, batch=BATCH, epochs=EPOCHS, seed=SEED)
    yield "Weights with a memory against weights with all queries", Result(stated, by_column(rows))


def errors(epochs: int) -> Errors:
    """The error of each query's weight relative to the mean weight, by objective and memory."""
    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    split = next(iter(splits("mq2008")))
    data, loss = Tensors(split), RiskLoss("ucro", ALPHA)
    model = network(data.train.shape[1], HIDDEN)
    optimiser = torch.optim.AdamW(model.parameters(), RATE)
    metric = PairOptions().trained_metric.bind(split.train.labels, split.train.bounds)
    b = baselines_of(split.baseline, split.train).values(metric)
    batched = {(one, memory): BatchObjective(one, ALPHA, memory=memory) for one in OBJECTIVES for memory in MEMORIES}
    found: Errors = {key: [] for key in batched}
    for epoch in range(epochs):
        for drawn in torch.randperm(data.sizes.size).split(BATCH):
            batch, optimised = drawn.numpy(), model.train()
            with torch.no_grad():
                x = metric(optimised(data.train)[:, 0].double().numpy())
            for key, objective in batched.items():
                weights = slopes(objective.weigh(x[batch], b[:, batch]))
                exact = slopes(BatchObjective(key[0], ALPHA, memory=0).weigh(x, b))[batch]
                if epoch:
                    found[key].append((weights - exact) / exact.mean())
            rows = data.rows(batch)
            optimiser.zero_grad()
            loss(
                model(data.train[rows])[:, 0], data.labels[rows], data.baseline[rows], groups=data.sizes[batch]
            ).backward()
            optimiser.step()
    return found


def slopes(weights: PairWeights) -> FloatArray:
    """How fast the objective changes with each query's metric; where it has a kink, the mean of both sides.

    A swap of a query's first document with one of the two others changes its metric by the gain of that document.
    """
    queries = weights.per_query.shape[0]
    gains, bounds = np.tile([0.0, SMALL_CHANGE, -SMALL_CHANGE], queries), 3 * np.arange(queries + 1)
    discounts = np.array([[1, 0, 0], [0, 0, 0]], np.float32)
    metric = QueryMetric(Metric("ndcg"), bounds, gains, discounts, np.zeros(queries, np.bool_))
    pairs = LambdaGradients(metric, PairLoop(truncation=1), n_jobs=1).pairs(weights)
    return np.asarray(pairs.weight[:, 0, 1:].mean(axis=1, dtype=np.float64) / SMALL_CHANGE)
