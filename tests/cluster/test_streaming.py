"""The same logs on Dask and Spark as on one machine."""

import shutil
import sys

import numpy as np
import polars
import pytest

from surefoot import SurefootError
from surefoot.analysis.streaming import evaluate_parquet
from surefoot.cluster.streaming import fold_on_dask, fold_on_spark

# The clusters' own threads and sockets warn as they end.
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def dask():
    distributed = pytest.importorskip("distributed", reason="dask is not installed: surefoot[cluster]")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        yield fold_on_dask(client)


@pytest.fixture(scope="module")
def spark():
    sql = pytest.importorskip("pyspark.sql", reason="pyspark is not installed: surefoot[cluster]")
    pytest.importorskip("pyarrow", reason="Spark's workers need pyarrow")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, which is not installed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").getOrCreate()
        yield fold_on_spark(session)
        session.stop()


@pytest.fixture(scope="module", params=["wide", "long"])
def log(request, tmp_path_factory):
    """Four files of 25 topics, and an empty one."""
    folder = tmp_path_factory.mktemp(request.param)
    random = np.random.default_rng(7)
    for part in range(5):
        topics = 25 if part < 4 else 0
        scores = {name: random.random(topics) for name in ("base", "one", "two")}
        frame = polars.DataFrame({"topic": [f"q{part}-{i}" for i in range(topics)]} | scores)
        if request.param == "long":
            rows = frame.unpivot(index="topic", variable_name="system", value_name="score")
            frame = rows.sort("topic", maintain_order=True)
        frame.write_parquet(folder / f"{part:03}.parquet")
    return folder


@pytest.mark.parametrize("cluster", ["dask", "spark"])
def test_clusters_agree_with_one_machine_to_the_last_bit(cluster, log, request) -> None:
    fold = request.getfixturevalue(cluster)
    found, here = evaluate_parquet(log, "MEDIAN", [0, 1, 5], fold=fold), evaluate_parquet(log, "MEDIAN", [0, 1, 5])
    assert found.signature == here.signature
    for name in here.columns:
        np.testing.assert_array_equal(found[name], here[name])


@pytest.mark.parametrize("cluster", ["dask", "spark"])
def test_a_topic_in_two_files_is_told_by_clusters_too(cluster, log, request, tmp_path) -> None:
    fold = request.getfixturevalue(cluster)
    again = tmp_path / "again.parquet"
    shutil.copy(log / "003.parquet", again)
    with pytest.raises(SurefootError, match=r"again.parquet: topic 'q3-\d+' is in .*003.parquet too"):
        evaluate_parquet([log, again], "base", fold=fold)
    (tmp_path / "bad.parquet").write_bytes(b"no Parquet")
    with pytest.raises(SurefootError, match=r"bad.parquet: damaged Parquet file"):
        evaluate_parquet([log, tmp_path / "bad.parquet"], "base", fold=fold)
