"""A Spark cluster trains the model of one machine."""

import runpy
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from surefoot import SurefootError
from surefoot.cluster import spark, training
from surefoot.cluster.shards import Columns, predict_rows
from surefoot.cluster.training import WorkerRequest
from surefoot.learn.models import load_model
from surefoot.learn.objectives.base import Comm
from surefoot.learn.training import train
from surefoot.learn.validation import Validation
from tests.cluster.cluster_cases import (
    BOUND,
    FEATURES,
    assert_same,
    assert_same_recipe,
    data_of,
    furthest,
    killer,
    on_one_machine,
    recorder,
    safe,
    settings,
    table,
    trees_of,
)

sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: surefoot[cluster]")
pytest.importorskip("pyarrow", reason="Spark's workers need pyarrow")
pytestmark = [
    pytest.mark.skipif(shutil.which("java") is None, reason="Spark needs Java, which is not installed"),
    # Of Spark itself: it has not been tried with the newest pandas, and leaves sockets open as it ends.
    pytest.mark.filterwarnings(
        "default:PySpark does not yet fully support pandas:FutureWarning",
        "default::ResourceWarning",
        "default::pytest.PytestUnraisableExceptionWarning",
    ),
]


@pytest.fixture(scope="module")
def session():
    """Four tasks at a time; a stage may be tried twice."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        settings = {
            "spark.ui.enabled": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.log.level": "OFF",
            "spark.stage.maxConsecutiveAttempts": "2",
        }
        builder = sql.SparkSession.builder.master("local[4]")
        for name, value in settings.items():
            builder = builder.config(name, value)
        session = builder.getOrCreate()
        yield session
        session.stop()


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def rows(session, frame):
    return session.createDataFrame(frame).persist()


@pytest.mark.parametrize(("workers", "objective"), [(2, "ucro"), (4, "faro"), (2, "georisk"), (2, "tail")])
def test_the_model_is_that_of_one_machine(rows, frame, workers, objective) -> None:
    trained = spark.train(rows, "scores:old", settings(objective), workers=workers)
    one = on_one_machine(frame, settings(objective))
    assert_same(trained, one, frame)
    assert trained.model.card["workers"] == workers
    assert {**trained.model.card["data"], "source": "data", "fingerprint": ""} == {
        **one.model.card["data"],
        "fingerprint": "",
    }


def test_the_recipe_is_that_of_one_machine(session) -> None:
    frame = table(queries=120, documents=8)
    data, _ = data_of(frame)
    trained = spark.train(session.createDataFrame(frame), "feature:f0", safe(), workers=2, features=FEATURES)
    assert_same_recipe(trained, train(data, "feature:f0", safe(n_jobs=1)), frame)


@pytest.mark.parametrize("objective", ["faro", "georisk"])
def test_tasks_that_look_at_their_own_queries_only_train_another_model(rows, frame, objective, monkeypatch) -> None:
    monkeypatch.setattr(training, "WorkerRequest", lambda *given, **more: WorkerRequest(*given, **more, comm=Comm()))
    trained = spark.train(rows, "scores:old", settings(objective), workers=2)
    assert furthest(trained, on_one_machine(frame, settings(objective)), frame) > 100 * BOUND


def test_validation_early_stopping_and_a_task_without_rows(session, frame, rows) -> None:
    chosen = settings("faro", n_estimators=40, early_stopping_rounds=4, stop_on="trisk")
    held = table(queries=2, seed=2)
    trained = spark.train(rows, "scores:old", chosen, valid=session.createDataFrame(held), workers=3)
    one = on_one_machine(frame, chosen, held)
    assert_same(trained, one, frame)
    assert (trained.best_iteration, len(trained.history)) == (one.best_iteration, len(one.history))
    assert trained.model.card["validation"] == pytest.approx(one.model.card["validation"], abs=1e-9)
    few = table(queries=1)
    trained = spark.train(session.createDataFrame(few), "scores:old", settings("faro"), workers=2)
    assert_same(trained, on_one_machine(few, settings("faro")), few)


def test_ranking_and_evaluating_where_the_rows_are(session, rows, frame) -> None:
    model = on_one_machine(frame, settings()).model
    ranked = spark.predict(model, rows).toArrow()
    assert ranked.column_names == [*frame.columns, "score"]
    features = np.column_stack([ranked[name].to_numpy() for name in FEATURES]).astype(np.float32)
    np.testing.assert_array_equal(ranked["score"].to_numpy(), model.predict(features))
    baseline = ["scores:old", "feature:f0"]
    found = spark.scores(model, rows, baseline, workers=3)
    shard = Columns.among(list(frame.columns), baseline=baseline).shard(frame)
    expected = Validation.of(settings(), shard.data, shard.baselines).scores("ranker", model.predict(shard.data))
    assert (found.systems, found.topics, found.measure) == (expected.systems, expected.topics, expected.measure)
    np.testing.assert_array_equal(found.values, expected.values)


def test_an_estimator_with_a_column_of_vectors(rows, frame) -> None:
    from pyspark.ml import Pipeline
    from pyspark.ml.feature import VectorAssembler

    from surefoot.cluster.spark_ml import RiskRankerEstimator

    chosen = settings("georisk")
    ranker = RiskRankerEstimator(chosen, workers=2, baseline="scores:old", predictionCol="rank")
    fitted = Pipeline(stages=[VectorAssembler(inputCols=FEATURES, outputCol="features"), ranker]).fit(rows)
    one = on_one_machine(frame, chosen)
    assert trees_of(fitted.stages[-1]) == trees_of(one)
    ranked = fitted.transform(rows).select("rank", *FEATURES).toArrow()
    features = np.column_stack([ranked[name].to_numpy() for name in FEATURES]).astype(np.float32)
    np.testing.assert_array_equal(ranked["rank"].to_numpy(), one.model.by_index().predict(features))


def test_a_guarded_model_ranks_where_the_rows_are(session) -> None:
    frame = table(queries=20).assign(row=np.arange(240))
    data, old = data_of(frame)
    model = train(data, {"old": old}, settings(n_bags=2, guard="z", n_jobs=1)).model
    ranked = spark.predict(model, session.createDataFrame(frame)).toArrow().sort_by("row")
    np.testing.assert_array_equal(ranked["score"].to_numpy(), predict_rows(model, frame))


def test_the_example_trains_and_evaluates(rows, frame, tmp_path, capsys) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "spark_train.py"))
    rows.write.parquet(str(tmp_path / "log"))
    model = tmp_path / "model"
    example["main"](
        [str(tmp_path / "log"), str(tmp_path / "log"), str(model), "--baseline", "feature:f0", "--trees", "5"]
    )
    assert load_model(model).card["trees"] == 5
    assert "urisk" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("label", 40, "label 40 has no gain"),
        ("label", 0.5, "labels must be whole numbers"),
        ("old", np.inf, "column 'old' of a baseline must have finite numbers"),
    ],
)
def test_a_mistake_of_one_task_is_told_in_one_line(session, frame, column, value, message) -> None:
    wrong = frame.copy()
    wrong[column] = wrong[column].astype(float)
    wrong.loc[wrong.index[-1], column] = value
    with pytest.raises(SurefootError, match=message) as told:
        spark.train(session.createDataFrame(wrong), "scores:old", settings(), workers=2)
    assert "\n" not in str(told.value)


def test_queries_without_names_are_refused(session) -> None:
    nameless = session.createDataFrame([(None, 1, 2.0), ("a", 0, 1.0)], "qid string, label int, x double")
    with pytest.raises(SurefootError, match="column 'qid' of queries has missing values"):
        spark.train(nameless, None, settings("lambdamart"), workers=2)


def test_a_task_that_dies_is_started_again_with_all_others(rows, frame, tmp_path) -> None:
    chosen, shot = settings("faro", n_estimators=20), tmp_path / "shot"
    trained = spark.train(rows, "scores:old", chosen, workers=2, callbacks=[killer(3, shot)])
    assert shot.exists()
    assert_same(trained, on_one_machine(frame, chosen), frame)


def test_tasks_that_start_again_go_on_from_the_checkpoint(rows, tmp_path) -> None:
    chosen = settings("faro", n_estimators=12)
    (tmp_path / "seen").mkdir()
    trained = spark.train(
        rows, "scores:old", chosen, workers=2, checkpoint=tmp_path / "checkpoint.json", checkpoint_every=0.0,
        callbacks=[recorder(tmp_path / "seen"), killer(5, tmp_path / "shot")],
    )  # fmt: skip
    assert (tmp_path / "shot").exists()
    begun = [path.name for path in (tmp_path / "seen").iterdir() if path.name.endswith(" 0")]
    assert sorted(begun) == ["0 0", "1 0"]
    assert [(tmp_path / "seen" / name).read_text() for name in begun] == ["x", "x"]  # once
    assert trained.model.text == spark.train(rows, "scores:old", chosen, workers=2).model.text


def test_a_task_that_dies_again_and_again_leaves_no_model(rows, tmp_path) -> None:
    callbacks = [killer(2, tmp_path / "first"), killer(3, tmp_path / "second")]
    with pytest.raises(SurefootError, match=r"Spark gave up \(.*\); there is no result") as told:
        spark.train(rows, "scores:old", settings(n_estimators=20), workers=2, callbacks=callbacks)
    assert (tmp_path / "second").exists()
    assert "\n" not in str(told.value)
