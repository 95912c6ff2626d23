"""Data shaped like MSLR-WEB10K, but tiny: five folds around, each with files to train, validate and test."""

from pathlib import Path

import numpy as np
import pytest

PARTS, QUERIES, DOCUMENTS, FEATURES = 5, 8, 7, 136


def letor_lines(part: int, features: int = FEATURES) -> str:
    random = np.random.default_rng(100 + part)
    lines = []
    for query in range(QUERIES):
        values = random.normal(size=(DOCUMENTS, features)).round(3)
        merit = values[:, 0] + values[:, min(109, features - 1)] + 0.5 * random.normal(size=DOCUMENTS)
        labels = np.searchsorted([0.0, 1.0, 2.0], merit)
        for label, row in zip(labels, values, strict=True):
            cells = " ".join(f"{place + 1}:{value:g}" for place, value in enumerate(row))
            lines.append(f"{label} qid:{1000 * part + query} {cells}\n")
    return "".join(lines)


@pytest.fixture(scope="session")
def mslr(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tiny-mslr")
    parts = [letor_lines(part) for part in range(1, PARTS + 1)]
    for fold in range(PARTS):
        around = [parts[(fold + step) % PARTS] for step in range(PARTS)]
        place = folder / f"Fold{fold + 1}"
        place.mkdir()
        for name, texts in {"train": around[:3], "vali": around[3:4], "test": around[4:]}.items():
            (place / f"{name}.txt").write_text("".join(texts))
    return folder


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One file of 40 queries with 12 features."""
    path = tmp_path_factory.mktemp("small") / "all.txt"
    path.write_text("".join(letor_lines(part, features=12) for part in range(1, PARTS + 1)))
    return path
