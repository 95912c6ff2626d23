"""Rankers learned over the scores of all retrieval models: one for gain alone, one that is averse to risk."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse

from surefoot.learn.data import RankingData
from surefoot.learn.models import Model
from surefoot.learn.training import Settings, train, tree_params
from surefoot.research.demo.names import GAIN_ONLY, RISK_AVERSE
from surefoot.research.retrieval.collection import Collection
from surefoot.research.retrieval.features import ranking_data
from surefoot.research.retrieval.ranking import DEPTH, Ranking, best
from surefoot.scores import FloatArray

BASELINE = "feature:bm25"
ALPHA = 2.0
TREES, PATIENCE = 100, 20
SEED = 2012
FEWEST = 100


def learn(task: Collection, say: Callable[[str], None] = lambda _: None) -> dict[str, Ranking]:
    """The rankings of two rankers that re-rank what BM25 found, each query by a model that has not seen it.

    The queries are split in halves, and each half is ranked by models that learned from the other, a quarter of
    which chose the number of trees. A collection of very few queries teaches nothing, and no ranker is trained.
    """
    data = ranking_data(task)
    if len(data) < FEWEST:
        return {}
    places = np.random.default_rng(SEED).permutation(len(data))
    halves = places[::2], places[1::2]
    found = {name: np.zeros(data.labels.size) for name in (GAIN_ONLY, RISK_AVERSE)}
    for mine, other in (halves, halves[::-1]):
        held = data.select(mine)
        for name, scores in found.items():
            say(f"Training {name}")
            scores[data.rows(mine)] = _trained(name, data.select(other)).predict(held)
    return {name: _ranking(name, data, scores) for name, scores in found.items()}


def _trained(name: str, data: RankingData) -> Model:
    quarter = len(data) // 4
    objective = "lambdamart" if name == GAIN_ONLY else "ucro"
    settings = Settings(
        objective,
        0.0 if name == GAIN_ONLY else ALPHA,
        n_estimators=TREES,
        params=tree_params("lightgbm", rate=0.1, leaves=15, docs_per_leaf=50, seed=SEED),
        early_stopping_rounds=PATIENCE,
    )
    valid, rest = np.arange(quarter), np.arange(quarter, len(data))
    return train(settings, data.select(rest), BASELINE, data.select(valid)).model


def _ranking(name: str, data: RankingData, scores: FloatArray) -> Ranking:
    names = [] if data.documents is None else data.documents.to_list()
    documents = tuple(sorted(set(names)))
    place = {document: column for column, document in enumerate(documents)}
    columns = np.array([place[document] for document in names])
    matrix = sparse.csr_array((scores, columns, data.bounds), shape=(len(data), len(documents)))
    return Ranking(name, data.queries, documents, best(matrix, DEPTH))
