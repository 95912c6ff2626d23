"""Tables against slow recomputation, query by query."""

import math

import numpy as np
import pytest
from scipy import stats
from surefoot_lab.experiments.plan import Plan, label
from surefoot_lab.experiments.tables import (
    MEASURES,
    LearnerScores,
    intervals_table,
    main_table,
    measure_intervals,
    measures_against,
    significance_marks,
    significance_table,
)

from surefoot.results import Result
from surefoot.scores import FloatArray, Scores
from surefoot.stats.bootstrap import bootstrap_weights

PLAN = Plan(objectives=("ucro", "georisk"), alphas=(1.0,), cutoffs=(10, 1), columns=tuple(MEASURES))
GROUPS = {"BM25": ["BM25"], "learned2": ["baseline AFS", "baseline GBRT"]}


@pytest.fixture
def compared() -> LearnerScores:
    random = np.random.default_rng(5)
    learners = {label(*learner): learner for learner in PLAN.learners()}
    systems = [*learners, "BM25", "baseline AFS", "baseline GBRT"]
    scores = {
        name: Scores(random.integers(0, 5, (len(systems), 60)) / 4, systems, range(60), name) for name in PLAN.metrics()
    }
    return LearnerScores(PLAN, scores, learners, GROUPS)


def slowly(system: list[float], baseline: list[float]) -> dict[str, float]:
    gain = loss = wins = losses = large = 0.0
    for s, b in zip(system, baseline, strict=True):
        if s > b:
            gain, wins = gain + s - b, wins + 1
        if s < b:
            loss, losses = loss + b - s, losses + 1
        if b > 0 and (s - b) / b < -0.2:
            large += 1
    n = len(system)
    return {
        "gain": (gain - loss) / n,
        "reward": gain / n, "risk": loss / n, "reward_risk": gain / loss, "risk_reward": loss / gain,
        "wins": wins, "losses": losses, "win_loss": wins / losses, "loss_win": losses / wins, "loss20": large,
    }  # fmt: skip


def test_every_cell_of_the_table(compared: LearnerScores) -> None:
    table = Result("table", main_table(compared))
    assert len(table) == 6
    for row in table.rows():
        learner = "LambdaMART" if row["learner"] == "LambdaMART" else f"{row['learner']} alpha {row['alpha']:g}"
        assert row["ndcg@10"] == pytest.approx(compared.scores["ndcg@10"][learner].mean())
        assert row["ndcg@1"] == pytest.approx(compared.scores["ndcg@1"][learner].mean())
        each = [
            slowly(compared.main[learner].tolist(), compared.main[baseline].tolist())
            for baseline in GROUPS[row["compared_to"]]
        ]
        for name in MEASURES:
            assert row[name] == pytest.approx(sum(own[name] for own in each) / len(each)), name


def test_ratios_without_losses_are_infinite() -> None:
    found = measures_against(np.array([0.5, 0.5]), np.array([[0.1, 0.5]]), MEASURES)
    assert math.isinf(found["win_loss"])
    assert found["loss_win"] == 0


def resampled(weights: FloatArray, values: FloatArray) -> FloatArray:
    return np.repeat(values, weights.astype(int))


def test_intervals_are_those_of_resampled_queries(compared: LearnerScores) -> None:
    system, baselines = compared.main["GeoRisk alpha 1"], compared.main.select(GROUPS["learned2"]).values
    found = measure_intervals(system, baselines, ["win_loss", "risk"], n_resamples=200, seed=3)
    slow: dict[str, list[float]] = {"win_loss": [], "risk": []}
    for chunk in bootstrap_weights(60, 200, 3):
        for weights in chunk:
            drawn = resampled(weights, system).tolist()
            each = [slowly(drawn, resampled(weights, baseline).tolist()) for baseline in baselines]
            for name, values in slow.items():
                values.append(sum(own[name] for own in each) / len(each))
    for name, values in slow.items():
        assert found[name] == pytest.approx(tuple(np.quantile(values, [0.025, 0.975])))


def test_intervals_hold_their_estimates(compared: LearnerScores) -> None:
    table = intervals_table(compared)
    assert len(table) == 6 * (len(MEASURES) + 1)
    assert ((table["low"] <= table["estimate"]) & (table["estimate"] <= table["high"])).all()


def test_tests_are_paired_t_tests_with_holm(compared: LearnerScores) -> None:
    rows = significance_table(compared).rows()
    assert len(rows) == 2 * 3
    main = compared.main
    expected = {}
    for learner in ("U-CRO alpha 1", "GeoRisk alpha 1"):
        name = learner.split(" ", maxsplit=1)[0]
        expected[name, "ndcg@10"] = stats.ttest_rel(main[learner], main["LambdaMART"])
        for group, members in GROUPS.items():
            lost = [
                np.mean([np.maximum(main[baseline] - main[each], 0) for baseline in members], axis=0)
                for each in (learner, "LambdaMART")
            ]
            expected[name, f"risk against {group}"] = stats.ttest_rel(*lost)
    ordered = sorted(float(found.pvalue) for found in expected.values())
    for row in rows:
        p = float(expected[row["learner"], row["measure"]].pvalue)
        assert row["p"] == pytest.approx(p)
        holm = max(min(1.0, (len(ordered) - place) * own) for place, own in enumerate(ordered) if own <= p)
        assert row["p_holm"] == pytest.approx(holm)
        assert row["low"] < row["difference"] < row["high"]


def test_what_differs_is_marked(compared: LearnerScores) -> None:
    values = compared.main.values.copy()
    values[compared.main.row("U-CRO alpha 1")] += 0.5
    better = Scores(values, compared.main.systems, compared.main.topics, "ndcg@10")
    moved = LearnerScores(PLAN, {**compared.scores, "ndcg@10": better}, compared.learners, GROUPS)
    marks = significance_marks(moved, main_table(moved), significance_table(moved))
    assert marks["ndcg@10"].tolist() == [False, True, False] * 2
