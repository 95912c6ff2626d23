"""Does the choice of the baseline change the order? Against a slow reference, and on the data of ECIR 2014."""

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from surefoot import risk
from surefoot.analysis import baseline_choice
from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.scores import Scores
from surefoot.stats.bootstrap import bootstrap_weights
from surefoot.stats.ranks import friedman, kendall

RANDOM = np.random.default_rng(2014)
FEW = Scores(RANDOM.random((5, 12)), "abcde", range(12))
EIGHT = "uogTrA44xi srchvrs12c09 DFalah121A QUTparaBline utw2012fc1 ICTNET12ADR2 irra12c qutwb".split()


def slow_difference(matrix: np.ndarray, one: int, two: int, system: int) -> int:
    """The rank of a system under one baseline minus that under another, both baselines left out."""
    common = [row for row in range(len(matrix)) if row not in (one, two)]
    ranks = []
    for baseline in (one, two):
        urisk = {row: float(risk.urisk(matrix[row], matrix[baseline], 5)) for row in common}
        ranks.append(sum(other > urisk[system] for other in urisk.values()))
    return ranks[0] - ranks[1]


def test_rank_differences_and_their_p_are_those_of_a_slow_reference() -> None:
    found = baseline_choice(FEW, 5, n_resamples=40, seed=3).differences
    samples = [np.repeat(FEW.values, row.astype(int), axis=1) for rows in bootstrap_weights(12, 40, 3) for row in rows]
    index = 0
    for one, two in combinations(range(5), 2):
        for system in (row for row in range(5) if row not in (one, two)):
            expected = slow_difference(FEW.values, one, two, system)
            drawn = np.array([slow_difference(sample, one, two, system) for sample in samples])
            opposed = np.count_nonzero(drawn * np.sign(expected) <= 0)
            assert found["rank_difference"][index] == expected
            assert found["p"][index] == pytest.approx(min(1, 2 * (1 + opposed) / 41))
            index += 1
    assert index == len(found)


def test_taus_are_those_of_the_common_systems() -> None:
    found = baseline_choice(FEW, 5, n_resamples=1)
    common = [2, 3, 4]
    first, second = (risk.urisk(FEW.values[common], FEW.values[row], 5) for row in (0, 1))
    assert found.taus[0, 1] == found.taus[1, 0] == kendall(first, second).tau
    assert found["tau"][0] == pytest.approx(np.delete(found.taus[0], 0).mean())


def test_a_baseline_that_decides_is_found() -> None:
    """Two groups that fail on different halves of the topics: each baseline makes its own group look safe."""
    noise = np.random.default_rng(1).random((6, 60)) * 0.05
    half = np.repeat([0.0, 0.6], 30)
    rows = np.stack([half, half, half, half[::-1], half[::-1], half[::-1]]) + noise
    found = baseline_choice(Scores(rows, "abcxyz", range(60)), 5, n_resamples=2000)
    assert found["changed"].sum() > 0
    assert "changes the order" in found.notes[-1]


def test_too_few_systems_are_refused() -> None:
    with pytest.raises(SurefootError, match="two baselines and two systems"):
        baseline_choice(FEW.select(["a", "b", "c"]))


def test_friedman_with_systems_as_treatments_tests_agreement() -> None:
    """Identical orders have the smallest p, random ones any: the opposite of "rankings vary"."""
    same = np.repeat(np.arange(8.0)[:, np.newaxis], 8, axis=1)
    assert friedman(same).p == pytest.approx(9.4e-10, rel=0.01)
    random = np.random.default_rng(0)
    assert 0.4 < np.median([friedman(random.random((8, 8))).p for _ in range(300)]) < 0.6


@pytest.fixture(scope="module")
def err20(data: Path) -> Scores:
    return read_scores(data / "trec-web-2012" / "err20.csv", measure="ERR@20")


def test_ecir2014_eight_runs_do_not_show_that_the_baseline_decides(err20: Scores) -> None:
    found = baseline_choice(err20, 10, systems=EIGHT, n_resamples=2000)
    assert found["changed"].sum() == 0
    assert "does not change the order beyond chance: 0 of 168" in found.notes[-1]
    assert found.taus[np.triu_indices(8, 1)].mean() == pytest.approx(0.69, abs=0.005)
