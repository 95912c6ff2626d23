"""The same bytes whatever the hash seed, the locale, the time zone, the threads, and the order of lines."""

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

USUAL = {"PYTHONHASHSEED": "0", "LC_ALL": "C.UTF-8", "TZ": "UTC", "OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1"}
OTHER = {"PYTHONHASHSEED": "7", "LC_ALL": "de_DE.UTF-8", "LANG": "tr_TR.UTF-8", "TZ": "Asia/Kathmandu",
         "OMP_NUM_THREADS": "2", "NUMBA_NUM_THREADS": "2", "POLARS_MAX_THREADS": "3"}  # fmt: skip
COMMANDS = {
    "evaluate": "evaluate {runs} --qrels qrels.txt --measure nDCG@10 --baseline a --ci --tests flip,swap,bootstrap "
    "--n-resamples 200 --format json",
    "gate": "gate {runs} --qrels qrels.txt --measure nDCG@10 --baseline a --candidate b --format json --undecided pass",
    "report": "report {runs} --qrels qrels.txt --measure nDCG@10 --baseline a -o /dev/stdout",
    "guard": "guard fit --baseline {folder}/a.run --candidate {folder}/b.run --qrels qrels.txt --seed 3 -o /dev/stdout",
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


def test_another_order_of_topics_and_runs_changes_no_measure(folder: Path) -> None:
    import surefoot

    runs = [folder / "usual" / f"{system}.run" for system in "abc"]
    scores = surefoot.score_runs(runs, folder / "qrels.txt", "nDCG@10")
    topics = list(scores.topics)
    random.Random(1).shuffle(topics)
    other = scores.select(["c", "a", "b"], topics=topics)
    one, two = (surefoot.evaluate(each, "a", [1.0, 5.0]).to_frame().sort("system", "alpha") for each in (scores, other))
    for name in one.columns:
        if one[name].dtype.is_float():
            np.testing.assert_allclose(one[name], two[name], rtol=1e-12, err_msg=name)
        else:
            assert name == "signature" or one[name].to_list() == two[name].to_list()
