"""Whole experiments: what is computed, what survives a kill, what is printed."""

import csv
import ctypes
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import lightgbm as lgb
import numpy as np
import pytest
from surefoot_lab.experiments.data import load_data, split
from surefoot_lab.experiments.plan import PROTOCOLS, Plan
from surefoot_lab.experiments.result import write_experiment
from surefoot_lab.experiments.runner import experiment, fixed_threads
from surefoot_lab.tradeoff.files import read_sweep

from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.io.tables import read_scores
from surefoot.learn.data import RankingData
from surefoot.learn.letor import read_letor
from surefoot.learn.settings import SAFE, Settings
from surefoot.learn.training import train

TOML = """
data = "all.txt"
baseline = "feature:12"
learned = ["GBRT", "AdaRank"]
held-out = 0.25
folds = 3
objectives = ["ucro", "faro", "georisk"]
alphas = [1, 5]
docs-per-leaf = [1, 3]
trees = 40
"""


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_jobs_are_the_trainings_that_one_would_make_by_hand(mslr: Path, tmp_path: Path) -> None:
    plan = Plan(objectives=("ucro",), alphas=(2.0,), docs_per_leaf=(2,), trees=(6,), leaves=(5,))
    result = experiment(plan, load_data([str(mslr)]), tmp_path)
    own = {name: read_letor(mslr / "Fold2" / f"{name}.txt") for name in ("train", "vali", "test")}
    for name, objective, alpha, stop_on in (
        ("LambdaMART", "lambdamart", 0.0, "mean"),
        ("U-CRO alpha 2", "ucro", 2.0, "urisk"),
    ):
        settings = Settings(
            objective, alpha, n_estimators=6, num_leaves=5, min_child_samples=2, stop_on=stop_on, n_jobs=1
        )  # fmt: skip
        # In the order of the parts, as the trees see it: bins and sums depend on it in the last digit.
        training = own["train"].select(np.argsort([int(query) for query in own["train"].queries]))
        against = None if objective == "lambdamart" else "feature:110"
        model = train(training, against, settings, valid=own["vali"]).model
        test: RankingData = own["test"]
        expected = settings.reported_metric(model.predict(test), test.labels, test.bounds)
        found = result.main.select([name], test.queries).values[0]
        assert found == pytest.approx(expected)
    assert result.main.systems == ("LambdaMART", "U-CRO alpha 2", "BM25")
    assert len(result.main.topics) == 40


def test_recipes_stand_beside_objectives(small: Path, tmp_path: Path) -> None:
    plan = Plan(baseline="feature:12", objectives=(), recipes=("safe", "bags"), trees=(3,), docs_per_leaf=(2,), folds=3)
    data = load_data([str(small)])
    result = experiment(plan, data, tmp_path, workers=1)
    assert result["learner"].tolist() == ["LambdaMART", "recipe safe", "recipe bags"]
    context = split(len(data.data), plan.folds, 0.0, plan.seed, None)
    fold = context.folds[1]
    own, valid, test = (data.data.select(part) for part in (fold.train, fold.valid, fold.test))
    settings = replace(SAFE, n_estimators=3, seed=plan.seed, n_jobs=1)
    model = train(own, "feature:12", settings, valid=valid).model
    expected = settings.reported_metric(model.predict(test), test.labels, test.bounds)
    found = result.main.select(["recipe safe"], test.queries).values[0]
    assert found == pytest.approx(expected)
    with pytest.raises(SurefootError, match="safe, bags"):
        Plan(recipes=("sound",))


def test_neither_workers_nor_a_second_run_change_anything(small: Path, tmp_path: Path) -> None:
    plan = Plan(baseline="feature:12", learned=("AFS",), held_out=0.2, objectives=("tstar-faro",), alphas=(1.0,),
                trees=(3, 6), docs_per_leaf=(2,), leaves=(4, 7), folds=3, empty="drop", query_max=True)  # fmt: skip
    data = load_data([str(small)])
    jobs = 1 + 3 * (2 + 2)
    seen: list[tuple[object, ...]] = []
    one = experiment(plan, data, tmp_path / "one", workers=1, progress=lambda *at: seen.append(at))
    assert seen[-1] == (jobs, jobs, f"{jobs} of {jobs} jobs")
    assert len(list((tmp_path / "one" / "jobs").iterdir())) == jobs
    two = experiment(plan, data, tmp_path / "two", workers=3)
    seen.clear()
    three = experiment(plan, data, tmp_path / "one", progress=lambda *at: seen.append(at))
    assert seen[-1][:2] == (jobs, jobs)
    for other in (two, three):
        assert np.array_equal(one.main.values, other.main.values)
    assert all(not trees.early_stopping and trees.n_estimators in (3, 6) for trees in one.chosen)


def test_the_trade_off_of_all_folds(small: Path, tmp_path: Path) -> None:
    plan = replace(PROTOCOLS["sigir2012"], baseline="feature:12", alphas=(5.0,), trees=(3, 6), docs_per_leaf=(100,),
                   leaves=(4,), rates=(0.2,), folds=4)  # fmt: skip
    result = experiment(plan, load_data([str(small)]), tmp_path / "run", workers=1)
    write_experiment(result, tmp_path / "run")
    sweep = read_sweep(tmp_path / "run" / "tradeoff-ucro")
    assert sweep.test.systems == ("feature:12", "alpha=0", "alpha=5")
    pooled = sweep.test.select(topics=result.main.topics)
    np.testing.assert_allclose(
        pooled.values, result.main.select([result.baseline, "LambdaMART", "U-CRO alpha 5"]).values
    )
    assert len(sweep.train.topics) == 2 * len(sweep.test.topics), "each query trains two of four folds"
    assert sweep.feature is not None
    assert sweep.feature.systems == ("max:12",)
    tables = result.tables()
    assert {"ucro-tradeoff", "ucro-churn-bins", "ucro-thresholds", "ucro-selector", "ucro-claims"} <= set(tables)
    assert result["gain"] == pytest.approx(result["reward"] - result["risk"])
    assert "changed=baseline,folds,alphas,docs_per_leaf,leaves,rates,trees" in result.signature
    assert any(
        "changed from the protocol: trees (3, 6) instead of (50, 100, 200, 400, 800)" in note for note in result.notes
    )
    claims = {row["claim"]: row for row in tables["ucro-claims"].rows()}
    assert claims["alpha_limit_mslr"]["ours"] == pytest.approx(sweep.limit)
    assert claims["mslr_bm25_ndcg10"]["ours"] == pytest.approx(sweep.test.values[0].mean())
    assert "not public" in claims["alpha_limit_location"]["note"]
    lengths = {len(history) for history in sweep.histories}
    assert lengths <= {3, 6}
    assert all(np.isnan(one) or 1 <= one <= 6 for one in sweep.converged())


def test_a_killed_run_goes_on_to_the_same_table(small: Path, tmp_path: Path) -> None:
    (tmp_path / "all.txt").write_bytes(small.read_bytes())
    (tmp_path / "my.toml").write_text(TOML)
    command = [sys.executable, "-m", "surefoot", "experiment", str(tmp_path / "my.toml"), "-o"]
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    run = subprocess.Popen([*command, str(killed)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    jobs = killed / "jobs"
    while len(list(jobs.glob("*.npz"))) < 5 and run.poll() is None:
        time.sleep(0.002)
    os.kill(run.pid, signal.SIGKILL)
    assert run.wait() == -signal.SIGKILL
    before = {path: path.stat().st_mtime_ns for path in jobs.glob("*.npz")}
    total = 2 + 3 * (2 + 6)
    assert 5 <= len(before) < total
    assert not (killed / "table.csv").exists()
    for folder in (killed, whole):
        assert main(["experiment", str(tmp_path / "my.toml"), "-o", str(folder)]) == 0
    assert len(list(jobs.glob("*.npz"))) == total
    assert {path: path.stat().st_mtime_ns for path in before} == before
    for name in ("table.csv", "tests.csv", "intervals.csv", "scores.csv", "plan.json", "report.html"):
        assert (killed / name).read_bytes() == (whole / name).read_bytes()


@pytest.mark.parametrize(("protocol", "cells"), [("sigir2016", 18 * 8), ("sigir2014", 7 * 13 + 1), ("sigir2012", 1)])
def test_the_published_table_stands_beside_ours(
    protocol: str,
    cells: int,
    mslr: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(PROTOCOLS, protocol, PROTOCOLS[protocol].with_trees(2))
    monkeypatch.setattr("surefoot_lab.experiments.data.MSLR_QUERIES", 40)
    folder = tmp_path / "out"
    assert main(["experiment", protocol, "--data", str(mslr), "-o", str(folder)]) == 0
    out, err = capsys.readouterr()
    assert "published" in out
    assert "docs per leaf 1" in err
    assert "at most 2 trees" in err
    table = {(row["compared_to"], row["learner"], row["alpha"]): row for row in rows_of(folder / "table.csv")}
    scores = read_scores(folder / "scores.csv")
    rows = rows_of(folder / "published.csv")
    assert len(rows) == cells
    for row in rows:
        own = table.get((row["compared_to"], row["learner"], row["alpha"]), {}).get(row["measure"])
        if row["learner"] == "BM25":
            own = str(float(scores["BM25"].mean()))
        assert float(own) == pytest.approx(float(row["ours"]))
        assert float(row["difference"]) == pytest.approx(float(row["ours"]) - float(row["published"]))
    assert "†" not in out or "differs from LambdaMART" in out
    printed = {"sigir2016": "0.4578", "sigir2014": "0.472", "sigir2012": "0.30869"}[protocol]
    assert printed in {row["published"] for row in rows}
    assert (folder / "report.html").read_text().startswith("<!doctype html>")


@pytest.mark.parametrize("options", [["--trees", "1"], ["--seed", "1"], ["--baseline", "feature:1"]])
def test_a_changed_plan_has_no_published_table(
    options: list[str], mslr: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(PROTOCOLS, "sigir2012", PROTOCOLS["sigir2012"].with_trees(2))
    monkeypatch.setattr("surefoot_lab.experiments.data.MSLR_QUERIES", 40)
    assert main(["experiment", "sigir2012", "--data", str(mslr), *options, "-o", str(tmp_path)]) == 0
    assert (tmp_path / "table.csv").exists()
    assert not (tmp_path / "published.csv").exists()


def test_part_of_mslr_has_no_published_table(mslr: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PROTOCOLS, "sigir2012", PROTOCOLS["sigir2012"].with_trees(2))
    assert experiment(PROTOCOLS["sigir2012"], load_data([str(mslr)]), tmp_path).published is None


def test_err_has_one_scale_for_learners_and_baselines_in_all_folds(mslr: Path, tmp_path: Path) -> None:
    found = load_data([str(mslr)])
    data, top = found.data, 4
    labels = np.minimum(data.labels, 1)
    labels[0] = top  # in one fold alone
    dataset = replace(found, data=replace(data, labels=labels))
    plan = Plan(objectives=(), metric="err", cutoffs=(), trees=(2,), docs_per_leaf=(2,))
    result = experiment(plan, dataset, tmp_path)
    first, *others = (result.main.select(["LambdaMART", "BM25"], [query]).values for query in data.queries)
    assert first.max() > 1 / 2**top
    satisfied = 1 / 2**top  # by any document of label 1
    for place, each in enumerate(others, 1):
        relevant = int(labels[data.bounds[place] : data.bounds[place + 1]].sum())
        most = sum(satisfied * (1 - satisfied) ** (rank - 1) / rank for rank in range(1, relevant + 1))
        assert (each <= most + 1e-12).all()
        assert (each > 0).all() == (relevant > 0)


def test_other_data_have_no_published_table(small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["experiment", "sigir2014", "--data", str(small), "--baseline", "feature:1", "--trees", "2"]
    for layout, mark in {
        "csv": "compared_to,learner,alpha,ndcg@1,ndcg@10",
        "latex": r"\toprule",
        "md": "| U-CRO |",
    }.items():
        assert main([*words, "-o", str(tmp_path), "--format", layout]) == 0
        assert mark in capsys.readouterr().out
    assert not (tmp_path / "published.csv").exists()
    assert (tmp_path / "scores_ndcg@1.csv").exists()


def test_what_is_wrong_is_said_before_any_training(
    small: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for words, message in (
        (["sigir2015"], "no experiment 'sigir2015' (did you mean sigir2016?); there are sigir2012, sigir2014,"),
        (["sigir2016"], "no data: name mq2008"),
        (["sigir2016", "--data", str(small)], "no baseline is known for all.txt; name one, such as feature:25"),
        (["sigir2016", "--data", str(small), "--baseline", "feature:99"], "no feature 99"),
        (["sigir2016", "--data", str(small), "--baseline", "feature:1", "--workers", "0"], "workers must be 1 or more"),
        (["sigir2016", "--data", str(small), "--baseline", "feature:1", "--trees", "0"], "trees must be whole numbers"),
        (["none.toml"], "none.toml"),
    ):  # fmt: skip
        assert main(["experiment", *words, "-o", str(tmp_path / "out")]) == 2
        *_, last = capsys.readouterr().err.splitlines()
        assert message in last
    assert not (tmp_path / "out").exists()


def test_a_broken_job_is_named(small: Path, tmp_path: Path) -> None:
    plan = Plan(baseline="feature:12", alphas=(), trees=(2,), folds=3)
    experiment(plan, load_data([str(small)]), tmp_path)
    job = next((tmp_path / "jobs").iterdir())
    job.write_bytes(b"half of it")
    with pytest.raises(SurefootError, match="is not the result of a job; remove it"):
        experiment(plan, load_data([str(small)]), tmp_path)


def test_protocols_know_their_tables() -> None:
    assert [plan.published for plan in PROTOCOLS.values()] == [None, "sigir2014-table3-mslr", "sigir2016-table7-mslr"]


def test_trainings_side_by_side_share_one_number_of_threads() -> None:
    """LightGBM keeps it for the whole process; trainings that set others write past each other's buffers."""
    known = ctypes.c_int()

    def most() -> int:
        lgb.basic._LIB.LGBM_GetMaxThreads(ctypes.byref(known))
        return known.value

    before = most()
    with fixed_threads(1):
        assert most() == 1
    assert most() == before
