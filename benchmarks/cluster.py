"""Training on a Dask cluster of processes on this machine, compared with one process: the cost of the cluster.

More processes than cores can't be faster here. The tables show the time to join, to move rows and to add up histograms,
the bytes that are moved, and the memory of a row; docs/studies/cluster.md calculates with these. The last table is the
memory of the driver, where the scheduler runs too, by the number of queries.
"""

from __future__ import annotations

import importlib.util
import os
import re
import socket
import struct
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # threads that spin would slow each other down on a busy machine

import numpy as np
import xgboost

from surefoot.cluster import dask
from surefoot.cluster.shards import split_data
from surefoot.cluster.training import WorkerRequest, train_worker
from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.settings import Settings
from surefoot.learn.training import train

FEATURES, DOCUMENTS, LEAVES = 136, 100, 63
FEW, MANY, ROUNDS = 3, 13, 3
WORKERS = (1, 2, 4)
DRIVER_QUERIES = tuple(map(int, os.environ.get("SUREFOOT_BENCH_DRIVER", "100000,1000000,10000000").split(",")))
OF_PARTITION = 250_000
TWO_TREES = Settings(engine="xgboost", n_estimators=2, num_leaves=4)
QUERIES = tuple(int(word) for word in os.environ.get("SUREFOOT_BENCH_QUERIES", "100,400").split(","))


def main() -> None:
    from distributed import Client, LocalCluster

    print(f"\nfaro, {FEATURES} features of 256 bins, {LEAVES} leaves, 1 thread a worker; medians of {ROUNDS} rounds")
    print("     rows  workers  s to begin  s a tree  × one process  MB a tree sent by a worker  predicted")
    for queries in QUERIES:
        data = generated(queries)
        alone = slope(partial(here, data))
        print(f"{data.labels.size:9,}     none {alone[0]:11.2f} {alone[1]:9.3f}")
        for workers in WORKERS:
            with (
                LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
                Client(cluster) as client,
            ):
                on_cluster(client, data, 1)  # imports and compiles
                begin, tree = slope(partial(on_cluster, client, data))
                sent = traffic(client, data)
            predicted = (2 - 1 / workers) * (workers > 1) * (LEAVES - 1) * FEATURES * 256 * 16 / 1e6
            print(f"{data.labels.size:9,} {workers:8} {begin:11.2f} {tree:9.3f} {tree / alone[1]:13.2f} ×"
                  f" {sent:27.1f} {predicted:10.1f}")  # fmt: skip
    memory()
    driver_memory()


def here(data: RankingData, trees: int) -> None:
    train(data, "feature:0", settings(trees))


def on_cluster(client: Any, data: RankingData, trees: int) -> None:
    dask.train_data(client, data, "feature:0", settings(trees))


def settings(trees: int) -> Settings:
    return Settings("faro", 2, n_estimators=trees, engine="xgboost", n_jobs=1, num_leaves=LEAVES, learning_rate=0.3)


def generated(queries: int) -> RankingData:
    rng = np.random.default_rng(7)
    features = rng.standard_normal((queries * DOCUMENTS, FEATURES), dtype=np.float32)
    hidden = features[:, :20].sum(axis=1) + 4 * rng.standard_normal(len(features))
    labels = np.searchsorted(np.quantile(hidden, [0.52, 0.84, 0.97, 0.99]), hidden)
    return RankingData.of(features, labels, np.repeat(np.arange(queries), DOCUMENTS))


def slope(work: Any) -> tuple[float, float]:
    """The seconds of a training without its trees, and those of a tree: from short and long trainings in turn."""
    times: dict[int, list[float]] = {FEW: [], MANY: []}
    for _ in range(ROUNDS):
        for trees, found in times.items():
            begin = time.perf_counter()
            work(trees)
            found.append(time.perf_counter() - begin)
    tree = (median(times[MANY]) - median(times[FEW])) / (MANY - FEW)
    return median(times[FEW]) - FEW * tree, tree


def traffic(client: Any, data: RankingData) -> float:
    """Megabytes that a worker sends for a tree, by its sockets: the median over workers and trees."""
    with tempfile.TemporaryDirectory() as folder:
        cluster = dask.DaskCluster(client)
        shards = split_data(data, baselines_of("feature:0", data), len(cluster.workers))
        held = [client.scatter(shard, [worker]) for shard, worker in zip(shards, cluster.workers, strict=True)]
        request = WorkerRequest(settings(6), callbacks=[Listener(folder)])
        cluster.run_placed(partial(train_worker, request), [held], together=True)
        rows = [np.loadtxt(file) for file in sorted(Path(folder).iterdir())]
    return float(np.median(np.diff(rows, axis=1)) / 1e6)


class Listener(xgboost.callback.TrainingCallback):
    """Writes down after each tree how many bytes the process has sent."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def after_iteration(self, model: Any, epoch: int, evals_log: Any) -> bool:
        with (Path(self.folder) / str(os.getpid())).open("a") as file:
            print(sent(), file=file)
        return False


def sent() -> int:
    """Bytes that the process's open connections have sent, as Linux counts them."""
    total = 0
    for name in Path("/proc/self/fd").iterdir():
        try:
            with socket.socket(fileno=os.dup(int(name.name))) as connection:
                information = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 192)
        except OSError:
            continue
        if len(information) >= 136:
            total += struct.unpack_from("Q", information, 120)[0]  # tcpi_bytes_acked
    return total


def memory() -> None:
    """Peak memory of a training in a process of its own, by values of features."""
    found = {}
    for queries in (10, 2010):
        answer = subprocess.run(
            [sys.executable, "-c", ALONE.format(queries=queries)], capture_output=True, text=True, check=True
        )
        found[queries] = float(answer.stdout)
    values = 2000 * DOCUMENTS * FEATURES
    print(f"\npeak memory of one process: {(found[2010] - found[10]) / values:.1f} bytes a value of a feature")


def driver_memory() -> None:
    """Peak memory of the driver and of a worker, each training in processes of its own, by the number of queries."""
    for framework, (more, program) in DRIVERS.items():
        if importlib.util.find_spec(framework) is None:
            continue
        print(f"\n{framework}\n        queries  driver MB  {more}")
        for queries in DRIVER_QUERIES:
            words = [sys.executable, "-c", program.format(queries=queries)]
            answer = subprocess.run(words, capture_output=True, text=True, check=True)
            print(answer.stdout.strip().splitlines()[-1], flush=True)


def few_rows(partition: int, queries: int) -> Any:
    """Some of the queries, with two documents each; made on the workers."""
    import pandas

    rng = np.random.default_rng(partition)
    ids = np.repeat(np.arange(partition * OF_PARTITION, min(queries, (partition + 1) * OF_PARTITION)), 2)
    values = rng.integers(0, 100, (ids.size, 2)).astype(np.float32)
    return pandas.DataFrame({"qid": ids, "label": rng.integers(0, 3, ids.size), "x": values[:, 0], "y": values[:, 1]})


def peak() -> float:
    """The peak memory of this process in MB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


DASK = """
from functools import partial
import dask.dataframe
from distributed import Client, LocalCluster
from benchmarks.cluster import OF_PARTITION, TWO_TREES, few_rows, peak
from surefoot.cluster import dask as on_dask
from surefoot.cluster.shards import Columns
parts = range(-(-{queries} // OF_PARTITION))
table = dask.dataframe.from_map(partial(few_rows, queries={queries}), parts)
with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
    tasks = len(on_dask.shuffled(table, Columns.among(list(table.columns)), 2).optimize().__dask_graph__())
    trained = on_dask.train(client, table, "feature:x", TWO_TREES)
    assert trained.model.card["data"]["queries"] == {queries}
    worker = max(client.run(peak).values())
print(f"{{ {queries}:15,}} {{peak():10.0f}} {{worker:10.0f}} {{tasks:6}}")
"""
SPARK = """
import os, sys
os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
from pyspark.sql import SparkSession, functions
from benchmarks.cluster import TWO_TREES, peak
from surefoot.cluster import spark as on_spark
builder = SparkSession.builder.master("local-cluster[2,1,2048]").config("spark.ui.enabled", "false")
session = builder.config("spark.log.level", "OFF").getOrCreate()
numbers = session.range(2 * {queries}).select((functions.col("id") / 2).cast("long").alias("qid"), "id")
drawn = [(functions.rand(seed) * size).cast("int").alias(name) for seed, (name, size) in
         enumerate(dict(label=3, x=100, y=100).items())]
trained = on_spark.train(numbers.select("qid", *drawn), "feature:x", TWO_TREES, workers=2)
assert trained.model.card["data"]["queries"] == {queries}
session._jvm.System.gc()
java = session._jvm.Runtime.getRuntime()
heap = (java.totalMemory() - java.freeMemory()) / 2**20
session.stop()
print(f"{{ {queries}:15,}} {{peak():10.0f}} {{heap:8.0f}}")
"""
RAY = """
import ray
from benchmarks.cluster import OF_PARTITION, TWO_TREES, few_rows, peak
from surefoot.cluster import ray as on_ray
ray.init(num_cpus=3, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
parts = ray.data.range(-(-{queries} // OF_PARTITION), override_num_blocks=-(-{queries} // OF_PARTITION))
table = parts.map_batches(lambda part: few_rows(int(part["id"][0]), {queries}), batch_size=1)
trained = on_ray.train(table, "feature:x", TWO_TREES, workers=2)
assert trained.model.card["data"]["queries"] == {queries}
print(f"{{ {queries}:15,}} {{peak():10.0f}}")
"""
DRIVERS = {"distributed": ("worker MB  tasks", DASK), "pyspark": ("heap MB", SPARK), "ray": ("", RAY)}
"""The further columns and the program of each framework.

The heap is that of the driver's JVM after a collection.
"""

ALONE = """
import re
from pathlib import Path
from benchmarks.cluster import generated, here
data = generated({queries})
Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
here(data, 3)
print(1024 * int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]))
"""


if __name__ == "__main__":
    main()
