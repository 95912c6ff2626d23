"""From LETOR text to arrays, beside scikit-learn, LightGBM and XGBoost."""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.timing import medians, show

QUERIES, DOCUMENTS, FEATURES = 880, 120, 136
ROUNDS = 2


def write_letor(path: Path, queries: int = QUERIES, documents: int = DOCUMENTS, seed: int = 0) -> None:
    """A file shaped as MSLR-WEB: 136 features, half of them small counts, the others decimals with six places."""
    random = np.random.default_rng(seed)
    whole = random.random(FEATURES) < 0.5
    line = "%d qid:%d " + " ".join(f"{number}:%.9g" for number in range(1, FEATURES + 1)) + "\n"
    with path.open("w") as file:
        for query in range(1, queries + 1):
            decimals = np.round(random.normal(0, 10, (documents, FEATURES)), 6)
            decimals[random.random(decimals.shape) < 0.3] = 0
            values = np.where(whole, random.geometric(0.1, decimals.shape) - 1, decimals)
            labels = random.integers(0, 5, documents).tolist()
            file.writelines(line % (label, query, *row) for label, row in zip(labels, values.tolist(), strict=True))


def surefoot(path: Path, workers: int) -> None:
    from surefoot.learn.letor import read_letor

    read_letor(path, workers=workers)


def scikit_learn(path: Path) -> None:
    from sklearn.datasets import load_svmlight_file

    load_svmlight_file(str(path), query_id=True)


def lightgbm(path: Path) -> None:
    """The Dataset, which is binned too and keeps no values; LightGBM wants the queries in a file of their own."""
    import lightgbm

    lightgbm.Dataset(str(path), params={"verbose": -1, "num_threads": 2}).construct()


def xgboost(path: Path) -> None:
    import xgboost

    with xgboost.config_context(verbosity=0):
        xgboost.DMatrix(f"{path}?format=libsvm")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        path = folder / "train.txt"
        write_letor(path)
        bare = folder / "bare.txt"
        bare.write_bytes(re.sub(rb" qid:\d+", b"", path.read_bytes()))
        size = path.stat().st_size / 1e6
        contestants = {
            "Surefoot, 2 workers": lambda: surefoot(path, 2),
            "Surefoot, 1 worker": lambda: surefoot(path, 1),
            "read the bytes": lambda: path.read_bytes(),
            "scikit-learn, load_svmlight_file with query_id": lambda: scikit_learn(path),
            "LightGBM, Dataset of the file (binned)": lambda: lightgbm(bare),
            "XGBoost, DMatrix of the file": lambda: xgboost(path),
        }
        times = medians(contestants, ROUNDS)
        title = f"LETOR text, {QUERIES * DOCUMENTS:,} documents × {FEATURES} features, {size:.0f} MB"
        show(title, times, "Surefoot, 1 worker")
        print("\n  MB/s of text, and for each processor second")
        for contestant, (wall, processor) in times.items():
            print(f"  {contestant:<58} {size / wall:9.0f} {size / processor:9.0f}")
