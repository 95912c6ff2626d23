"""What to judge next: the order, the verdict and its probability."""

import csv

import numpy as np
import pytest

from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.next_judgments import Uncertainty, next_judgments, verdicts_of
from surefoot.judgments.unjudged import GradeModel
from surefoot.stats.inference import t_inference
from tests.judgments.collection import difference_of_discounts, random_collection, read_random, write_qrels, write_runs


def test_a_verdict_is_that_of_the_t_interval():
    random = np.random.default_rng(0)
    for shift in (-0.3, 0.0, 0.3):
        x = random.normal(shift, 0.3, 12)
        test = t_inference(x, np.zeros(12), 0.0)
        told = "better" if test.low > 0 else "worse" if test.high < 0 else "undecided"
        assert verdicts_of(x[np.newaxis]) == [told]
    assert verdicts_of(np.array([[0.1, 0.2, 0.15], [-0.1, -0.2, -0.15]])).tolist() == ["better", "worse"]


def test_documents_at_the_same_rank_of_both_come_last(tmp_path):
    files = write_runs(
        tmp_path, {"new": {"q": ["same", "n1", "j"], "p": ["j"]}, "old": {"q": ["same", "j", "o2"], "p": ["j"]}}
    )
    qrels = write_qrels(tmp_path / "qrels", {"q": {"j": 1, "k": 0}, "p": {"j": 1, "k": 0}})
    found = next_judgments(JudgedRuns.read(files, qrels, "RBP(rel=1)"), "new", "old", enough=1)
    assert found["document"].tolist()[-1] == "same"
    assert found["priority"][-1] == pytest.approx(0)
    assert found["reason"].tolist()[-1] == "rank 1 of new, rank 1 of old"
    assert sum(found.chances.values()) == pytest.approx(1)


def test_the_priority_is_the_spread_of_the_discounted_gain(tmp_path):
    """By hand: the difference of the discounts times the spread of the grade, where a lost topic weighs more."""
    runs = read_random(tmp_path, seed=3, measure="RBP(rel=1)")
    pair, n, random, expected = runs.pair("r0", "r1"), 300, np.random.default_rng(0), []
    model = GradeModel.of(runs, pair)
    shared = model.draw_shared(random, n)
    for topic, own in enumerate(pair.topics):
        grades = model.fill(topic, own.codes, own.grades, shared, random)
        lost = np.mean(pair.deltas(own, grades, model.draw_rest(topic, own, shared, random)) < -1e-9)
        for document in np.flatnonzero(own.unjudged):
            spread = abs(difference_of_discounts(own, document)) * np.std(grades[:, document])
            expected.append((1 + 2 * lost) * spread / len(pair.topics))
    found = Uncertainty.draw(pair, model, 2.0, n)
    np.testing.assert_allclose(found.priorities, expected, atol=1e-12)
    assert [found.priorities[index] for index in found.order()] == sorted(found.priorities, reverse=True)


def test_the_verdict_is_the_most_frequent_one_of_the_draws(tmp_path):
    runs = read_random(tmp_path, seed=3)
    found = next_judgments(runs, "r0", "r1", enough=1)
    assert found.probability == max(found.chances.values()) == found.chances[found.verdict]
    assert len(found) == min(50, found.unjudged)
    assert f"{100 * found.probability:.0f} %" in found.notes[0]


def test_nothing_is_named_where_the_verdict_is_probable_enough(tmp_path):
    runs = read_random(tmp_path, seed=3)
    certain = next_judgments(runs, "r0", "r1", enough=1)
    found = next_judgments(runs, "r0", "r1", enough=min(certain.probability, 0.99))
    assert len(found) == 0
    assert "none needs to be judged" in found.notes[1]
    with pytest.raises(SurefootError, match="at most at 1"):
        next_judgments(runs, "r0", "r1", enough=1.5)


def test_where_all_is_judged_the_verdict_is_certain(tmp_path):
    found = next_judgments(read_random(tmp_path, seed=1, holes=0), "r0", "r1")
    assert found.probability == 1
    assert len(found) == 0
    assert "all documents of the two rankings are judged" in found.notes[0]
    with pytest.raises(SurefootError, match="budget must be at least 1"):
        next_judgments(read_random(tmp_path, seed=1), "r0", "r1", budget=0)
    with pytest.raises(SurefootError, match="number of draws must be at least 1; got 0"):
        next_judgments(read_random(tmp_path, seed=1), "r0", "r1", n_draws=0)


def test_judging_all_that_is_named_settles_it(tmp_path, capsys):
    files, qrels = random_collection(tmp_path, seed=2)
    todo, judged, merged = (str(tmp_path / name) for name in ("to.csv", "new.qrels", "all.qrels"))
    (tmp_path / "queries.tsv").write_text("".join(f"{topic}\tquery {topic}\n" for topic in range(6)))
    inputs = [*map(str, files), "--candidate", "r0", "--baseline", "r1", "--measure", "nDCG@5", "--budget", "500"]
    inputs += ["--enough", "1"]
    assert main(["judge", *inputs, "--qrels", str(qrels), "--queries", str(tmp_path / "queries.tsv"), "-o", todo]) == 0
    rows = list(csv.DictReader((tmp_path / "to.csv").read_text().splitlines()))
    assert list(rows[0]) == ["topic", "document", "priority", "reason", "query"]
    assert rows[0]["query"] == f"query {rows[0]['topic']}"
    assert "the expected verdict on U_Risk once all documents are judged" in capsys.readouterr().err
    (tmp_path / "new.qrels").write_text("".join(f"{row['topic']} 0 {row['document']} 1\n" for row in rows))
    assert main(["judge", "--merge", judged, "--qrels", str(qrels), "-o", merged]) == 0
    assert f"{len(rows)} of them new" in capsys.readouterr().err
    assert main(["judge", *inputs, "--qrels", merged]) == 0
    assert "all documents of the two rankings are judged" in capsys.readouterr().err


def test_bad_requests_get_one_line(tmp_path, capsys):
    files, qrels = random_collection(tmp_path, seed=2)
    other = write_qrels(tmp_path / "other", {"0": {"d0": 3, **{f"d{n}": -2 for n in range(1, 12)}}})
    for arguments, told in (
        ([str(files[0])], "name the run files, --candidate and --baseline"),
        ([str(files[0]), "--candidate", "r0", "--baseline", "r9"], "no run 'r9'"),
        (["--merge", str(other)], "--merge takes --qrels and writes to -o"),
        (["--merge", str(other), "-o", str(tmp_path / "new")], "has another grade in"),
        (["--merge", str(other), "-o", str(other)], "exists; name another, or overwrite it with --force"),
    ):
        assert main(["judge", "--qrels", str(qrels), *arguments]) == 2
        error = capsys.readouterr().err
        assert told in error
        assert error.count("\n") == 1
