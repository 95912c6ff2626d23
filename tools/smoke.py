"""Try an installed wheel: ``python smoke.py``, in an environment that has only surefoot and numpy.

It compares two small runs by the command, reads the verdict of the gate, and checks that the native library is the one
of the wheel. It imports nothing of the repository.
"""

import json
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

import surefoot


def command(*words: str, code: int = 0) -> str:
    """The output of a command, which must end with this code."""
    found = subprocess.run([sys.executable, "-m", "surefoot", *words], capture_output=True, text=True, check=False)
    assert found.returncode == code, found.stderr
    return found.stdout


def main() -> None:
    """Compare, evaluate and gate."""
    home = Path(surefoot.__file__).parent
    assert "site-packages" in home.parts, f"{home} is not an installed wheel"
    assert not [*home.glob("native/*.c")], "the wheel has C sources"
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, new, qrels = (folder / file for file in ("old.run", "new.run", "qrels.txt"))
        topics = range(60)
        old.write_text("".join(f"q{t} Q0 d{d} 0 {9 - d} old\n" for t in topics for d in range(5)))
        new.write_text("".join(f"q{t} Q0 d{d} 0 {d} new\n" for t in topics for d in range(5)))
        qrels.write_text("".join(f"q{t} 0 d{4 if t % 6 else 0} 1\n" for t in topics))
        runs = [str(old), str(new), "--qrels", str(qrels)]
        assert "50" in command("compare", *runs)
        rows = json.loads(command("evaluate", *runs, "--baseline", "old", "--format", "json"))["rows"]
        assert [(row["system"], row["wins"], row["losses"]) for row in rows] == [("old", 0, 0), ("new", 50, 10)]
        verdict = json.loads(command("gate", *runs, "--baseline", "old", "--candidate", "new", "--format", "json"))
        assert verdict["verdict"] == "pass", verdict["verdict"]
        command("gate", *runs, "--baseline", "new", "--candidate", "old", code=1)
    print(f"surefoot {version('surefoot')} works on Python {sys.version.split()[0]}, {sys.platform}")


if __name__ == "__main__":
    main()
