"""The verdicts of the claims page, and `make mslr` end to end on generated data of MSLR's shape."""

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from surefoot.scores import Scores

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def made() -> ModuleType:
    spec = importlib.util.spec_from_file_location("make_claims", ROOT / "docs" / "make_claims.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["make_claims"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("shift", "keeps", "said"),
    [(0.1, False, "holds"), (-0.1, False, "does not hold"), (0.0, False, "undecided"), (0.0, True, "holds")],
)
def test_verdicts(shift: float, keeps: bool, said: str, made: ModuleType) -> None:
    rng = np.random.default_rng(3)
    base = rng.uniform(0.3, 0.6, 400)
    noise = rng.normal(0, 0.02, 400)
    scores = Scores([base + shift + noise, base, base], ["new", "old", "BM25"], range(400))
    claim = made.Claim("paper", "new is better", "plan", "mean", "new", "old", keeps)
    assert made.verdict(claim, scores, 2000).startswith(said)


def test_less_risk_is_a_positive_difference(made: ModuleType) -> None:
    base = np.full(50, 0.5)
    losses = base - np.linspace(0.1, 0.2, 50)
    scores = Scores([base, losses, base], ["new", "old", "BM25"], range(50))
    for measure, difference in (("risk", "+0.1500"), ("wins - losses", "+1.0000")):
        claim = made.Claim("paper", "less risk", "plan", measure, "new", "old")
        assert made.verdict(claim, scores).startswith(f"holds: {difference}")


def test_convergence_counts_trees_to_a_shared_gain(made: ModuleType) -> None:
    """The slow one gains 0.1 a tree up to 0.8, the fast one 0.4 at once and then 0.8: 95 % after 8 and 2 trees."""
    slow = [0.1, *(0.1 + 0.1 * np.arange(1, 9))]
    fast = [0.1, 0.5, 0.9, 0.9, 0.9]
    claim = made.Claim("paper", "fast is faster", "plan", "convergence", "fast", "slow")
    noisy = {"fast": [fast] * 5, "slow": [slow] * 4 + [[*slow[:-2], slow[-1], slow[-1]]]}
    assert made.convergence(claim, {"fast": [fast] * 5, "slow": [slow] * 5}) == "holds: +2.0000 (+2.0000 to +2.0000)"
    assert made.convergence(claim, noisy).startswith("holds: +1.96")
    flat = {"fast": [[0.5, 0.4]] * 5, "slow": [slow] * 5}
    assert made.convergence(claim, flat).startswith("undecided")


def write_mslr(folder: Path) -> None:
    """Five folds of eight queries each, 136 features of which a few say something, labels 0 to 4."""
    rng = np.random.default_rng(0)
    parts = []
    for part in range(5):
        lines = []
        for query in range(8):
            labels = rng.choice(5, 12, p=[0.5, 0.3, 0.13, 0.05, 0.02])
            features = rng.gamma(2, 1, (12, 136)) + 0.4 * labels[:, None] * (np.arange(136) % 9 == 1)
            for label, row in zip(labels, features, strict=True):
                values = " ".join(f"{number}:{value:.4f}" for number, value in enumerate(row, 1))
                lines.append(f"{label} qid:{8 * part + query + 1} {values}\n")
        parts.append("".join(lines))
    for fold in range(5):
        own = folder / f"Fold{fold + 1}"
        own.mkdir(parents=True)
        order = [parts[(fold + step) % 5] for step in range(5)]
        (own / "train.txt").write_text("".join(order[:3]))
        (own / "vali.txt").write_text(order[3])
        (own / "test.txt").write_text(order[4])


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_make_mslr_end_to_end(tmp_path: Path) -> None:
    """Twice: the second call finds every job done."""
    write_mslr(tmp_path / "MSLR")
    words = ["make", "mslr", f"FOLDER={tmp_path / 'MSLR'}", f"OUT={tmp_path / 'out'}", "PLANS=sigir2014",
             "CHANGED=--trees 3 --workers 1", f"BIN={Path(sys.executable).parent}", "VENV=none",
             "-o", "none/run.done"]  # fmt: skip
    for _ in range(2):
        done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    page = (tmp_path / "out" / "claims.md").read_text(encoding="utf-8")
    assert "SARO loses less mean than U-CRO at alpha 5" in page
    assert "Queries: mslr " in page
    without = subprocess.run(
        ["make", "mslr", "VENV=none", "-o", "none/run.done"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert without.returncode == 2
    assert "make mslr FOLDER=..." in without.stdout
