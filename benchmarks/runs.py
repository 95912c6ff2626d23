"""From run files and qrels to scores per topic, beside trec_eval, pytrec_eval, ir_measures, ranx and reading alone."""

from __future__ import annotations

import gzip
import importlib.util
import multiprocessing
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars

from benchmarks.timing import TREC_EVAL, Times, medians, show, timed_process, with_before

igzip: Any = importlib.import_module("isal.igzip") if importlib.util.find_spec("isal") else None
TOPICS, DEPTH, JUDGED, RUNS, FEW = 250, 1000, 200, 50, 4
LARGE_LINES = int(os.environ.get("SUREFOOT_BENCH_LINES", "10000000"))
MEASURES = ["nDCG@20", "ERR@20"]


def write_run(path: Path, topics: int, seed: int) -> None:
    """A run as a search engine writes it: sorted, 25 letters an id, six decimals a score."""
    random = np.random.default_rng(seed)
    with path.open("w") as file:
        for topic in range(topics):
            documents = random.choice(5000, DEPTH, replace=False)
            scores = np.sort(random.gamma(2.0, 5.0, DEPTH))[::-1]
            file.writelines(
                f"{topic + 1} Q0 {identifier(topic, document)} {rank} {score:.6f} system{seed}\n"
                for rank, (document, score) in enumerate(zip(documents, scores, strict=True), start=1)
            )


def identifier(topic: int, document: int) -> str:
    number = (topic * 7919 + document * 104729) % 100_000_000
    return f"clueweb09-en{document % 10000:04d}-{topic % 100:02d}-{number % 100000:05d}"


def write_qrels(path: Path) -> None:
    random = np.random.default_rng(0)
    with path.open("w") as file:
        for topic in range(TOPICS):
            for document in random.choice(5000, JUDGED, replace=False):
                file.write(f"{topic + 1} 0 {identifier(topic, document)} {random.integers(0, 5)}\n")


def surefoot(paths: Sequence[Path], qrels: Path, workers: int) -> None:
    from surefoot.effectiveness import score_runs_by

    score_runs_by(paths, qrels, MEASURES, workers=workers)


def pytrec_eval(paths: Sequence[Path], qrels: Path) -> None:
    import pytrec_eval

    with qrels.open() as file:
        evaluator = pytrec_eval.RelevanceEvaluator(pytrec_eval.parse_qrel(file), {"ndcg_cut.20"})
    for path in paths:
        with path.open() as file:
            evaluator.evaluate(pytrec_eval.parse_run(file))


def trec_eval(paths: Sequence[Path], qrels: Path) -> Times:
    """A process for each run, as trec_eval is used."""
    times = [timed_process([str(TREC_EVAL), "-q", "-m", "ndcg_cut.20", str(qrels), str(path)]) for path in paths]
    return Times(*map(sum, zip(*times, strict=True)))


def ir_measures(paths: Sequence[Path], qrels: Path) -> None:
    import ir_measures

    evaluator = ir_measures.evaluator([ir_measures.nDCG @ 20], ir_measures.read_trec_qrels(str(qrels)))
    for path in paths:
        list(evaluator.iter_calc(ir_measures.read_trec_run(str(path))))


def ranx(paths: Sequence[Path], qrels: Path) -> None:
    from ranx import Qrels, Run, evaluate

    judgments = Qrels.from_file(str(qrels), kind="trec")
    for path in paths:
        evaluate(judgments, Run.from_file(str(path), kind="trec"), "ndcg@20", make_comparable=True)


def by_polars(paths: Sequence[Path], qrels: Path) -> None:
    """nDCG@20 by a query: the columns that are needed, the first 20 of each topic, joined with the grades."""
    fields = {"separator": " ", "has_header": False}
    judged = polars.scan_csv(qrels, new_columns=["topic", "iteration", "document", "grade"], **fields)
    gain = polars.col("grade").clip(0) / (polars.col("rank") + 1).log(2)
    by_rank = polars.int_range(1, polars.len() + 1).over("topic").alias("rank")
    ideal = judged.sort("grade", descending=True).with_columns(by_rank).filter(polars.col("rank") <= 20)
    best = ideal.group_by("topic").agg(gain.sum().alias("best"))
    for path in paths:
        run = polars.scan_csv(path, new_columns=["topic", "q0", "document", "place", "score", "tag"], **fields)
        ranked = run.sort("topic", "score", "document", descending=[False, True, True]).with_columns(by_rank)
        found = ranked.filter(polars.col("rank") <= 20).join(judged, on=["topic", "document"])
        found.group_by("topic").agg(gain.sum().alias("dcg")).join(best, on="topic").collect()


def by_duckdb(paths: Sequence[Path], qrels: Path) -> None:
    """The same in SQL."""
    import duckdb

    def table(path: Path, names: str) -> str:
        columns = ", ".join(f"'{name}': '{kind}'" for name, _, kind in (one.partition(":") for one in names.split()))
        return f"read_csv('{path}', delim=' ', header=false, columns={{{columns}}})"

    with duckdb.connect() as database:
        database.execute(f"create table judged as from {table(qrels, QRELS_COLUMNS)}")
        for path in paths:
            database.execute(DUCKDB.format(run=table(path, RUN_COLUMNS))).fetchall()


QRELS_COLUMNS = "topic:VARCHAR iteration:VARCHAR document:VARCHAR grade:INTEGER"
RUN_COLUMNS = "topic:VARCHAR q0:VARCHAR document:VARCHAR place:INTEGER score:DOUBLE tag:VARCHAR"
DUCKDB = """
with ranked as (from {run} select topic, document,
                row_number() over (partition by topic order by score desc, document desc) as rank),
     ideal as (select topic, grade, row_number() over (partition by topic order by grade desc) as rank from judged),
     best as (select topic, sum(greatest(grade, 0) / log2(rank + 1)) as best from ideal where rank <= 20 group by topic)
select topic, sum(greatest(grade, 0) / log2(rank + 1)) / any_value(best)
from ranked join judged using (topic, document) join best using (topic) where rank <= 20 group by topic
"""


def in_memory(paths: Sequence[Path], qrels: Path, rounds: int = 5) -> None:
    """The same runs as dictionaries and as frames, beside pytrec_eval on the dictionaries and Surefoot on the files."""
    import pytrec_eval

    from surefoot import read_qrels, read_run
    from surefoot.effectiveness import score_runs_by

    with qrels.open() as file:
        grades = pytrec_eval.parse_qrel(file)
    evaluator = pytrec_eval.RelevanceEvaluator(grades, {"ndcg_cut.20"})
    judged = read_qrels(qrels)
    frames = {path.stem: read_run(path).to_frame() for path in paths}
    pandas_frames = {name: frame.to_pandas() for name, frame in frames.items()}
    dicts = {name: _as_dict(frame) for name, frame in frames.items()}
    measures = ["nDCG@20"]
    seconds = medians(
        {
            "Surefoot, dictionaries, 1 worker": lambda: score_runs_by(dicts, judged, measures, workers=1),
            "pytrec_eval, dictionaries": lambda: [evaluator.evaluate(run) for run in dicts.values()],
            "Surefoot, polars frames, 1 worker": lambda: score_runs_by(frames, judged, measures, workers=1),
            "Surefoot, pandas frames, 1 worker": lambda: score_runs_by(pandas_frames, judged, measures, workers=1),
            "Surefoot, files, 1 worker": lambda: score_runs_by(paths, judged, measures, workers=1),
        },
        rounds,
    )
    show(f"{len(paths)} runs in memory, {TOPICS} topics × {DEPTH}", seconds, next(iter(seconds)))


def _as_dict(frame: polars.DataFrame) -> dict[str, dict[str, float]]:
    run: dict[str, dict[str, float]] = {}
    for topic, document, score in frame.iter_rows():
        run.setdefault(topic, {})[document] = score
    return run


def split_lines(paths: Sequence[Path]) -> None:
    for path in paths:
        path.read_bytes().splitlines()


def count_lines(paths: Sequence[Path]) -> None:
    for path in paths:
        path.read_bytes().count(b"\n")


def unpack(paths: Sequence[Path], library: Any) -> None:
    for path in paths:
        library.decompress(path.read_bytes())


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        qrels = folder / "qrels.txt"
        write_qrels(qrels)
        paths = [folder / f"system{number}.run" for number in range(RUNS)]
        for number, path in enumerate(paths):
            write_run(path, TOPICS, number)
        speed(f"{FEW} runs, {TOPICS} topics × {DEPTH}", paths[:FEW], qrels, rounds=5)
        in_memory(paths[:FEW], qrels)
        speed(f"{RUNS} runs, {TOPICS} topics × {DEPTH}", paths, qrels, rounds=1, warm=True)
        packed = [folder / f"{path.name}.gz" for path in paths[:FEW]]
        for path, target in zip(paths, packed, strict=False):
            target.write_bytes(gzip.compress(path.read_bytes(), 6))
        packed_speed(f"The first {FEW} of them, gzip", packed, qrels)
        trec_covid(folder)
        memory(folder, qrels)


def trec_covid(folder: Path) -> None:
    """All runs of TREC-COVID round 1; the peers, which do not all unpack, get them unpacked."""
    if "SUREFOOT_DATA" not in os.environ:
        print("\nTREC-COVID: skipped, SUREFOOT_DATA is not set")
        return
    source = Path(os.environ["SUREFOOT_DATA"]) / "trec-covid-r1"
    packed = sorted((source / "runs").glob("*.gz"))
    paths = [folder / path.stem for path in packed]
    for path, target in zip(packed, paths, strict=True):
        target.write_bytes(gzip.decompress(path.read_bytes()))
    speed(f"TREC-COVID round 1, {len(paths)} runs", paths, source / "qrels.txt", rounds=1, warm=True)
    packed_speed("The same, gzip", packed, source / "qrels.txt")


def speed(title: str, paths: Sequence[Path], qrels: Path, rounds: int, warm: bool = False) -> None:
    size = sum(path.stat().st_size for path in paths) / 1e6
    peers: dict[str, Callable[[], object]] = {}
    if TREC_EVAL:
        peers["trec_eval in C, nDCG@20"] = lambda: trec_eval(paths, qrels)
    with qrels.open() as file:
        is_plain = len(file.readline().removesuffix("\n").split(" ")) == 4  # which both readers of tables expect
    if is_plain:
        peers["polars, nDCG@20"] = lambda: by_polars(paths, qrels)
    if is_plain and importlib.util.find_spec("duckdb"):
        peers["DuckDB, nDCG@20"] = lambda: by_duckdb(paths, qrels)
    seconds = medians(
        {
            "Surefoot, parse, nDCG@20 and ERR@20, 2 workers": lambda: surefoot(paths, qrels, 2),
            **with_before("Surefoot, parse, nDCG@20 and ERR@20, 1 worker", surefoot, paths, qrels, 1),
            "limit: read, and count the line ends": lambda: count_lines(paths),
            "read and split the lines (bytes.splitlines, 1 thread)": lambda: split_lines(paths),
            "pytrec_eval, parse and nDCG@20": lambda: pytrec_eval(paths, qrels),
            **peers,
            "ir_measures, nDCG@20": lambda: ir_measures(paths, qrels),
            "ranx, nDCG@20, compiled": lambda: ranx(paths, qrels),
        },
        rounds,
        warm,
    )
    show(f"{title}, {size:.0f} MB", seconds, next(iter(seconds)), "limit: read, and count the line ends")


def packed_speed(title: str, paths: Sequence[Path], qrels: Path) -> None:
    seconds = medians(
        {
            "Surefoot, 2 workers": lambda: surefoot(paths, qrels, 2),
            **with_before("Surefoot, 1 worker", surefoot, paths, qrels, 1),
            "unpack by zlib, 1 thread": lambda: unpack(paths, gzip),
            **({"limit: unpack by ISA-L, 1 thread": lambda: unpack(paths, igzip)} if igzip else {}),
        },
        rounds=3,
    )
    show(title, seconds, next(iter(seconds)), list(seconds)[-1])


def memory(folder: Path, qrels: Path) -> None:
    """Peak memory of one run in a process of its own, less that of a small run."""
    large, small = folder / "large.run", folder / "small.run"
    write_run(large, LARGE_LINES // DEPTH, 1)
    write_run(small, 1, 1)
    context = multiprocessing.get_context("spawn")
    peaks = []
    for path in (small, large):
        with context.Pool(1) as pool:
            peaks.append(pool.apply(peak_megabytes, (path, qrels)))
    size = large.stat().st_size / 1e6
    print(f"\nMemory, {LARGE_LINES:,} lines, {size:.0f} MB")
    print(f"  peak {peaks[1]:.0f} MB, of which {peaks[0]:.0f} MB for Python and a small run:", end=" ")
    print(f"{(peaks[1] - peaks[0]) / size:.2f} × the file")


def peak_megabytes(path: Path, qrels: Path) -> float:
    surefoot([path], qrels, 1)
    # The high-water mark of this process alone; getrusage would count what the parent had when it forked.
    status = Path("/proc/self/status").read_text().split()
    return int(status[status.index("VmHWM:") + 1]) * 1024 / 1e6
