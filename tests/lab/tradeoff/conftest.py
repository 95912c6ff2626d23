"""Small ranking data whose first feature is a baseline that can be beaten, at a risk."""

from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.tradeoff.models import DataSplit

from surefoot.learn.data import RankingData
from surefoot.learn.settings import Settings


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


@pytest.fixture(scope="session")
def sets() -> DataSplit:
    return DataSplit(ranking_data(1), "feature:0", ranking_data(2), ranking_data(3))


@pytest.fixture(scope="session")
def few_trees() -> Settings:
    return Settings("ucro", n_estimators=4, learning_rate=0.2, num_leaves=4, min_child_samples=5, n_jobs=1)


@pytest.fixture
def files(sets: DataSplit, tmp_path: Path) -> list[str]:
    """The arguments that name the three sets."""
    arguments = []
    for name in ("train", "valid", "test"):
        path = tmp_path / f"{name}.txt"
        path.write_text(letor_text(getattr(sets, name)))
        arguments += [f"--{name}", str(path)]
    return arguments
