"""Surefoot where no package but numpy is installed."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

RUN = """
import sys

class Blocked:
    def find_spec(self, name, path=None, target=None):
        package = name.partition(".")[0]
        if package not in sys.stdlib_module_names | {"numpy", "surefoot"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=package)

sys.meta_path.insert(0, Blocked())
from surefoot.cli import main
sys.exit(main())
"""
PAIR = ["--baseline", "old", "--candidate", "new"]


def surefoot(*words: object, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", RUN, *map(str, words)], capture_output=True, text=True, cwd=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs with judgments, and scores of the same two systems."""
    folder, rng = tmp_path_factory.mktemp("numpy-only"), np.random.default_rng(1)
    grades = rng.integers(0, 3, (40, 12))
    judged = [f"q{q} 0 d{d} {grade}\n" for q, row in enumerate(grades) for d, grade in enumerate(row)]
    (folder / "qrels.txt").write_text("".join(judged))
    for name, noise in (("old", 2.0), ("new", 0.5)):
        ranked = np.argsort(-(grades + noise * rng.normal(size=grades.shape)))
        lines = (f"q{q} Q0 d{d} {r} {50 - r} {name}\n" for q, row in enumerate(ranked) for r, d in enumerate(row))
        (folder / f"{name}.run").write_text("".join(lines))
    rows = [f"q{q},{old:.3f},{new:.3f}\n" for q, (old, new) in enumerate(rng.random((40, 2)))]
    (folder / "scores.csv").write_text("topic,old,new\n" + "".join(rows))
    (folder / "scores.parquet").write_bytes(b"PAR1" + bytes(20) + b"PAR1")
    (folder / "zst.run").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(20))
    (folder / "lz4.run").write_bytes(b"\x04\x22\x4d\x18" + bytes(20))
    (folder / "train.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.2\n")
    (folder / "named.txt").write_text("1 qid:1 1:0.5 # d1\n0 qid:1 1:0.2 # d2\n")
    return folder


@pytest.fixture
def runs(folder: Path) -> list[object]:
    return [folder / "old.run", folder / "new.run", "--qrels", folder / "qrels.txt"]


def test_evaluate(runs: list[object]) -> None:
    found = surefoot("evaluate", *runs, "--baseline", "old", "--ci", "--tests", "all", "--format", "json")
    assert found.returncode == 0, found.stderr
    assert [row["system"] for row in json.loads(found.stdout)["rows"]] == ["old", "new"]


@pytest.mark.parametrize(
    "command",
    [
        ["scores"],
        ["explore", *PAIR],
        ["gate", *PAIR],
        ["gate", *PAIR, "--evidence", "strict"],
        ["cross"],
        ["agreement", "pca"],
        ["power", "--baseline", "old", "--system", "new"],
    ],
    ids=" ".join,
)
def test_commands_over_runs(command: list[str], runs: list[object]) -> None:
    found = surefoot(command[0], *command[1:], *runs)
    assert found.returncode in ((0, 1, 3) if command[0] == "gate" else (0,)), found.stderr
    assert found.stdout


def test_tables_of_scores(folder: Path) -> None:
    found = surefoot("evaluate", "--scores", folder / "scores.csv", "--baseline", "old")
    assert found.returncode == 0, found.stderr
    assert "trisk" in found.stdout


def test_report(runs: list[object], tmp_path: Path) -> None:
    found = surefoot("report", *runs, *PAIR, "-o", tmp_path / "report.html")
    assert found.returncode == 0, found.stderr
    assert "</html>" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_judge(runs: list[object], tmp_path: Path) -> None:
    found = surefoot("judge", *runs, *PAIR, "--measure", "nDCG@20", "-o", tmp_path / "to-judge.csv")
    assert found.returncode == 0, found.stderr
    assert (tmp_path / "to-judge.csv").exists()


def test_guard(runs: list[object], folder: Path, tmp_path: Path) -> None:
    pair = ["--baseline", folder / "old.run", "--candidate", folder / "new.run"]
    found = surefoot("guard", "fit", *pair, "--qrels", folder / "qrels.txt", "-o", tmp_path / "guard.json")
    assert found.returncode == 0, found.stderr
    found = surefoot("guard", "apply", tmp_path / "guard.json", *pair, "-o", tmp_path / "safe.run")
    assert found.returncode == 0, found.stderr
    assert len((tmp_path / "safe.run").read_text().splitlines()) == 40 * 12


@pytest.mark.parametrize(
    ("command", "package", "extra"),
    [
        ("figure shape old.run --qrels qrels.txt -o x.svg", "matplotlib", "plots"),
        ("scores zst.run --qrels qrels.txt", "zstandard", "compression"),
        ("scores lz4.run --qrels qrels.txt", "lz4", "compression"),
        ("evaluate --scores scores.parquet", "polars", "frames"),
        ("scores old.run --qrels qrels.txt --measure Bpref", "ir_measures", "measures"),
        ("train --train train.txt --baseline feature:1 -o model", "lightgbm", "learn"),
        ("train --train named.txt --baseline feature:1 -o model", "polars", "learn"),
    ],
)
def test_a_missing_extra_is_one_line(command: str, package: str, extra: str, folder: Path) -> None:
    if package == "zstandard" and sys.version_info >= (3, 14):
        pytest.skip("Python has zstd itself")
    found = surefoot(*command.split(), folder=folder)
    assert found.returncode == 2
    name = command.partition(" ")[0]
    assert found.stderr == f"surefoot {name}: {package} is not installed; pip install 'surefoot[{extra}]'\n"
