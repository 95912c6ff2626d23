"""What to judge next: the order, the verdict, and when it is settled."""

import csv

import numpy as np
import pytest

from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.judgments.judged_runs import JudgedRuns
from surefoot.judgments.next_judgments import Changes, is_settled, next_judgments, verdict_of, verdicts_of
from surefoot.stats.inference import t_inference
from tests.judgments.collection import random_collection, read_random, write_qrels, write_runs


def test_a_verdict_is_that_of_the_t_interval():
    random = np.random.default_rng(0)
    for shift in (-0.3, 0.0, 0.3):
        x = random.normal(shift, 0.3, 12)
        test = t_inference(x, np.zeros(12), 0.0)
        told = "better" if test.low > 0 else "worse" if test.high < 0 else "undecided"
        assert verdict_of(x) == told
    assert verdicts_of(np.array([[0.1, 0.2, 0.15], [-0.1, -0.2, -0.15]])).tolist() == ["better", "worse"]


@pytest.mark.parametrize("width", [0.0, 0.05, 0.2, 1.0])
@pytest.mark.parametrize("seed", range(8))
def test_what_is_settled_no_values_between_the_bounds_change(seed, width):
    random = np.random.default_rng(seed)
    middle = random.normal(random.choice([-0.4, 0, 0.4]), 0.3, 15)
    reach = width * random.random(15)
    bounds = middle - reach, middle + reach
    settled = {told for told in ("worse", "undecided", "better") if is_settled(told, *bounds)}
    corners = random.choice([-1, 1], (2000, 15)) * reach + middle
    inside = random.uniform(-1, 1, (2000, 15)) * reach + middle
    seen = set(verdicts_of(np.concatenate([corners, inside])).tolist())
    if width == 0:
        assert settled == seen
    assert not settled or seen == settled


def test_documents_at_the_same_rank_of_both_come_last(tmp_path):
    files = write_runs(
        tmp_path, {"new": {"q": ["same", "n1", "j"], "p": ["j"]}, "old": {"q": ["same", "j", "o2"], "p": ["j"]}}
    )
    qrels = write_qrels(tmp_path / "qrels", {"q": {"j": 1, "k": 0}, "p": {"j": 1, "k": 0}})
    found = next_judgments(JudgedRuns.read(files, qrels, "RBP(rel=1)"), "new", "old")
    assert found["document"].tolist()[-1] == "same"
    assert found["priority"][-1] == pytest.approx(0)
    assert found["reason"].tolist()[-1] == "rank 1 of new, rank 1 of old"
    assert sum(found.chances.values()) == pytest.approx(1)


def changes_of(moves, drawn=None):
    """Changes of documents in draws that all have another verdict: two topics, of equal values."""
    way = np.repeat(moves.sum(axis=1, keepdims=True), 2, axis=1)
    return Changes([(0, n) for n in range(moves.shape[1])], moves, way if drawn is None else drawn, np.zeros(2))


def test_documents_that_cancel_each_other_come_late():
    """Three changes of 2 and one of -2: two of the former bring U_Risk there, the last two cancel."""
    changes = changes_of(np.array([[-2.0, 2.0, 2.0, 2.0]]))
    order, gains = changes.order(4)
    assert order[:2] == [1, 2]
    np.testing.assert_allclose(gains[:2], 2)
    assert changes.order(1)[0] == [1]


def test_the_order_is_the_greedy_one_of_a_plain_simulation():
    """What is left to go and what is left to change, both squared, fall by as much as they can."""
    moves = np.random.default_rng(3).normal(0, 1, (50, 6))
    expected, left = [], set(range(6))
    while left:
        others = {n: moves[:, sorted(left - {n})] for n in left}
        costs = {n: np.mean(other.sum(axis=1) ** 2 + (other**2).sum(axis=1)) for n, other in others.items()}
        expected.append(min(left, key=costs.__getitem__))
        left.remove(expected[-1])
    assert changes_of(moves).order(6)[0] == expected


def test_draws_with_the_same_verdict_do_not_count():
    moves = np.array([[9.0, 0.0], [0.0, 1.0]])
    drawn = np.array([[-1.0, 19.0], [1.0, 1.0]])
    assert verdicts_of(drawn).tolist() == ["undecided", "better"]
    assert changes_of(moves, drawn).order(2)[0] == [1, 0]


def test_where_no_draw_has_another_verdict_those_nearest_to_it_count():
    moves = np.array([[9.0, 0.0], [0.0, 1.0]])
    drawn = np.array([[-20.0, 38.0], [0.5, 1.5]])
    assert verdicts_of(drawn).tolist() == ["undecided", "undecided"]
    assert changes_of(moves, drawn).order(2)[0] == [1, 0]


def test_a_settled_verdict_needs_no_judgments(tmp_path):
    found = next_judgments(read_random(tmp_path, seed=1, holes=0), "r0", "r1")
    assert found.settled
    assert len(found) == 0
    assert found.notes[-1] == "no judgment can change the verdict any more"
    with pytest.raises(SurefootError, match="budget must be at least 1"):
        next_judgments(read_random(tmp_path, seed=1), "r0", "r1", budget=0)


def test_judging_all_that_is_named_settles_it(tmp_path, capsys):
    files, qrels = random_collection(tmp_path, seed=2)
    todo, judged, merged = (str(tmp_path / name) for name in ("to.csv", "new.qrels", "all.qrels"))
    (tmp_path / "queries.tsv").write_text("".join(f"{topic}\tquery {topic}\n" for topic in range(6)))
    inputs = [*map(str, files), "--candidate", "r0", "--baseline", "r1", "--measure", "nDCG@5", "--budget", "500"]
    assert main(["judge", *inputs, "--qrels", str(qrels), "--queries", str(tmp_path / "queries.tsv"), "-o", todo]) == 0
    rows = list(csv.DictReader((tmp_path / "to.csv").read_text().splitlines()))
    assert list(rows[0]) == ["topic", "document", "priority", "reason", "query"]
    assert rows[0]["query"] == f"query {rows[0]['topic']}"
    assert "once all are judged" in capsys.readouterr().err
    (tmp_path / "new.qrels").write_text("".join(f"{row['topic']} 0 {row['document']} 1\n" for row in rows))
    assert main(["judge", "--merge", judged, "--qrels", str(qrels), "-o", merged]) == 0
    assert f"{len(rows)} of them new" in capsys.readouterr().err
    assert main(["judge", *inputs, "--qrels", merged]) == 0
    assert "no judgment can change the verdict any more" in capsys.readouterr().err


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
