"""The bitcode that the package carries: it is that of the sources, gives what numba gives, and fits every platform."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from llvmlite import binding

from surefoot import _bitcode
from surefoot._numba import Kernel
from surefoot.cli import main
from surefoot.learn import kernels as learn_kernels
from surefoot.learn.kernels import PairLoop
from surefoot.learn.lambdas import buffers_for
from surefoot.learn.weight_kernels import GLOBAL, PER_QUERY, PairWeights

FILES = sorted(_bitcode.FOLDER.glob("*.bc"))
PLATFORMS = ("x86_64-pc-windows-msvc", "aarch64-unknown-linux-gnu", "arm64-apple-macosx", "x86_64-apple-macosx")

COMMAND = """
import sys
from surefoot.cli import main
main(sys.argv[1:])
heavy = ("numba", "polars", "scipy", "rich", "pandas", "matplotlib", "ir_measures", "pooch")
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


@pytest.mark.parametrize("platform", PLATFORMS)
def test_bitcode_is_translated_for_every_platform(platform):
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    for file in FILES:
        machine = binding.Target.from_triple(platform).create_target_machine()
        module = binding.parse_bitcode(file.read_bytes())
        module.triple, module.data_layout = platform, str(machine.target_data)
        assert machine.emit_object(module)
        called = {one.name for one in module.functions if one.is_declaration and not one.name.startswith("llvm.")}
        assert called <= set(_bitcode.MATHEMATICS)


@given(st.lists(st.integers(0, 40), min_size=1, max_size=300))
def test_documents_are_ranked_by_score_then_row(scores):
    order = np.arange(len(scores), dtype=np.int32)[::-1].copy()
    values = np.array(scores, dtype=np.float64)
    empty = np.zeros((2, len(scores)), np.float32)
    rankings = learn_kernels.Rankings(values, np.array([0, len(scores)]), order, values, empty, 0)
    learn_kernels.rank_queries(rankings, 0, 1, np.empty(1))
    assert order.tolist() == np.argsort(-values, kind="stable").tolist()


@pytest.mark.parametrize("form", range(6))
def test_gradients_are_the_same_bits_by_either_translation(form, monkeypatch):
    rng = np.random.default_rng(form)
    scores, gains, bounds = rng.normal(size=200), rng.random(200) * (rng.random(200) < 0.4), np.array([0, 70, 200])
    discounts = (1 / np.log2(np.arange(130) + 2)).astype(np.float32)
    order = np.concatenate([np.arange(70), np.arange(130)]).astype(np.int32)
    rankings = learn_kernels.Rankings(scores, bounds, order, gains, np.stack([discounts, discounts * 1e-8]), 0)
    weights = PairWeights(form, rng.random((2, PER_QUERY), np.float32), rng.random(GLOBAL, np.float32) + 1)
    found = []
    for effort in (_bitcode.HASTY, _bitcode.CAREFUL):
        monkeypatch.setattr(_bitcode, "HASTY", effort)
        for kernel in (learn_kernels.rank_queries, learn_kernels.lambda_gradients):
            monkeypatch.setattr(kernel, "codes", _bitcode.Codes(kernel.function))
        out = learn_kernels.Gradients(np.zeros(200, np.float32), np.zeros(200, np.float32))
        learn_kernels.rank_queries(rankings, 0, 2, np.empty(2))
        learn_kernels.lambda_gradients(rankings, weights, PairLoop(30, 1.0, True), 0, 2, buffers_for(130), out)
        assert np.abs(out.gradient).sum() > 0
        found.append(out.gradient.tobytes() + out.hessian.tobytes())
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:future versions will not create a writeable array")
def test_no_kernel_writes_to_an_array_that_is_read_only(tmp_path, monkeypatch):
    """Types of the carried kernels don't tell; each command that calls them gives them arrays of its own."""
    call, names = Kernel.__call__, set()

    def watched(self, *arguments):
        locked = [leaf for leaf in _bitcode.leaves_of(arguments) if isinstance(leaf, np.ndarray)]
        locked = [array for array in locked if not array.flags.writeable]
        before = [array.tobytes() for array in locked]
        found = call(self, *arguments)
        assert [array.tobytes() for array in locked] == before, self.__name__
        names.add(f"{self.__module__.removeprefix('surefoot.')}.{self.__name__}")
        return found

    monkeypatch.setattr(Kernel, "__call__", watched)
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for system in ("old", "new"):
        lines = (f"q{q} Q0 d{d} 0 {rng.random()} {system}\n" for q in range(20) for d in range(9))
        (tmp_path / f"{system}.run").write_text("".join(lines))
    grades = [f"q{q} 0 d{d} {rng.integers(3)}\n" for q in range(20) for d in range(9 - q % 2)]
    (tmp_path / "qrels").write_text("".join(grades))
    rows = (f"{rng.integers(3)} qid:{q // 9} 1:{rng.random():.3f} 2:{rng.random():.3f}\n" for q in range(81))
    (tmp_path / "train.txt").write_text("".join(rows))
    (tmp_path / "twice.run").write_text("q1 Q0 d1 0 1 x\nq1 Q0 d1 0 2 x\n")
    (tmp_path / "run.json").write_text('{"q1": {"d1": 0.5}}')
    both = "old.run new.run --qrels qrels"
    for command in (
        f"evaluate {both} --measure nDCG@10 --names tag --baseline old --ci --n-resamples 50 -o a.csv",
        "evaluate old.run twice.run run.json --qrels qrels --measure nDCG@10 --duplicates best -o b.csv",
        f"judge {both} --baseline old --candidate new --budget 3 -o to-judge.csv",
        "guard fit --baseline old.run --candidate new.run --qrels qrels --kinds z -o guard.json",
        "guard apply guard.json --baseline old.run --candidate new.run -o guarded.run",
        "train --train train.txt --baseline feature:1 --trees 2 --leaves 3 --docs-per-leaf 1 -o model",
        "predict model train.txt -o predicted.run",
    ):
        assert main(command.split()) == 0, command
    assert names >= {file.name.rsplit(".", 2)[0] for file in _bitcode.FOLDER.glob("*.bc")}
