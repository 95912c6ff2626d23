"""Commands on runs import only what they need."""

import subprocess
import sys

import pytest

COMMAND = """
import sys
from surefoot.cli import main
main(sys.argv[1:])
heavy = ("polars", "scipy", "rich", "pandas", "matplotlib", "ir_measures", "pooch")
print([name for name in heavy if name in sys.modules])
"""


@pytest.mark.parametrize("command", ["evaluate", "gate"])
def test_evaluating_runs_imports_nothing_heavy(command, tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\nq2 0 d2 1\nq1 0 d3 0\n")
    for name, document in (("old", "d1"), ("new", "d2")):
        (tmp_path / f"{name}.run").write_text(f"q1 Q0 {document} 1 2.5 x\nq2 Q0 {document} 1 2.5 x\n")
    words = [command, "old.run", "new.run", "--qrels", "qrels.txt", "--baseline", "old"]
    found = subprocess.run(
        [sys.executable, "-c", COMMAND, *words], capture_output=True, text=True, cwd=tmp_path, timeout=120
    )
    assert found.stdout.splitlines()[-1] == "[]", found.stderr


def test_a_training_from_the_shell_imports_neither_pandas_nor_scikit_learn(tmp_path):
    lines = (f"{row % 2} qid:{row // 4} 1:{row % 7} 2:{row % 3}\n" for row in range(40))
    (tmp_path / "train.txt").write_text("".join(lines))
    words = ["train", "--train", "train.txt", "--baseline", "feature:1", "--n-estimators", "2", "-o"]
    shell = [sys.executable, "-X", "importtime", "-m", "surefoot", *words, "by-shell"]
    found = subprocess.run(shell, capture_output=True, text=True, cwd=tmp_path, timeout=120, check=True)
    loaded = {line.rpartition("|")[2].strip() for line in found.stderr.splitlines()}
    assert "lightgbm.basic" in loaded
    assert not {"pandas.core", "sklearn.base"} & loaded
    library = [sys.executable, "-c", f"from surefoot.cli import main; main({[*words, 'by-library']})"]
    subprocess.run(library, capture_output=True, cwd=tmp_path, timeout=120, check=True)
    for name in ("model.txt", "card.json"):
        assert (tmp_path / "by-shell" / name).read_bytes() == (tmp_path / "by-library" / name).read_bytes()
