"""The manual's code for other services ranks as the library does."""

import re
from pathlib import Path

import numpy as np
import pytest

from surefoot.guard.guard import Guard, Scale, fit_second_stage
from surefoot.guard.pairs import Pair

MANUAL = Path(__file__).parents[2] / "docs" / "research" / "guard-file.md"


@pytest.fixture(scope="module")
def rank():
    (code,) = (block for block in re.findall(r"```python\n(.*?)```", MANUAL.read_text(), re.S) if "def leaf(" in block)
    names = {}
    exec(code, names)
    return names["rank_by_guard"]


@pytest.mark.parametrize("safety", [0.0, 0.35])
@pytest.mark.parametrize("kind", ["none", "z", "log-rank", "threshold", "second-stage"])
def test_plain_code_ranks_as_the_guard(kind, safety, rank):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=40 * 30)
    b, c = truth + rng.normal(size=truth.size), truth + rng.normal(size=truth.size)
    pair = Pair.of(b, c, np.arange(0, truth.size + 1, 30))
    learned = fit_second_stage(pair, truth > 1).blended(0.5, 0.2) if kind == "second-stage" else None
    guard = learned or Guard(kind, 0.4, Scale.of(pair), threshold=2.8 if kind == "threshold" else 0.0)
    guard = guard.towards_baseline(safety)
    for query in range(40):
        rows = slice(30 * query, 30 * query + 30)
        assert rank(guard.to_json(), b[rows].tolist(), c[rows].tolist()) == guard.rank(b[rows], c[rows]).tolist()
