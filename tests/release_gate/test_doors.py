"""The same files through every door: the command, the library, the pytest fixture, the Action and the ratchet."""

import json
from pathlib import Path
from typing import Any

import pytest

from surefoot import gate, score_runs
from surefoot.cli import main
from surefoot.release_gate.accepted import read_accepted
from surefoot.release_gate.ratchet import gate_accepted
from tests.integrations.hosts import run_action, run_pytest
from tests.judgments.collection import random_collection

MEASURE = "nDCG@5"
ASSESSORS: dict[str, tuple[list[str], object]] = {
    "not given": ([], None),
    "none": (["--assessors", "none"], "none"),
    "off": (["--assessors", "off"], "off"),
    "dl2019": (["--assessors", "dl2019"], "dl2019"),
    "a share": (["--assessors", "0.2"], 0.2),
    "qrels": (["--assessors", "second.txt"], "second.txt"),
    "bare": (["--assessors"], []),
}
RULES: dict[str, Any] = {"undecided": "hold", "protected": ["3", "7"], "protected_tolerance": 0.2}
FLAGS = ["--undecided", "hold", "--protected", "3,7", "--protected-tolerance", "0.2"]
PAIRS = [("r1", "r0"), ("r2", "r0")]

PYTEST = """
import json, pytest
CASES = json.loads({cases!r})

@pytest.mark.parametrize("number", range(len(CASES)))
def test_search(surefoot, number):
    runs, baseline, candidate, rules, assessors = CASES[number]
    try:
        result = surefoot.gate(
            runs, "qrels.txt", "{measure}", baseline=baseline, candidate=candidate, rules=rules, assessors=assessors
        )
        found = [str(result), 0]
    except pytest.fail.Exception as failure:
        found = [str(failure), 1]
    with open(f"found-{{number}}.json", "w") as file:
        json.dump(found, file)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs, of which one ranks badly; many of their documents are unjudged."""
    files, qrels = random_collection(tmp_path, 14, topics=25, documents=10, runs=2, holes=0.3)
    worse = [line.split() for line in files[0].read_text().splitlines()]
    lines = [" ".join([*words[:4], str(-float(words[4])), words[5]]) for words in worse]
    (tmp_path / "r2.run").write_text("\n".join(lines) + "\n")
    second = [line.rsplit(" ", 1) for line in qrels.read_text().splitlines()]
    texts = [f"{head} {max(0, int(grade) - number % 2)}" for number, (head, grade) in enumerate(second)]
    (tmp_path / "second.txt").write_text("\n".join(texts) + "\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def by_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[str, int, str]:
    code = main(["gate", *words, "--format", "json"])
    found = json.loads(capsys.readouterr().out)
    assert found["exit_code"] == code
    return found["verdict"], code, found["signature"]


def words_of(baseline: str, candidate: str, more: list[str]) -> list[str]:
    runs = [f"{name}.run" for name in (baseline, candidate)]
    pair = ["--baseline", baseline, "--candidate", candidate]
    return [*runs, "--qrels", "qrels.txt", "--measure", MEASURE, *pair, *FLAGS, *more]


def test_every_door_gives_the_same_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cases = [(*pair, name) for pair in PAIRS for name in ASSESSORS]
    results = [
        gate(
            score_runs([f"{base}.run", f"{own}.run"], "qrels.txt", MEASURE), base, candidate=own, rules=RULES,
            assessors=ASSESSORS[name][1],
        )
        for base, own, name in cases
    ]  # fmt: skip
    found = [(one.verdict, one.exit_code, one.signature) for one in results]
    assert [by_command(words_of(base, own, ASSESSORS[name][0]), capsys) for base, own, name in cases] == found
    inputs = [[[f"{b}.run", f"{c}.run"], b, c, RULES, ASSESSORS[name][1]] for b, c, name in cases]
    (folder / "test_search.py").write_text(PYTEST.format(cases=json.dumps(inputs), measure=MEASURE))
    ran = run_pytest(folder)
    assert f"{len(cases)} passed" in ran.stdout, ran.stdout
    for number, result in enumerate(results):
        assert json.loads((folder / f"found-{number}.json").read_text()) == [str(result), result.exit_code]
    assert {one.verdict for one in results} == {"pass", "undecided", "fail"}
    assert len({one.signature for one in results}) == len(PAIRS) * 5, "not given is none, and bare is dl2019"


@pytest.mark.parametrize("name", ASSESSORS)
def test_the_action_gives_the_verdict_of_the_command(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = words_of("r1", "r0", ASSESSORS[name][0])
    verdict, code, signature = by_command(words, capsys)
    step = run_action(folder, " ".join(words))
    assert (step.outputs["verdict"], step.code) == (verdict, code)
    assert json.loads(step.json)["signature"] == signature


@pytest.mark.parametrize("name", ASSESSORS)
def test_the_ratchet_of_the_command_is_that_of_the_library(
    name: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The file keeps the documents of what was accepted, so that grades can be doubted against it too."""
    words = ["--qrels", "qrels.txt", "--measure", MEASURE, "--ratchet", "accepted.json", *FLAGS, *ASSESSORS[name][0]]
    assert main(["gate", "r0.run", *words, "--accept"]) == 0
    capsys.readouterr()
    accepted = read_accepted("accepted.json")
    for own in ("r1", "r2"):
        scores = score_runs([f"{own}.run"], "qrels.txt", MEASURE)
        result = gate_accepted(scores, accepted, candidate=own, rules=RULES, assessors=ASSESSORS[name][1])
        assert by_command([f"{own}.run", *words], capsys) == (result.verdict, result.exit_code, result.signature)
        accepted = read_accepted("accepted.json")


@pytest.mark.parametrize("flag", [[], ["--acknowledged", "other.toml"]])
def test_acknowledged_losses_count_through_every_door(
    flag: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = [*words_of("r0", "r2", ["--assessors", "off"]), *flag]
    before = by_command(words_of("r0", "r2", ["--assessors", "off"]), capsys)
    assert main(["gate", *words, "--acknowledge", "3", "--why", "known"]) == 1
    capsys.readouterr()
    after = by_command(words, capsys)
    assert before[2] != after[2]
    scores = score_runs(["r0.run", "r2.run"], "qrels.txt", MEASURE)
    file = flag[1] if flag else "surefoot-losses.toml"
    result = gate(scores, "r0", candidate="r2", rules=RULES, assessors="off", acknowledged=file)
    assert (result.verdict, result.exit_code, result.signature) == after
