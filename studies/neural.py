"""A small neural ranker beside boosted trees, under the same objectives.

Protocol, written before any test query was looked at.

Data: MQ2008's own five folds (three parts train, one validates, one tests), baseline BM25 (feature 25), NDCG@10,
queries without relevant documents count 0. Seeds 1, 2 and 3; the values of a test query (NDCG@10, its loss, whether it
loses) are means over the seeds. Differences have 95 % bootstrap intervals over the 784 queries, paired.

Rankers: LambdaMART (LightGBM, at most 100 trees of 7 leaves) and a network with a hidden layer of 64, ReLU and dropout
0.2, on features standardised by the training queries, batches of 64 queries, AdamW, at most 20 epochs, memory of 512
queries. Each has two learning rates, chosen for each fold on its validation queries by NDCG@10 with the plain
objective and seed 1; the chosen one serves all objectives and seeds of the fold. The iteration (trees: of every 5;
network: epoch) is that with the highest U_Risk at the same alpha on validation queries; for the plain objective, with
the highest mean.

Objectives: lambdamart; ucro, saro, faro, georisk, tail at alpha 2; smooth at alpha 1 (at 2 its cubic does not
increase). The network: all of them, and RiskLoss of Silva Rodrigues and others with five dropout sub-networks at alpha
2. The page also has the direct surrogate of 0.2, for lambdamart, ucro and georisk. Nothing else is tried on test
queries.

Before this, one fold's network was fitted once for five losses and looked at on its validation queries, for speed.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from studies import judged_collections
from studies.kept import kept
from studies.objectives import RESAMPLES, SEED, interval, validation_of
from studies.splits import Split, splits
from surefoot.learn.data import RankingData
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot.results import Result, by_column, signature
from surefoot.scores import FloatArray
from surefoot.torch import DropoutRiskLoss, RiskLoss

SEEDS = (1, 2, 3)
OBJECTIVES = {"lambdamart": 0.0, "ucro": 2.0, "saro": 2.0, "faro": 2.0, "georisk": 2.0, "tail": 2.0, "smooth": 1.0}
RATES = {"trees": (0.05, 0.1), "network": (3e-3, 1e-2)}
LEAVES, HIDDEN = 7, (64,)
TREES, STEP, EPOCHS, BATCH, MEMORY, DROPOUT, SUB_NETWORKS = 100, 5, 20, 64, 512, 0.2, 5

Row = dict[str, FloatArray]


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    judged_collections.data()
    torch.set_num_threads(1)
    parts = list(splits("mq2008"))[: max(1, 5 // less)]
    seeds = SEEDS[: max(1, 3 // less)]
    found: dict[tuple[str, str], Row] = {}
    for ranker, objective in contestants():
        found[ranker, objective] = of_all_folds(parts, seeds, ranker, objective)
        print(ranker, objective, f"{found[ranker, objective]['x'].mean():.4f}", flush=True)
    yield f"A network beside LambdaMART on MQ2008: {len(parts)} fold(s), {len(seeds)} seed(s)", table(found, "mq2008")


def contestants() -> Iterator[tuple[str, str]]:
    yield from (("trees", objective) for objective in OBJECTIVES)
    yield from (("network", objective) for objective in OBJECTIVES)
    yield "network", "dropout"


def of_all_folds(parts: list[Split], seeds: tuple[int, ...], ranker: str, objective: str) -> Row:
    """NDCG@10 of all test queries (seeds × queries), and of the baseline."""
    rows = []
    for fold, split in enumerate(parts):
        fit = best_setting(split, ranker, fold)
        x = [
            kept(f"neural-{ranker}-{objective}-{fold}-{seed}", lambda: {"x": fit(objective, seed)})["x"]  # noqa: B023
            for seed in seeds
        ]
        b = validation_of(split.test, split.baseline, 1.0).scores("x", np.zeros(split.test.labels.size)).values[1]
        rows.append((np.stack(x), b))
    return {"x": np.concatenate([x for x, _ in rows], axis=1), "b": np.concatenate([b for _, b in rows])}


def best_setting(split: Split, ranker: str, fold: int) -> Callable[[str, int], FloatArray]:
    """The function that fits a ranker with the rate that is best in validation, with the plain objective."""
    if ranker == "trees":
        grid: list[Any] = [partial(fit_trees, split, rate) for rate in RATES[ranker]]
    else:
        grid = [partial(fit_network, split, Tensors(split), rate) for rate in RATES[ranker]]

    def worth() -> Row:
        return {"worth": np.array([fit("lambdamart", 1, validating=True).mean() for fit in grid])}

    found: Callable[[str, int], FloatArray] = grid[int(np.argmax(kept(f"neural-{ranker}-grid-{fold}", worth)["worth"]))]
    return found


def fit_trees(split: Split, rate: float, objective: str, seed: int, validating: bool = False) -> FloatArray:
    """NDCG@10 of the test (or validation) queries under the iteration that validation picks."""
    alpha = OBJECTIVES[objective]
    settings = Settings(
        objective, alpha, n_estimators=TREES, learning_rate=rate, num_leaves=LEAVES, min_child_samples=20, seed=seed,
        n_jobs=1, params={"bagging_fraction": 0.8, "bagging_freq": 1, "feature_fraction": 0.8},
    )  # fmt: skip
    booster = train(split.train, split.baseline, settings).model.booster
    valid = validation_of(split.valid, split.baseline, alpha)
    measure = "urisk" if alpha else "mean"
    worth = {
        n: valid(booster.predict(split.valid.features, num_iteration=n))[measure] for n in range(STEP, TREES + 1, STEP)
    }
    data = split.valid if validating else split.test
    return ndcg(split, data, booster.predict(data.features, num_iteration=max(worth, key=worth.__getitem__)))


def fit_network(
    split: Split, data: Tensors, rate: float, objective: str, seed: int, validating: bool = False,
) -> FloatArray:  # fmt: skip
    """The same of a network."""
    torch.manual_seed(seed)
    alpha = OBJECTIVES.get(objective, 2.0)
    model = network(data.train.shape[-1], HIDDEN)
    loss = loss_of(objective, alpha)
    optimiser = torch.optim.AdamW(model.parameters(), rate)
    valid, best, kept = validation_of(split.valid, split.baseline, alpha), -np.inf, model.state_dict()
    for _ in range(EPOCHS):
        model.train()
        for batch in torch.randperm(data.sizes.size).split(BATCH):
            optimiser.zero_grad()
            loss(model, data, batch.numpy()).backward()
            optimiser.step()
        worth = valid(scores(model, data.valid))["urisk" if alpha else "mean"]
        if worth > best:
            best, kept = worth, copy.deepcopy(model.state_dict())
    model.load_state_dict(kept)
    return ndcg(split, split.valid, scores(model, data.valid)) if validating else ndcg(
        split, split.test, scores(model, data.test)
    )  # fmt: skip


def loss_of(objective: str, alpha: float) -> Callable[[nn.Module, Tensors, FloatArray], Tensor]:
    """The loss of a batch of training queries."""
    if objective == "dropout":
        peer = DropoutRiskLoss(alpha, SUB_NETWORKS)
        return lambda model, data, batch: data.in_lists(batch, model, peer)
    risk = RiskLoss(objective, alpha, memory=MEMORY)

    def of_batch(model: nn.Module, data: Tensors, batch: FloatArray) -> Tensor:
        rows = data.rows(batch)
        return risk(model(data.train[rows])[:, 0], data.labels[rows], data.baseline[rows], groups=data.sizes[batch])

    return of_batch


def network(features: int, hidden: tuple[int, ...]) -> nn.Module:
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(features, width), nn.ReLU(), nn.Dropout(DROPOUT)]
        features = width
    return nn.Sequential(*layers, nn.Linear(features, 1))


class Tensors:
    """The rows of a split, features standardised by the training rows."""

    def __init__(self, split: Split) -> None:
        mean, spread = split.train.features.mean(axis=0), split.train.features.std(axis=0)

        def rows(data: RankingData) -> Tensor:
            return torch.from_numpy(((data.features - mean) / np.where(spread > 0, spread, 1)).astype(np.float32))

        self.train, self.valid, self.test = rows(split.train), rows(split.valid), rows(split.test)
        self.sizes, self.rows = split.train.sizes, split.train.rows
        self.labels = torch.from_numpy(split.train.labels)
        self.baseline = torch.from_numpy(split.train.column(split.baseline.removeprefix("feature:")))

    def in_lists(self, batch: Any, model: nn.Module, loss: DropoutRiskLoss) -> Tensor:
        """The loss of padded lists, the network applied to the documents alone."""
        rows, sizes = self.rows(batch), torch.from_numpy(self.sizes[batch])
        mask = torch.arange(int(sizes.max())) < sizes[:, None]

        def padded(values: Tensor) -> Tensor:
            return torch.zeros(mask.shape).masked_scatter(mask, values)

        return loss(lambda: padded(model(self.train[rows])[:, 0]), padded(self.labels[rows]), mask)


@torch.no_grad()
def scores(model: nn.Module, rows: Tensor) -> FloatArray:
    found: FloatArray = model.eval()(rows).squeeze(-1).double().numpy()
    return found


def ndcg(split: Split, data: RankingData, found: FloatArray) -> FloatArray:
    return validation_of(data, split.baseline, 1.0).values(found)


def table(found: dict[tuple[str, str], Row], data: str) -> Result:
    """Each ranker and objective: mean, risk and losses; beside the ranker's own plain objective, and the trees'."""

    def loss(row: Row) -> FloatArray:
        return np.maximum(row["b"] - row["x"], 0).mean(axis=0)

    rows, beside_trees = [], any(ranker == "trees" for ranker, _ in found)
    for (ranker, objective), row in found.items():
        plain, trees = found[ranker, "lambdamart"], found.get(("trees", objective))
        x = row["x"].mean(axis=0)
        of_row = {
            "ranker": ranker,
            "objective": objective,
            "ndcg@10": f"{x.mean():.4f}",
            "against plain": interval(x - plain["x"].mean(axis=0)),
            "frisk": f"{loss(row).mean():.4f}",
            "change of frisk": interval(loss(row) - loss(plain)),
            "losses": f"{(row['x'] < row['b']).sum(axis=1).mean():.1f}",
        }
        if beside_trees:
            is_pair = trees is not None and ranker != "trees"
            of_row["against trees"] = interval(x - trees["x"].mean(axis=0)) if is_pair else ""
            of_row["frisk against trees"] = interval(loss(row) - loss(trees)) if is_pair else ""
        rows.append(of_row)
    size = next(iter(found.values()))["x"].shape
    stated = signature("neural", data=data, seeds=size[0], queries=size[1], n_resamples=RESAMPLES, seed=SEED)
    return Result(stated, by_column(rows))
