"""surefoot train and surefoot predict, as typed."""

import argparse
import csv
import io
import os
import signal
import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from surefoot.cli import inputs, main
from surefoot.cli import train as command
from surefoot.lambdas.metrics import Metric
from surefoot.learn.letor import read_letor
from surefoot.learn.models import load_model
from surefoot.learn.rankers import RiskRanker
from surefoot.learn.settings import FIELDS, SAFE, Settings

QUICK = ["--leaves", "6", "--docs-per-leaf", "5", "--threads", "1"]
SLOWLY = """
import signal, sys, time
from surefoot.cli import inputs, main, train
signal.signal(signal.SIGINT, signal.default_int_handler)
inputs.LOG_INTERVAL, left = 0, train.time_left
train.time_left = lambda seconds: time.sleep(0.05) or left(seconds)
sys.exit(main(sys.argv[1:]))
"""
"""The command with a line of progress for each iteration, slow enough to be interrupted in time."""


def letor(seed, queries=15, size=10, ids=True):
    random = np.random.default_rng(seed)
    lines = []
    for query in range(queries):
        X = random.normal(size=(size, 4))
        merit = X[:, 0] + 0.7 * X[:, 1] + random.normal(scale=0.5, size=size)
        for row, (features, label) in enumerate(zip(X, np.searchsorted([0.8, 1.5], merit), strict=True)):
            numbered = " ".join(f"{place}:{value:.4f}" for place, value in enumerate(features, 1))
            lines.append(f"{label} qid:{query + 1} {numbered}" + (f" #docid = D{query}-{row}" if ids else ""))
    return "\n".join(lines) + "\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(["train.txt", "vali.txt", "test.txt"]):
        (tmp_path / name).write_text(letor(seed))
    return tmp_path


def words(*more, output="model"):
    return ["train", "--train", "train.txt", "--valid", "vali.txt", *QUICK, "-o", output, *more]


def told(capsys, *typed):
    """The one line that is told of a mistake."""
    assert main(list(typed)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if line and not line.startswith("[LightGBM]")]
    assert len(lines) == 1, err
    return lines[0]


@pytest.mark.parametrize("engine", ["lightgbm", "xgboost"])
def test_train_predict_evaluate(engine, folder, capsys):
    typed = words(
        "--baseline", "feature:1", "--alpha", "2", "--trees", "15", "--engine", engine, "--early-stopping", "9"
    )
    assert main(typed) == 0
    out, _ = capsys.readouterr()
    card = load_model("model").card
    assert out.startswith(f"model: {card['trees']} trees, ucro at alpha 2, from 15 queries, 150 documents")
    assert f"validation: nDCG(dcg='exp-log2')@10 {card['validation']['mean']:.4f}, urisk" in out
    assert (card["baselines"], card["stopped_on"]) == (["feature:1"], "urisk")
    names = {path.name for path in (folder / "model").iterdir()}
    assert names == {"card.json", "model.txt" if engine == "lightgbm" else "model.json"}

    assert main(["predict", "model", "test.txt", "-o", "new ranker.run", "--write-qrels", "qrels.txt"]) == 0
    printed = capsys.readouterr().out
    test = read_letor("test.txt")
    expected = dict(zip(test.documents.to_list(), load_model("model").predict(test), strict=True))
    rows = [line.split(" ") for line in (folder / "new ranker.run").read_text().splitlines()]
    assert {(row[1], row[5]) for row in rows} == {("Q0", "new-ranker")}
    assert {row[2]: float(row[4]) for row in rows} == pytest.approx(expected, rel=1e-14)  # ties are told apart
    for query in test.queries:
        ranked = [row for row in rows if row[0] == query]
        assert [int(row[3]) for row in ranked] == list(range(1, 11))
        assert all(float(upper[4]) > float(lower[4]) for upper, lower in pairwise(ranked))
    judged = [line.split(" ") for line in (folder / "qrels.txt").read_text().splitlines()]
    assert [(row[2], float(row[3])) for row in judged] == list(zip(test.documents.to_list(), test.labels, strict=True))

    measure = "nDCG(dcg='exp-log2')@10"
    typed = ["evaluate", "new ranker.run", "--qrels", "qrels.txt", "--measure", measure, "--format", "csv"]
    assert main(typed) == 0
    mean = float(next(csv.DictReader(io.StringIO(capsys.readouterr().out)))["mean"])
    assert mean == pytest.approx(Metric(cutoff=10)(list(expected.values()), test.labels, test.bounds).mean(), abs=1e-6)
    assert printed.endswith(f", {measure} {mean:.4f}\n")


def test_a_baseline_of_the_data_has_a_run_of_its_own_that_evaluates_as_printed(folder, capsys):
    assert main(["predict", "feature:1", "test.txt", "-o", "b.run", "--write-qrels", "q.txt"]) == 0
    test = read_letor("test.txt")
    mean = Metric(cutoff=10)(test.column("1"), test.labels, test.bounds).mean()
    assert capsys.readouterr().out.endswith(f", nDCG(dcg='exp-log2')@10 {mean:.4f}\n")
    assert (
        main(["evaluate", "b.run", "--qrels", "q.txt", "--measure", "nDCG(dcg='exp-log2')@10", "--format", "csv"]) == 0
    )
    assert float(next(csv.DictReader(io.StringIO(capsys.readouterr().out)))["mean"]) == pytest.approx(mean, abs=1e-6)


def test_predict_overwrites_no_judgments_unasked(folder, capsys):
    (folder / "mine.txt").write_text("1 0 d 1\n")
    typed = ["predict", "feature:1", "test.txt", "-o", "b.run", "--write-qrels", "mine.txt"]
    expected = "surefoot predict: mine.txt exists; name another, or overwrite it with --force"
    assert told(capsys, *typed) == expected
    assert (folder / "mine.txt").read_text() == "1 0 d 1\n"
    assert not (folder / "b.run").exists()
    assert main([*typed, "--force"]) == 0
    assert (folder / "mine.txt").read_text() != "1 0 d 1\n"


def test_too_few_queries_for_a_promise_say_so(folder, capsys):
    typed = ["train", "--safe", "--max-loss", "0.1", "--train", "train.txt", "--baseline", "feature:1", "--trees", "3"]
    assert main([*typed, "-o", "sure"]) == 0
    assert "1 towards the baseline, by feature:1. No promise: 15 queries" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main([*typed[:3], "much", *typed[4:], "-o", "sure"])
    assert "argument --max-loss: expected a number of 0 or more, got 'much'" in capsys.readouterr().err


def test_the_recipe_needs_no_validation_queries_and_ranks_from_its_folder(folder, capsys):
    typed = ["train", "--safe", "--train", "train.txt", "--baseline", "feature:1", "--trees", "5", "-o", "safe"]
    assert main(typed) == 0
    out = capsys.readouterr().out
    assert " trees, lambdamart, from " in out
    assert "  guard: " in out
    assert "on queries that neither the guard nor the bags saw:\n    nDCG(dcg='exp-log2')@10 0." in out
    assert main(["predict", "safe", "test.txt", "-o", "safe.run"]) == 0
    assert len((folder / "safe.run").read_text().splitlines()) == read_letor("test.txt").labels.size


def test_help_shows_examples(capsys):
    for name in ("train", "predict"):
        with pytest.raises(SystemExit) as end:
            main([name, "--help"])
        assert end.value.code == 0
        assert f"surefoot {name} " in capsys.readouterr().out


def test_words_reach_the_training(folder):
    typed = [
        "--objective", "saro", "--option", "spread=se", "--option", "each=true", "--baseline", "scores:scores.txt",
        "--metric", "err", "--truncation", "all", "--empty", "drop", "--no-norm", "--sigmoid", "2",
        "--trees", "3", "--rate", "0.3", "--seed", "9",
        "--param", "lambda_l2=1.5", "--param", "bagging_freq=1", "--param", "bagging_fraction=0.8",
    ]  # fmt: skip
    (folder / "scores.txt").write_text("\n".join(str(i % 7) for i in range(150)) + "\n")
    assert main(["train", "--train", "train.txt", "-o", "model", *QUICK, *typed]) == 0
    card = load_model("model").card
    expected = Settings(
        "saro", objective_options={"spread": "se", "each": True}, metric="err", truncation=None, max_label=2,
        empty="drop", norm=False, sigmoid=2.0, n_estimators=3, learning_rate=0.3, num_leaves=6, min_child_samples=5,
        seed=9,
        params={"lambda_l2": 1.5, "bagging_freq": 1, "bagging_fraction": 0.8},
    )  # fmt: skip
    assert card["settings"] == expected.identity()
    assert card["baselines"] == ["scores.txt"]


def test_the_baseline_of_the_validation_queries(folder, capsys):
    for name, count in (("old", 150), ("old-valid", 150)):
        (folder / f"{name}.txt").write_text("\n".join(str(i % 7) for i in range(count)) + "\n")
    typed = ["train", "--train", "train.txt", "--valid", "train.txt", "-o", "model", *QUICK, "--trees", "2"]
    assert main([*typed, "--baseline", "scores:old.txt"]) == 2
    assert "give that of the validation queries too" in capsys.readouterr().err
    assert main([*typed, "--baseline", "scores:old.txt", "--valid-baseline", "scores:old-valid.txt"]) == 0
    assert load_model("model").card["baselines"] == ["old.txt"]


def test_the_current_ranking_as_baseline(folder):
    for index, name in enumerate(("order", "-feature:2")):
        typed = ["train", "--train", "train.txt", "-o", f"model{index}", *QUICK, "--trees", "2", "--baseline", name]
        assert main(typed) == 0
        assert load_model(f"model{index}").card["baselines"] == [name]
    typed = ["train", "--train", "train.txt", "-o", "again", *QUICK, "--trees", "2"]
    assert main([*typed, "--baseline", "model:model0/model.txt"]) == 0
    assert load_model("again").card["baselines"] == ["model.txt"]


def test_other_learners_and_what_they_are_told(folder, capsys):
    typed = ["train", "--train", "train.txt", "--threads", "1"]
    linear = [
        *typed,
        "--learner",
        "afs",
        "--objective",
        "trisk",
        "--baseline",
        "feature:1",
        "--param",
        "max_features=2",
    ]
    assert main([*linear, "-o", "linear"]) == 0
    assert "linear: afs in " in capsys.readouterr().out
    wider = [*typed, "--learner", "regression-trees", "--objective", "lambdamart", "--trees", "3"]
    assert main([*wider, "--query-feature", "max:2", "-o", "wider"]) == 0
    data = read_letor("train.txt")
    for name, width in (("linear", 4), ("wider", 5)):
        model = load_model(name)
        assert model.card["data"]["features"] == width
        assert main(["predict", name, "train.txt", "-o", f"{name}.run"]) == 0
        assert model.predict(data).size == data.labels.size
    assert main([*typed, "--learner", "adarank", "-o", "x"]) == 2
    assert "adarank boosts only the mean; give --objective lambdamart" in capsys.readouterr().err


def test_several_baselines_a_model_and_a_run_among_them(folder, capsys):
    assert main(["train", "--train", "train.txt", "--objective", "lambdamart", "--trees", "3", "-o", "old"]) == 0
    assert main(["predict", "old", "train.txt", "-o", "bm25.run"]) == 0
    typed = ["train", "--train", "train.txt", *QUICK, "--trees", "3", "-o", "model", "--objective", "georisk"]
    typed += ["--baseline", "model:old", "--baseline", "feature:1", "--baseline", "run:bm25.run"]
    assert main(typed) == 0
    assert load_model("model").card["baselines"] == ["old", "feature:1", "bm25.run"]
    whole = (folder / "bm25.run").read_text().splitlines(keepends=True)
    (folder / "bm25.run").write_text("".join(whole[:-1]))
    capsys.readouterr()
    assert "bm25.run: lacks document D14-" in told(capsys, *typed, "--force")
    assert main([*typed, "--missing", "last", "--force"]) == 0
    assert capsys.readouterr().err == "note: bm25.run lacks 1 document, ranked below all that it has\n"


def test_progress_is_told_in_lines_where_nobody_looks(folder, capsys, monkeypatch):
    monkeypatch.setattr(inputs, "LOG_INTERVAL", 0.0)
    assert main(words("--baseline", "feature:1", "--trees", "4")) == 0
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["1/4", "2/4", "3/4", "4/4"]
    assert "nDCG(dcg='exp-log2')@10 0." in lines[0]
    assert lines[-1].endswith(" 0 s left")
    monkeypatch.setattr(inputs, "LOG_INTERVAL", 1000.0)
    assert main(words("--baseline", "feature:1", "--trees", "4", "--force")) == 0
    assert capsys.readouterr().err == ""


def test_interrupted_training_keeps_a_checkpoint_and_resumes_to_the_same_model(folder, capsys):
    typed = ["--baseline", "feature:1", "--objective", "faro", "--trees", "60"]
    program = [sys.executable, "-c", SLOWLY, *words(*typed)]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as process:
        for line in process.stderr:
            if line.startswith("8/60"):
                process.send_signal(signal.SIGINT)
                break
        rest = process.stderr.read().splitlines()
    assert process.returncode == 130
    checkpoint = os.path.join("model", "checkpoint.json")  # noqa: PTH118
    assert rest[-2:] == [f"{checkpoint} has the work done so far; continue with --resume", "surefoot train: stopped"]
    assert [path.name for path in (folder / "model").iterdir()] == ["checkpoint.json"]

    before = (folder / checkpoint).read_bytes()
    refused = told(capsys, *words(*typed))
    assert refused == f"surefoot train: {checkpoint} is of a stopped training; continue with --resume, or remove it"
    refused = told(capsys, *words(*typed, "--alpha", "3", "--resume"))
    assert f"{checkpoint}: belongs to a training with another alpha; give the same" in refused
    assert (folder / checkpoint).read_bytes() == before

    assert main(words(*typed, "--resume")) == 0
    assert main(words(*typed, output="whole")) == 0
    assert (folder / "model" / "model.txt").read_bytes() == (folder / "whole" / "model.txt").read_bytes()
    assert (folder / "model" / "card.json").read_bytes() == (folder / "whole" / "card.json").read_bytes()
    assert {path.name for path in (folder / "model").iterdir()} == {"model.txt", "card.json"}
    capsys.readouterr()
    assert told(capsys, *words(*typed, "--resume")) == "surefoot train: model is finished; train without --resume"


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ([], "objective ucro needs a baseline"),
        (["--objective", "best"], "objective must be one of lambdamart, ucro"),
        (["--baseline", "feature:1", "--option", "spread"], "expected K=V, such as spread=se; got 'spread'"),
        (["--baseline", "feature:1", "--option", "spread=se"], "objective ucro has the options alpha; got spread"),
        (["--baseline", "feature:9"], "train.txt: no feature 9; they are numbered 1 to 4"),
        (["--baseline", "bm25"], "a baseline is given as feature:N, -feature:N, rank:N, order"),
        (["--baseline", "train.txt"], "got 'train.txt' (did you mean run:train.txt?)"),
        (["--baseline", "run:no.run"], "no.run: no such file"),
        (["--baseline", "model:no"], "no: is not a folder of a trained model: no card.json in it"),
        (["--baseline", "scores:train.txt"], "train.txt:1: expected a finite number"),
        (["--baseline", "feature:1", "--stop-on", "wins"], "stop_on must be one of mean, urisk"),
        (["--baseline", "feature:1", "--cutoff", "0"], "cutoff must be 1 or more; got 0"),
        (["--baseline", "feature:1", "--param", "num_leafs=3"], "LightGBM has no parameter num_leafs"),
        (["--baseline", "feature:1", "--leaves", "1"], "lightgbm: Check failed: (num_leaves) > (1)"),
        (["--baseline", "feature:1", "--train", "no.txt"], "no.txt: no such file"),
    ],
)
def test_mistakes_are_told_in_one_line(typed, message, folder, capfd):
    assert message in told(capfd, *words("--trees", "3", *typed))
    assert not (folder / "model" / "card.json").exists()


def test_words_that_can_not_be_parsed_end_with_2(folder, capsys):
    for typed in (["--truncation", "0"], ["--alpha", "-1"], ["--metric", "p@5"], ["--trees", "many"]):
        with pytest.raises(SystemExit) as end:
            main(words(*typed))
        assert end.value.code == 2
    assert main(["predict", "nowhere", "test.txt", "-o", "x.run"]) == 2


def test_predict_widens_narrow_data_and_refuses_wide(folder, capsys):
    assert main(words("--baseline", "feature:1", "--trees", "3")) == 0
    (folder / "narrow.txt").write_text("1 qid:1 1:0.5\n0 qid:1 2:1\n")
    (folder / "wide.txt").write_text(letor(4, queries=2).replace(" #", " 7:1 #"))
    capsys.readouterr()
    assert main(["predict", "model", "narrow.txt", "-o", "narrow.run"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("narrow.run: 1 query, 2 documents, 4 features, nDCG(dcg='exp-log2')@10 ")
    assert err == "note: the data has no document ids; documents are named by query and number\n"
    assert {line.split()[2] for line in (folder / "narrow.run").read_text().splitlines()} == {"1-1", "1-2"}
    expected = "surefoot predict: wide.txt: features 1 to 7 are more than the expected 1 to 4; leave the others out"
    assert told(capsys, "predict", "model", "wide.txt", "-o", "wide.run") == expected
    assert not (folder / "wide.run").exists()


def test_predict_ranks_by_a_model_of_the_library(folder):
    """A model that learned from a bare matrix knows its features by place, whatever a file calls the first."""
    data, test = read_letor("train.txt"), read_letor("test.txt")
    qid = np.repeat(np.arange(len(data)), data.sizes)
    ranker = RiskRanker(n_estimators=3, num_leaves=4).fit(data.features, data.labels, qid=qid, baseline="feature:0")
    ranker.save("library")
    assert main(["predict", "library", "test.txt", "-o", "new.run"]) == 0
    lines = [line.split() for line in (folder / "new.run").read_text().splitlines()]
    expected = dict(zip(test.documents.to_list(), ranker.predict(test.features), strict=True))
    assert {fields[2]: float(fields[4]) for fields in lines} == pytest.approx(expected)
    assert np.array_equal(load_model("library").predict(data), ranker.predict(data.features))


def typed(*more):
    parser = argparse.ArgumentParser()
    command.COMMANDS["train"].add_to(parser)
    return command.train_settings(parser.parse_args(["--train", "a", "-o", "b", *more]))


def test_the_recipe_of_the_command_is_that_of_the_library():
    assert typed("--safe") == SAFE
    assert typed() == Settings()


def test_the_recipe_yields_to_other_words_wherever_they_stand():
    """Also to those that say what is usual without it."""
    more = ["--alpha", "2", "--bags", "1", "--guard", "none", "--rate", "0.1", "--param", "x=1"]
    changes = {"alpha": 2.0, "n_bags": 1, "guard": None, "learning_rate": 0.1}
    expected = replace(SAFE, **changes, params={**SAFE.params, "x": 1})
    assert typed(*more, "--safe") == typed("--safe", *more) == expected


def test_every_flag_and_its_short_form_set_the_same():
    given = {
        name: "map" if field.metadata["choices"] else 7
        for name, field in FIELDS.items()
        if len(field.metadata["flags"]) > 1
    }
    assert set(given) >= {"n_estimators", "num_leaves", "learning_rate", "min_child_samples", "n_jobs", "metric"}
    for name, value in given.items():
        long, short = FIELDS[name].metadata["flags"]
        assert long == f"--{name.replace('_', '-')}"
        assert typed(long, str(value)) == typed(short, str(value)) == replace(Settings(), **{name: value})


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ["--stop-on", "mean"],
            "early stopping, or keeping the best iteration, needs validation queries; give --valid",
        ),
        (["--cluster", "tcp://x:1"], "a cluster trains by XGBoost; set engine to xgboost"),
        (
            ["--guard", "trees"],
            "a guard is fitted on queries that a bag did not see; set n_bags to 2 or more",
        ),
    ],
)
def test_what_does_not_go_together_is_told_before_anything_is_made(more, message, folder, capsys):
    words = ["train", "--train", "train.txt", *more, "--baseline", "feature:1", "-o", "m"]
    assert told(capsys, *words) == f"surefoot train: {message}"
    assert not (folder / "m").exists()


def test_the_checkpoint_of_bags_goes_when_training_ends(folder, capsys):
    assert main(words("--baseline", "feature:1", "--trees", "3", "--bags", "2", "--guard", "z")) == 0
    assert "  guard: " in capsys.readouterr().out
    assert sorted(path.name for path in (folder / "model").iterdir()) == [
        "card.json", "guard.json", "unguarded-trees.txt",
    ]  # fmt: skip
