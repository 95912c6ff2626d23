"""The page of the papers is what its script makes now: commands, tests, pictures and cells are there."""

import csv
import gzip
import importlib.util
import itertools
import json
import os
import shlex
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType

import pytest

from surefoot.cli import main

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_papers", ROOT / "docs" / "make_papers.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_papers"] = module
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_script_makes(made: ModuleType, data: Path) -> None:
    assert (ROOT / "docs" / "studies" / "papers.md").read_text(encoding="utf-8") == made.page()


def test_a_command_that_is_not_there_is_seen(made: ModuleType) -> None:
    assert made.accepted("surefoot cross --scores a.csv --by-baseline")
    assert not made.accepted("surefoot cross --scores a.csv --by-nothing")
    assert not made.accepted("surefoot nothing")
    assert made.accepted(".venv/bin/python -m studies values")
    assert not made.accepted(".venv/bin/python -m studies nothing")


def test_missing_evidence_is_seen(made: ModuleType) -> None:
    for evidence in ("tests/test_papers.py::test_nothing", "docs/figures/nothing.png", "claim:sigir2014 nothing"):
        item = {"command": "", "evidence": evidence}
        assert made._state(item, []).startswith("**missing**")


with (ROOT / "docs" / "papers.csv").open(encoding="utf-8", newline="") as file:
    ITEMS = list(csv.DictReader(file))
COMMANDS = dict.fromkeys(item["command"] for item in ITEMS if item["command"].startswith("surefoot "))
LONG = {command for command in COMMANDS if command.split()[1] in ("train", "tradeoff") or " folder " in command}
UNRUN = {command for command in COMMANDS if "mslr-web10k" in command or command.split()[1] == "experiment"}
"""Need MSLR-WEB10K, or take hours: tests/lab/experiments runs small plans."""


def run(command: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "200")
    assert main(shlex.split(command)[1:]) == 0


@pytest.mark.parametrize("command", [command for command in COMMANDS if command not in LONG | UNRUN])
def test_a_command_shows_its_items(
    command: str, data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "err20.csv").symlink_to(data / "trec-web-2012" / "err20.csv")
    run(command, tmp_path, monkeypatch)
    printed = " ".join(capsys.readouterr().out.split())
    for item in ITEMS:
        if item["command"] == command:
            assert item["shows"] in printed
            if item["evidence"].startswith("table:"):
                assert " cells: " in printed
    if " -o f.svg" in command:
        assert (tmp_path / "f.svg").read_bytes().startswith(b"<?xml")


def test_commands_of_tables_and_claims_show_something() -> None:
    """A row of a claim names what its command prints, unless `reproduce` prints published and recomputed."""
    for item in ITEMS:
        command = item["command"]
        if item["evidence"].startswith("claim:") and command not in UNRUN and " reproduce " not in f" {command} ":
            assert item["shows"] or "ICTNET12ADR2" in item["what"], item["what"]


@pytest.fixture(scope="module")
def ranking_data(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """About a dozen queries each to train, validate and test, of MSLR's sample."""
    folder = tmp_path_factory.mktemp("papers")
    for name, source in (("train", "train"), ("vali", "test"), ("test", "test")):
        (path,) = (data / "mslr-sample").glob(f"fold1.{source}*")
        with gzip.open(path, "rt") as lines:
            first = 0 if name != "test" else 1400
            (folder / f"{name}.txt").write_text("".join(itertools.islice(lines, first, first + 1400)))
    return folder


CARDED = {
    "--objective": "objective", "--alpha": "alpha", "--learner": "learner", "--risk-metric": "risk_metric",
    "--virtual-baseline": "virtual_baseline",
}  # fmt: skip
"""Options of a training, and the settings in its card."""


@pytest.mark.skipif("SUREFOOT_LONG" not in os.environ, reason="minutes: make papers")
@pytest.mark.parametrize("command", sorted(LONG), ids=str)
def test_a_long_command_shows_its_items(
    command: str,
    ranking_data: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for path in ranking_data.glob("*.txt"):
        (tmp_path / path.name).symlink_to(path)
    if " folder " in command:
        words = "tradeoff --train train.txt --valid vali.txt --test test.txt --baseline feature:110 --alpha 0,1,5"
        run(f"surefoot {words} --n-estimators 20 -o folder", tmp_path, monkeypatch)
    capsys.readouterr()
    run(command, tmp_path, monkeypatch)
    printed = " ".join(capsys.readouterr().out.split())
    for item in ITEMS:
        if item["command"] == command:
            assert item["shows"] in printed
    words = shlex.split(command)
    if words[1] == "figure":
        assert (tmp_path / "f.svg").read_bytes().startswith(b"<?xml")
    if words[1] == "train":
        card = json.loads((tmp_path / "model" / "card.json").read_text())
        given = dict(pairwise(words))
        for flag in CARDED.keys() & given.keys():
            assert str(card["settings"][CARDED[flag]]) in (given[flag], f"{given[flag]}.0")
        if "--option" in given:
            assert card["settings"]["objective_options"] == dict([given["--option"].split("=")])
        for name in (after for word, after in pairwise(words) if word == "--baseline"):
            assert name in " ".join(card["baselines"])
