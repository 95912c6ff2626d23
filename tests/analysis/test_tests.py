import numpy as np
import pytest
from scipy import stats

from surefoot.analysis.tests import TESTS, run_tests
from surefoot.errors import SurefootError
from surefoot.scores import Scores
from surefoot.stats.inference import correct, t_inference
from surefoot.stats.permutation import flip_test, swap_test
from surefoot.stats.simulator import Simulator

RANDOM = np.random.default_rng(20140706)
SCORES = Scores(RANDOM.random((5, 30)) ** 2, list("abcde"), range(30))


def test_all_tests_of_all_systems() -> None:
    result = run_tests(SCORES, "a", [0, 5], n_resamples=200, seed=4)
    frame = result.to_frame()
    assert frame.columns == [
        "system",
        "baseline",
        "alpha",
        "urisk",
        "centre",
        "trisk",
        *(f"p_{test}" for test in TESTS),
    ]
    row = frame.row(5, named=True)
    assert (row["system"], row["alpha"]) == ("c", 5.0)
    found = t_inference(SCORES["c"], SCORES["a"], 5)
    assert (row["trisk"], row["p_trisk"]) == pytest.approx((found.trisk.item(), found.p.item()))
    assert row["p_t"] == pytest.approx(stats.ttest_rel(SCORES["c"], SCORES["a"]).pvalue)
    assert row["p_swap"] == swap_test(SCORES.values, 2, 0, 5, n_resamples=200, seed=4).p
    flips = flip_test(SCORES.values, SCORES["a"], 5, n_resamples=200, seed=4)
    assert (row["p_flip"], row["p_max"], row["centre"]) == (flips.p[2], flips.p_max[2], flips.centre[2])
    own = frame.row(0, named=True)
    assert np.isnan([own[f"p_{test}"] for test in TESTS]).all()
    assert "n_resamples=200|seed=4" in result.signature
    assert any("the same at every alpha" in note for note in result.notes)


def test_progress_is_told_of_every_test_that_resamples() -> None:
    told: list[tuple[int, int | None, str]] = []
    tests = ["bootstrap", "t", "flip", "swap"]
    run_tests(SCORES, "a", tests=tests, n_resamples=200, systems=["b"], progress=lambda *one: told.append(one))
    assert sorted(told) == [*[(200, 200, "permutations: 200 of 200")] * 2, (200, 200, "resamples: 200 of 200")]


def test_corrections_count_a_test_once() -> None:
    result = run_tests(SCORES, "a", [0, 5], correct="holm", n_resamples=99, tests=["trisk", "t", "flip", "max"])
    columns = {name: np.asarray(column).reshape(5, 2) for name, column in result.columns.items()}
    np.testing.assert_allclose(columns["p_t_holm"][:, 1], correct(columns["p_t"][:, 0], "holm"))
    np.testing.assert_allclose(columns["p_flip_holm"][:, 0], correct(columns["p_flip"][:, 0], "holm"))
    np.testing.assert_allclose(columns["p_trisk_holm"], correct(columns["p_trisk"], "holm"))
    assert "p_max_holm" not in columns


def test_swaps_need_two_rows_of_the_population() -> None:
    virtual = run_tests(SCORES, "MEAN", tests=["swap"], n_resamples=50)
    assert np.isnan(np.asarray(virtual.columns["p_swap"])).all()
    assert any("virtual" in note for note in virtual.notes)
    outside = run_tests(SCORES, "a", population=["b", "c"], tests=["swap"], n_resamples=50)
    assert np.isnan(np.asarray(outside.columns["p_swap"])).all()
    pair = run_tests(SCORES, "a", population="PAIR", systems=["b"], tests=["swap"], n_resamples=50)
    assert pair.columns["p_swap"][0] == swap_test(SCORES.values[[1, 0]], 0, 1, n_resamples=50).p
    below = run_tests(Scores(SCORES.values - 0.5, SCORES.systems, SCORES.topics), "a", tests=["swap"], n_resamples=50)
    assert np.isnan(np.asarray(below.columns["p_swap"])).all()


def test_a_planted_loss_is_found() -> None:
    simulator = Simulator.standard(["old", "new"]).change("new", amount=-0.15)
    drawn = simulator.draw(200, seed=1)
    result = run_tests(drawn, "old", 1, systems=["new"], n_resamples=999, alternative="worse").rows()[0]
    assert all(result[f"p_{test}"] < 0.01 for test in TESTS)


def test_wrong_options_are_refused() -> None:
    with pytest.raises(SurefootError, match="tests must be one of"):
        run_tests(SCORES, "a", tests=["sign"])
    with pytest.raises(SurefootError, match="need a baseline"):
        run_tests(SCORES, None)
