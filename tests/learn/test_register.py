"""An objective of one's own: a few lines, and it trains on every engine and on a cluster."""

from dataclasses import dataclass

import numpy as np
import pytest

from surefoot.errors import SurefootError
from surefoot.learn import OBJECTIVES, LambdaMART, Settings, by_factor, register, train
from tests.learn.small_rankings import BASELINE, TRAINING, VALIDATION

SMALL = {"alpha": 3.0, "n_estimators": 8, "num_leaves": 7, "min_child_samples": 5, "n_jobs": 1}


@pytest.fixture
def toy():
    @register
    @dataclass
    class Toy(LambdaMART):
        """A query counts the more the further it is below the mean of all queries."""

        name = "toy"

        def lambda_weights(self, metrics):
            count, total = metrics.sum(np.ones_like(metrics.x), metrics.x)
            return by_factor(1 + self.alpha * np.maximum(total / count - metrics.x, 0))

    yield Toy
    del OBJECTIVES["toy"]


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
def test_it_trains_on_each_engine(toy, engine):
    plain = train(TRAINING, BASELINE, Settings("lambdamart", engine=engine, **SMALL), valid=VALIDATION)
    own = train(TRAINING, BASELINE, Settings("toy", engine=engine, **SMALL), valid=VALIDATION)
    assert own.model.card["settings"]["objective"] == "toy"
    assert own.model.text != plain.model.text
    assert own.model.card["validation"]["mean"] > 0.7


def test_it_trains_on_a_cluster(toy):
    distributed = pytest.importorskip("distributed", reason="dask is not installed: surefoot[cluster]")
    from surefoot.cluster import dask

    settings = Settings("toy", engine="xgboost", **SMALL)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        found = dask.train_data(client, TRAINING, BASELINE, settings)
    # Workers bin their own rows, so the models are alike, not equal; tests/cluster has rows that are binned alike.
    one = train(TRAINING, BASELINE, settings)
    assert found.model.card["workers"] == 2
    means = [[measures["mean"] for measures in trained.history] for trained in (found, one)]
    assert means[0] == pytest.approx(means[1], abs=0.05)


test_it_trains_on_a_cluster = pytest.mark.filterwarnings(
    "default::ResourceWarning", "default::pytest.PytestUnraisableExceptionWarning"
)(test_it_trains_on_a_cluster)


def test_a_name_is_given_once(toy):
    @dataclass
    class Other(LambdaMART):
        name = "toy"

    with pytest.raises(SurefootError, match="there is an objective toy already; give yours another name"):
        register(Other)
