"""Systems that were run several times: noise is no loss, a broken query is, and a system against itself."""

import math
from pathlib import Path

import numpy as np
import pytest

from surefoot import GateResult, Scores, SurefootError, gate, score_runs
from surefoot.cli import main
from surefoot.stats.repeats import split_trials


def agents(seed: int, tasks: int, trials: int, broken: float = 0.0) -> Scores:
    """Two agents with the same chance of success on each task; one never succeeds on the tasks that are broken."""
    random = np.random.default_rng(seed)
    chance = random.beta(2, 1.2, tasks)
    lost = random.random(tasks) < broken
    own = (random.random((trials, tasks)) < np.where(lost, 0.0, chance)).astype(float)
    base = (random.random((trials, tasks)) < chance).astype(float)
    means = [base.mean(axis=0), own.mean(axis=0)]
    return Scores(means, ["old", "new"], range(tasks), "success", trials={"old": base, "new": own})


def verdict(scores: Scores) -> GateResult:
    return gate(scores, "old", candidate="new")


def test_equal_agents_seldom_fail() -> None:
    failed = sum(verdict(agents(seed, 50, 4)).verdict == "fail" for seed in range(30))
    assert failed <= 5, "at a level of 0.05 more than 5 of 30 have a probability below 0.01"


def test_broken_tasks_are_found() -> None:
    found = sum(verdict(agents(seed, 60, 5, broken=0.2)).verdict == "fail" for seed in range(10))
    assert found >= 8


def test_the_noise_is_reported() -> None:
    result = verdict(agents(1, 50, 4))
    assert result.changes[0].noise is not None
    assert result.changes[0].noise > 0.1
    assert any("differs from itself" in note for note in result.notes)
    assert "trials=4" in result.signature


def test_equal_means_of_repeats_are_tested() -> None:
    base = np.array([[0.0, 1.0] * 20, [1.0, 0.0] * 20])
    scores = Scores([base.mean(0)] * 2, ["old", "new"], range(40), trials={"old": base, "new": base[::-1]})
    assert "identical" not in {one.rule for one in verdict(scores).findings}


def test_one_trial_of_a_random_system_asks_for_repeats() -> None:
    random = np.random.default_rng(2)
    own, base = (random.random((2, 30)) < 0.6).astype(float)
    result = gate(Scores([base, own], ["old", "new"], range(30)), "old", candidate="new")
    assert result.needs_repeats
    assert result.verdict == "undecided"
    assert "repeats" in result.next_step
    assert not verdict(agents(1, 50, 4)).needs_repeats


def test_trials_are_split_in_two_halves() -> None:
    trials = np.array([[0.1, 0.2], [0.3, math.nan], [0.5, 0.6]])
    scores = Scores([np.nanmean(trials, 0)], ["a"], ["q1", "q2"], "RR", trials={"a": trials})
    halves = split_trials(scores, "a")
    assert halves.topics == ("q1",), "q2 has no second trial"
    assert halves.values.tolist() == [[pytest.approx(0.3)], [0.3]]
    assert halves.systems == ("a (odd trials)", "a (even trials)")
    assert halves.trials["a (odd trials)"].tolist() == [[0.1], [0.5]]


@pytest.mark.parametrize(
    ("trials", "message"),
    [
        (None, "a needs two trials or more"),
        ([[0.5, 0.5]], "a needs two trials or more"),
    ],
)
def test_a_system_without_repeats_has_no_halves(trials: list[list[float]] | None, message: str) -> None:
    scores = Scores([[0.5, 0.5]], ["a"], ["q1", "q2"], trials={} if trials is None else {"a": trials})
    with pytest.raises(SurefootError, match=message):
        split_trials(scores, "a")


def test_a_system_against_itself_by_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random = np.random.default_rng(7)
    rows = [f"{system},q{task},{trial},{int(random.random() < 0.7)}"
            for system in ("a", "b") for task in range(40) for trial in range(4)]  # fmt: skip
    path = str(tmp_path / "trials.csv")
    Path(path).write_text("\n".join(["system,topic,trial,value", *rows]) + "\n")
    assert main(["gate", "--scores", path, "--candidate", "a", "--aa"]) == 0
    assert "a (odd trials) against a (even trials)" in capsys.readouterr().out
    assert main(["gate", "--scores", path, "--candidate", "a", "--baseline", "b", "--aa"]) == 2
    assert "--aa compares the candidate with itself" in capsys.readouterr().err


def test_queries_that_no_trial_answers_break_the_contract() -> None:
    qrels = {f"q{i}": {"d1": 1, "d2": 0} for i in range(30)}
    old = {topic: {"d1": 2.0, "d2": 1.0} for topic in qrels}
    new = [{topic: own for topic, own in old.items() if topic not in gone} for gone in (("q1", "q2"), ("q1",))]
    scores = score_runs({"old": old}, qrels, "P@1", repeats={"new": new})
    found = {one.rule: one for one in gate(scores, "old", candidate="new").findings}
    assert (found["no-results"].verdict, found["no-results"].where) == ("fail", "q1")
