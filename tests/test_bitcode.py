"""The bitcode that the package carries: it is that of the sources, gives what numba gives, and fits every platform."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
import scipy.special
from hypothesis import assume, given
from hypothesis import strategies as st
from llvmlite import binding

from surefoot import _bitcode
from surefoot._numba import Kernel
from surefoot.cli import main
from surefoot.io import trec_kernels
from surefoot.risk import kernels as risk_kernels
from surefoot.risk.distributions import logistic, logit, normal_cdf, normal_quantile, student_p

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


def test_numba_compiles_what_is_not_carried(monkeypatch):
    x = np.linspace(-3, 3, 50)
    carried, compiled, strided = np.empty(50), np.empty(50), np.empty(100)[::2]
    risk_kernels.normal_cdf(x, carried)
    risk_kernels.normal_cdf(x, strided)
    monkeypatch.setattr(_bitcode, "is_usable", lambda: False)
    monkeypatch.setattr(risk_kernels.normal_cdf.codes, "_by_types", {})
    risk_kernels.normal_cdf(x, compiled)
    assert carried.tobytes() == compiled.tobytes() == strided.tobytes()


def test_much_work_is_translated_with_care_and_gives_the_same(monkeypatch):
    x = np.random.default_rng(0).normal(size=1000)
    codes = _bitcode.Codes(risk_kernels.normal_cdf.function)
    leaves = [x, np.empty(1000)]
    code = codes.find(_bitcode.types_of(leaves))
    code(leaves)
    before, hasty = leaves[1].copy(), code._machine
    monkeypatch.setattr(_bitcode, "MUCH", 40_000)
    code(leaves)
    assert code._machine is hasty
    code(leaves)
    assert code._machine is not hasty
    assert leaves[1].tobytes() == before.tobytes()


def test_a_used_kernel_is_pickled_by_its_name():
    risk_kernels.normal_cdf(np.zeros(1), np.zeros(1))
    assert pickle.loads(pickle.dumps(risk_kernels.normal_cdf)) is risk_kernels.normal_cdf
    assert copy.deepcopy(risk_kernels.normal_cdf) is risk_kernels.normal_cdf


def test_lines_are_counted():
    data = np.frombuffer("a\nb\nc é\n".encode() * 1000, np.uint8)
    assert trec_kernels.count_lines(data) == (3000, True)


@given(st.floats(-1e6, 1e6), st.integers(1, 1_000_000))
def test_student_agrees_with_scipy(t, df):
    assume(not 0 < abs(t) < 1e-6)  # where scipy itself has fewer digits
    assert student_p(t, df) == pytest.approx(2 * scipy.special.stdtr(df, -abs(t)), rel=1e-9, abs=1e-300)


def test_student_at_the_ends():
    with np.errstate(all="ignore"):
        assert student_p([0.0, np.inf, -np.inf, 1e200], 5).tolist() == [1.0, 0.0, 0.0, 0.0]
        assert np.isnan(student_p(np.nan, 5))


@given(st.floats(-37, 37))
def test_the_normal_distribution_agrees_with_scipy(x):
    assert normal_cdf(x) == pytest.approx(scipy.special.ndtr(x), rel=1e-12)


@given(st.floats(1e-300, 1 - 1e-9))
def test_the_normal_quantile_agrees_with_scipy(p):
    assert normal_quantile(p) == pytest.approx(scipy.special.ndtri(p), rel=1e-13, abs=1e-15)


@given(st.floats(-800, 800) | st.sampled_from([np.inf, -np.inf]), st.floats(0, 1))
def test_logistic_and_logit_agree_with_scipy(x, p):
    assert logistic(x) == pytest.approx(scipy.special.expit(x), rel=1e-14)
    assert logit(p) == pytest.approx(scipy.special.logit(p), rel=1e-14)


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
    logit(np.broadcast_to(0.5, 3))
    assert names >= {file.name.rsplit(".", 2)[0] for file in _bitcode.FOLDER.glob("*.bc")}
