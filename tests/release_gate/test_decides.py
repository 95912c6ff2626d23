"""The gate decides: the cases on which version 0.2 let bad releases through, or could not tell."""

from collections.abc import Iterable
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from surefoot import GateResult, Scores, gate, read_scores, score_runs
from surefoot.release_gate.config import GateOptions
from surefoot.release_gate.render import render_markdown, render_text
from surefoot.release_gate.rules import Rules
from tests.judgments.collection import write_qrels, write_runs


def verdict(old: Iterable[float], new: Iterable[float], **rules: object) -> GateResult:
    old, new = list(old), list(new)
    return gate(Scores([old, new], ["old", "new"], range(len(old)), "nDCG@10"), "old", candidate="new", rules=rules)


def failing(result: GateResult) -> set[str]:
    return {one.rule for one in result.findings if one.verdict == "fail"}


@pytest.mark.parametrize(("queries", "gain"), [(200, 0.3), (50, 0.05)])
def test_the_same_gain_on_every_query_passes(queries: int, gain: float) -> None:
    old = np.random.default_rng(queries).uniform(0.1, 0.6, queries)
    assert verdict(old, old + gain).verdict == "pass"
    assert verdict(old + gain, old).verdict == "fail"


def test_nothing_returned_for_8_of_30_queries_fails() -> None:
    """The score of a query is 1 / rank of its document; the candidate answers 22 queries as the baseline does."""
    old = {f"q{i}": {f"d{i}": 2.0 - (i % 3), "other": 1.5} for i in range(30)}
    new = {topic: documents for number, (topic, documents) in enumerate(old.items()) if number >= 8}
    qrels = {f"q{i}": {f"d{i}": 1, "other": 0} for i in range(30)}
    scores = score_runs({"old": old, "new": new}, qrels, "RR")
    result = gate(scores, "old", candidate="new")
    assert "no-results" in failing(result)
    (found,) = (one for one in result.findings if one.rule == "no-results")
    assert found.loss == pytest.approx(8 / 30)
    assert found.where == "q0"
    assert result.exit_code == 1
    assert failing(gate(scores, "old", candidate="new", rules={"off": ["no-results"]})) >= {"mean"}


def test_nothing_returned_fails_even_where_no_score_changed() -> None:
    old = {f"q{i}": {f"d{i}": 2.0, "other": 1.0} for i in range(30)}
    new = {topic: documents for topic, documents in old.items() if topic != "q7"}
    qrels = {f"q{i}": {f"d{i}": int(i != 7), "other": 0} for i in range(30)}
    qrels["q7"]["elsewhere"] = 1
    scores = score_runs({"old": old, "new": new}, qrels, "nDCG@10")
    assert np.array_equal(scores["old"], scores["new"])
    result = gate(scores, "old", candidate="new")
    assert (result.verdict, failing(result)) == ("fail", {"no-results"})


def protected_runs(folder: Path, *, judged: bool) -> Scores:
    """Forty queries as before, but q0 falls: its relevant document gives way to another one, judged or not."""
    ranked = {f"q{i}": [f"r{i}", f"n{i}"] for i in range(40)}
    runs = write_runs(folder, {"old": ranked, "new": ranked | {"q0": ["x", "n0", "r0"]}})
    qrels = {f"q{i}": {f"r{i}": 1, f"n{i}": 0} for i in range(40)}
    if judged:
        qrels["q0"]["x"] = 0
    return score_runs(runs, write_qrels(folder / "qrels.txt", qrels), "nDCG@10")


def test_a_protected_query_that_falls_on_judged_documents_fails(tmp_path: Path) -> None:
    result = gate(protected_runs(tmp_path, judged=True), "old", candidate="new", rules={"protected": ["q0"]})
    assert failing(result) == {"protected"}
    assert result.exit_code == 1


def test_a_protected_query_that_an_unjudged_document_could_restore_is_undecided_and_names_it(tmp_path: Path) -> None:
    scores = protected_runs(tmp_path, judged=False)
    result = gate(scores, "old", candidate="new", rules={"protected": ["q0"]})
    found = result.findings[0]
    assert (result.verdict, found.rule, found.verdict, found.where) == ("undecided", "protected", "undecided", "q0")
    assert found.documents == (("q0", "x"),)
    assert "x (q0)" in result.next_step
    off = gate(scores, "old", candidate="new", rules={"protected": ["q0"]}, assessors="off")
    assert failing(off) == {"protected"}


def test_48_of_54_queries_lost_fails() -> None:
    old = np.full(54, 0.8)
    new = old - np.where(np.arange(54) < 48, 0.37, -0.08)
    result = verdict(old, new)
    assert new.mean() == pytest.approx(0.48, abs=0.005)
    assert failing(result) >= {"mean", "losses"}


def test_trials_of_one_agent_do_not_fail_against_each_other(data: Path) -> None:
    scores = read_scores(data / "tau-bench" / "gpt-4o-airline-trials.csv")
    assert len(scores.systems) == 4
    for one, other in combinations(scores.systems, 2):
        assert gate(scores, one, candidate=other).verdict != "fail"
        assert gate(scores, other, candidate=one).verdict != "fail"


def test_small_losses_release_after_release_are_stopped_by_the_tenth(tmp_path: Path) -> None:
    """Each of 20 releases costs another 5 % of 400 queries 0.08; the ratchet keeps what passes."""
    queries, random = 400, np.random.default_rng(1)
    start = random.uniform(0.4, 0.9, queries)
    order = random.permutation(queries)
    topics = [f"q{i}" for i in range(queries)]
    options = GateOptions(Rules(), ratchet=str(tmp_path / "accepted.json"))
    stopped = None
    for release in range(21):
        own = start.copy()
        own[order[: queries * release // 20]] -= 0.08
        name = f"r{release}"
        outcome = options.run([Scores([own], [name], topics, "nDCG@10")], accept=True)
        if not outcome.accepted:
            stopped = release
            break
    assert stopped is not None
    assert stopped <= 10


@pytest.mark.parametrize("seed", range(3))
def test_8_percent_of_5000_queries_lost_fails(seed: int) -> None:
    random = np.random.default_rng(seed)
    old = random.uniform(0.2, 0.9, 5000)
    new = old - 0.1 * (random.permutation(5000) < 400)
    assert verdict(old, new).verdict == "fail"


@pytest.mark.parametrize("queries", [3, 30])
def test_an_identical_ranking_passes(queries: int, tmp_path: Path) -> None:
    ranked = {f"q{i}": [f"r{i}", "x"] for i in range(queries)}
    runs = write_runs(tmp_path, {"old": ranked, "new": ranked})
    qrels = write_qrels(tmp_path / "qrels.txt", {topic: {ranks[0]: 1, "y": 0} for topic, ranks in ranked.items()})
    for measure in ("nDCG@10", "P@1"):
        result = gate(score_runs(runs, qrels, measure), "old", candidate="new", rules={"undecided": "fail"})
        assert ([one.rule for one in result.findings], result.verdict) == (["identical"], "pass")
        assert result.exit_code == 0


def test_equal_scores_in_a_table_pass_unless_they_are_0_or_1() -> None:
    graded = np.random.default_rng(0).random(30)
    assert verdict(graded, graded).verdict == "pass"
    binary = (graded > 0.5).astype(float)
    assert verdict(binary, binary).verdict == "undecided"


def test_exchangeable_systems_seldom_fail() -> None:
    """Both systems draw reciprocal ranks alike; of 400 gates at most 5 % fail, and twice the error of that."""
    random, gates = np.random.default_rng(50), 400
    weights = np.array([0.4, 0.2, 0.1, 0.08, 0.06, 0.05, 0.04, 0.03, 0.02, 0.02])
    pairs = 1 / (1 + random.choice(10, (gates, 2, 50), p=weights))
    failed = sum(verdict(old, new).verdict == "fail" for old, new in pairs)
    assert failed <= gates * 0.05 + 2 * np.sqrt(gates * 0.05 * 0.95)


def test_a_topic_that_looks_like_a_command_of_github_stays_inert() -> None:
    """GitHub takes a line for a command if it begins with ::, or has ##[ anywhere."""
    topics = ["::error::x", "##[error]y", "a" * 35 + "::error::z", *(f"q{i}" for i in range(30))]
    scores = Scores([[0.8] * 33, [0.1] * 33], ["::old", "::error::new"], topics, "nDCG@10", notes=["a ##[z]", "::z"])
    segments = dict.fromkeys(topics, "::error::s")
    result = gate(scores, "::old", candidate="::error::new", rules=Rules(protected=topics[:3]), segments=segments)
    texts = [render_text(result, width=width) for width in range(40, 110)]
    for text in (*texts, render_markdown(result)):
        assert "::error::x" in text
        for line in text.splitlines():
            assert not line.strip().startswith("::")
            assert "##[" not in line
