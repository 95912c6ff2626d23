"""A Ray cluster trains the model of one machine."""

import numpy as np
import pandas
import pytest

from surefoot import SurefootError
from surefoot.analysis.streaming import evaluate_parquet
from surefoot.cluster import fold_on_ray
from surefoot.learn.training import train
from tests.cluster.cluster_cases import (
    FEATURES,
    assert_same,
    assert_same_recipe,
    data_of,
    killer,
    on_one_machine,
    safe,
    settings,
    table,
)

ray = pytest.importorskip("ray", reason="ray is not installed: pip install 'ray[data]'")
pytestmark = pytest.mark.filterwarnings("default")

from surefoot.cluster import ray as on_ray  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=3, include_dashboard=False, logging_level="ERROR", object_store_memory=200_000_000)
    yield
    ray.shutdown()


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def dataset(frame):
    """Three blocks; queries lie across their borders."""
    return ray.data.from_pandas([frame.iloc[:305], frame.iloc[305:500], frame.iloc[500:]])


@pytest.mark.parametrize("objective", ["georisk", "tail"])
def test_the_model_is_that_of_one_machine(dataset, frame, objective) -> None:
    trained = on_ray.train(dataset, "scores:old", settings(objective), workers=2)
    assert_same(trained, on_one_machine(frame, settings(objective)), frame)


def test_the_recipe_is_that_of_one_machine() -> None:
    frame = table(queries=120, documents=8)
    data, _ = data_of(frame)
    trained = on_ray.train(ray.data.from_pandas(frame), "feature:f0", safe(), workers=2, features=FEATURES)
    assert_same_recipe(trained, train(data, "feature:f0", safe(n_jobs=1)), frame)


def test_ranking_and_evaluating_where_the_rows_are(dataset, frame) -> None:
    model = on_one_machine(frame, settings()).model
    ranked = on_ray.predict(model, dataset).to_pandas()
    np.testing.assert_array_equal(ranked["score"], model.predict(ranked[FEATURES].to_numpy(np.float32)))
    assert on_ray.scores(model, dataset, "scores:old", workers=2).values.shape == (2, 60)


def test_scores_are_evaluated_as_on_one_machine(tmp_path) -> None:
    rng = np.random.default_rng(7)
    for part in range(3):
        topics = [f"q{part}-{place}" for place in range(20)]
        frame = pandas.DataFrame({"topic": topics, "old": rng.random(20), "new": rng.random(20)})
        frame.to_parquet(tmp_path / f"{part}.parquet", index=False)
    found, here = (evaluate_parquet(tmp_path, "old", [0, 5], **more) for more in ({"fold": fold_on_ray()}, {}))
    for name in here.columns:
        np.testing.assert_array_equal(found[name], here[name])


def test_a_mistake_and_a_killed_worker_are_reported_in_one_line(dataset, frame, tmp_path) -> None:
    wrong = frame.assign(label=np.where(frame.index == frame.index[-1], 40, frame["label"]))
    with pytest.raises(SurefootError, match="label 40 has no gain"):
        on_ray.train(ray.data.from_pandas(wrong), "scores:old", settings(), workers=2)
    with pytest.raises(
        SurefootError, match=r"the cluster failed on a worker .*; there is no model: train again"
    ) as told:
        on_ray.train(dataset, "scores:old", settings(n_estimators=30), workers=2, callbacks=[killer(3, tmp_path / "x")])
    assert "\n" not in str(told.value)
