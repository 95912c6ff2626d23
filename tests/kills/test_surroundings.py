"""Full disks, folders that can't be written, no home, signals, processes and threads side by side.

Each gives one line, or the right result.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.tradeoff.store import ModelStore

import surefoot
from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.io.atomic import sole_writer
from surefoot.learn import RankingData, Settings, train
from surefoot.learn.training import resolve_run
from tests.learn.small_rankings import BASELINE, TRAINING

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and limits of POSIX")

SMALL = Settings(n_estimators=3, min_child_samples=1, n_jobs=1)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    rng, queries = np.random.default_rng(0), np.arange(160) // 8
    rows = (f"{rng.integers(3)} qid:{q} 1:{rng.random():.3f} 2:{rng.random():.3f}\n" for q in queries)
    (tmp_path / "train.txt").write_text("".join(rows))
    topics = "".join(f"q{i},{i % 7 / 7},{i % 5 / 5}\n" for i in range(400))
    (tmp_path / "scores.csv").write_text(f"topic,a,b\n{topics}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRAIN = "train --train train.txt --baseline feature:1 --leaves 4 --docs-per-leaf 2 --threads 1 -o model --trees"


def said_by(command: str, code: int = 2, before: str = "", **environment: str) -> str:
    """Run a command in a shell; it must end with this exit code and, if that is not 0, with one line that says why.

    What takes long, as everything does on a busy machine, tells its progress before.
    """
    found = subprocess.run(
        ["bash", "-c", f"{before}exec {sys.executable} -m surefoot {command}"],
        capture_output=True, text=True, env={**os.environ, **environment}, timeout=600,
    )  # fmt: skip
    assert found.returncode == code, found.stderr
    errors = [line for line in found.stderr.splitlines() if line.startswith("surefoot ")]
    assert len(errors) == (code != 0), found.stderr
    assert "Traceback" not in found.stderr
    return errors[0] if errors else found.stdout


def test_a_second_training_in_one_folder_is_one_line(folder):
    ours = train(TRAINING, BASELINE, SMALL, output="model").model.text
    with sole_writer("model"):
        for resume in (False, True):
            with pytest.raises(SurefootError, match="model: another process writes to it; wait for it"):
                train(TRAINING, BASELINE, SMALL, output="model", resume=resume)
    assert train(TRAINING, BASELINE, SMALL, output="model").model.text == ours


def test_a_second_process_in_one_store_or_experiment_is_one_line(folder):
    run = resolve_run(TRAINING, BASELINE, SMALL)
    Path("models/mine").mkdir(parents=True)
    with sole_writer("models/mine"), pytest.raises(SurefootError, match="mine: another process writes to it"):
        ModelStore("models").get_or_train(run, "mine")
    Path("out").mkdir()
    Path("plan.toml").write_text('data = ["train.txt"]\nbaseline = "feature:1"\nalphas = [1]\ntrees = [2]\nfolds = 3\n')
    with sole_writer("out"):
        assert main(["experiment", "plan.toml", "-o", "out"]) == 2


def at_once(*commands: str) -> list[int]:
    """Start commands side by side; the exit codes."""
    jobs = [
        subprocess.Popen([sys.executable, "-m", "surefoot", *one.split()], stdout=-1, stderr=-1) for one in commands
    ]
    for job in jobs:
        said = job.communicate(timeout=600)[1]
        assert b"Traceback" not in said
    return [job.returncode for job in jobs]


@pytest.fixture
def tables(folder: Path) -> list[str]:
    """Three tables of the systems a, b, c and d, with 20 queries each, and one of all queries."""
    lines = [f"q{i},{i % 7 / 7:.3f},{i % 5 / 5:.3f},{i % 4 / 4:.3f},{i % 3 / 3:.3f}\n" for i in range(60)]
    for name, own in (("all", lines), *((f"part{i}", lines[20 * i : 20 * i + 20]) for i in range(3))):
        Path(f"{name}.csv").write_text("topic,a,b,c,d\n" + "".join(own))
    return [f"part{i}.csv" for i in range(3)]


def test_gates_at_once_all_count_in_one_ratchet(tables):
    gate = "gate --scores all.csv --ratchet accepted.json"
    assert at_once(f"{gate} --candidate a --accept") == [0]
    assert 2 not in at_once(*(f"{gate} --candidate {name}" for name in "bcd"))
    assert len(json.loads(Path("accepted.json").read_text())["asked"]) == 3


def test_looks_at_once_all_count_in_one_sequential_state(tables):
    pair = "--baseline a --candidate b --sequential state.json"
    assert 2 not in at_once(*(f"gate --scores {table} {pair}" for table in tables))
    assert main(["gate", "--scores", "all.csv", *pair.split()]) != 2
    text = Path("state.json").read_text()
    assert all(f'"q{number}"' in text for number in range(60))


def test_acknowledgements_at_once_are_all_kept(tables):
    gate = "gate --scores all.csv --baseline a --candidate b --acknowledged losses.toml --why known --acknowledge"
    assert 2 not in at_once(*(f"{gate} q{number}" for number in (5, 6, 10)))
    text = Path("losses.toml").read_text()
    assert all(f'"q{number}"' in text for number in (5, 6, 10))


def test_sweeps_at_once_leave_the_models_of_one(folder):
    words = "tradeoff --train train.txt --test train.txt --baseline feature:1 --leaves 4 --docs-per-leaf 2 --threads 1"
    words += " --trees 5 --alpha 1 --n-resamples 50 -o"
    assert at_once(f"{words} one") == [0]
    assert set(at_once(f"{words} both", f"{words} both")) <= {0, 2}
    assert at_once(f"{words} both") == [0]  # what is there is taken
    one, both = (
        {path.relative_to(top): path.read_bytes() for path in Path(top).rglob("*.txt")} for top in ("one", "both")
    )
    assert one == both
    assert one


def test_the_lock_of_a_killed_process_is_gone(folder):
    code = "import time\nfrom surefoot.io.atomic import sole_writer\n"
    code += "with sole_writer('.'):\n    print(flush=True)\n    time.sleep(99)"
    other = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
    assert other.stdout is not None
    other.stdout.readline()
    with pytest.raises(SurefootError), sole_writer("."):
        pass
    other.kill()
    other.wait()
    other.stdout.close()
    with sole_writer("."):
        pass


def test_resuming_what_has_not_begun_begins(folder):
    assert main([*TRAIN.split(), "3", "--resume"]) == 0
    assert Path("model/card.json").exists()


def test_a_full_disk_is_one_line_and_leaves_no_draft(folder):
    """A limit on the size of files fails as a full disk does, after a part was written."""
    said = said_by(f"{TRAIN} 200", before="trap '' XFSZ; ulimit -f 4; ")
    assert "model.txt: can't be written: File too large" in said
    assert not any(path.name.endswith(".part") for path in Path("model").iterdir())
    assert not Path("model/card.json").exists()
    said = said_by(
        "explore --scores scores.csv --system a --baseline b -o out.csv", before="trap '' XFSZ; ulimit -f 4; "
    )
    assert "out.csv: can't be written: File too large" in said
    assert not Path("out.csv").exists()


def test_a_full_device_is_one_line(folder):
    if not Path("/dev/full").exists():
        pytest.skip("there is no /dev/full")
    for command in ("evaluate --scores scores.csv --baseline b", "explore --scores scores.csv --system a --baseline b"):
        assert "No space left on device" in said_by(f"{command} > /dev/full")


@pytest.mark.parametrize("end", ["2>&-", ">&- 2>&-", "<&- >&- 2>&-", "2>/dev/full"])
def test_messages_that_nobody_can_read_change_no_exit_code(folder, end):
    churn = "gate --scores scores.csv --baseline a --candidate b --max-churn 0"
    for command, code in ((f"{TRAIN} 2 --force", 0), (churn, 1)):
        shell = f"{sys.executable} -m surefoot {command} {end}"
        assert subprocess.run(["bash", "-c", shell], stdout=subprocess.DEVNULL, timeout=600).returncode == code


def test_a_folder_that_cannot_be_written_is_one_line(folder):
    """A file in place of the folder: unlike missing permissions, this stops an administrator too."""
    Path("file").write_text("")
    assert "file/model: Not a directory" in said_by(f"{TRAIN.replace('-o model', '-o file/model')} 2")
    assert "file/a.csv: can't be written" in said_by("evaluate --scores scores.csv -o file/a.csv")
    assert "file/demo: can't be written: Not a directory" in said_by("demo -o file/demo")


def test_without_a_home_and_with_caches_that_cannot_be_written_results_are_right(folder):
    command = "evaluate --scores scores.csv --baseline b --format csv"
    right = said_by(command, 0)
    Path("file").write_text("")
    nowhere = {"HOME": "/nonexistent", "XDG_CACHE_HOME": str(folder / "file"), "SUREFOOT_CACHE": str(folder / "file/a")}
    assert said_by(command, 0, **nowhere) == right
    assert said_by(command, 0, before="unset HOME; ") == right
    assert said_by(f"{TRAIN} 2", 0, **nowhere)


def test_processes_that_compile_at_once_all_succeed(folder):
    code = "import pathlib, surefoot.native.build as b\nb.build(pathlib.Path('libsurefoot.so').resolve())"
    jobs = [subprocess.Popen([sys.executable, "-c", code], stdout=-1, stderr=-1) for _ in range(3)]
    assert {job.communicate(timeout=300) for job in jobs} == {(b"", b"")}
    assert ctypes.CDLL(str(folder / "libsurefoot.so")).sf_level_base() in (0, 1)
    assert not [*folder.glob(".build-*")]


def test_threads_score_and_train_side_by_side():
    data = RankingData.of(np.arange(64.0)[:, None] % 7, np.arange(64) % 3, qid=np.arange(64) // 8)
    scores = surefoot.Scores(np.random.default_rng(0).random((3, 50)), ["a", "b", "c"], range(50))

    def work(number: int) -> str:
        if number % 2:
            return str(surefoot.evaluate(scores, "a", [1.0]).to_frame().rows())
        return train(data, "feature:0", SMALL).model.text

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, range(12)))
    assert set(found[0::2]) == {work(0)}
    assert set(found[1::2]) == {work(1)}


def test_an_interrupt_is_one_line_and_keeps_a_checkpoint(folder):
    process = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, *TRAIN.split(), "100000"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    process.stdout.readline()  # the third iteration is done
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=300)
    assert process.returncode == 130
    expected = "model/checkpoint.json has the work done so far; continue with --resume\nsurefoot train: stopped\n"
    assert errors.decode().endswith(expected)
    assert b"Traceback" not in errors
    assert [path.name for path in Path("model").iterdir()] == ["checkpoint.json"]


INTERRUPTED = """
import sys
from surefoot.cli import main, train
from surefoot.cli.train import _progress
from contextlib import contextmanager

@contextmanager
def loud(settings):
    with _progress(settings) as report:
        def tell(at):
            report(at)
            if at.iteration == 3:
                print(flush=True)
        yield tell

train._progress = loud
sys.exit(main(sys.argv[1:]))
"""
