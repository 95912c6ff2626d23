"""Objects of other tools give the numbers of the same runs from files, to 1e-9."""

import numpy as np
import pytest

from surefoot import score_runs

MEASURES = ("nDCG@10", "AP", "RR@5")
TOPICS = [f"q{number}" for number in range(12)]


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Two runs and judgments as TREC files; scores tie, and some documents are not judged."""
    random, folder = np.random.default_rng(5), tmp_path_factory.mktemp("runs")
    names = np.array([f"doc-{number}" for number in range(60)])
    with (folder / "qrels.txt").open("w") as file:
        for topic in TOPICS:
            for name in random.choice(names, 25, replace=False):
                file.write(f"{topic} 0 {name} {random.integers(0, 4)}\n")
    for system in ("old", "new"):
        with (folder / f"{system}.run").open("w") as file:
            for topic in TOPICS[1:]:
                scores = np.sort(random.integers(0, 25, 30))[::-1]
                for rank, (name, score) in enumerate(zip(random.choice(names, 30, replace=False), scores, strict=True)):
                    file.write(f"{topic} Q0 {name} {rank} {score} {system}\n")
    return folder


def assert_same(runs, qrels, files):
    for measure in MEASURES:
        expected = score_runs([files / "old.run", files / "new.run"], files / "qrels.txt", measure)
        found = score_runs(runs, qrels, measure).select(expected.systems, expected.topics)
        np.testing.assert_allclose(found.values, expected.values, rtol=0, atol=1e-9)


def test_dictionaries_of_pytrec_eval(files):
    pytrec_eval = pytest.importorskip("pytrec_eval", reason="pytrec_eval is not installed")
    with (files / "qrels.txt").open() as file:
        qrels = pytrec_eval.parse_qrel(file)
    runs = {}
    for name in ("old", "new"):
        with (files / f"{name}.run").open() as file:
            runs[name] = pytrec_eval.parse_run(file)
    assert_same(runs, qrels, files)
    own = score_runs(runs, qrels, "nDCG@10")
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg_cut.10"})
    for name, run in runs.items():
        for topic, measured in evaluator.evaluate(run).items():
            assert own[name][own.topics.index(topic)] == pytest.approx(measured["ndcg_cut_10"], abs=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_objects_of_ranx(files):
    ranx = pytest.importorskip("ranx", reason="ranx is not installed")
    runs = {name: ranx.Run.from_file(str(files / f"{name}.run"), kind="trec") for name in ("old", "new")}
    assert_same(runs, ranx.Qrels.from_file(str(files / "qrels.txt"), kind="trec"), files)
    runs["old"].save(str(files / "saved.json"))
    runs["old"].save(str(files / "saved.parquet"))
    for saved in ("saved.json", "saved.parquet"):
        own = score_runs(files / saved, files / "qrels.txt", "AP")["saved"]
        np.testing.assert_allclose(own, score_runs(files / "old.run", files / "qrels.txt", "AP")["old"], atol=1e-9)


def test_records_of_ir_measures(files):
    ir_measures = pytest.importorskip("ir_measures")
    runs = {name: ir_measures.read_trec_run(str(files / f"{name}.run")) for name in ("old", "new")}
    for measure in MEASURES[:1]:
        expected = score_runs([files / "old.run", files / "new.run"], files / "qrels.txt", measure)
        found = score_runs(
            {name: list(run) for name, run in runs.items()},
            ir_measures.read_trec_qrels(str(files / "qrels.txt")),
            measure,
        )
        np.testing.assert_allclose(found.values, expected.select(topics=found.topics).values, atol=1e-9)


def test_collections_of_ir_datasets(files):
    ir_datasets = pytest.importorskip("ir_datasets", reason="ir_datasets is not installed")
    from ir_datasets.datasets.base import Dataset
    from ir_datasets.formats import TrecQrels
    from ir_datasets.util import LocalDownload

    name = "surefoot-test"
    ir_datasets.registry.register(name, Dataset(TrecQrels(LocalDownload(files / "qrels.txt"), {})))
    runs = [files / "old.run", files / "new.run"]
    assert_same(runs, f"irds:{name}", files)
    assert_same(runs, list(ir_datasets.load(name).qrels_iter()), files)


@pytest.mark.filterwarnings("ignore")
def test_frames_of_pyterrier(files):
    pt = pytest.importorskip("pyterrier", reason="PyTerrier is not installed")
    runs = {name: pt.io.read_results(str(files / f"{name}.run")) for name in ("old", "new")}
    qrels = pt.io.read_qrels(str(files / "qrels.txt"))
    assert_same(runs, qrels, files)
