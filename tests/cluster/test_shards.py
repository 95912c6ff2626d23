"""Partitioning queries, reading columns, and sums over workers that are threads of one process."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pandas
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot import SurefootError
from surefoot.cluster.shards import (
    ROW,
    Columns,
    Shard,
    evaluate_shard,
    features_of,
    predict_rows,
    shard_of,
    split_data,
)
from surefoot.cluster.training import WorkerRequest
from surefoot.learn.baseline import baselines_of
from surefoot.learn.boosting import RiskObjective
from surefoot.learn.data import RankingData, query_keys
from surefoot.learn.objectives import OBJECTIVES
from surefoot.learn.objectives.base import Comm, QueryMetrics
from surefoot.learn.settings import PairOptions
from surefoot.learn.training import train
from surefoot.learn.validation import Validation
from tests.cluster.cluster_cases import data_of, settings, table


@given(st.lists(st.text(max_size=5), max_size=60, unique=True), st.integers(1, 9))
def test_shards_in_their_order_have_all_queries_by_key(queries, parts) -> None:
    """However many there are, so that what is gathered from workers comes in the same order."""
    data = RankingData.of(np.zeros((len(queries), 1)), np.zeros(len(queries)), np.array(queries, dtype=np.str_))
    found = list(split_data(data, baselines_of(None, data), parts))
    assert len(found) == parts
    assert [query for shard in found for query in shard.data.queries] == sorted(
        data.queries, key=lambda query: query_keys([query])[0]
    )
    for place, shard in enumerate(found):
        assert set(shard_of(shard.data.keys, parts).tolist()) <= {place}


def test_shards_have_about_the_same_number_of_queries() -> None:
    shards = np.bincount(shard_of(query_keys(range(100_000)), 7), minlength=7)
    assert np.abs(shards - 100_000 / 7).max() < 5 * np.sqrt(100_000 / 7)


def test_columns_by_what_they_are() -> None:
    names = ["qid", "label", "docno", "a", "b", "old", "reached"]
    columns = Columns.among(names, baseline=["feature:a", "scores:old", "values:reached"])
    assert columns.features == ("a", "b")
    assert columns.needed == ["qid", "label", "a", "b", "old", "reached"]
    assert Columns.among(names, features=["b"]).features == ("b",)
    for more, message in [
        ({"query": "topic"}, "no column 'topic'; it has qid, label"),
        ({"baseline": "run:old"}, "must be one of feature, scores, values; got 'run'"),
        ({"baseline": "old"}, "feature:NAME, scores:NAME or values:NAME; got 'old'"),
        ({"baseline": "scores:gone"}, "no column 'gone'"),
        ({"features": []}, "no column of features"),
    ]:
        with pytest.raises(SurefootError, match=message):
            Columns.among(names, **more)
    with pytest.raises(SurefootError, match="named by texts; they are 0, 1"):
        Columns.among([0, 1])


def test_a_shard_has_queries_sorted_and_rows_in_order() -> None:
    frame = pandas.DataFrame(
        {"qid": ["b", "a", "b", "a"], "label": [0, 1, 2, 0], "x": [1.0, None, 3.0, 4.0], "v": [0.5, 0.25, 0.5, 0.25]}
    )
    part = Columns.among(list(frame.columns), baseline=["feature:x", "values:v"]).shard(frame)
    assert np.all(np.diff(query_keys(["b", "a"])) > 0)
    assert part.data.queries == ("b", "a")
    np.testing.assert_array_equal(part.data.features[:, 0], [1, 3, np.nan, 4])
    np.testing.assert_array_equal(part.data.labels, [0, 2, 1, 0])
    assert part.baselines.names == ("feature:x", "v")
    np.testing.assert_array_equal(part.baselines.scores[0], [1, 3, -1e300, 4])
    np.testing.assert_array_equal(part.baselines.metrics[1], [0.5, 0.25])
    again = Columns.among(list(frame.columns), features=["x"]).shard(frame[::-1].assign(**{ROW: [3, 2, 1, 0]}))
    np.testing.assert_array_equal(again.data.features, part.data.features)
    empty = Columns.among(list(frame.columns), baseline="values:v").shard(frame[:0])
    assert (len(empty.data), empty.data.features.shape) == (0, (0, 1))


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("qid", ["a", None], "column 'qid' of queries has missing values"),
        ("qid", ["a", 1], "must hold numbers or texts, not both"),
        ("label", [0.5, 1], "labels must be whole numbers"),
        ("x", ["one", "two"], "columns x must be numbers"),
        ("v", [0.5, 0.6], "column 'v' must have one value per query; query q has several"),
        ("s", [0.5, np.inf], "column 's' of a baseline must have finite numbers"),
    ],
)
def test_rows_that_cannot_be_learnt_from(column, values, message) -> None:
    frame = pandas.DataFrame({"qid": ["q", "q"], "label": [0, 1], "x": [1, 2], "v": [0.5, 0.5], "s": [1, 2]})
    frame[column] = values
    with pytest.raises(SurefootError, match=message):
        Columns.among(list(frame.columns), baseline=["values:v", "scores:s"]).shard(frame)


def test_what_clusters_do_not_train() -> None:
    with pytest.raises(SurefootError, match="a cluster trains by XGBoost; set engine to xgboost"):
        WorkerRequest(settings(engine="lightgbm"))


@pytest.mark.parametrize("baseline", ["feature:f0", "old"])
def test_a_guarded_model_sees_queries_whole(baseline) -> None:
    """It is evaluated on a shard's queries as anywhere, and ranks rows in any order with their queries."""
    frame = table()
    data, old = data_of(frame)
    given = baseline if baseline != "old" else {"old": old}
    model = train(data, given, settings(n_bags=2, guard="z", n_jobs=1)).model
    name = baseline if baseline != "old" else "scores:old"
    columns = Columns.among(list(frame.columns), features=features_of(model), baseline=name)
    found = evaluate_shard(columns.shard(frame), model, "new")
    validation = Validation.of(settings(), data, baselines_of(given, data))
    expected = model.predict(data, baseline=given)
    np.testing.assert_allclose(sorted(found.values[0]), sorted(validation.scores("new", expected).values[0]))
    shuffled = frame.sample(frac=1, random_state=3)
    rows = shuffled.sort_values("qid", kind="stable")
    by_query = pandas.Series(predict_rows(model, rows), rows.index)
    np.testing.assert_array_equal(predict_rows(model, shuffled), by_query[shuffled.index])
    with pytest.raises(SurefootError, match="the table lacks the model's columns qid"):
        predict_rows(model, frame.drop(columns="qid"))


class Sums:
    """Sums over workers that are threads here; counts how often each worker asks."""

    def __init__(self, workers):
        self.barrier, self.given, self.calls = Barrier(workers, timeout=60), [None] * workers, [0] * workers

    def of(self, worker):
        class OfTwo(Comm):
            def sum(_, values):  # noqa: N805
                self.calls[worker] += 1
                self.given[worker] = values
                self.barrier.wait()
                total = np.sum(self.given, axis=0)
                self.barrier.wait()
                return total

        return OfTwo()


@pytest.mark.parametrize("name", list(OBJECTIVES))
@pytest.mark.parametrize("empty", ["zero", "drop"])
def test_gradients_of_shards_are_those_of_the_whole(name, empty) -> None:
    """Three workers: one has no rows, and one has documents that all score the same when the others' differ."""
    data, old = data_of(table(queries=9))
    by_key = np.argsort(data.keys)
    baselines = baselines_of(old, data).select(data, by_key)
    data = data.select(by_key)
    data.labels[: data.bounds[1]] = 0
    whole = RiskObjective(name, 1, baselines, pairs=PairOptions(empty=empty), n_jobs=1)
    whole.bind(data)
    halves = list(split_data(data, baselines, 2))
    nothing = data.select([])
    parts = [halves[0], Shard(nothing, baselines_of(np.zeros(0), nothing)), halves[1]]
    sums = Sums(3)
    objectives = [
        RiskObjective(name, 1, part.baselines, pairs=PairOptions(empty=empty), n_jobs=1, comm=sums.of(i))
        for i, part in enumerate(parts)
    ]
    for objective, part in zip(objectives, parts, strict=True):
        objective.bind(part.data)
    first = parts[0].data.labels.size
    rng = np.random.default_rng(3)
    some = np.where(np.arange(data.labels.size) < first, 0.5, rng.normal(size=data.labels.size))
    for scores in (np.zeros(data.labels.size), some, rng.normal(size=data.labels.size)):
        shares = [scores[:first], scores[:0], scores[first:]]
        with ThreadPoolExecutor(3) as pool:
            found = list(pool.map(lambda pair: pair[0].gradients(pair[1]), zip(objectives, shares, strict=True)))
        for part, expected in zip(zip(*found, strict=True), whole.gradients(scores), strict=True):
            np.testing.assert_allclose(np.concatenate(part), expected, rtol=2e-5, atol=1e-8)
        assert {str(objective.objective.state) for objective in objectives} == {str(objectives[0].objective.state)}
    assert len(set(sums.calls)) == 1


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=40), st.integers(1, 3), st.randoms())
def test_order_statistics_of_all_workers(values, workers, random) -> None:
    """Exact for any numbers, by as many sums as a number has bytes."""
    everyone = np.array(values)
    parts = [everyone[place::workers] for place in range(workers)]
    rank, sums = random.randint(1, everyone.size), Sums(workers)

    def found(place):
        return QueryMetrics(parts[place], parts[place][None], comm=sums.of(place)).smallest(parts[place], rank)

    with ThreadPoolExecutor(workers) as pool:
        assert set(pool.map(found, range(workers))) == {np.sort(everyone)[rank - 1]}
    assert sums.calls == [8] * workers


def test_before_the_first_tree_is_the_same_everywhere() -> None:
    """Each worker's scores are all equal, but not to those of the others: the training has begun."""
    sums = Sums(2)
    pair = [RiskObjective("saro", comm=sums.of(worker)) for worker in range(2)]

    def started(first, second):
        with ThreadPoolExecutor(2) as pool:
            shares = (np.array(first, np.float32), np.array(second, np.float32))
            return set(pool.map(lambda one: one[0]._started(one[1]), zip(pair, shares, strict=True)))

    assert started([0.1, 0.1], [0.1]) == {False}
    assert started([0.1, 0.1], []) == {False}
    assert started([0.1, 0.1], [0.3]) == {True}
    assert started([0.1, 0.2], []) == {True}
    assert started([0.1, 0.1], [0.1, 0.2]) == {True}
