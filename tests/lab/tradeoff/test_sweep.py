"""A model for each alpha: what is measured, kept, and not trained again."""

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.tradeoff import files
from surefoot_lab.tradeoff.churn import kendall_distance
from surefoot_lab.tradeoff.models import DataSplit, Trainer
from surefoot_lab.tradeoff.plane import points
from surefoot_lab.tradeoff.sweep import Sweep, sweep_alphas
from surefoot_lab.tradeoff.tables import tradeoff_table

from surefoot import risk
from surefoot.analysis.intervals import intervals
from surefoot.errors import SurefootError
from surefoot.lambdas.metrics import Metric, is_empty
from surefoot.learn import checkpoint
from surefoot.learn.run import TrainingRun
from surefoot.learn.settings import Settings
from surefoot.learn.training import train
from surefoot.stats.bootstrap import BootstrapMethod

ALPHAS = [5.0, 1.0]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("sweep")


@pytest.fixture(scope="module")
def found(sets, few_trees: Settings, folder: Path) -> Sweep:
    made = sweep_alphas(few_trees, sets, ALPHAS, select="max:0", folder=folder)
    files.write_sweep(made, folder)
    return made


def test_alphas_rise_from_the_gain_only_model(found: Sweep) -> None:
    assert found.alphas.tolist() == [0, 1, 5]
    assert found.test.systems == ("feature:0", "alpha=0", "alpha=1", "alpha=5")
    assert found.models == found.test.systems[1:]
    assert found.test.measure == "nDCG(dcg='exp-log2')@10"


def test_models_are_those_of_training_alone(found: Sweep, sets, few_trees: Settings) -> None:
    alone = train(sets.train, "feature:0", replace(few_trees, alpha=5.0, query_feature="max:0"), valid=sets.valid)
    metric = Metric(cutoff=10)
    scores = alone.model.predict(sets.test)
    np.testing.assert_array_equal(found.test["alpha=5"], metric(scores, sets.test.labels, sets.test.bounds))
    baseline = sets.test.column(0)
    np.testing.assert_array_equal(found.test["feature:0"], metric(baseline, sets.test.labels, sets.test.bounds))
    np.testing.assert_array_equal(found.churn["alpha=5"], kendall_distance(baseline, scores, sets.test.bounds))
    assert found.histories[2] == alone.history
    assert found.trees[2] == alone.best_iteration


def test_the_gain_only_model_is_lambdamart(found: Sweep, sets, few_trees: Settings) -> None:
    for objective in ("lambdamart", "ucro"):
        plain = replace(few_trees, objective=objective, alpha=0.0, query_feature="max:0")
        alone = train(sets.train, "feature:0", plain, valid=sets.valid)
        values = Metric(cutoff=10)(alone.model.predict(sets.test), sets.test.labels, sets.test.bounds)
        np.testing.assert_array_equal(found.test["alpha=0"], values)


def test_the_table_is_the_measures(found: Sweep) -> None:
    table = tradeoff_table(found, BootstrapMethod(n_resamples=300))
    base = found.test.values[0]
    for row, alpha in zip(table.rows(), found.alphas, strict=True):
        own = found.test[f"alpha={alpha:g}"]
        assert row["mean"] == pytest.approx(own.mean())
        assert row["urisk"] == pytest.approx(float(risk.urisk(own, base, alpha)))
        assert row["ugain"] == pytest.approx(row["freward"] - row["frisk"])
        assert row["wins"] == (own > base).sum()
        assert row["losses"] == (own < base).sum()
        assert row["churn"] == pytest.approx(found.churn[f"alpha={alpha:g}"].mean())
    assert table["best"].sum() == pytest.approx(1)
    expected = intervals(found.test, "feature:0", 0.0, measures=["urisk", "frisk"], n_resamples=300).rows()
    at = {(row["system"], row["measure"]): (row["low"], row["high"]) for row in expected}
    for row, model in zip(table.rows(), found.models, strict=True):
        assert (row["ugain_low"], row["ugain_high"]) == pytest.approx(at[model, "urisk"])
        assert (row["frisk_low"], row["frisk_high"]) == pytest.approx(at[model, "frisk"])
    assert any("flip a coin" in note for note in table.notes)
    assert any("max:0 is below a threshold" in note for note in table.notes)
    assert "frisk 95 %" in str(table)


def test_the_limit_is_that_of_the_training_queries(found: Sweep) -> None:
    trained = found.train
    assert found.limit == pytest.approx(float(risk.ugain(trained["alpha=0"], trained["feature:0"]) / risk.frisk(
        trained["alpha=0"], trained["feature:0"])))  # fmt: skip
    nearest = found.alphas[np.argmin(np.abs(found.alphas - found.limit))]
    assert len(found.hull) == 1 + (found.alphas <= nearest).sum()


def test_what_is_written_is_read(found: Sweep, folder: Path) -> None:
    again = files.read_sweep(folder)
    pairs = [(getattr(found, name), getattr(again, name)) for name in ("test", "train", "churn", "feature")]
    pairs += [(found.disagreement, again.disagreement), (found.valid.scores, again.valid.scores)]
    pairs += [(found.valid.feature, again.valid.feature), (found.valid.disagreement, again.valid.disagreement)]
    for one, other in pairs:
        assert (one.systems, one.topics, one.measure) == (other.systems, other.topics, other.measure)
        np.testing.assert_array_equal(one.values, other.values)
    assert (again.objective, again.trees, again.validated) == (found.objective, found.trees, True)
    assert again.histories == found.histories
    assert str(tradeoff_table(again, BootstrapMethod(n_resamples=50))) == str(
        tradeoff_table(found, BootstrapMethod(n_resamples=50))
    )


def test_finished_models_are_not_trained_again(
    found: Sweep, sets, few_trees: Settings, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "again"
    shutil.copytree(folder, place)
    shutil.rmtree(place / "alpha-5")
    trained: list[float] = []

    def counting(run: TrainingRun, *others: object, **words: object) -> object:
        trained.append(run.settings.alpha)
        return train_one(run, *others, **words)

    train_one = TrainingRun.train
    monkeypatch.setattr(TrainingRun, "train", counting)
    again = sweep_alphas(few_trees, sets, ALPHAS, select="max:0", folder=place)
    assert trained == [5.0]
    np.testing.assert_array_equal(again.test.values, found.test.values)


def test_a_model_that_was_interrupted_goes_on(found: Sweep, sets, few_trees: Settings, tmp_path: Path) -> None:
    def interrupt(name: str, at: object) -> None:
        if name == "alpha-1" and at.iteration == 3:
            raise KeyboardInterrupt

    words = {"select": "max:0", "folder": tmp_path}
    with pytest.raises(KeyboardInterrupt):
        sweep_alphas(few_trees, sets, ALPHAS, report=interrupt, **words)
    assert (tmp_path / "alpha-0" / "card.json").exists()
    assert (tmp_path / "alpha-1" / "checkpoint.json").exists()
    again = sweep_alphas(few_trees, sets, ALPHAS, **words)
    np.testing.assert_array_equal(again.test.values, found.test.values)
    assert again.histories == found.histories
    assert not (tmp_path / "alpha-1" / "checkpoint.json").exists()


def test_models_of_other_settings_or_data_are_refused(found: Sweep, sets, few_trees: Settings, folder: Path) -> None:
    other = replace(few_trees, n_estimators=5)
    with pytest.raises(SurefootError, match="another n_estimators; name another folder"):
        sweep_alphas(other, sets, ALPHAS, select="max:0", folder=folder)
    with pytest.raises(SurefootError, match="another baseline"):
        sweep_alphas(few_trees, replace(sets, baseline="feature:1"), ALPHAS, select="max:0", folder=folder)
    with pytest.raises(SurefootError, match="another validation baseline, validation data"):
        sweep_alphas(few_trees, replace(sets, valid=None), ALPHAS, select="max:0", folder=folder)


def test_a_baseline_changed_on_validation_queries_alone_is_refused(sets, few_trees: Settings, tmp_path: Path) -> None:
    def train_one(scale: float) -> None:
        first, valid = sets.train.column(0), sets.valid.column(0) * scale
        split = DataSplit(sets.train, {"mine": first}, sets.valid, valid_baseline={"mine": valid})
        Trainer(split, tmp_path).get("one", replace(few_trees, n_estimators=1))

    train_one(1.0)
    train_one(1.0)  # the same again is not refused
    with pytest.raises(SurefootError, match="another validation baseline; name another folder"):
        train_one(-1.0)


def test_a_model_of_another_version_is_refused(
    sets, few_trees: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = Trainer(replace(sets, valid=None), tmp_path)
    trainer.get("one", replace(few_trees, n_estimators=1))
    monkeypatch.setattr(checkpoint, "__version__", "0")
    with pytest.raises(SurefootError, match="another version; name another folder"):
        trainer.get("one", replace(few_trees, n_estimators=1))


def test_the_gain_only_model_is_validated_by_gain_alone(found: Sweep) -> None:
    for figures in found.histories[0]:
        assert figures["urisk"] == pytest.approx(figures["freward"] - figures["frisk"])


def test_several_baselines_are_compared_with_as_their_mean(sets, few_trees: Settings) -> None:
    settings = replace(few_trees, objective="georisk")
    found = sweep_alphas(settings, replace(sets, baseline=["feature:0", "feature:1"], valid=None), [1.0])
    metric = Metric(cutoff=10)
    each = [metric(sets.test.column(number), sets.test.labels, sets.test.bounds) for number in (0, 1)]
    assert found.baseline == "mean of 2 baselines"
    np.testing.assert_allclose(found.test.values[0], np.mean(each, axis=0))
    assert found.churn is None
    assert np.isnan(tradeoff_table(found, BootstrapMethod(n_resamples=50))["churn"]).all()
    assert not found.validated


def test_dropped_queries_are_dropped_everywhere(sets, few_trees: Settings) -> None:
    settings = replace(few_trees, empty="drop")
    labels = sets.test.labels.copy()
    labels[: sets.test.bounds[1]] = 0
    test = replace(sets.test, labels=labels)
    found = sweep_alphas(settings, replace(sets, test=test), [1.0], select="mean:2")
    known = [query for query, none in zip(test.queries, is_empty(labels, test.bounds), strict=True) if not none]
    assert found.test.topics == tuple(known) == found.churn.topics == found.feature.topics
    assert "q0" not in known


def test_the_scale_of_err_is_that_of_the_training_data(sets, few_trees: Settings) -> None:
    settings = replace(few_trees, metric="err")
    low = replace(sets.test, labels=np.minimum(sets.test.labels, 1))
    found = sweep_alphas(settings, replace(sets, test=low), [1.0])
    expected = Metric("err", max_label=2)(low.column(0), low.labels, low.bounds)
    np.testing.assert_allclose(found.test["feature:0"], expected)


def test_what_does_not_fit_is_said_before_training(sets, few_trees: Settings) -> None:
    def never(name: str, at: object) -> None:
        raise AssertionError(name)

    with pytest.raises(SurefootError, match="no feature 9"):
        sweep_alphas(few_trees, replace(sets, valid=None), [1.0], select="max:9", report=never)
    with pytest.raises(SurefootError, match="no feature 9"):
        sweep_alphas(few_trees, replace(sets, baseline="feature:9", valid=None), [1.0], report=never)


def test_mistakes(sets, few_trees: Settings, tmp_path: Path) -> None:
    with pytest.raises(SurefootError, match="lambdamart has no alpha"):
        sweep_alphas(replace(few_trees, objective="lambdamart"), replace(sets, valid=None))
    with pytest.raises(SurefootError, match="against a baseline; name one"):
        sweep_alphas(few_trees, replace(sets, baseline=None, valid=None))
    with pytest.raises(SurefootError, match="holds no trade-off"):
        files.read_sweep(tmp_path)
    with pytest.raises(SurefootError, match="holds no search"):
        files.read_choice(tmp_path)
    (tmp_path / "tradeoff.json").write_text("{")
    with pytest.raises(SurefootError, match="is not the card of a trade-off"):
        files.read_sweep(tmp_path)


def test_broken_folders_are_said(found: Sweep, folder: Path, sets, few_trees: Settings, tmp_path: Path) -> None:
    place = tmp_path / "broken"
    shutil.copytree(folder, place)
    (place / "alpha-1" / "history.csv").unlink()
    with pytest.raises(SurefootError, match="is missing"):
        files.read_sweep(place)
    (place / "alpha-0" / "request.json").write_text("[")
    with pytest.raises(SurefootError, match="not the request of a training"):
        sweep_alphas(few_trees, sets, ALPHAS, folder=place)


def test_alpha_lowers_risk_on_public_data(data: Path) -> None:
    split = DataSplit.read([data / "mq2008" / "S1.txt.gz"], "feature:25", test=[data / "mq2008" / "S5.txt.gz"])
    settings = Settings("ucro", n_estimators=15, num_leaves=7, n_jobs=1)
    found = sweep_alphas(settings, split, [10.0], select="mean:25")
    learned = points(found.train.values[1:], found.train.values[0])
    assert learned.risk[1] < learned.risk[0]
    assert (found.curve.gain > 0).all()
    assert found.hull.gain[-1] == 0


def test_bags_and_guards_leave_the_validation_queries_unseen(sets: DataSplit) -> None:
    chosen = Settings(n_estimators=3, min_child_samples=5, n_bags=2, guard="z", n_jobs=1)
    trained = Trainer(sets).get("guarded", chosen)
    assert trained.model.card["data"]["queries"] == len(sets.train)
    scores = Trainer(sets).scores({"guarded": trained}, sets.test)
    assert scores.systems[1] == "guarded"
