"""The data of the learning studies, split into training, validation and test queries."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from surefoot_lab.demo.docstrings import Docstring, of_module
from surefoot_lab.demo.task import collection, collection_of
from surefoot_lab.retrieval.collection import nfcorpus
from surefoot_lab.retrieval.features import ranking_data

from surefoot.learn.data import RankingData
from surefoot.learn.joining import concat
from surefoot.learn.letor import read_letor

FOLDS = 5
TESTED_PACKAGES = ("matplotlib", "statsmodels", "sqlalchemy", "polars")
"""Packages whose docstrings are a collection like the embedded one."""


@dataclass(frozen=True, eq=False)
class Split:
    """Training, validation and test queries, and the feature that is the baseline."""

    train: RankingData
    valid: RankingData
    test: RankingData
    baseline: str


def splits(name: str) -> Iterator[Split]:
    """MQ2008: its own five folds; NFCorpus from train to dev, or five folds of both; the demo: five folds.

    Docstrings of packages: 1,200 queries to train on, and 1,000 others.
    """
    if name == "mq2008":
        parts = [read_letor(_folder() / f"mq2008/S{part}.txt.gz") for part in range(1, 6)]
        for first in range(FOLDS):
            rotated = [*parts[first:], *parts[:first]]
            yield Split(concat(rotated[:3]), rotated[3], rotated[4], "feature:25")
    elif name == "docstrings":
        data = _docstrings()
        order = np.random.default_rng(0).permutation(len(data))
        yield Split(data.select(order[:900]), data.select(order[900:1_200]), data.select(order[1_200:]), "feature:bm25")
    elif name == "nfcorpus":
        train, dev = _nfcorpus()
        order = np.random.default_rng(0).permutation(len(train))
        fifth = len(train) // FOLDS
        yield Split(train.select(order[fifth:]), train.select(order[:fifth]), dev, "feature:bm25")
    else:
        data = _demo() if name == "demo" else concat(_nfcorpus())
        folds = np.array_split(np.random.default_rng(0).permutation(len(data)), FOLDS)
        for first in range(FOLDS):
            rotated = [*folds[first:], *folds[:first]]
            train = np.concatenate(rotated[:3])
            yield Split(data.select(train), data.select(rotated[3]), data.select(rotated[4]), "feature:bm25")


def names() -> tuple[str, ...]:
    """The available data sets: all where SUREFOOT_DATA is set, else the embedded one."""
    return ("mq2008", "nfcorpus", "nfcorpus-folds", "demo") if "SUREFOOT_DATA" in os.environ else ("demo",)


def _folder() -> Path:
    return Path(os.environ["SUREFOOT_DATA"])


@cache
def _nfcorpus() -> tuple[RankingData, RankingData]:
    train, dev = nfcorpus(_folder() / "nfcorpus")
    return ranking_data(train), ranking_data(dev)


@cache
def _demo() -> RankingData:
    return ranking_data(collection())


@cache
def _docstrings() -> RankingData:
    task = collection_of({docstring.name: docstring for docstring in _of_packages()}.values())
    queries = np.array(list(task.queries))
    return ranking_data(task, queries[np.random.default_rng(0).permutation(queries.size)[:2_200]].tolist())


def _of_packages() -> Iterator[Docstring]:
    """The docstrings of the packages' sources, without their tests; objects of private modules have public names."""
    for package in TESTED_PACKAGES:
        home = Path(str(find_spec(package).origin)).parent  # type: ignore[union-attr]
        for path in sorted(home.rglob("*.py")):
            parts = path.relative_to(home).with_suffix("").parts
            if not {"tests", "test", "testing"} & set(parts):
                yield from of_module(".".join([package, *(part for part in parts if not part.startswith("_"))]), path)
