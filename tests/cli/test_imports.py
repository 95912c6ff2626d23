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
