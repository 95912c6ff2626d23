"""Ways in which a gate could pass unseen: each must be an error, or be remembered."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from surefoot import Rules, Scores, SurefootError, gate, score_runs
from surefoot.cli import main
from surefoot.release_gate.accepted import read_accepted, write_accepted
from surefoot.release_gate.config import read_options
from surefoot.release_gate.ratchet import accept
from surefoot.release_gate.rules import RULES

RANDOM = np.random.default_rng(8)
VALUES = RANDOM.random((2, 10))
SCORES = Scores(VALUES, ["old", "new"], [f"q{i}" for i in range(10)], "nDCG@10")


@pytest.fixture
def table(tmp_path: Path) -> str:
    lines = ["topic,old,new", *(f"{topic},{o},{n}" for topic, o, n in zip(SCORES.topics, *VALUES, strict=True))]
    (tmp_path / "ndcg10.csv").write_text("\n".join(lines) + "\n")
    return str(tmp_path / "ndcg10.csv")


def words(table: str, *more: str) -> list[str]:
    return ["gate", "--scores", table, "--measure", "nDCG@10", "--candidate", "new", "--baseline", "old", *more]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--ratchet", "typo.json"], "typo.json: no such file"),
        (["--protected-file", "EMPTY"], "names no query to protect"),
        (["--off", ",".join(RULES)], "all rules are off"),
        (["--segment-by", "language"], "--segments FILE"),
        (["--holdout", "0.5"], "--holdout needs the ratchet file"),
        (["--baseline", "old,new"], "new is its own baseline"),
    ],
)
def test_nothing_is_switched_off_unseen(
    table: str, more: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.txt").write_text("# nothing yet\n")
    given = [str(tmp_path / "empty.txt") if word == "EMPTY" else word for word in more]
    assert main(words(table, *given)) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(("missing", "remembered"), [("zero", 0.0), ("drop", VALUES[0, 3])])
def test_the_ratchet_forgets_no_query(missing: str, remembered: float) -> None:
    rules = Rules(off=("mean", "risk", "losses", "large-losses"))
    before = accept(SCORES, gate(SCORES, "new", candidate="old", rules=rules))
    fewer = SCORES.select(topics=[topic for topic in SCORES.topics if topic != "q3"])
    after = accept(fewer, gate(fewer, "old", candidate="new", rules=rules), before, missing)  # type: ignore[arg-type]
    assert set(after.scores["nDCG@10"]) == set(SCORES.topics)
    assert after.scores["nDCG@10"]["q3"] == remembered
    assert after.summary["nDCG@10"]["topics"] == 10


def test_a_loss_that_was_not_seen_is_not_ruled_out() -> None:
    """Strictly, no spread is no certainty: the same small gain on 50 queries leaves room for a loss on others."""
    base = RANDOM.random(50).round(4)
    scores = Scores(np.stack([base, base + 0.0001]), ["old", "new"], range(50))
    result = gate(scores, "old", candidate="new", rules=Rules(evidence="strict"))
    found = {one.rule: one for one in result.findings}
    assert found["mean"].verdict == "undecided"
    assert (found["mean"].high or 0.0) > 0.05


def test_figures_that_do_not_fit_the_scores_are_damage(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    write_accepted(path, accept(SCORES, gate(SCORES, "old", candidate="new")))
    assert read_accepted(path).system == "new"
    path.write_text(path.read_text().replace(f"{VALUES[1, 0]}", "0.0", 1))
    with pytest.raises(SurefootError, match="its mean is not that of its scores"):
        read_accepted(path)


def test_judgments_of_ir_datasets_are_a_collection_and_no_file(tmp_path: Path) -> None:
    (tmp_path / "surefoot.toml").write_text('[gate]\nbaseline = "old"\nqrels = "irds:one/test"\nratchet = "r.json"\n')
    options = read_options(tmp_path / "surefoot.toml", {"candidate": "new", "undecided": "pass"})
    assert options.run([SCORES], accept=True).accepted
    assert read_accepted(tmp_path / "r.json").system == "new"
    other = replace(options, qrels="irds:another/test")
    with pytest.raises(SurefootError, match="the qrels are not those by which new was accepted"):
        other.run([SCORES])
    assert replace(other, ratchet=None).run([SCORES]).result.candidate == "new"


def test_rules_without_anything_to_test_do_not_ship() -> None:
    scores = Scores([[0.5] * 30, [0.1] * 30], ["old", "new"], range(30))
    with pytest.raises(SurefootError, match="all rules are off, or have nothing to test"):
        gate(scores, "old", candidate="new", rules={"off": ["mean", "losses", "large-losses", "tail"]})


def test_segments_of_each_comparison_are_its_own() -> None:
    long = Scores([[0.5] * 40, [0.6] * 40], ["old", "new"], range(40), "nDCG@10")
    short = Scores([[0.5] * 30, [0.6] * 30], ["old", "new"], range(30), "RR")
    segments = dict.fromkeys(range(40), "head")
    assert gate([long, short], "old", candidate="new", segments=segments).verdict == "pass"


def test_the_signature_depends_on_the_names_of_protected_queries_and_on_segments() -> None:
    scores = Scores([[0.5] * 40, [0.6] * 40], ["old", "new"], range(40))

    def signature(**options: object) -> str:
        return gate(scores, "old", candidate="new", **options).signature

    assert signature(rules={"protected": ["3"]}) != signature(rules={"protected": ["4"]})
    assert signature(segments={"3": "a"}) != signature(segments={"4": "a"})


@pytest.mark.parametrize("tries", [-1, "3", 1.5])
def test_tries_are_a_count(tries: object) -> None:
    scores = Scores([[0.5] * 40, [0.6] * 40], ["old", "new"], range(40))
    with pytest.raises(SurefootError, match="tries must be a whole number"):
        gate(scores, "old", candidate="new", tries=tries)


def test_the_same_ranking_is_recognised_for_every_measure() -> None:
    pytest.importorskip("ir_measures")
    run = {f"q{number}": {"d1": 2.0, "d2": 1.0} for number in range(30)}
    scores = score_runs({"old": run, "new": run}, {topic: {"d1": 1, "d2": 0} for topic in run}, "Bpref")
    result = gate(scores, "old", candidate="new")
    assert (result.verdict, "ranks the same documents" in result.reason) == ("pass", True)
