"""Rankers trained on the scores of all retrieval models: one for gain, one averse to risk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from surefoot._typing import FloatArray
from surefoot.learn.data import RankingData
from surefoot.learn.models import Model
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot_lab.demo import GAIN_ONLY, RISK_AVERSE
from surefoot_lab.retrieval.collection import Collection
from surefoot_lab.retrieval.features import ranking_data
from surefoot_lab.retrieval.ranking import DEPTH, Ranking, best

BASELINE = "feature:bm25"
ALPHA = 2.0
TREES, PATIENCE = 100, 20
SEED = 2012
MIN_QUERIES = 100


def learn(task: Collection, report: Callable[[str], None] = lambda _: None) -> dict[str, Ranking]:
    """The rankings of two rankers that re-rank the documents found by BM25, each query by a model not trained on it.

    The queries are split in halves, and each half is ranked by models trained on the other, a quarter of which chose
    the number of trees. On very few queries no ranker is trained.
    """
    data = ranking_data(task)
    if len(data) < MIN_QUERIES:
        return {}
    order = np.random.default_rng(SEED).permutation(len(data))
    halves = order[::2], order[1::2]
    found = {name: np.zeros(data.labels.size) for name in (GAIN_ONLY, RISK_AVERSE)}
    for ranked, other in (halves, halves[::-1]):
        for name, scores in found.items():
            report(f"Training {name}")
            scores[data.rows(ranked)] = _train(name, data.select(other)).predict(data.select(ranked))
    return {name: _ranking(name, data, scores) for name, scores in found.items()}


def _train(name: str, data: RankingData) -> Model:
    quarter = len(data) // 4
    objective = "lambdamart" if name == GAIN_ONLY else "ucro"
    settings = Settings(
        objective,
        0.0 if name == GAIN_ONLY else ALPHA,
        n_estimators=TREES,
        num_leaves=15,
        min_child_samples=50,
        seed=SEED,
        early_stopping_rounds=PATIENCE,
    )
    valid, rest = np.arange(quarter), np.arange(quarter, len(data))
    return train(data.select(rest), BASELINE, settings, valid=data.select(valid)).model


def _ranking(name: str, data: RankingData, scores: FloatArray) -> Ranking:
    names = [] if data.documents is None else data.documents.to_list()
    documents = tuple(sorted(set(names)))
    column_of = {document: column for column, document in enumerate(documents)}
    columns = np.array([column_of[document] for document in names])
    matrix = sparse.csr_array((scores, columns, data.bounds), shape=(len(data), len(documents)))
    return Ranking(name, data.queries, documents, best(matrix, DEPTH))
