"""Training: killed and resumed, stopped early, and what is refused."""

import json
import subprocess
import sys
import time

import numpy as np
import pytest

from surefoot.errors import InputError, SurefootError
from surefoot.io.atomic import digest_of
from surefoot.lambdas.metrics import Metric
from surefoot.learn.baseline import baselines_of
from surefoot.learn.objectives import OBJECTIVES, objective_of
from surefoot.learn.training import train
from surefoot.learn.validation import Validation, validation_measures
from surefoot.risk.measures import URISK
from surefoot.risk.values import Smooth
from tests.learn import small_rankings
from tests.learn.small_rankings import (
    BASELINE,
    KINDS,
    REACHED,
    TRAINING,
    VALIDATION,
    XGB,
    checkpointed,
    ranking_data,
    settings,
    trained,
)


class StoppedError(Exception):
    """Stands for whatever ends a training."""


def stop_at(iteration):
    def report(progress):
        if progress.iteration == iteration:
            raise StoppedError

    return report


def stopped(checkpoint, iteration, chosen=None, **more):
    """Train until an iteration; all before it are kept."""
    with pytest.raises(StoppedError):
        checkpointed(chosen or settings(), checkpoint, every=0, report=stop_at(iteration), **more)


def kept(checkpoint):
    """What a checkpoint holds, below the line with its hash."""
    return json.loads(checkpoint.read_text().partition("\n")[2])


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A checkpoint of each kind of training, left by a process that was killed in the midst of it."""
    folder = tmp_path_factory.mktemp("killed")
    checkpoints = {kind: folder / kind / "checkpoint.json" for kind in KINDS}
    pytest.importorskip("xgboost", reason="one of them is of XGBoost: surefoot[xgboost]")
    end = time.monotonic() + 300
    with subprocess.Popen([sys.executable, small_rankings.__file__, str(folder)]) as process:
        for kind, path in checkpoints.items():
            while not path.exists() or len(kept(path)["history"]) < REACHED[kind]:
                assert process.poll() is None, f"{kind} ended before it could be killed"
                assert time.monotonic() < end, f"{kind} has not come so far in five minutes"
                time.sleep(0.02)
        process.kill()
    return checkpoints


@pytest.mark.parametrize("kind", KINDS)
def test_a_killed_training_goes_on_to_the_same_model(kind, killed):
    whole = trained(kind)
    reached = REACHED[kind]
    assert reached == len(kept(killed[kind])["history"]) < len(whole.history)
    seen = []
    again = trained(kind, checkpoint=killed[kind], resume=True, report=lambda at: seen.append(at.iteration))
    first = reached - reached % 50 if kind in ("random", "xgboost") else reached
    assert seen == list(range(first + 1, len(whole.history) + 1))
    assert again.model.text == whole.model.text
    assert again.history == whole.history
    assert again.best_iteration == whole.best_iteration
    assert again.model.card == whole.model.card


def test_no_half_written_file_is_left(killed):
    for checkpoint in killed.values():
        assert list(checkpoint.parent.iterdir()) == [checkpoint]


@pytest.mark.parametrize(
    "chosen",
    [
        settings(objective="faro", objective_options={"each": True}),
        settings(objective="georisk"),
        settings(params={"use_quantized_grad": True}),
        settings(params={"sub_row": 0.5, "subsample_freq": 2}),
        settings(params={"linear_tree": True}),
        settings(min_child_samples=500),  # nothing to split: a tree of one leaf
        settings(**XGB, params={"colsample_bynode": 0.5}, n_estimators=60),
        settings(**XGB, objective="saro", early_stopping_rounds=10),
    ],
    ids=lambda chosen: f"{chosen.engine} {chosen.objective} {' '.join(chosen.params)}",
)
def test_stopped_twice_and_resumed_gives_the_same_model(chosen, tmp_path):
    checkpoint = tmp_path / "checkpoint.json"
    stopped(checkpoint, 2, chosen)
    stopped(checkpoint, 9, chosen, resume=True)
    again = checkpointed(chosen, checkpoint, resume=True)
    whole = train(TRAINING, BASELINE, chosen, valid=VALIDATION)
    assert again.model.text == whole.model.text
    assert again.history == whole.history


@pytest.mark.parametrize("kind", ["plain", "stopped early", "xgboost"])
def test_a_finished_training_resumes_to_itself_at_once(kind, tmp_path):
    whole = trained(kind, checkpoint=tmp_path / "kept", every=0)
    again = trained(kind, checkpoint=tmp_path / "kept", resume=True, report=stop_at(1))
    assert again.model.text == whole.model.text


def test_an_interrupt_keeps_what_is_done_even_between_a_tree_and_its_record(tmp_path):
    def interrupt(progress):
        if progress.iteration == 8:
            raise KeyboardInterrupt

    for chosen in (settings(), settings(**XGB)):
        checkpoint = tmp_path / chosen.engine
        with pytest.raises(KeyboardInterrupt):
            checkpointed(chosen, checkpoint, report=interrupt)
        assert len(kept(checkpoint)["history"]) == 8
        again = checkpointed(chosen, checkpoint, resume=True)
        assert again.model.text == train(TRAINING, BASELINE, chosen, valid=VALIDATION).model.text


def test_a_checkpoint_of_another_training_is_refused_by_what_differs(tmp_path):
    checkpoint = tmp_path / "checkpoint.json"
    short = {"n_estimators": 6}
    stopped(checkpoint, 3, settings(**short))
    before = checkpoint.read_bytes()
    ours = {"chosen": settings(**short)}
    others = [
        ("alpha", {"chosen": settings(**short, alpha=2)}),
        (
            "objective, objective_options",
            {"chosen": settings(**short, objective="saro", objective_options={"spread": "se"})},
        ),
        ("num_leaves", {"chosen": settings(**short, num_leaves=8)}),
        ("params", {"chosen": settings(**short, params={"lambda_l2": 8})}),
        ("truncation", {"chosen": settings(**short, truncation=None)}),
        ("baseline, training data", {"data": ranking_data(5)}),
        ("validation baseline, validation data", {"valid": ranking_data(5)}),
        ("baseline, validation baseline", {"baseline": "feature:1"}),
        ("validation baseline", {"valid_baseline": "feature:2"}),
        ("weight", {"sample_weight": np.full(25, 2.0)}),
        ("categorical_feature", {"categorical_feature": [3]}),
    ]
    for differs, change in others:
        with pytest.raises(InputError, match=rf"checkpoint.json: belongs to a training with another {differs};"):
            checkpointed(**{**ours, **change}, checkpoint=checkpoint, resume=True)
    assert checkpoint.read_bytes() == before
    ours["chosen"] = settings(**short, n_jobs=2)  # makes no difference
    checkpointed(**ours, checkpoint=checkpoint, resume=True)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: text.replace("leaf_value=", "leaf_value=1", 1),
        lambda text: "",
        lambda text: "{}",
        lambda text: "not a hash\n[1, 2]",
        lambda text: "\x00" + text[1:],
    ],
)
def test_a_damaged_checkpoint_is_refused_in_one_line(damage, tmp_path):
    checkpoint = tmp_path / "checkpoint.json"
    stopped(checkpoint, 3)
    checkpoint.write_text(damage(checkpoint.read_text()))
    with pytest.raises(InputError, match="is damaged, or no checkpoint of a training; remove it") as error:
        trained("plain", checkpoint=checkpoint, resume=True)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda saved: saved.update(extra=1), "is damaged, or no checkpoint of a training; remove it"),
        (lambda saved: saved.pop("state"), "is damaged, or no checkpoint"),
        (lambda saved: saved.update(bags=1.5), "is damaged, or no checkpoint"),
        (lambda saved: saved.update(bags=[{"model": ""}]), "is damaged, or no checkpoint"),
        (lambda saved: saved.update(model=7), "is damaged, or no checkpoint"),
        (lambda saved: saved["history"].append({"mean": 10**400}), "is damaged, or no checkpoint"),
        (lambda saved: saved["history"].append({"mean": "0.5"}), "is damaged, or no checkpoint"),
        (lambda saved: saved["history"].append({"mean": 0.5}), "has iterations without trees"),
        (lambda saved: saved.update(model=""), "begins like a model of lightgbm but is not one, or is damaged"),
        (
            lambda saved: saved.update(model=saved["model"].replace("split_feature=", "split_feature=9", 1)),
            "begins like a model of lightgbm but is not one, or is damaged",
        ),
    ],
)
def test_a_checkpoint_with_a_recomputed_digest_never_reaches_the_engine(change, message, tmp_path):
    checkpoint = tmp_path / "checkpoint.json"
    stopped(checkpoint, 3)
    saved = json.loads(checkpoint.read_text().partition("\n")[2])
    change(saved)
    text = json.dumps(saved)
    checkpoint.write_text(f"{digest_of(text)}\n{text}\n")
    with pytest.raises(SurefootError, match=message) as error:
        trained("plain", checkpoint=checkpoint, resume=True)
    assert "\n" not in str(error.value)


def test_without_resuming_training_starts_afresh(tmp_path):
    checkpoint = tmp_path / "checkpoint.json"
    stopped(checkpoint, 30)
    stopped(checkpoint, 4)
    assert len(kept(checkpoint)["history"]) == 3


HIGHER_IS_BETTER = {measure.name: measure.higher_is_better for measure in validation_measures(URISK).values()}


@pytest.mark.parametrize(
    "measure", ["mean", "urisk", "trisk", "georisk", "tail", "frisk", "freward", "losses", "loss20"]
)
def test_the_kept_iteration_is_the_best_by_the_measure(measure):
    chosen = settings(stop_on=measure, early_stopping_rounds=6, n_estimators=60)
    result = train(TRAINING, BASELINE, chosen, valid=VALIDATION)
    worth = np.array([found[measure] for found in result.history]) * (1 if HIGHER_IS_BETTER[measure] else -1)
    assert result.best_iteration == int(np.argmax(worth)) + 1
    assert len(worth) in (60, result.best_iteration + 6)
    assert result.model.booster.num_trees() == result.best_iteration == result.model.card["trees"]
    validation = Validation.of(chosen, VALIDATION, baselines_of(BASELINE, VALIDATION))
    measures = validation(result.model.predict(VALIDATION))
    assert measures == pytest.approx(result.model.card["validation"])
    assert measures[measure] == pytest.approx(result.history[result.best_iteration - 1][measure])


OWN_MEASURES = {
    "lambdamart": "mean", "ucro": "urisk", "ucro-eq9": "urisk", "smooth": "usmooth", "saro": "trisk",
    "saro-eq9": "trisk", "faro": "trisk", "tstar-faro": "trisk", "trisk": "trisk", "georisk": "georisk",
    "georisk-full": "georisk", "tail": "tail", "minimax-regret": "regret", "upside": "upside", "churn": "urisk",
}  # fmt: skip


def test_by_default_the_measure_that_is_trained_for_decides():
    assert {name: objective_of(name, 1.0).own_measure().name for name in OBJECTIVES} == OWN_MEASURES
    for name in ("lambdamart", "saro", "smooth", "upside", "minimax-regret", "tail"):
        result = train(TRAINING, BASELINE, settings(objective=name, n_estimators=6), valid=VALIDATION)
        own = OWN_MEASURES[name]
        assert result.model.card["stopped_on"] == own
        worth = [found[own] for found in result.history]
        assert result.best_iteration == int(np.argmax(worth)) + 1


def test_without_a_baseline_the_mean_decides():
    plain = train(TRAINING, None, settings(objective="lambdamart", n_estimators=4), valid=VALIDATION)
    assert plain.model.card["stopped_on"] == "mean"
    assert set(plain.history[0]) == {"mean", "trees"}
    with pytest.raises(SurefootError, match="urisk compares with a baseline; give one, or stop on mean"):
        train(TRAINING, None, settings(objective="lambdamart", stop_on="urisk"), valid=VALIDATION)


def test_the_objectives_own_measures_of_validation_queries():
    """Against what their definitions say."""
    scores = np.asarray(VALIDATION.features)[:, 1]
    bound = Validation.of(settings(), VALIDATION, baselines_of(BASELINE, VALIDATION))
    x, b = bound.values(scores), bound.scores("x", scores).values[1]
    d = x - b
    expected = {
        "smooth": np.mean(Smooth(1.0)(d)),
        "upside": np.mean(np.where(d > 0, 3 * d, d)),
        "minimax-regret": d.mean() + 2 * d.min(),
        "tail": np.sort(d)[:5].mean(),
    }
    for name, value in expected.items():
        alpha = 1.0 if name == "smooth" else 2.0
        options = {"share": 0.2} if name == "tail" else {}
        chosen = settings(objective=name, alpha=alpha, objective_options=options)
        found = Validation.of(chosen, VALIDATION, baselines_of(BASELINE, VALIDATION))(scores)
        assert found[OWN_MEASURES[name]] == pytest.approx(value)


@pytest.mark.parametrize("virtual", ["MEAN", "MEDIAN", "MAX"])
def test_a_virtual_baseline_of_several(virtual):
    """The same model as against the metric values that it stands for, given by hand."""
    several = ["feature:0", "feature:1", "-feature:2"]
    chosen = settings(virtual_baseline=virtual, n_estimators=8)
    result = train(TRAINING, several, chosen, valid=VALIDATION)
    by_hand = []
    for data, metric in ((TRAINING, chosen.trained_metric), (VALIDATION, chosen.reported_metric)):
        values = baselines_of(several, data).values(metric.bind(data.labels, data.bounds))
        by_hand.append({"MEAN": np.mean, "MEDIAN": np.median, "MAX": np.max}[virtual](values, axis=0))
    same = train(TRAINING, by_hand[0], settings(n_estimators=8), valid=VALIDATION, valid_baseline=by_hand[1])
    assert result.model.text == same.model.text
    assert result.model.card["baselines"] == [f"{virtual} of feature:0, feature:1, -feature:2"]
    assert result.model.card["validation"] == pytest.approx(same.model.card["validation"])


def test_a_model_within_the_mean_of_its_baselines_changes_the_scale_alone():
    """With the model itself among r + 1 systems, d is r / (r + 1) times what it is without: the same objective."""
    random = np.random.default_rng(0)
    x, rows = random.uniform(size=9), random.uniform(size=(3, 9))
    without = x - rows.mean(axis=0)
    np.testing.assert_allclose(x - np.vstack([x, rows]).mean(axis=0), 3 / 4 * without)


def test_risk_in_another_metric_than_reward():
    """Validation has U_Gain of NDCG less alpha times F_Risk of MRR, and stops on it."""
    chosen = settings(risk_metric="mrr", alpha=2.0, n_estimators=12)
    result = train(TRAINING, BASELINE, chosen, valid=VALIDATION)
    assert result.model.card["stopped_on"] == "urisk_mrr"
    scores = result.model.predict(VALIDATION)
    base = VALIDATION.column(0)
    values = {
        name: [metric.bind(VALIDATION.labels, VALIDATION.bounds)(one) for one in (scores, base)]
        for name, metric in (("ndcg", Metric(cutoff=10)), ("mrr", Metric("mrr")))
    }
    lost = np.maximum(values["mrr"][1] - values["mrr"][0], 0)
    found = result.model.card["validation"]
    assert found["frisk_mrr"] == pytest.approx(lost.mean())
    assert found["losses_mrr"] == (lost > 0).sum()
    gain = values["ndcg"][0].mean() - values["ndcg"][1].mean()
    assert found["urisk_mrr"] == pytest.approx(gain - 2 * lost.mean())
    assert result.best_iteration == np.argmax([at["urisk_mrr"] for at in result.history]) + 1
    err = train(TRAINING, BASELINE, settings(risk_metric="err", n_estimators=2), valid=VALIDATION)
    assert err.model.card["settings"]["max_label"] == TRAINING.labels.max()
    same = train(TRAINING, BASELINE, settings(risk_metric="ndcg", n_estimators=3))
    assert same.model.text == train(TRAINING, BASELINE, settings(n_estimators=3)).model.text


def test_without_validation_all_trees_are_kept_and_the_training_queries_are_told():
    result = train(TRAINING, BASELINE, settings(n_estimators=12))
    assert result.best_iteration == result.model.booster.num_trees() == 12
    assert result.model.card["stopped_on"] is None
    assert "validation" not in result.model.card
    means = [measures["mean"] for measures in result.history]
    assert means[-1] > means[0]
    assert set(result.history[0]) == {"mean", "urisk", "frisk", "freward", "losses", "trees"}
    last = result.history[-1]
    assert last["urisk"] == pytest.approx(last["freward"] - 2 * last["frisk"])


def test_iterations_that_grow_no_tree_are_not_counted_as_trees():
    X = np.zeros((300, 5), np.float32)
    random = np.random.default_rng(0)
    X[:, 0] = random.normal(size=300)
    X[:4, 1:] = random.normal(size=(4, 4))  # too rare to split on
    data = type(TRAINING).of(X, (X[:, 0] > 0.8).astype(int), np.repeat(np.arange(30), 10))
    chosen = settings(params={"feature_fraction": 0.2}, objective="lambdamart")
    result = train(data, None, chosen)
    assert len(result.history) == 40
    assert 1 < result.model.booster.num_trees() == result.model.card["trees"] < 40


def test_threads_change_nothing():
    one, two = (train(TRAINING, BASELINE, settings(n_jobs=n, n_estimators=8), valid=VALIDATION) for n in (1, 2))
    lines = [[line for line in r.model.text.splitlines() if "num_threads" not in line] for r in (one, two)]
    assert lines[0] == lines[1]
    assert one.history == two.history


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"objective": "ucr"}, "objective must be one of"),
        ({"engine": "catboost"}, "engine must be one of"),
        ({"objective_options": {"spread": "se"}}, "objective ucro has the options alpha; got spread"),
        ({"n_estimators": 0}, "n_estimators must be 1 or more; got 0"),
        ({"early_stopping_rounds": 0}, "early_stopping_rounds must be 1 or more; got 0"),
        ({"cutoff": 0}, "cutoff must be 1 or more; got 0"),
        ({"n_jobs": -3}, "n_jobs must be 1 or more; got -3"),
        ({"stop_on": "wins"}, "stop_on must be one of"),
        ({"params": {"num_leafs": 5}}, "LightGBM has no parameter num_leafs"),
        ({"params": {"objective": "lambdarank"}}, "LightGBM's objective is objective here"),
        ({"params": {"n_iter": 5}}, "LightGBM's n_iter is n_estimators here; give it by that name"),
        ({"params": {"lambdarank_truncation_level": 5}}, "is truncation here"),
        ({"params": {"bagging_by_query": True}}, "LightGBM ignores bagging_by_query"),
        ({"params": {"boosting_type": "dart"}}, "training with boosting_type=dart can't be interrupted"),
        ({"params": {"data_sample_strategy": "goss"}}, "training with data_sample_strategy=goss can't be interrupted"),
        ({"params": {"cegb_penalty_feature_coupled": [1] * 5}}, "LightGBM forgets the state of cegb_penalty"),
        ({"params": {"bagging_seed": "x"}}, "bagging_seed must be a whole number; got 'x'"),
        ({"params": {"num_leaves": 1}}, r"^lightgbm: Check failed: \(num_leaves\) > \(1\)$"),
        ({"params": {"max_bin": "many"}}, "^lightgbm: Parameter max_bin should be of type int"),
    ],
)
def test_what_can_not_be_trained_is_told_in_one_line(change, message):
    with pytest.raises(SurefootError, match=message) as error:
        train(TRAINING, BASELINE, settings(**change), valid=VALIDATION)
    assert "\n" not in str(error.value)


def test_what_training_lacks_is_told():
    with pytest.raises(SurefootError, match="objective ucro needs a baseline"):
        train(TRAINING, None, settings())
    with pytest.raises(SurefootError, match="needs validation queries"):
        train(TRAINING, BASELINE, settings(early_stopping_rounds=3))
    with pytest.raises(SurefootError, match="urisk compares with a baseline; give one, or stop on mean"):
        train(TRAINING, None, settings(objective="lambdamart", stop_on="urisk"), valid=VALIDATION)
    with pytest.raises(SurefootError, match="weights must be finite numbers of 0 or more"):
        train(TRAINING, BASELINE, settings(), sample_weight=np.full(25, -1.0))
    with pytest.raises(SurefootError, match="weights: one for each of 300 documents or of 25 queries; got 7"):
        train(TRAINING, BASELINE, settings(), sample_weight=np.ones(7))


def test_a_random_training_goes_on_from_kept_scores_as_from_predicted_ones(monkeypatch):
    from surefoot.learn.engines.lightgbm import _ScoredDataset

    chosen = settings(n_estimators=120, params={"bagging_freq": 1, "bagging_fraction": 0.8, "feature_fraction": 0.7})
    fast = checkpointed(chosen)
    monkeypatch.setattr(_ScoredDataset, "keep", lambda *_: [])
    slow = checkpointed(chosen)
    assert fast.model.text == slow.model.text
    assert fast.history == slow.history
    assert len(fast.history) == 120
