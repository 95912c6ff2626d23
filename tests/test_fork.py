"""What would wait forever in a forked process is refused there in one line."""

import os
import subprocess
import sys

import polars
import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

CODE = """
import os, sys
from contextlib import redirect_stdout
from io import StringIO
import numpy as np
import surefoot as sf
from surefoot.cli import main

def gate(*words):
    with redirect_stdout(StringIO()):
        assert main(["gate", "--scores", sys.argv[2], *words]) != 2

X, qid = np.random.default_rng(0).normal(size=(40, 2)), np.repeat(np.arange(4), 10)
work = {
    "read": lambda: sf.read_scores(sys.argv[2]),
    "fit": lambda: sf.RiskRanker(n_estimators=2).fit(X, X[:, 0] > 0, qid=qid, baseline="feature:1"),
    "run": lambda: sf.read_run(sys.argv[2].replace("scores.csv", "run.parquet")),
    "stream": lambda: sf.analysis.evaluate_parquet(sys.argv[2].replace("scores.csv", "scores.parquet"), "a"),
    "ratchet": lambda: gate("--candidate", "a", "--ratchet", sys.argv[2] + ".json", "--accept"),
    "sequential": lambda: gate("--baseline", "a", "--candidate", "b", "--sequential", sys.argv[2] + ".state"),
    "evaluate": lambda: sf.evaluate(sf.Scores([[0.1, 0.2], [0.3, 0.1]], ["a", "b"], [1, 2]), "a"),
}[sys.argv[1]]
if sys.argv[3] == "after use":
    work()
if os.fork():
    sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
try:
    work()
    print("right")
except sf.SurefootError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("work", "when", "said"),
    [
        ("read", "after use", "right"),
        ("fit", "after use", "this process was forked from one whose threads it needs; start processes by 'spawn'"),
        ("run", "after use", "this process was forked from one whose threads it needs; start processes by 'spawn'"),
        ("stream", "after use", "this process was forked from one whose threads it needs; start processes by 'spawn'"),
        ("evaluate", "after use", "right"),
        ("ratchet", "after use", "right"),
        ("sequential", "after use", "right"),
        ("read", "before use", "right"),
        ("fit", "before use", "right"),
    ],
)
def test_a_forked_process_answers(tmp_path, work, when, said):
    table = tmp_path / "scores.csv"
    table.write_text("topic,a,b\n" + "".join(f"{i},{i % 7 / 7:.3f},{i % 5 / 5:.3f}\n" for i in range(40)))
    polars.DataFrame({"topic": [1, 2], "a": [0.2, 0.1], "b": [0.3, 0.1]}).write_parquet(tmp_path / "scores.parquet")
    polars.DataFrame({"qid": ["1"], "docno": ["d"], "score": [0.5]}).write_parquet(tmp_path / "run.parquet")
    command = [sys.executable, "-W", "ignore", "-c", CODE, work, str(table), when]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert found.returncode == 0, found.stderr
    assert said in found.stdout
