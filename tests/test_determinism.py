"""The same bytes whatever the hash seed, the locale, the time zone, the threads, and the order of lines and files."""

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.cli import main

USUAL = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
OTHER = {"PYTHONHASHSEED": "7", "LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu",
         "OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2", "POLARS_MAX_THREADS": "3"}  # fmt: skip
COMMANDS = {
    "evaluate": "evaluate {runs} --qrels qrels.txt --measure nDCG@10 --baseline a --ci --tests flip,swap,bootstrap "
    "--n-resamples 200 --format json",
    "gate": "gate {runs} --qrels qrels.txt --measure nDCG@10 --baseline b --candidate a --format json --undecided pass",
    "report": "report {runs} --qrels qrels.txt --measure nDCG@10 --baseline a -o /dev/stdout",
    "guard": "guard fit --baseline {folder}/a.run --candidate {folder}/b.run --qrels qrels.txt --anyway --seed 3 "
    "-o /dev/stdout",
    "train": "train --train train.txt --baseline feature:1 --trees 20 --leaves 4 --docs-per-leaf 5 --bags 2 --seed 4 "
    "--threads {threads} -o {output}",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three runs, and the same with the documents of each topic in another order; qrels; a LETOR file."""
    path, rng = tmp_path_factory.mktemp("determinism"), np.random.default_rng(0)
    for name in ("usual", "other"):
        (path / name).mkdir()
    for system in "abc":
        topics = [[f"q{q} Q0 d{d} 0 {rng.normal():.4f} {system}\n" for d in range(12)] for q in range(25)]
        (path / "usual" / f"{system}.run").write_text("".join(line for lines in topics for line in lines))
        for lines in topics:
            random.Random(system).shuffle(lines)
        (path / "other" / f"{system}.run").write_text("".join(line for lines in topics for line in lines))
    grades = (f"q{q} 0 d{d} {int(rng.random() < 0.3)}\n" for q in range(25) for d in range(12))
    (path / "qrels.txt").write_text("".join(grades))
    rows = (
        f"{int(x[0] + x[1] > 1)} qid:{q} 1:{x[0]:.3f} 2:{x[1]:.3f}\n"
        for q in range(20)
        for x in rng.normal(size=(8, 2))
    )
    (path / "train.txt").write_text("".join(rows))
    return path


def output_of(folder: Path, command: str, runs: str, environment: dict[str, str]) -> dict[str, bytes]:
    """What a command prints, and the files that it writes."""
    written = folder / f"out-{runs}"
    words = COMMANDS[command].format(
        runs=" ".join(f"{runs}/{system}.run" for system in "abc"),
        folder=runs, output=written, threads=environment["OMP_NUM_THREADS"],
    )  # fmt: skip
    found = subprocess.run(
        [sys.executable, "-m", "surefoot", *words.split()],
        cwd=folder, env={**os.environ, **environment}, capture_output=True, timeout=300,
    )  # fmt: skip
    assert found.returncode == 0, found.stderr.decode()
    files = {path.name: path.read_bytes() for path in written.glob("*")}
    return files or {"stdout": found.stdout}


@pytest.mark.parametrize("command", COMMANDS)
def test_the_surroundings_change_no_byte(folder: Path, command: str) -> None:
    usual = output_of(folder, command, "usual", USUAL)
    assert any(len(content) > 100 for content in usual.values())
    assert output_of(folder, command, "other", OTHER) == usual


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders with the same runs, judgments and scores, lines in another order in each; of 9 documents 7 are judged."""
    rng, found = np.random.default_rng(1), []
    lines = {
        f"{system}.run": [f"q{q} Q0 d{d} 0 {rng.normal():.4f} x" for q in range(23 - (system == "c")) for d in range(9)]
        for system in "abcde"
    }
    lines["qrels.txt"] = [f"q{q} 0 d{d} {int(rng.random() < 0.3)}" for q in range(22) for d in range(7)]
    scores = [f"q{q},{','.join(f'{rng.random():.3f}' for _ in range(5))}" for q in range(22)]
    for order in range(3):
        found.append(tmp_path_factory.mktemp("order"))
        for name, own in lines.items():
            shuffled = random.Random(f"{order} {name}").sample(own, len(own)) if order else own
            (found[-1] / name).write_text("\n".join(shuffled) + "\n")
        shuffled = random.Random(order).sample(scores, len(scores)) if order else scores
        (found[-1] / "scores.csv").write_text("\n".join(["topic,e,d,c,b,a", *shuffled]) + "\n")
    return found


ORDERED = {
    "evaluate": "evaluate {runs} --baseline MEAN --ci --tests flip,swap,bootstrap,max --n-resamples 200 --format csv "
    "--correct holm --tail 0.1 --alpha 1,5",
    "table": "evaluate --scores scores.csv --baseline a --ci bca --n-resamples 100 --format csv",
    "explore": "explore {runs} --system b --baseline a --format csv",
    "credible": "explore {runs} --system b --baseline a --credible --format csv",
    "judge": "judge {runs} --candidate b --baseline a --budget 20 -o out --force",
    "cross": "cross {runs} --alpha 5 --format csv",
    "gate": "gate {runs} --baseline a --candidate b --format json --undecided pass",
    "guard": "guard fit --baseline a.run --candidate b.run --qrels qrels.txt --anyway --seed 3 -o out --force",
    "report": "report {runs} --baseline a -o out --force",
}


def printed(folder: Path, command: str, systems: str, monkeypatch: pytest.MonkeyPatch, capfd: Any) -> str:
    """What a command prints or writes in this folder, with its runs in this order."""
    monkeypatch.chdir(folder)
    runs = " ".join(f"{system}.run" for system in systems) + " --qrels qrels.txt --measure nDCG@10"
    assert main(ORDERED[command].format(runs=runs).split()) == 0
    said = str(capfd.readouterr().out)
    return Path("out").read_text() if "-o out" in ORDERED[command] else said


@pytest.mark.parametrize("command", ORDERED)
def test_no_order_of_lines_changes_a_byte(orders, command, monkeypatch, capfd) -> None:
    usual, *others = (printed(folder, command, "abcde", monkeypatch, capfd) for folder in orders)
    assert len(usual) > 100
    assert set(others) == {usual}


@pytest.mark.parametrize("command", ["evaluate", "explore", "credible", "judge", "cross", "gate"])
def test_no_order_of_files_changes_more_than_the_order_of_rows(orders, command, monkeypatch, capfd) -> None:
    """Five systems: BLAS rounds the rows of a product by their position, on many processors."""
    usual, *others = (printed(orders[0], command, systems, monkeypatch, capfd) for systems in ("abcde", "dbeca"))
    assert [sorted(other.splitlines()) for other in others] == [sorted(usual.splitlines())]
