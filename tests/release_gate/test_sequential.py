"""The sequential gate: items in batches, the state file, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from surefoot import GateResult, Scores, SequentialGate, gate, score_runs
from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.release_gate.finding import Verdict
from surefoot.release_gate.sequential import _first, _part

RANDOM = np.random.default_rng(8)
OLD = RANDOM.uniform(0.3, 0.7, 600)
CHANGES = {"good": RANDOM.normal(0.03, 0.08, 600), "bad": RANDOM.normal(-0.08, 0.08, 600), "same": np.zeros(600)}


def batch(system: str, start: int, end: int, order: int = 1) -> Scores:
    names = [f"q{number}" for number in range(start, end)][::order]
    rows = [OLD[start:end][::order], (OLD + CHANGES[system])[start:end][::order]]
    return Scores(rows, ["old", "new"], names, "nDCG@10")


def look(path: Path | None, scores: Scores, **options: object) -> GateResult:
    return SequentialGate(path, "old", candidate="new", **options).add(scores)  # type: ignore[arg-type]


@pytest.mark.parametrize(("system", "verdict"), [("good", "pass"), ("bad", "fail"), ("same", "pass")])
def test_batches_until_the_verdict_which_stays(system: str, verdict: Verdict, tmp_path: Path) -> None:
    found = [look(tmp_path / "s.json", batch(system, start, start + 50)) for start in range(0, 400, 50)]
    verdicts = [result.verdict for result in found]
    first = verdicts.index(verdict)
    assert set(verdicts[:first]) <= {"undecided"}
    assert set(verdicts[first:]) == {verdict}
    last = found[-1]
    assert last.evidence == "sequential"
    assert last.headline().endswith("(sequential)")
    assert "50 new queries, 400 so far" in last.notes
    assert "evidence=sequential" in last.signature
    assert "arrived=" in last.signature


def test_nothing_passes_before_the_bets_can_have_won() -> None:
    """Equal scores pass others' gates at once; here they must be seen often enough."""
    result = look(None, batch("same", 0, 100))
    assert result.verdict == "undecided"
    mean = next(one for one in result.findings if one.rule == "mean")
    assert mean.more_queries == 57
    assert "of 20" in mean.sentence


def test_the_order_within_a_batch_plays_no_role_and_items_count_once(tmp_path: Path) -> None:
    one, other = tmp_path / "one.json", tmp_path / "other.json"
    for path, order in ((one, 1), (other, -1)):
        look(path, batch("good", 0, 60, order))
        look(path, batch("good", 30, 120, order))
        result = look(path, batch("good", 0, 120, order))
        assert "0 new queries, 120 so far" in result.notes
    assert one.read_bytes() == other.read_bytes()


def test_memory_and_file_agree(tmp_path: Path) -> None:
    kept = SequentialGate(None, "old", candidate="new")
    for start in (0, 80):
        in_memory, on_disk = (
            kept.add(batch("bad", start, start + 80)),
            look(tmp_path / "s.json", batch("bad", start, start + 80)),
        )
        assert str(in_memory) == str(on_disk)


def test_an_item_with_another_score_is_refused_and_nothing_is_lost(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    look(path, batch("good", 0, 50))
    before = path.read_bytes()
    with pytest.raises(SurefootError, match=r"item q\d+ arrived before with other scores") as error:
        look(path, batch("bad", 20, 90))
    assert "\n" not in str(error.value)
    assert path.read_bytes() == before
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no json", "not a state file"),
        ("[]", "not a state file"),
        ('{"format": "surefoot ratchet 2"}', "not a state file: expected"),
        ('{"format": "surefoot sequential 1"}', "damaged state file"),
        (
            '{"format": "surefoot sequential 1", "question": {}, "earlier": [], "items": [["q", 1]]}',
            "damaged state file",
        ),
        ("edited", "edited or damaged state file"),
        ("nan", "edited or damaged state file"),
    ],
)
def test_foreign_and_edited_files_are_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    look(path, batch("good", 0, 5))
    whole = path.read_text()
    value = repr(float(OLD[0]))
    text = {"edited": whole.replace(value, "0.5"), "nan": whole.replace(value, "NaN")}.get(text, text)
    assert text != whole
    path.write_text(text)
    with pytest.raises(SurefootError, match=message) as error:
        look(path, batch("good", 5, 10))
    assert "\n" not in str(error.value)
    assert path.read_text() == text


def test_a_changed_question_starts_again_and_keeps_what_was_seen(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    look(path, batch("good", 0, 50))
    result = look(path, batch("good", 50, 80), rules={"mean_tolerance": 0.05})
    note = next(note for note in result.notes if note.startswith("started again"))
    assert "mean_tolerance None → 0.05" in note
    assert "50 queries" in note
    assert "30 new queries, 30 so far" in result.notes
    found = json.loads(path.read_text())
    assert len(found["earlier"][0]["items"]) == 50
    again = look(path, batch("good", 80, 90), rules={"mean_tolerance": 0.05, "undecided": "fail"})
    assert "10 new queries, 40 so far" in again.notes


def test_single_queries(tmp_path: Path) -> None:
    rules = {"protected": ["q3", "q70"]}
    first = look(tmp_path / "s.json", batch("same", 0, 50), rules=rules)
    finding = next(one for one in first.findings if one.rule == "protected")
    assert finding.verdict == "undecided"
    assert "q70 has not arrived yet" in finding.sentence
    only = look(None, batch("same", 0, 50), rules=rules | {"off": ["mean", "tail", "losses", "large-losses"]})
    assert only.next_step == "Score the protected queries that have not arrived."
    assert look(None, batch("bad", 0, 80), rules=rules).verdict == "fail"
    runs = {name: {f"q{n}": {"d1": 1.0} for n in range(20) if name == "old" or n != 4} for name in ("old", "new")}
    scores = score_runs(runs, {f"q{n}": {"d1": 1} for n in range(20)}, "P@1")
    result = look(None, scores, rules={"off": ["mean", "tail", "losses", "large-losses"]})
    assert [(one.rule, one.verdict, one.where) for one in result.findings] == [("no-results", "fail", "q4")]


def test_segments_risk_and_shares() -> None:
    scores = batch("good", 0, 600)
    values = np.array(scores.values)
    values[1, ::2] = OLD[::2] - 0.25
    split = Scores(values, scores.systems, scores.topics)
    segments = {f"q{n}": "even" if n % 2 == 0 else "odd" for n in range(600)}
    rules = {"alpha": 1.0, "max_churn": 0.5, "max_losses": 0.3, "max_large_losses": 0.2}
    result = look(None, split, segments=segments, rules=rules)
    found = {one.rule: one for one in result.findings}
    assert {rule: one.verdict for rule, one in found.items()} == dict.fromkeys(
        ("mean", "risk", "losses", "large-losses", "segments", "churn"), "fail"
    ) | {"tail": found["tail"].verdict}
    assert found["segments"].where == "even"


def test_several_baselines_and_measures_share_the_level() -> None:
    scores = batch("bad", 0, 60)
    three = Scores([*scores.values, scores["old"]], ["old", "new", "older"], scores.topics, "P@5")
    other = Scores([*scores.values, scores["old"]], ["old", "new", "older"], scores.topics, "AP")
    result = SequentialGate(None, ["old", "older"], candidate="new").add([three, other])
    assert len(result.changes) == 4
    with pytest.raises(SurefootError, match="AP and P@5 have different items"):
        SequentialGate(None, "old", candidate="new").add([three, other.select(topics=other.topics[:9])])


def test_the_expected_number_of_items_does_not_depend_on_where_one_looks() -> None:
    """Also if the number needed is exactly the number seen."""
    found = [look(None, batch("good", 0, end)).resolution for end in range(186, 200)]
    assert all(one is not None and one.needed is not None and 100 <= one.needed <= 300 for one in found)


def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda start: look(path, batch("good", start, start + 10)), range(0, 80, 10)))
    assert len(json.loads(path.read_text())["items"]) == 80


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rules": {"evidence": "strict"}}, "has its own evidence"),
        ({"rules": {"decide": 0.8}}, "decide needs evidence 'seen': sequential"),
        ({"baseline": "MEAN"}, "MEAN depends on all systems"),
        ({"baseline": []}, "needs a baseline"),
    ],
)
def test_wrong_use(options: dict[str, object], message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        SequentialGate(None, **({"baseline": "old", "candidate": "new"} | options)).add(batch("good", 0, 5))  # type: ignore[arg-type]


def test_the_gate_without_a_state_refuses_the_tier() -> None:
    with pytest.raises(SurefootError, match="needs the order of arrival"):
        gate(batch("good", 0, 50), "old", candidate="new", rules={"evidence": "sequential"})


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    for number, start in enumerate((0, 200, 400)):
        scores = batch("bad" if number == 2 else "good", start, start + 200)
        lines = [
            f"{name},{old!r},{new!r}" for name, old, new in zip(scores.topics, *scores.values.tolist(), strict=True)
        ]
        Path(f"{number}.csv").write_text("topic,old,new\n" + "\n".join(lines) + "\n")
    words = ["--candidate", "new", "--baseline", "old", "--measure", "nDCG@10", "--sequential", "s.json"]
    assert main(["gate", "--scores", "0.csv", *words]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("ship: new against old, nDCG@10 (sequential)")
    assert shown.splitlines()[-1] == look(None, batch("good", 0, 200)).signature
    assert main(["gate", "--scores", "1.csv", "--format", "json", *words]) == 0
    assert json.loads(capsys.readouterr().out)["evidence"] == "sequential"
    Path("surefoot.toml").write_text('[gate]\nsequential = "other.json"\n')
    assert main(["gate", "--scores", "2.csv", *words[:-2]]) == 1
    assert Path("other.json").exists()
    capsys.readouterr()
    for more in (["--ratchet", "r.json"], ["--assessors", "none"]):
        assert main(["gate", "--scores", "1.csv", *words, *more]) == 2
        assert capsys.readouterr().err.count("\n") == 1


KILLED = """
import sys
from surefoot import Scores, SequentialGate
from surefoot.release_gate import arrivals
write = arrivals.State.write
def slowly(self, path):
    print(flush=True)
    sys.stdin.readline()
    write(self, path)
arrivals.State.write = slowly
SequentialGate(sys.argv[1], "old", candidate="new").add(Scores([[0.5], [0.4]], ["old", "new"], ["late"], "nDCG@10"))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_look_that_is_killed_leaves_the_file_and_blocks_nobody(tmp_path: Path) -> None:
    path, pipe = tmp_path / "s.json", subprocess.PIPE
    look(path, batch("good", 0, 20))
    before = path.read_bytes()
    with subprocess.Popen([sys.executable, "-c", KILLED, str(path)], stdin=pipe, stdout=pipe) as other:
        assert other.stdout is not None
        other.stdout.readline()
        os.kill(other.pid, signal.SIGKILL)
    assert path.read_bytes() == before
    assert "20 new queries, 40 so far" in look(path, batch("good", 20, 40)).notes


def test_judgments_feed_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Queries judged on two days: ``judge --merge`` joins the judgments, and the gate takes the new queries."""
    monkeypatch.chdir(tmp_path)
    for name, first in (("old", "d2"), ("new", "d1")):
        lines = [f"q{n} Q0 {first} 1 2.0 x\nq{n} Q0 d3 2 1.0 x\n" for n in range(40)]
        Path(f"{name}.run").write_text("".join(lines))
    for day, numbers in (("monday", range(25)), ("tuesday", range(25, 40))):
        lines = [
            f"q{n} 0 {document} {grade}\n" for n in numbers for document, grade in (("d1", 1), ("d2", 0), ("d3", 0))
        ]
        Path(f"{day}.qrels").write_text("".join(lines))
    words = ["old.run", "new.run", "--candidate", "new", "--baseline", "old", "--sequential", "s.json"]
    assert main(["gate", "--qrels", "monday.qrels", *words]) == 0
    assert "25 new queries, 25 so far" in capsys.readouterr().out
    assert main(["judge", "--qrels", "monday.qrels", "--merge", "tuesday.qrels", "-o", "all.qrels"]) == 0
    assert main(["gate", "--qrels", "all.qrels", *words]) == 0
    assert "15 new queries, 40 so far" in capsys.readouterr().out


def test_a_state_of_another_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    look(path, batch("good", 0, 5))
    path.write_text(path.read_text().replace("surefoot sequential 1", "surefoot sequential 2"))
    with pytest.raises(SurefootError, match='not a state file: expected "format": "surefoot sequential 1"'):
        look(path, batch("good", 5, 10))


def test_shown_after_counts_what_the_rule_counts() -> None:
    values = np.array([OLD, OLD])
    values[1, ::2] -= 0.2
    result = look(None, Scores(values, ["old", "new"], [f"q{n}" for n in range(600)]), rules={"off": ["mean", "tail"]})
    found = next(one for one in result.findings if one.rule == "losses")
    assert found.verdict == "fail"
    assert "changed queries)" in found.sentence


def test_power_prints_the_expected_number_of_items(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--loss", "0.3", "--topics", "25", "--n-simulations", "50", "--format", "json"]
    assert main(["power", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["sequential"]["fail"] > 0.9
    assert 20 < found["sequential"]["median"] <= found["sequential"]["items"] < 400
    assert any(note.startswith("surefoot gate --sequential needs") for note in found["notes"])


@pytest.mark.parametrize(
    ("can_fail", "verdict"),
    [
        (None, ("fail", 3)),
        ([1, 1, 1, 1, 1, 1, 1], ("fail", 3)),
        ([0, 0, 0, 1, 0, 0, 0], ("fail", 4)),
        ([1, 1, 0, 0, 0, 1, 1], ("pass", 5)),
        ([0, 0, 0, 0, 0, 0, 0], ("pass", 5)),
    ],
)
def test_a_rule_fails_when_capital_and_losses_are_enough_unless_it_passed_before(
    can_fail: list[int] | None, verdict: tuple[Verdict, int]
) -> None:
    passes, fails = np.array([0, 0, 0, 0, 3.0, 0, 0]), np.array([0, 0, 4.0, 1, 0, 0, 0])
    allowed = None if can_fail is None else np.array(can_fail, dtype=bool)
    for items in range(1, 8):  # the verdict at a look stays at every later look
        own = None if allowed is None else allowed[:items]
        expected = verdict if items >= verdict[1] else ("undecided", 0)
        assert _first((passes[:items], fails[:items]), (3.0, 4.0), own) == expected


def test_the_advice_counts_on_no_fail_that_a_rule_can_not_have() -> None:
    lost = np.where(np.arange(200) % 2 == 0, 0.001, 0.0)  # all changed queries lose, but hardly anything
    scores = Scores([np.full(200, 0.5), 0.5 - lost], ["old", "new"], range(200))
    result = SequentialGate(None, "old", candidate="new", rules={"max_losses": 0.6}).add(scores)
    finding = next(one for one in result.findings if one.rule == "losses")
    assert (finding.verdict, finding.more_queries) == ("undecided", None)
    assert finding.sentence.endswith("too small or too few losses for a fail.")
    large = Scores([np.full(200, 0.5), 0.5 - 30 * lost], ["old", "new"], range(200))
    failed = SequentialGate(None, "old", candidate="new", rules={"max_losses": 0.6}).add(large)
    assert next(one for one in failed.findings if one.rule == "losses").verdict == "fail"


def test_evidence_below_what_is_wanted_is_not_shown_as_enough() -> None:
    assert _part(np.log(19.96), np.log(20)) == "almost 20 of 20"
    assert _part(np.log(36.4), np.log(36.65)) == "36 of 36.6"
    assert _part(np.log(1.4), np.log(20)) == "1.4 of 20"
