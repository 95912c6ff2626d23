"""Small ranking data whose first feature is a baseline that can be beaten, at a risk."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from surefoot.learn.data import RankingData
from surefoot.learn.training import Settings, tree_params


def ranking_data(seed: int, queries: int = 40, documents: int = 8) -> RankingData:
    random = np.random.default_rng(seed)
    rows = queries * documents
    truth = random.normal(size=rows)
    features = np.column_stack([truth + 0.7 * random.normal(size=rows), truth + 0.7 * random.normal(size=rows)])
    features = np.column_stack([features, random.normal(size=(rows, 2))])
    labels = np.clip(np.round(truth), 0, 2)
    return RankingData.of(features, labels, np.repeat([f"q{query}" for query in range(queries)], documents))


def letor_text(data: RankingData) -> str:
    lines = []
    for label, query, row in zip(data.labels, data.query_of_row, np.asarray(data.features), strict=True):
        values = " ".join(f"{number}:{value:.4f}" for number, value in enumerate(row, 1))
        lines.append(f"{label:.0f} qid:{data.queries[query]} {values}\n")
    return "".join(lines)


@dataclass(frozen=True)
class Sets:
    train: RankingData
    valid: RankingData
    test: RankingData


@pytest.fixture(scope="session")
def sets() -> Sets:
    return Sets(ranking_data(1), ranking_data(2), ranking_data(3))


@pytest.fixture(scope="session")
def few_trees() -> Settings:
    params = tree_params("lightgbm", 0.2, 4, 5, 0)
    return Settings("ucro", n_estimators=4, params=params, threads=1)


@pytest.fixture
def files(sets: Sets, tmp_path: Path) -> list[str]:
    """The words that name the three sets."""
    words = []
    for name in ("train", "valid", "test"):
        path = tmp_path / f"{name}.txt"
        path.write_text(letor_text(getattr(sets, name)))
        words += [f"--{name}", str(path)]
    return words
