"""The ratchet: topics that come and go, the anchor, gates at the same time, and gates that are killed."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import GateResult, Scores, SurefootError, score_runs
from surefoot.release_gate.accepted import Accepted, Anchor, First, open_ratchet, read_accepted, write_accepted
from surefoot.release_gate.config import GateOptions
from surefoot.release_gate.gate import gate
from surefoot.release_gate.ratchet import (
    CumulativeChange,
    accept,
    accepted_comparisons,
    anchor_comparisons,
    cumulative_change,
    first_result,
    gate_accepted,
    refuse_other_collection,
)
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.strict import Question
from surefoot.scores import Missing

TOPICS = [f"q{i}" for i in range(400)]
OLD = np.linspace(0.31, 0.77, 400)
SCORES = Scores([OLD, OLD + 0.1, OLD - 0.2], ["old", "new", "bad"], TOPICS, "nDCG@10")


def accepted_of(system: str = "new") -> Accepted:
    return accept(SCORES, gate(SCORES, "bad" if system == "old" else "old", candidate=system))


def test_a_candidate_is_gated_against_what_was_accepted() -> None:
    assert gate_accepted(SCORES, accepted_of("old"), candidate="new").verdict == "pass"
    assert gate_accepted(SCORES, accepted_of(), candidate="new").findings[0].rule == "identical"
    result = gate_accepted(SCORES, accepted_of(), candidate="bad")
    assert result.verdict == "fail"
    assert result.baselines == ("new (accepted)",)
    assert result.changes[0].baseline_mean == pytest.approx(SCORES["new"].mean())


def test_sequential_evidence_needs_an_order() -> None:
    with pytest.raises(SurefootError, match="needs the order of arrival"):
        gate_accepted(SCORES, accepted_of("old"), candidate="new", rules={"evidence": "sequential"})


def test_topics_are_matched_by_name() -> None:
    shuffled = SCORES.select(topics=TOPICS[::-1])
    result = gate_accepted(shuffled, accepted_of(), candidate="new")
    assert result.changes[0].ties == 400


def test_accepted_topics_that_vanished() -> None:
    fewer = SCORES.select(topics=TOPICS[2:])
    with pytest.raises(SurefootError, match="no score for topics that were accepted: q0, q1; choose missing='zero'"):
        gate_accepted(fewer, accepted_of(), candidate="new")
    zero = gate_accepted(fewer, accepted_of(), candidate="new", missing="zero")
    assert (zero.changes[0].topics, zero.changes[0].losses) == (400, 2)
    assert "accepted topics without a score now, counted 0: q0, q1" in zero.notes
    drop = gate_accepted(fewer, accepted_of(), candidate="new", missing="drop")
    assert (drop.changes[0].topics, drop.changes[0].losses) == (398, 0)
    assert "accepted topics without a score now, left out: q0, q1" in drop.notes


def test_new_topics_have_nothing_to_lose() -> None:
    more = Scores([[*OLD + 0.1, 0.0]], ["new"], [*TOPICS, "q400"], "nDCG@10")
    result = gate_accepted(more, accepted_of("old"), candidate="new", rules=Rules(protected=["q1", "q400"]))
    assert result.changes[0].topics == 400
    assert "new topics, not compared with the accepted scores: q400" in result.notes
    assert result.verdict == "pass"


def test_what_can_not_be_compared() -> None:
    with pytest.raises(SurefootError, match=r"accepted scores are of nDCG@10, these of RR; use one measure"):
        gate_accepted(Scores([OLD], ["new"], TOPICS, "RR"), accepted_of(), candidate="new")
    with pytest.raises(SurefootError, match="share no topic"):
        gate_accepted(Scores([[0.5]], ["new"], ["x"], "nDCG@10"), accepted_of(), candidate="new", missing="drop")


def test_another_collection_is_said_and_not_compared() -> None:
    accepted = replace(accepted_of(), collection={"qrels": "a", "queries": "b"})
    refuse_other_collection(accepted, {"qrels": "a"})
    refuse_other_collection(accepted_of(), {"qrels": "c"})
    with pytest.raises(SurefootError, match="the qrels are not those by which new was accepted"):
        refuse_other_collection(accepted, {"qrels": "c"})


def test_tries_are_counted_once_each() -> None:
    accepted = accepted_of("old")
    accepted, first = accepted.ask([SCORES], "new")
    accepted, second = accepted.ask([SCORES], "bad")
    accepted, again = accepted.ask([SCORES.select(topics=TOPICS[::-1])], "new")
    assert (first, second, again, len(accepted.asked)) == (Question(1), Question(2), Question(1), 2)
    assert accepted.ask([SCORES], "old")[0] == accepted, "the accepted one is no question"
    after = accept(SCORES, gate(SCORES, "old", candidate="new"), accepted)
    assert (after.asked, after.accepted_by) == (accepted.asked, 2)
    assert after.ask([SCORES], "bad")[1] == Question(3, accepted=2), "against another baseline it is a new question"
    result = gate_accepted(SCORES, replace(accepted, asked=tuple(map(str, range(36)))), candidate="new")
    assert "tries=37" in result.signature


def test_a_candidate_that_comes_back_after_a_rollback_is_asked_again() -> None:
    accepted = accepted_of("old")
    for candidate, before in (("new", "old"), ("old", "new")):
        accepted, _ = accepted.ask([SCORES], candidate)
        accepted = accept(SCORES, gate(SCORES, before, candidate=candidate), accepted)
    accepted, question = accepted.ask([SCORES], "new")
    assert question == Question(3, accepted=2)
    assert question.part == 1 / 12 / 2
    assert accepted.ask([SCORES], "new") == (accepted, question)


def test_tries_are_counted_before_anything_is_accepted(tmp_path: Path) -> None:
    account, _ = Accepted("", "", {}).ask([SCORES], "bad")
    write_accepted(tmp_path / "accepted.json", account)
    assert read_accepted(tmp_path / "accepted.json") == account
    with pytest.raises(SurefootError, match="no candidate was accepted yet"):
        gate_accepted(SCORES, account, candidate="new")


def test_several_measures_are_remembered(tmp_path: Path) -> None:
    both = [SCORES, Scores(SCORES.values / 2, SCORES.systems, TOPICS, "RR")]
    accepted = accept(both, gate(both, "bad", candidate="old"))
    write_accepted(tmp_path / "accepted.json", accepted)
    assert read_accepted(tmp_path / "accepted.json") == accepted
    assert gate_accepted(both, accepted, candidate="bad").measures == ("nDCG@10", "RR")


def test_the_first_candidate_passes_and_says_so() -> None:
    result = first_result([SCORES], candidate="new")
    assert (result.verdict, result.findings) == ("pass", ())
    assert "new is the first" in result.notes[-1]
    with pytest.raises(SurefootError, match="no system"):
        first_result([SCORES], candidate="none")


def step(before: Accepted | None, name: str, *values: float, missing: Missing = "error", start: int = 1) -> Accepted:
    """The ratchet after a candidate with these scores on the topics q1, q2, ... was accepted."""
    scores = scores_of(name, *values, start=start)
    return accept(scores, first_result([scores], candidate=name), before, missing)


def scores_of(name: str, *values: float, start: int = 1) -> Scores:
    return Scores([values], [name], [f"q{start + i}" for i in range(len(values))], "RR")


def changes(accepted: Accepted, *values: float, missing: Missing = "error", start: int = 1) -> tuple[object, ...]:
    (found,) = cumulative_change([scores_of("new", *values, start=start)], accepted, "new", missing)
    approximate = replace(found, since_anchor=round(found.since_anchor, 9), since_first=round(found.since_first, 9))
    return tuple(vars(approximate).values())[1:]


def test_the_anchor_is_the_accepted_candidate_with_the_highest_mean() -> None:
    chain = [("a", 0.5, 0.5), ("b", 0.4, 0.5), ("c", 0.6, 0.4), ("d", 0.5, 0.6), ("e", 0.0, 1.0)]
    accepted, anchors = None, []
    for name, *values in chain:
        accepted = step(accepted, name, *values)
        anchors.append(accepted.anchor("RR"))
        best = max(chain[: len(anchors)], key=lambda one: one[1] + one[2])  # the first of equal ones
        assert anchors[-1] == Anchor(best[0], dict(zip(("q1", "q2"), best[1:], strict=True)))
        assert accepted.first("RR") == First("a", 0.5)
    assert [anchor.system for anchor in anchors] == ["a", "a", "a", "d", "d"]


def test_a_candidate_is_compared_with_the_anchor_where_that_was_not_accepted_last() -> None:
    accepted = step(None, "a", 0.5, 0.7)
    new = scores_of("new", 0.1, 0.2)
    assert anchor_comparisons([new], Accepted("", "", {}), "new", "error") == []
    assert anchor_comparisons([new], accepted, "new", "error") == []
    assert anchor_comparisons([new], step(accepted, "a", 0.5, 0.7), "new", "error") == [], "accepted a second time"
    accepted = step(accepted, "b", 0.5, 0.6)
    ((beside, name),) = anchor_comparisons([new], accepted, "new", "error")
    assert (name, beside.systems, beside.measure) == ("a (anchor)", ("new", "a (anchor)"), "RR")
    assert beside.values.tolist() == [[0.1, 0.2], [0.5, 0.7]]
    ((last, _),) = accepted_comparisons([new], accepted, "new", "error")
    assert last.values.tolist() == [[0.1, 0.2], [0.5, 0.6]]
    with pytest.raises(SurefootError, match="no score for topics that were accepted: q1"):
        anchor_comparisons([scores_of("new", 0.2, start=2)], accepted, "new", "error")
    ((beside, _),) = anchor_comparisons([scores_of("new", 0.2, 0.9, start=2)], accepted, "new", "drop")
    assert (beside.topics, beside.values.tolist()) == (("q2",), [[0.2], [0.7]])


def test_each_measure_has_its_anchor() -> None:
    def both(name: str, rr: float, ap: float) -> list[Scores]:
        return [Scores([[rr]], [name], ["q1"], "RR"), Scores([[ap]], [name], ["q1"], "AP")]

    accepted = None
    for part in (both("a", 0.5, 0.5), both("b", 0.6, 0.4)):
        accepted = accept(part, first_result(part, candidate=part[0].systems[0]), accepted)
    assert accepted is not None
    assert (accepted.anchor("RR").system, accepted.anchor("AP").system) == ("b", "a")
    assert [name for _, name in anchor_comparisons(both("new", 0, 0), accepted, "new", "error")] == ["a (anchor)"]
    assert cumulative_change(both("new", 1, 1), accepted, "new") == [
        CumulativeChange("RR", "b", 1 - 0.6, "a", 0.5),
        CumulativeChange("AP", "a", 0.5, "a", 0.5),
    ]


def test_small_losses_in_a_row_add_up() -> None:
    accepted = None
    for release in range(20):
        accepted = step(accepted, f"r{release}", 0.8 - 0.01 * release, 0.4)
    assert accepted is not None
    assert changes(accepted, 0.6, 0.4) == ("r0", -0.1, "r0", -0.1)
    accepted = step(accepted, "best", 0.9, 0.4)
    assert changes(accepted, 0.6, 0.4) == ("best", -0.15, "r0", -0.1)
    assert cumulative_change([scores_of("new", 1)], Accepted("", "", {}), "new") == []
    with pytest.raises(SurefootError, match="accepted scores are of RR, these of AP"):
        cumulative_change([Scores([[1.0]], ["new"], ["q1"], "AP")], accepted, "new")


def test_topics_that_come_and_go_do_not_change_the_mean() -> None:
    """A new topic counts from the first candidate that had it; one that went keeps its score, or counts 0."""
    accepted = step(step(None, "a", 0.5, 0.7), "b", 0.5, 0.6, 0.0)
    assert accepted.anchor("RR") == Anchor("a", {"q1": 0.5, "q2": 0.7, "q3": 0.0})
    assert changes(accepted, 0.5, 0.6, 0.0) == ("a", -0.033333333, "a", -0.033333333)
    assert changes(accepted, 0.5, 0.6, 0.0, 1.0) == changes(accepted, 0.5, 0.6, 0.0), "a newer one is not compared"
    assert changes(accepted, 0.6, 0.3, start=2) == ("a", 0.066666667, "a", 0.066666667), "q1 is unchanged"
    assert changes(accepted, 0.6, 0.3, start=2, missing="zero") == ("a", -0.1, "a", -0.1)
    accepted = step(accepted, "c", 0.9, 0.3, start=2, missing="drop")
    assert accepted.anchor("RR") == Anchor("c", {"q2": 0.9, "q3": 0.3, "q1": 0.5})
    assert accepted.first("RR").mean == pytest.approx((0.5 + 0.7 + 0.0) / 3)


def test_an_open_ratchet_writes_what_was_set(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    with open_ratchet(path) as ratchet:
        assert ratchet.accepted is None
    assert list(tmp_path.iterdir()) == []
    with open_ratchet(path) as ratchet:
        ratchet.accepted = step(None, "a", 0.5)
    before = path.stat().st_ino
    with open_ratchet(path) as ratchet:
        assert ratchet.accepted == step(None, "a", 0.5)
    assert path.stat().st_ino == before, "nothing was set"

    def fail() -> None:
        with open_ratchet(path) as ratchet:
            ratchet.accepted = step(None, "b", 0.5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert read_accepted(path).system == "a"
    path.write_text("{")
    for _ in range(2):
        with pytest.raises(SurefootError, match="not a ratchet file"), open_ratchet(path):
            pass


RACER = """
import json, sys
from surefoot import Scores
from surefoot.release_gate.accepted import Accepted, open_ratchet
from surefoot.release_gate.ratchet import accept, first_result
number = int(sys.argv[1])
name = f"c{number}"
scores = Scores([[number / 10, 0.5]], [name], ["q1", "q2"], "RR")
print(flush=True)
for path in sys.stdin:
    with open_ratchet(path.strip()) as ratchet:
        before = ratchet.accepted or Accepted("", "", {})
        account, question = before.ask([scores], name)
        if number % 2:
            account = accept(scores, first_result([scores], candidate=name), account)
        ratchet.accepted = account
    print(json.dumps([question.number, before.system, name]), flush=True)
"""


def racer(number: int) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    return subprocess.Popen([sys.executable, "-c", RACER, str(number)], stdin=pipe, stdout=pipe, text=True)


def test_gates_at_the_same_time_lose_neither_an_acceptance_nor_a_count(tmp_path: Path) -> None:
    """In each of 6 races 8 processes ask, and every other one accepts: each must see what the one before it wrote."""
    racers = [racer(number) for number in range(8)]
    for one in racers:
        one.stdout.readline()
    for race in range(6):
        path = tmp_path / f"{race}.json"
        for one in racers:
            one.stdin.write(f"{path}\n")
            one.stdin.flush()
        accepted, accepted_by = "", 0
        for count, (number, seen, name) in enumerate(sorted(json.loads(one.stdout.readline()) for one in racers), 1):
            assert (number, seen) == (count, accepted)
            if int(name[1:]) % 2:
                accepted, accepted_by = name, number
        found = read_accepted(path)
        assert (len(found.asked), found.system, found.accepted_by) == (8, accepted, accepted_by)
        assert found.anchor("RR").system == "c7"
    for one in racers:
        one.communicate()
        assert one.returncode == 0


SLEEPER = """
import os, sys
from surefoot.release_gate.accepted import Accepted, open_ratchet
with open_ratchet(sys.argv[1]) as ratchet:
    ratchet.accepted = Accepted("killed", "gate|...", {"RR": {"q1": 1.0}})
    print(flush=True)
    sys.stdin.readline()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_gate_that_is_killed_leaves_the_file_and_blocks_nobody(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    write_accepted(path, accepted_of())
    before = path.read_bytes()
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", SLEEPER, str(path)], stdin=pipe, stdout=pipe) as other:
        other.stdout.readline()
        os.kill(other.pid, signal.SIGKILL)
    assert path.read_bytes() == before
    with open_ratchet(path) as ratchet:
        ratchet.accepted = accepted_of("old")
    assert read_accepted(path) == accepted_of("old")
    assert list(tmp_path.iterdir()) == [path]


def run_ratchet(candidate: str, scores: Scores = SCORES, **given: Any) -> GateResult:
    """The result of a gate with the ratchet file accepted.json; options of `Rules` are taken out of the others."""
    rules = Rules(**{name: given.pop(name) for name in [*given] if name in Rules.__dataclass_fields__})
    run = {name: given.pop(name) for name in ("accept", "pin", "loosen", "missing") if name in given}
    return GateOptions(rules, candidate=candidate, ratchet="accepted.json", **given).run([scores], **run).result


def test_looser_options_are_named_and_can_be_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = run_ratchet
    run("old", accept=True)
    result = run("bad", mean_tolerance=0.3, max_tail_loss=1.0, off=["losses"])
    assert result.verdict == "pass"
    assert result.loosened == (
        "mean-tolerance 0.3 (before: 0.02)",
        "max-tail-loss 1 (before: 0.25)",
        "off losses (before: none)",
    )
    assert result.notes[-1].startswith("changed since old was accepted, and perhaps looser: mean-tolerance 0.3 (before")
    assert not run("bad", mean_tolerance=0.01).loosened
    assert not run("new", pin=True, max_query_loss=0.5).loosened
    pinned = run("bad", mean_tolerance=0.3, max_tail_loss=1.0, off=["losses"])
    assert pinned.verdict == "fail"
    assert pinned.notes[-1].startswith(
        "without effect, since the ratchet file pins these options: mean-tolerance 0.3 (pinned: 0.02); "
    )
    assert pinned.signature == run("bad", max_query_loss=0.5).signature
    assert run("new", accept=True, mean_tolerance=0.3).loosened
    kept = read_accepted("accepted.json")
    assert (kept.system, kept.pinned["mean_tolerance"], kept.rules["mean_tolerance"]) == ("new", None, None)
    with pytest.raises(SurefootError, match="--pin needs the ratchet file"):
        GateOptions(Rules(), candidate="new", baseline=["old"]).run([SCORES], pin=True)


@pytest.mark.parametrize(
    "given",
    [
        {"level": 0.0001},
        {"level": 0.2},
        {"evidence": "strict"},
        {"decide": 0.6},
        {"undecided": "pass"},
        {"alpha": 1.0},
        {"largest_change": 5.0},
        {"tail_share": 0.5},
        {"off": ["mean", "tail"]},
        {"holdout": 0.4},
        {"seed": 3},
        {"assessors": ["0.2"]},
        {"missing": "drop"},
    ],
    ids=lambda given: "-".join(map(str, *given.items())),
)
def test_pinned_options_do_not_change_the_verdict(
    given: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run_ratchet("old", accept=True, pin=True)
    expected = run_ratchet("bad")
    assert expected.verdict == "fail"
    result = run_ratchet("bad", **given)
    assert (result.verdict, result.exit_code, result.signature) == ("fail", 1, expected.signature)
    name, value = next(iter(given.items()))
    assert len(result.loosened) == 1
    assert result.loosened[0].startswith(f"{name.replace('_', '-')} ")
    kept = Path("accepted.json").read_bytes()
    with pytest.raises(SurefootError, match=f"by looser or other ones: {name.replace('_', '-')} .*; add --loosen"):
        run_ratchet("bad", pin=True, **given)
    assert Path("accepted.json").read_bytes() == kept
    loosened = run_ratchet("bad", pin=True, loosen=True, **given)
    assert loosened.notes[-1].startswith("pinned now, and perhaps looser than before: ")
    found = read_accepted("accepted.json").pinned[name]
    assert (list(found) if isinstance(found, list | tuple) else found) == value
    assert not run_ratchet("bad", **given).loosened


def test_a_lost_query_counts_as_pinned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_ratchet("old", accept=True, pin=True)
    fewer = SCORES.select(topics=SCORES.topics[1:])
    with pytest.raises(SurefootError, match="has no score for topics that were accepted"):
        run_ratchet("bad", fewer, missing="drop")
    run_ratchet("bad", pin=True, loosen=True, missing="drop")
    assert run_ratchet("bad", fewer).verdict == "fail"
    assert run_ratchet("new", fewer, accept=True, missing="zero").verdict == "pass"
    lost, old = SCORES.topics[0], SCORES["old"][0]
    assert read_accepted("accepted.json").scores_of("nDCG@10")[lost] == old  # not 0, which nothing could fall below


def test_pinned_inputs_must_be_given_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("segments.csv").write_text("".join(f"{topic},{number % 2}\n" for number, topic in enumerate(SCORES.topics)))
    Path("other.csv").write_text("".join(f"{topic},all\n" for topic in SCORES.topics))
    run_ratchet("new", accept=True, pin=True, baseline=["old"], segments="segments.csv")
    assert run_ratchet("bad", baseline=["old", "new"], segments="segments.csv").verdict == "fail"
    with pytest.raises(SurefootError, match="the ratchet file pins baseline old: give the same, or pin other ones by"):
        run_ratchet("bad", segments="segments.csv")
    for other in ({}, {"segments": "other.csv"}):
        with pytest.raises(SurefootError, match=r"the ratchet file pins segments [0-9a-f]+: give the same"):
            run_ratchet("bad", baseline=["old"], **other)
    with pytest.raises(SurefootError, match="--loosen goes together with --pin"):
        run_ratchet("bad", loosen=True)


def test_a_pinned_gate_on_judgments_takes_no_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("qrels.txt").write_text("q1 0 d1 1\n")
    run_ratchet("old", accept=True, qrels="qrels.txt")
    assert run_ratchet("new").verdict == "pass"
    run_ratchet("new", pin=True, qrels="qrels.txt")
    with pytest.raises(SurefootError, match="pins a gate on judgments, and a table may hold anything: give --qrels"):
        run_ratchet("new")
    assert run_ratchet("new", qrels="qrels.txt").verdict == "pass"


def test_stricter_options_are_pinned_without_loosening(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_ratchet("old", accept=True, pin=True)
    assert not run_ratchet("new", pin=True, mean_tolerance=0.01, undecided="fail").loosened
    found = read_accepted("accepted.json").pinned
    assert (found["mean_tolerance"], found["undecided"]) == (0.01, "fail")
    assert run_ratchet("new").loosened == ("undecided warn (pinned: fail)", "mean-tolerance 0.02 (pinned: 0.01)")


RUN = {f"q{number}": {"d1": 2.0, "d2": 1.0} for number in range(30)}
QRELS = {topic: {"d1": 1, "d2": 0} for topic in RUN}


@pytest.mark.parametrize("measure", ["P@1", "AP"])
def test_what_the_file_knows_of_an_accepted_run(measure: str, tmp_path: Path) -> None:
    def scored(run: dict[str, dict[str, float]]) -> Scores:
        return score_runs({"run": run}, QRELS, measure)

    write_accepted(tmp_path / "accepted.json", accept(scored(RUN), first_result([scored(RUN)], candidate="run")))
    accepted = read_accepted(tmp_path / "accepted.json")
    assert accepted.documents["q3"] == ["d1"]
    same = gate_accepted(scored(RUN), accepted, candidate="run")
    lost = gate_accepted(scored({topic: RUN[topic] for topic in RUN if topic != "q7"}), accepted, candidate="run")
    found = next(one for one in lost.findings if one.rule == "no-results")
    assert (found.verdict, found.where) == ("fail", "q7")
    if measure == "P@1":
        assert (same.verdict, "ranks the same documents" in same.reason) == ("pass", True)
        unjudged = gate_accepted(scored(RUN | {"q5": {"d9": 1.0}}), accepted, candidate="run")
        assert "q5" in [topic for one in unjudged.findings for topic, _ in one.documents] or unjudged.notes
        assert any(note.endswith("draws of the grades of 1 unjudged document of 1 query") for note in unjudged.notes)


def test_trials_are_kept(tmp_path: Path) -> None:
    random = np.random.default_rng(5)
    trials = {name: (random.random((4, 60)) < 0.6).astype(float) for name in ("old", "new")}
    scores = Scores([own.mean(axis=0) for own in trials.values()], ["old", "new"], TOPICS[:60], trials=trials)
    write_accepted(tmp_path / "accepted.json", accept(scores, first_result([scores], candidate="old")))
    result = gate_accepted(scores, read_accepted(tmp_path / "accepted.json"), candidate="new")
    both = gate(scores, "old", candidate="new")
    assert "trials=4" in result.signature
    rules = {one.rule: (one.loss, one.verdict) for one in both.findings}
    assert {one.rule: (one.loss, one.verdict) for one in result.findings if one.rule in rules} == rules


def test_an_anchor_that_was_the_first_is_named_once() -> None:
    assert str(CumulativeChange("AP", "old", 0.01, "old", 0.01)) == (
        "mean AP since old, the anchor and the first accepted: +0.0100"
    )
    assert str(CumulativeChange("AP", "old", 0.01, "older", 0.02)) == (
        "mean AP since the anchor old: +0.0100; since older, the first accepted: +0.0200"
    )


def test_files_of_earlier_versions_are_read(tmp_path: Path) -> None:
    path = tmp_path / "accepted.json"
    write_accepted(path, accepted_of())
    found = json.loads(path.read_text())
    for name in ("rules", "pinned", "depth", "documents", "trials", "anchors", "firsts"):
        del found[name]
    path.write_text(json.dumps(found | {"format": "surefoot ratchet 2"}))
    accepted = read_accepted(path)
    assert accepted == replace(accepted_of(), rules={})
    assert not gate_accepted(SCORES, accepted, candidate="new", rules={"mean_tolerance": 0.5}).loosened
