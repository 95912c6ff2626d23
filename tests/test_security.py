"""What SECURITY.md promises of the source itself; what is promised of inputs and outputs is tested beside the code.

Hostile names in HTML, Markdown, LaTeX, JUnit, CSV and the terminal: tests/show/report/test_page.py, test_judging.py,
tests/release_gate/test_render.py, tests/io/test_results.py. Downloads, redirects and archives:
tests/lab/datasets/test_download.py. Modes of files: tests/io/test_atomic.py.
"""

import ast
import re
from pathlib import Path

import pytest

import surefoot
from surefoot.io.atomic import replacing

SOURCES = sorted(Path(surefoot.__file__).parent.rglob("*.py"))
UNPICKLES = {"spark.py", "streaming.py"}
"""Workers of one Spark job exchange pickles."""


def calls(path: Path) -> list[tuple[str, ast.Call]]:
    """The calls in a source file, each by the dotted name of what is called."""
    tree = ast.parse(path.read_text("utf-8"))
    return [(ast.unparse(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_nothing_is_executed_or_unpickled(path: Path) -> None:
    for name, call in calls(path):
        assert name not in ("eval", "exec", "compile", "os.system", "tempfile.mktemp"), f"{path}:{call.lineno}"
        given = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
        assert given.get("shell", "False") == "False", f"{path}:{call.lineno}"
        if re.fullmatch(r"(np|numpy)\.(load|savez|savez_compressed|save)|\w*\.?read_array|\w*\.?write_array", name):
            assert given.get("allow_pickle") == "False", f"{path}:{call.lineno}"
        if re.search(r"\b(pickle|cloudpickle|joblib|dill|marshal|shelve)\.(load|loads|open|Unpickler)$", name):
            assert path.name in UNPICKLES, f"{path}:{call.lineno}"


def test_drafts_have_names_that_nobody_guesses(tmp_path: Path) -> None:
    names = []
    for _ in range(3):
        with replacing(tmp_path / "a.csv") as draft:
            names.append(draft.name)
            draft.write_text("a")
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"\.a\.csv\.[0-9a-f]{16}\.part", name) for name in names)
