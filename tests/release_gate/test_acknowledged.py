"""Acknowledged losses: what they cover, when they expire, and a file that keeps the user's text."""

import os
import signal
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot import Scores, SurefootError
from surefoot.errors import InputError
from surefoot.release_gate.acknowledged import HEADER, Acknowledged, Loss, acknowledge, read_acknowledged

DAY = date(2026, 1, 31)
TOPICS = ["q1", "q2", "q3"]
NDCG = Scores([[0.8, 0.5, 0.3], [0.9, 0.4, 0.2], [0.2, 0.4, 0.6]], ["old", "bm25", "new"], TOPICS, "nDCG@10")
RR = Scores([[1.0, 0.5, 0.5], [0.5, 0.5, 0.5]], ["old", "new"], TOPICS, "RR")
COMPARISONS = [(NDCG, "old"), (NDCG, "bm25"), (RR, "old")]


def added(path: Path, *queries: str, why: str = "agreed", comparisons: object = COMPARISONS) -> list[Loss]:
    return acknowledge(path, comparisons, "new", queries, why, today=DAY)  # type: ignore[arg-type]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "surefoot-losses.toml"


def test_a_loss_is_covered_in_each_measure_and_against_each_baseline(path: Path) -> None:
    losses = added(path, "q1")
    assert losses == [Loss("q1", "nDCG@10", 0.9, 0.2, "agreed", DAY), Loss("q1", "RR", 1.0, 0.5, "agreed", DAY)]
    found = read_acknowledged(path)
    assert list(found.losses.values()) == losses
    assert found.covers("q1", "nDCG@10", 0.9, 0.2) == "agreed"
    assert found.covers("q1", "nDCG@10", 0.8, 0.2) == "agreed", "a smaller loss"
    assert found.covers("q1", "RR", 1.0, 0.5) == "agreed"
    assert found.covers("q2", "nDCG@10", 0.5, 0.4) is None
    assert found.covers("q1", "AP", 0.9, 0.2) is None
    assert Acknowledged().covers("q1", "RR", 1.0, 0.5) is None


def test_only_the_loss_that_was_acknowledged_is_covered(path: Path) -> None:
    added(path, "q1")
    found = read_acknowledged(path)
    assert found.covers("q1", "RR", 1.0, 0.5 + 9e-10) == "agreed"
    assert found.covers("q1", "RR", 1.0 + 9e-10, 0.5) == "agreed"
    for baseline_score, candidate_score in ((1.0, 0.5 + 2e-9), (1.0, 0.4), (1.0, 0.6), (1.1, 0.5)):
        assert found.covers("q1", "RR", baseline_score, candidate_score) is None


def test_an_entry_expires_when_the_score_changes_again(path: Path) -> None:
    added(path, "q1", "q2")
    found = read_acknowledged(path)
    assert found.expired([NDCG, RR], "new") == []
    assert found.expired([], "new") == []
    later = Scores([[0.3, 0.4]], ["new"], ["q1", "q2"], "nDCG@10")
    assert [str(loss) for loss in found.expired([later, RR], "new")] == ["q1 in nDCG@10 (line 3)"]
    fewer = Scores([[0.4]], ["new"], ["q2"], "nDCG@10")
    assert found.expired([fewer], "new") == [], "a query that is not scored has no other score"


def test_the_file_is_readable(path: Path) -> None:
    added(path, "q2", why='the page "A"\nis gone')
    assert path.read_text() == HEADER + (
        '\n[[loss]]\nquery = "q2"\nmeasure = "nDCG@10"\nbaseline_score = 0.5\ncandidate_score = 0.4\n'
        'reason = "the page \\"A\\"\\nis gone"\ndate = 2026-01-31\n'
    )


USER = '''# Ours.

[[loss]] # first
query = "q1"
measure = "nDCG@10"
baseline_score = 0.9
candidate_score = 0.1
reason = """
[[loss]]
# no comment"""
date = 2025-01-01
# Below: until spring.

[["loss"]]
query = 'q2' # odd
measure = "nDCG@10"
baseline_score = 0.5
candidate_score = 0.4
reason = 'kept'
date = 2025-01-01

[[loss]]
query = "q9"
measure = "nDCG@10"
baseline_score = 1
candidate_score = 0
date = 2025-01-01
reason = """other
# no comment"""
# The end.'''


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_other_entries_and_comments_are_kept(newline: str, path: Path) -> None:
    path.write_bytes(USER.replace("\n", newline).encode())
    assert [loss.line for loss in read_acknowledged(path).losses.values()] == [3, 14, 22]
    added(path, "q1", why="again")
    text = path.read_bytes().decode().replace(newline, "\n").replace("\r", "")
    begin, end = USER.index("[[loss]] # first"), USER.index("# Below")
    new = '[[loss]]\nquery = "q1"\nmeasure = "nDCG@10"\nbaseline_score = 0.9\ncandidate_score = 0.2\n'
    new += 'reason = "again"\ndate = 2026-01-31\n'
    assert text.startswith(USER[:begin] + new + USER[end:] + '\n\n[[loss]]\nquery = "q1"\nmeasure = "RR"\n')
    found = read_acknowledged(path).losses
    assert list(found) == [("q1", "nDCG@10"), ("q2", "nDCG@10"), ("q9", "nDCG@10"), ("q1", "RR")]
    assert found["q9", "nDCG@10"].reason == "other\n# no comment"


def test_a_comment_after_a_reason_of_several_lines_is_kept(path: Path) -> None:
    path.write_text(USER.replace("q9", "q1").replace('query = "q1"', 'query = "q8"', 1))
    added(path, "q1")
    assert path.read_text().count("# The end.\n") == 1
    assert path.read_text().count("# no comment") == 1


def test_acknowledging_twice_changes_nothing(path: Path) -> None:
    added(path, "q1", "q2")
    before = path.read_bytes()
    added(path, "q2", "q1", "q1")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("queries", "why", "message"),
    [
        (["q1"], "", "needs a reason"),
        (["q1"], " \n", "needs a reason"),
        (["q11"], "x", r"no query q11 \(did you mean q1\?\); there are q1, q2, q3"),
        (["q1", "q3"], "x", "new did not lose on q3; acknowledge only queries that lost"),
        (["\udcff"], "x", "the name of a query is not UTF-8 text"),
    ],
)
def test_what_can_not_be_acknowledged(queries: list[str], why: str, message: str, path: Path) -> None:
    comparisons = [(NDCG, "old"), (RR, "old")]
    with pytest.raises(SurefootError, match=message) as caught:
        added(path, *queries, why=why, comparisons=comparisons)
    assert "\n" not in str(caught.value)
    assert list(path.parent.iterdir()) == []


names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip)


@given(query=names, measure=names, reason=names, scores=st.tuples(st.floats(0, 1), st.floats(2, 1e9)))
def test_every_name_and_reason_is_read_as_it_was_given(
    query: str, measure: str, reason: str, scores: tuple[float, float], tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("losses") / "losses.toml"
    table = Scores([[scores[1]], [scores[0]]], ["old", "new"], [query], measure)
    added(path, query, why="before", comparisons=[(table, "old")])
    added(path, query, why=reason, comparisons=[(table, "old")])
    added(path, "q1", comparisons=[(RR, "old")])
    found = read_acknowledged(path).losses[query, measure]
    if (query, measure) != ("q1", "RR"):
        assert found == Loss(query, measure, scores[1], scores[0], reason, DAY)
    assert path.read_text("utf-8").startswith(HEADER)


ENTRY = {
    "query": '"q1"',
    "measure": '"RR"',
    "baseline_score": "1.0",
    "candidate_score": "0.5",
    "reason": '"x"',
    "date": "2026-01-31",
}


def entry(**changes: str | None) -> str:
    lines = [f"{key} = {value}\n" for key, value in {**ENTRY, **changes}.items() if value is not None]
    return "[[loss]]\n" + "".join(lines)


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (entry(query="17"), 2, "query should be a name; got '17'"),
        (entry(query='" "'), 2, "query should be a name"),
        (entry(measure=None), 1, "[[loss]] has no measure, which should be a name"),
        (entry(baseline_score='"high"'), 4, "baseline_score should be a finite number; got 'high'"),
        (entry(candidate_score="nan"), 5, "candidate_score should be a finite number; got 'nan'"),
        (entry(candidate_score="true"), 5, "candidate_score should be a finite number"),
        (entry(candidate_score="1" + "0" * 400), 5, "candidate_score should be a finite number"),
        (entry(reason='""'), 6, "reason should be a text that says why"),
        (entry(date="2026-01-31T10:00:00"), 7, "date should be a date such as 2026-01-31"),
        (entry(date='"yesterday"'), 7, "date should be a date such as 2026-01-31; got 'yesterday'"),
        (entry(reson='"x"'), 8, "unknown key 'reson' in [[loss]] (did you mean reason?)"),
        (entry() + "\n" + entry(line="3"), 16, "unknown key 'line' in [[loss]]"),
        (entry() + "\n" + entry(reason='"other"'), 9, "a second entry of 'q1' in 'RR'; remove one of them"),
        (entry() + "[other]\n", 8, "unknown key 'other'"),
        ("\nlosses = 1\n", 2, "unknown key 'losses'"),
        ("[loss]\nquery = 'q1'\n", 1, "write each acknowledged loss as a table [[loss]]"),
        ("\nloss = [{query = 'q1'}]\n", 2, "write each acknowledged loss as a table [[loss]]"),
        (entry() + '[["lo\\u0073s"]]\n', 1, "write each acknowledged loss as a table [[loss]]"),
        (entry(query="q1"), 2, "not valid TOML: Invalid value"),
        (entry() + "[[loss\n", 8, "not valid TOML"),
    ],
)
def test_a_bad_file_is_one_line_with_its_place(text: str, line: int, message: str, path: Path) -> None:
    path.write_text(text)
    for read in (lambda: read_acknowledged(path), lambda: added(path, "q1")):
        with pytest.raises(InputError) as caught:
            read()
        assert str(caught.value).startswith(f"{path}:{line}: {message}")
        assert "\n" not in str(caught.value)
    assert path.read_text() == text
    assert list(path.parent.iterdir()) == [path]


def test_empty_and_absent_files(path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_acknowledged(path)
    path.write_text("# nothing yet")
    assert read_acknowledged(path) == Acknowledged()
    added(path, "q2")
    assert path.read_text().startswith("# nothing yet\n\n[[loss]]\n")


def test_acknowledgements_at_the_same_time_are_all_kept(path: Path) -> None:
    topics = [f"q{i}" for i in range(40)]
    many = Scores([[0.9] * 40, [0.1] * 40], ["old", "new"], topics, "RR")
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda topic: added(path, topic, comparisons=[(many, "old")]), topics))
    assert sorted(loss["query"] for loss in tomllib.loads(path.read_text())["loss"]) == sorted(topics)


KILLED = """
import os, signal, sys
from pathlib import Path
from surefoot import Scores
from surefoot.release_gate import acknowledged
scores = Scores([[0.9], [0.1]], ["old", "new"], ["q1"], "RR")
acknowledged.write_text = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
acknowledged.acknowledge(sys.argv[1], [(scores, "old")], "new", "q1", "killed")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_process_that_is_killed_leaves_the_file_and_blocks_nobody(path: Path) -> None:
    added(path, "q1")
    before = path.read_bytes()
    assert subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False).returncode == -signal.SIGKILL
    assert path.read_bytes() == before
    added(path, "q2")
    assert len(read_acknowledged(path).losses) == 3
    assert [file.name for file in os.scandir(path.parent)] == [path.name]
