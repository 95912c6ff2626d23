"""Tables and scores at S3 addresses, served on the loopback interface."""

import numpy as np
import pandas
import pytest

from surefoot.analysis.streaming import evaluate_parquet
from tests.cluster.cluster_cases import assert_same, on_one_machine, settings, table

moto = pytest.importorskip("moto.server", reason="moto is not installed: pip install 'moto[server]'")
s3fs = pytest.importorskip("s3fs", reason="s3fs is not installed")
pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def bucket():
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    _, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_ACCESS_KEY_ID": "nobody",
            "AWS_SECRET_ACCESS_KEY": "nothing",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        s3fs.S3FileSystem.clear_instance_cache()
        s3fs.S3FileSystem().mkdir("bucket")
        yield "s3://bucket"
    server.stop()


def test_scores_at_an_address(bucket, tmp_path) -> None:
    rng = np.random.default_rng(7)
    for part in range(3):
        topics = [f"q{part}-{place}" for place in range(20)]
        frame = pandas.DataFrame({"topic": topics, "old": rng.random(20), "new": rng.random(20)})
        frame.to_parquet(tmp_path / f"{part}.parquet", index=False)
        frame.to_parquet(f"{bucket}/scores/{part}.parquet", index=False)
    here = evaluate_parquet(tmp_path, "old", [0, 5])
    for address in (f"{bucket}/scores", f"{bucket}/scores/*.parquet"):
        found = evaluate_parquet(address, "old", [0, 5])
        for name in here.columns:
            np.testing.assert_array_equal(found[name], here[name])


def test_a_table_at_an_address(bucket) -> None:
    distributed = pytest.importorskip("distributed", reason="dask is not installed: surefoot[cluster]")
    from surefoot.cluster import dask

    frame = table()
    for part in range(3):
        frame[part * 240 : (part + 1) * 240].to_parquet(f"{bucket}/log/{part}.parquet", index=False)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        distributed.Client(cluster) as client,
    ):
        trained = dask.train(client, f"{bucket}/log", "scores:old", settings("georisk"))
    assert_same(trained, on_one_machine(frame, settings("georisk")), frame)
