"""Guards of whole runs, from Python and from the command line."""

import json
import os
from pathlib import Path

import numpy as np
import pytest

from surefoot.cli import main
from surefoot.effectiveness import score_runs
from surefoot.errors import InputError
from surefoot.guard.guard import Guard
from surefoot.guard.runs import RunPair, apply_guard, fit_guard_to_runs
from surefoot.io.trec import read_qrels, read_run

TOPICS, DOCUMENTS = 40, 12


def write_run(path, scores, topics=None, skip=()):
    lines = [
        f"{'q' + str(q) if topics is None else topics[q]} Q0 d{d} 0 {score:.6f} tag\n"
        for q, row in enumerate(scores)
        for d, score in enumerate(row)
        if (q, d) not in skip
    ]
    path.write_text("".join(lines))
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs that lack some of each other's documents, and judgments."""
    home, rng = tmp_path_factory.mktemp("runs"), np.random.default_rng(0)
    truth = rng.normal(size=(TOPICS, DOCUMENTS))
    write_run(home / "old.run", truth + 1.5 * rng.normal(size=truth.shape), skip={(0, 3), (1, 1)})
    write_run(home / "new.run", truth + 0.6 * rng.normal(size=truth.shape), skip={(0, 5), (0, 6), (2, 0)})
    grades = np.searchsorted([0.7, 1.5], truth)
    lines = [f"q{q} 0 d{d} {grades[q, d]}\n" for q in range(TOPICS) for d in range(DOCUMENTS)]
    (home / "qrels.txt").write_text("".join(lines))
    return home


def by_hand(path):
    return {
        topic: dict(zip(documents, scores.tolist(), strict=True))
        for topic, documents, scores in read_run(path).by_topic()
    }


def test_runs_are_joined_by_topic_and_document(folder):
    runs = RunPair.of(folder / "old.run", folder / "new.run")
    old, new = by_hand(folder / "old.run"), by_hand(folder / "new.run")
    assert runs.topics == tuple(new)
    ids = runs.run_by(-np.arange(len(runs.documents), dtype=float), "x").documents
    for index, topic in enumerate(runs.topics):
        rows = range(runs.pair.bounds[index], runs.pair.bounds[index + 1])
        assert {ids[row] for row in rows} == set(old[topic]) | set(new[topic])
        for row in rows:
            assert runs.pair.baseline.scores[row] == old[topic].get(ids[row], -np.inf)
            assert runs.pair.candidate.scores[row] == new[topic].get(ids[row], -np.inf)
        own = [ids[row] for row in rows]
        assert own[: len(new[topic])] == list(new[topic])


def test_labels_are_the_grades(folder):
    runs = RunPair.of(folder / "old.run", folder / "new.run")
    qrels = read_qrels(folder / "qrels.txt")
    grades = {topic: dict(zip(docs, numbers.tolist(), strict=True)) for topic, docs, numbers in qrels.by_topic()}
    ids = runs.run_by(-np.arange(len(runs.documents), dtype=float), "x").documents
    topic = [runs.topics[query] for query in runs.pair.candidate.query]
    assert runs.labels(qrels).tolist() == [grades[t][d] for t, d in zip(topic, ids, strict=True)]


@pytest.mark.parametrize("measure", ["nDCG@10", "AP", "ERR@20", "Rprec"])
def test_what_is_measured_is_what_evaluate_measures(folder, measure):
    fit = fit_guard_to_runs(folder / "old.run", folder / "new.run", folder / "qrels.txt", measure=measure, kinds=["z"])
    scores = score_runs([folder / "old.run", folder / "new.run"], folder / "qrels.txt", measure)
    assert fit.outcomes["baseline"] == pytest.approx(scores["old"])
    assert fit.guard.card["measure"] == scores.measure
    assert fit.outcomes["none"] == pytest.approx(scores["new"])


def test_ties_are_broken_as_by_evaluate(tmp_path):
    """The baseline's ties must not be broken by the candidate."""
    rng = np.random.default_rng(1)
    old, new = (write_run(tmp_path / f"{name}.run", rng.integers(0, 3, (30, 12))) for name in ("old", "new"))
    lines = [f"q{q} 0 d{d} {rng.integers(0, 2)}\n" for q in range(30) for d in range(12)]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    fit = fit_guard_to_runs(old, new, tmp_path / "qrels.txt", anyway=True)
    scores = score_runs([old, new], tmp_path / "qrels.txt", "nDCG@10")
    assert fit.outcomes["baseline"].tolist() == scores["old"].tolist()
    assert fit.outcomes["none"].tolist() == scores["new"].tolist()
    assert fit["losses"][:2].tolist() == [0, (scores["new"] < scores["old"]).sum()]


def test_the_guarded_run_is_ranked_query_by_query(folder):
    guard = Guard("z", 0.4)
    run, notes = apply_guard(guard, folder / "old.run", folder / "new.run")
    old, new = by_hand(folder / "old.run"), by_hand(folder / "new.run")
    for topic, documents, scores in run.by_topic():
        names = [*new[topic], *(name for name in old[topic] if name not in new[topic])]
        b, c = ([one[topic].get(name, -np.inf) for name in names] for one in (old, new))
        assert documents == [names[index] for index in guard.rank(b, c)]
        assert scores.tolist() == list(range(len(names), 0, -1))
    assert notes[0] == "3 documents that new did not return are ranked below those that it returned"
    assert len(guard.apply(folder / "old.run", folder / "new.run")) == len(run)


def test_a_run_left_alone_is_the_candidates_own(folder):
    for guard, name in ((Guard(), "new"), (Guard(safety=1.0), "old")):
        run, _ = apply_guard(guard, folder / "old.run", folder / "new.run")
        own = read_run(folder / f"{name}.run")
        assert {topic: documents for topic, documents, _ in run.by_topic()} == {
            topic: documents for topic, documents, _ in own.by_topic()
        }


def test_topics_that_are_not_in_both_runs_or_not_judged_are_named(folder, tmp_path):
    lines = (folder / "old.run").read_text().splitlines(keepends=True)
    (tmp_path / "old.run").write_text("".join(line for line in lines if not line.startswith("q3 ")))
    judged = (folder / "qrels.txt").read_text().splitlines(keepends=True)
    (tmp_path / "qrels.txt").write_text("".join(line for line in judged if not line.startswith("q4 ")))
    fit = fit_guard_to_runs(tmp_path / "old.run", folder / "new.run", tmp_path / "qrels.txt", kinds=["z"])
    assert fit.outcomes["none"].size == TOPICS - 2
    assert "2 topics of new left out: q3, q4" in fit.notes
    assert Guard.fit(tmp_path / "old.run", folder / "new.run", tmp_path / "qrels.txt", kinds=["z"]) == fit.guard


def command(*arguments):
    return main(["guard", *map(str, arguments)])


def test_fit_and_apply_from_the_command_line(folder, tmp_path, capsys):
    runs = ("--baseline", folder / "old.run", "--candidate", folder / "new.run")
    guard, safe, plot = tmp_path / "guard.json", tmp_path / "safe.run", tmp_path / "path.svg"
    options = ("--qrels", folder / "qrels.txt", "--measure", "nDCG@10", "--plot", plot, "-o", guard)
    assert command("fit", *runs, *options) == 0
    told = capsys.readouterr().out
    assert "chosen" in told
    assert f"{guard}: {Guard.load(guard)}" in told
    assert plot.read_text().startswith("<?xml")
    assert command("apply", guard, *runs, "-o", safe) == 0
    out, err = capsys.readouterr()
    assert "40 topics" in out
    assert "3 documents that new did not return" in err
    expected, _ = apply_guard(Guard.load(guard), folder / "old.run", folder / "new.run")
    assert [(t, d) for t, d, _ in read_run(safe).by_topic()] == [(t, d) for t, d, _ in expected.by_topic()]


def test_a_budget_on_the_command_line_says_its_promise(folder, tmp_path, capsys):
    runs = ("--baseline", folder / "old.run", "--candidate", folder / "new.run", "--qrels", folder / "qrels.txt")
    assert command("fit", *runs, "--budget", 0.3, "-o", tmp_path / "g.json") == 0
    assert "at most 0.300 with 90 % confidence" in " ".join(capsys.readouterr().out.split())
    budget = ("--budget", 0.01, "--budget-of", "loss20", "--confidence", 0.95)
    assert command("fit", *runs, *budget, "--format", "json", "--force", "-o", tmp_path / "g.json") == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["certificate"]["safety"] == 1.0
    assert "the test needs 299 at least" in " ".join(err.split())
    assert Guard.load(tmp_path / "g.json").safety == 1.0
    assert command("fit", *runs, "--budget", 0.2, "--approximate", "--force", "-o", tmp_path / "g.json") == 0
    assert Guard.load(tmp_path / "g.json").card["certificate"]["approximate"]


def test_a_candidate_below_its_baseline_needs_a_word(folder, tmp_path, capsys):
    runs = ("--baseline", folder / "new.run", "--candidate", folder / "old.run", "--qrels", folder / "qrels.txt")
    assert command("fit", *runs, "-o", tmp_path / "g.json") == 2
    assert "is below the baseline's" in capsys.readouterr().err
    assert not (tmp_path / "g.json").exists()
    assert command("fit", *runs, "--anyway", "-o", tmp_path / "g.json") == 0


def broken(folder, tmp_path):
    """Files that are wrong, and the line that says so."""
    flat = write_run(tmp_path / "flat.run", np.ones((TOPICS, 4)))
    other = write_run(tmp_path / "other.run", np.random.default_rng(0).random((2, 3)), topics=["x", "y"])
    (tmp_path / "nan.run").write_text("q0 Q0 d0 1 nan x\n")
    (tmp_path / "qrels.other").write_text("x 0 d0 1\n")
    old, new, qrels = folder / "old.run", folder / "new.run", folder / "qrels.txt"
    yield ("fit", old, flat, "--qrels", qrels), "all documents of topic 'q0' have the same score"
    yield ("fit", old, other, "--qrels", qrels), "shares no topic with"
    yield ("fit", old, tmp_path / "nan.run", "--qrels", qrels), "nan.run:1:"
    yield ("fit", old, new, "--qrels", tmp_path / "qrels.other"), "judges none of the topics of both runs"
    yield ("fit", old, tmp_path / "none.run", "--qrels", qrels), "no such file"
    yield ("fit", old, new, "--qrels", qrels, "--measure", "nDCQ@10"), "no measure"
    yield ("fit", old, new, "--qrels", qrels, "--budget", "2"), "a budget must lie between"
    yield ("fit", old, new, "--qrels", qrels, "--confidence", "0.9"), "add its --budget"
    yield ("fit", old, new, "--qrels", qrels, "--kinds", "magic"), "must be one of log-rank"
    yield ("fit", old, new, "--qrels", qrels, "--plot", "p.doc"), "svg"
    guard = tmp_path / "guard.json"
    Guard("z", 0.3, card={"measure": "nDCG@10"}).save(guard)
    edited = tmp_path / "edited.json"
    edited.write_text(guard.read_text().replace("0.3", "0.9"))
    yield ("apply", old, new, edited), "was changed after it was fitted"
    yield ("apply", old, new, qrels), "not a guard"


def test_bad_input_is_one_line_and_nothing_is_written(folder, tmp_path, capsys):
    for (action, old, new, *rest), message in broken(folder, tmp_path):
        output = tmp_path / "output"
        assert command(action, *rest, "--baseline", old, "--candidate", new, "-o", output) == 2
        err = capsys.readouterr().err
        assert message in err, (message, err)
        assert err.count("\n") == 1
        assert not output.exists()


def test_one_topic_leaves_the_candidate_alone(tmp_path):
    rng = np.random.default_rng(0)
    old, new = (write_run(tmp_path / f"{name}.run", rng.random((1, 5))) for name in ("old", "new"))
    (tmp_path / "qrels.txt").write_text("q0 0 d1 1\n")
    fit = fit_guard_to_runs(old, new, tmp_path / "qrels.txt", anyway=True)
    assert str(fit.guard) == "none"
    assert "1 query can't show which guard is best" in fit.why


@pytest.mark.skipif("SUREFOOT_DATA" not in os.environ, reason="needs the public runs in SUREFOOT_DATA")
def test_real_runs(tmp_path):
    home = Path(os.environ["SUREFOOT_DATA"]) / "trec-web-2012"
    old, new, qrels = (home / name for name in ("indri-ql-catb.run.gz", "indri-rm-catb.run.gz", "qrels.adhoc.txt"))
    fit = fit_guard_to_runs(old, new, qrels, anyway=True)
    scores = score_runs([old, new], qrels, "nDCG@10")
    assert fit.outcomes["none"] == pytest.approx(scores["indri-rm-catb"])
    assert fit.outcomes["baseline"] == pytest.approx(scores["indri-ql-catb"])
    with pytest.raises(InputError, match="shares no topic"):
        RunPair.of(old, write_run(tmp_path / "x.run", np.random.default_rng(0).random((2, 3))))
