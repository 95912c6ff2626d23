"""A Dask cluster trains the model of one machine."""

from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from surefoot import SurefootError
from surefoot.cli import main
from surefoot.cluster.shards import Columns, predict_rows
from surefoot.cluster.training import WorkerRequest, combine, train_worker
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
)

distributed = pytest.importorskip("distributed", reason="dask is not installed: surefoot[cluster]")
dask_frames = pytest.importorskip("dask.dataframe", reason="dask is not installed: surefoot[cluster]")

from dask import config as dask_config  # noqa: E402

from surefoot.cluster import dask  # noqa: E402

# The cluster's own threads and sockets warn as they end.
pytestmark = pytest.mark.filterwarnings("default::ResourceWarning", "default::pytest.PytestUnraisableExceptionWarning")


@contextmanager
def cluster_of(workers):
    with (
        distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def client():
    with cluster_of(2) as client:
        yield client


@pytest.fixture(scope="module")
def frame():
    return table()


@pytest.fixture(scope="module")
def spread_out(frame):
    """The same rows in more partitions than workers; queries lie across their borders."""
    parts = dask_frames.from_pandas(frame, npartitions=7, sort=False)
    ends = np.cumsum([len(part) for part in parts.partitions])[:-1]
    assert any(frame["qid"].iloc[end - 1] == frame["qid"].iloc[end] for end in ends)
    return parts


@pytest.mark.parametrize("objective", ["ucro", "faro", "georisk", "tail", "minimax-regret"])
def test_the_model_is_that_of_one_machine(client, frame, spread_out, objective) -> None:
    trained = dask.train(client, spread_out, "scores:old", settings(objective))
    one = on_one_machine(frame, settings(objective))
    assert_same(trained, one, frame)
    card, other = trained.model.card, one.model.card
    assert card["workers"] == len(client.nthreads())
    assert {**card["data"], "source": "data", "fingerprint": ""} == {**other["data"], "fingerprint": ""}
    assert {key: card[key] for key in other if key not in ("data", "baselines")} == {
        key: other[key] for key in other if key not in ("data", "baselines")
    }
    for found, expected in zip(trained.history, one.history, strict=True):
        assert found == pytest.approx(expected, abs=1e-9)


def test_the_recipe_is_that_of_one_machine(client, tmp_path) -> None:
    """Bags, the rows and features that each sees, and the guard; also from a checkpoint."""
    frame = table(queries=120, documents=8)
    parts = dask_frames.from_pandas(frame, npartitions=5, sort=False)
    data, _ = data_of(frame)
    one = train(data, "feature:f0", safe(n_jobs=1))
    assert one.model.guard.kind != "none"
    keeping = {"checkpoint": tmp_path / "checkpoint.json", "checkpoint_every": 0.0}
    for _ in range(2):
        trained = dask.train(client, parts, "feature:f0", safe(), features=FEATURES, **keeping)
        assert_same_recipe(trained, one, frame)
    assert trained.out_of_bag is None


def test_four_workers_train_the_same_model_too(frame, spread_out) -> None:
    with cluster_of(4) as client:
        trained = dask.train(client, spread_out, "scores:old", settings("georisk"))
    assert trained.model.card["workers"] == 4
    assert_same(trained, on_one_machine(frame, settings("georisk")), frame)


def test_workers_that_look_at_their_own_queries_only_train_another_model(client, frame) -> None:
    """What the test above can tell: without the sums over all workers faro and georisk fail it; ucro needs none."""
    columns = Columns.among(list(frame.columns), baseline="scores:old")
    cluster = dask.DaskCluster(client)
    placed = [cluster.place(dask_frames.from_pandas(frame, npartitions=3), columns)]
    far = {}
    for objective in ("ucro", "faro", "georisk"):
        work = partial(train_worker, WorkerRequest(settings(objective), comm=Comm()))
        trained = combine(cluster.run_placed(work, placed, together=True), "here")
        far[objective] = furthest(trained, on_one_machine(frame, settings(objective)), frame)
    assert far["ucro"] < BOUND
    assert far["faro"] > 100 * BOUND
    assert far["georisk"] > 100 * BOUND


def test_validation_and_early_stopping_look_at_all_queries(client, frame, spread_out) -> None:
    chosen = settings("faro", n_estimators=40, early_stopping_rounds=4, stop_on="trisk")
    held = table(queries=31, seed=2)
    parts = dask_frames.from_pandas(held, npartitions=3)
    trained = dask.train(client, spread_out, "scores:old", chosen, valid=parts)
    one = on_one_machine(frame, chosen, held)
    assert_same(trained, one, frame)
    assert (trained.best_iteration, len(trained.history)) == (one.best_iteration, len(one.history))
    assert len(one.history) < 40
    for found, expected in zip(trained.history, one.history, strict=True):
        assert found == pytest.approx(expected, abs=1e-9)
    assert trained.model.card["validation"] == pytest.approx(one.model.card["validation"], abs=1e-9)


@pytest.mark.parametrize(("objective", "queries"), [("faro", 3), ("georisk", 1)])
def test_a_worker_without_rows_takes_part(client, objective, queries) -> None:
    """One query is on one worker, and all others have none."""
    few = table(queries)
    held = table(queries=1, seed=5)
    chosen = settings(objective, stop_on="urisk")
    trained = dask.train(client, dask_frames.from_pandas(few, npartitions=1), "scores:old", chosen,
                         valid=dask_frames.from_pandas(held, npartitions=1))  # fmt: skip
    assert_same(trained, on_one_machine(few, chosen, held), few)
    assert trained.model.booster.feature_names == FEATURES


def test_the_same_table_and_workers_give_the_same_model_again(client, frame) -> None:
    """Also where features are not binned alike everywhere, and however the table lies in partitions."""
    fine = frame.assign(**{name: frame[name] + np.random.default_rng(4).random(len(frame)) for name in FEATURES})
    found = [
        dask.train(
            client, dask_frames.from_pandas(fine, npartitions=pieces, sort=False), "scores:old", settings("georisk")
        )
        for pieces in (3, 5)
    ]
    assert found[0].model.text == found[1].model.text
    assert found[0].model.card["data"] == found[1].model.card["data"]


def test_a_model_goes_on_learning(client, frame, spread_out) -> None:
    chosen = settings("faro")
    first = on_one_machine(frame, chosen)
    trained = dask.train(client, spread_out, "scores:old", chosen, init_model=first.model)
    one = on_one_machine(frame, chosen, init_model=first.model.booster)
    assert trained.model.booster.num_boosted_rounds() == 16
    assert_same(trained, one, frame)


def test_err_takes_its_scale_from_all_labels(client, frame, spread_out) -> None:
    chosen = settings("ucro", metric="err")
    trained, one = dask.train(client, spread_out, "scores:old", chosen), on_one_machine(frame, chosen)
    assert trained.model.card["settings"]["max_label"] == one.model.card["settings"]["max_label"] == 3
    assert_same(trained, one, frame)


def test_ranking_and_evaluating_where_the_rows_are(client, frame, spread_out) -> None:
    model = on_one_machine(frame, settings()).model
    np.testing.assert_array_equal(
        dask.predict(model, spread_out).compute().to_numpy(), model.predict(frame[FEATURES].to_numpy(np.float32))
    )
    found = dask.scores(client, model, spread_out, ["scores:old", "feature:f0"])
    columns = Columns.among(list(frame.columns), baseline=["scores:old", "feature:f0"])
    shard = columns.shard(frame)
    expected = Validation.of(settings(), shard.data, shard.baselines).scores("ranker", model.predict(shard.data))
    assert (found.systems, found.topics, found.measure) == (expected.systems, expected.topics, expected.measure)
    np.testing.assert_array_equal(found.values, expected.values)


def test_a_guarded_model_ranks_where_the_rows_are(client) -> None:
    frame = table(queries=20)
    data, old = data_of(frame)
    model = train(data, {"old": old}, settings(n_bags=2, guard="z", n_jobs=1)).model
    parts = dask_frames.from_pandas(frame, npartitions=3, sort=False)
    found = dask.predict(model, parts).compute().sort_index()
    np.testing.assert_array_equal(found, predict_rows(model, frame))


def test_features_labels_and_queries_apart(client, frame, spread_out) -> None:
    chosen, held = settings("georisk", stop_on="mean"), table(queries=11, seed=3)
    rest = dask_frames.from_pandas(held, npartitions=2, sort=False)
    ranker = dask.DaskRiskRanker(chosen, client=client)
    valid = (rest[FEATURES], rest["label"], rest["qid"], rest["old"])
    ranker.fit(spread_out[FEATURES], spread_out["label"], qid=spread_out["qid"], baseline=spread_out["old"],
               eval_set=valid)  # fmt: skip
    one = on_one_machine(frame, chosen, held)
    assert_same(ranker.trained_, one, frame)
    np.testing.assert_array_equal(
        ranker.predict(spread_out[FEATURES]).compute(), one.model.predict(frame[FEATURES].to_numpy(np.float32))
    )


def test_a_folder_of_parquet_files(client, frame, spread_out, tmp_path) -> None:
    spread_out.to_parquet(tmp_path / "log", write_index=False)
    trained = dask.train(client, tmp_path / "log", "scores:old", settings("faro"))
    assert_same(trained, on_one_machine(frame, settings("faro")), frame)
    words = ["train", "--cluster", client.scheduler.address, "--train", str(tmp_path / "log"), "--engine", "xgboost"]
    words += ["--baseline", "scores:old", "--objective", "faro", "--alpha", "2", "--trees", "8", "--leaves", "8"]
    assert main([*words, "--rate", "0.2", "-o", str(tmp_path / "model")]) == 0
    assert load_model(tmp_path / "model").text == trained.model.text


def test_data_of_this_process(client, frame) -> None:
    data, _ = data_of(frame)
    held, _ = data_of(table(queries=11, seed=3))
    chosen = settings("georisk", stop_on="mean")
    trained = dask.train_data(client, data, "feature:f0", chosen, valid=held)
    one = train(data, "feature:f0", replace(chosen, n_jobs=1), valid=held)
    assert_same(trained, one, frame)
    assert trained.model.card["data"] == one.model.card["data"]
    assert trained.model.card["validation"] == pytest.approx(one.model.card["validation"], abs=1e-9)


def test_data_of_this_process_again_and_again(client, frame) -> None:
    """What an earlier training let go of is not taken from a later one that has the same data."""
    data, _ = data_of(frame)
    chosen = settings("ucro")
    assert len({dask.train_data(client, data, "feature:f0", chosen).model.text for _ in range(6)}) == 1


def test_the_command_trains_on_a_cluster(client, frame, tmp_path, capsys) -> None:
    lines = [
        f"{row.label} qid:{row.qid} " + " ".join(f"{place + 1}:{row[name]:g}" for place, name in enumerate(FEATURES))
        for _, row in frame.sort_values("qid", kind="stable").astype(int).iterrows()
    ]
    letor = tmp_path / "train.txt"
    letor.write_text("\n".join(lines) + "\n")
    words = ["train", "--train", str(letor), "--objective", "faro", "--baseline", "feature:1", "--trees", "5"]
    words += ["--engine", "xgboost", "--leaves", "8", "--threads", "1"]
    assert main([*words, "-o", str(tmp_path / "here")]) == 0
    there = [*words, "--cluster", client.scheduler.address, "-o", str(tmp_path / "there"), "--resume"]
    assert main(there) == 0
    assert not (tmp_path / "there" / "checkpoint.json").exists()
    here, there = (load_model(tmp_path / name) for name in ("here", "there"))
    values = frame[FEATURES].to_numpy(np.float32)
    np.testing.assert_allclose(there.predict(values), here.predict(values), atol=BOUND)
    assert there.card["data"] == here.card["data"]
    assert main([*words[:-6], "--cluster", client.scheduler.address, "-o", str(tmp_path / "no")]) == 2
    assert "a cluster trains by XGBoost; set engine to xgboost" in capsys.readouterr().err


def test_a_query_on_the_wrong_worker_is_found(client, frame) -> None:
    columns, cluster = Columns.among(list(frame.columns), baseline="scores:old"), dask.DaskCluster(client)
    placed = cluster.place(dask_frames.from_pandas(frame, npartitions=3), columns)
    work = partial(train_worker, WorkerRequest(settings()))
    with pytest.raises(SurefootError, match=r"query \d+ is on worker \d of \d, where its hash does not put it"):
        cluster.run_placed(work, [placed[::-1]], together=True)


def test_tasks_are_as_many_as_partitions_and_workers(frame) -> None:
    columns = Columns.among(list(frame.columns))

    def tasks(partitions, workers):
        table = dask_frames.from_pandas(frame, npartitions=partitions, sort=False)
        return len(dask.shuffled(table, columns, workers).optimize().__dask_graph__())

    with dask_config.set({"dataframe.shuffle.method": "p2p"}):
        step = tasks(20, 4) - tasks(10, 4)
        assert tasks(40, 4) - tasks(20, 4) == 2 * step <= 60
        assert tasks(40, 16) - tasks(40, 4) <= 12 * 2


@pytest.mark.parametrize(
    ("change", "chosen", "message"),
    [
        ({"label": 40}, {}, "label 40 has no gain"),
        ({"label": 0.5}, {}, "labels must be whole numbers"),
        ({"qid": None}, {}, "column 'qid' of queries has missing values"),
        ({}, {"early_stopping_rounds": 3}, "needs validation queries"),
        ({}, {"params": {"max_leaves": -3}}, "max_leaves"),
        ({}, {"params": {"eval_metric": "ndcg"}}, "XGBoost's eval_metric is metric here"),
        ({}, {"objective_options": {"share": 1}}, "objective ucro has the options alpha; got share"),
    ],
)
def test_a_mistake_of_one_worker_is_told_in_one_line(client, frame, change, chosen, message) -> None:
    wrong = frame.copy()
    for column, value in change.items():
        wrong[column] = wrong[column].astype(float)
        wrong.loc[wrong.index[-1], column] = value
    with pytest.raises(SurefootError, match=message) as told:
        dask.train(client, dask_frames.from_pandas(wrong, npartitions=3), "scores:old", settings(**chosen))
    assert "\n" not in str(told.value)


def test_what_goes_wrong_on_one_worker_in_the_middle_is_told(client, spread_out) -> None:
    import xgboost

    class Full(xgboost.callback.TrainingCallback):
        def after_iteration(self, model, epoch, evals_log):
            if epoch == 3 and xgboost.collective.get_rank() == 1:
                raise RuntimeError("no space left")
            return False

    with pytest.raises(SurefootError, match=r"failed on a worker \(RuntimeError: no space left\); there is no model"):
        dask.train(client, spread_out, "scores:old", settings(n_estimators=30), callbacks=[Full()])


def test_a_worker_that_dies_is_told_and_leaves_no_model(client, frame, spread_out, tmp_path) -> None:
    before = set(client.nthreads())
    with pytest.raises(
        SurefootError, match=r"the cluster (lost tcp|failed on a worker).*; there is no model: train again"
    ):
        dask.train(
            client, spread_out, "scores:old", settings(n_estimators=30), callbacks=[killer(3, tmp_path / "shot")]
        )
    assert (tmp_path / "shot").exists()
    client.wait_for_workers(len(before), timeout=300)
    assert set(client.nthreads()) != before  # its nanny has started another in its place
    assert_same(dask.train(client, spread_out, "scores:old", settings()), on_one_machine(frame, settings()), frame)


def test_a_killed_training_goes_on_from_its_checkpoint_to_the_same_model(client, spread_out, tmp_path) -> None:
    chosen, checkpoint = settings("georisk", n_estimators=12), tmp_path / "shared" / "checkpoint.json"
    keeping = {"checkpoint": checkpoint, "checkpoint_every": 0.0}
    whole = dask.train(client, spread_out, "scores:old", chosen)
    workers = len(client.nthreads())
    with pytest.raises(SurefootError, match="there is no model: train again"):
        dask.train(client, spread_out, "scores:old", chosen, callbacks=[killer(5, tmp_path / "shot")], **keeping)
    client.wait_for_workers(workers, timeout=300)
    (tmp_path / "seen").mkdir()
    with pytest.raises(SurefootError, match=r"checkpoint\.json: belongs to a training with another alpha"):
        dask.train(client, spread_out, "scores:old", replace(chosen, alpha=3.0), **keeping)
    doubled = spread_out.assign(old=spread_out["old"] * spread_out["label"])
    with pytest.raises(SurefootError, match=r"belongs to a training with another .*rows of a worker"):
        dask.train(client, doubled, "scores:old", chosen, **keeping)
    trained = dask.train(client, spread_out, "scores:old", chosen, callbacks=[recorder(tmp_path / "seen")], **keeping)
    seen = {tuple(map(int, path.name.split())) for path in (tmp_path / "seen").iterdir()}
    first = min(iteration for _, iteration in seen)
    assert 0 < first <= 5
    assert seen == {(worker, iteration) for worker in range(workers) for iteration in range(first, 12)}
    assert trained.model.text == whole.model.text
    assert trained.history == whole.history
    assert trained.model.card == whole.model.card
