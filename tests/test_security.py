"""What SECURITY.md promises of the source itself; what is promised of inputs and outputs is tested beside the code.

Hostile names in HTML, Markdown, LaTeX, JUnit, CSV and the terminal: tests/show/report/test_page.py, test_judging.py,
tests/release_gate/test_render.py, tests/io/test_results.py. Downloads, redirects and archives:
tests/lab/datasets/test_download.py. Modes of files: tests/io/test_atomic.py.
"""

import ast
import csv
import io
import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import pytest
import surefoot_lab

import surefoot
from surefoot.io.atomic import replacing

SOURCES = sorted(path for package in (surefoot, surefoot_lab) for path in Path(package.__file__).parent.rglob("*.py"))
UNPICKLES = {"spark.py", "streaming.py"}
"""Workers of one Spark job exchange pickles."""
REMOVE = {"cli/collect.py", "io/atomic.py", "learn/models.py"}
"""Drafts and locks; what a finished `collect` kept to go on; the card of a model that is replaced."""
REMOVE |= {"datasets/download.py", "datasets/prepare.py", "datasets/store.py"}
"""Parts of downloads, in the folder of that name."""


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


NAMES = {"old": "::old", "new": "::error::new"}
INPUTS = "old.run new.run --qrels qrels.txt --names tag --baseline ::old"
PAIR = f"{INPUTS} --candidate ::error::new"
TEXTS = [
    f"evaluate {INPUTS}",
    f"evaluate {INPUTS} --format csv",
    f"evaluate {INPUTS} --format json",
    f"explore {PAIR} --queries queries.tsv --format csv",
    f"explore {PAIR} --queries queries.tsv --format json",
    f"explore {PAIR} --documents --queries queries.tsv",
    f"gate {PAIR} --format json",
    f"judge {PAIR} -o to-judge.csv",
    "compare old.run new.run --qrels qrels.txt --queries queries.tsv",
    "scores old.run new.run --qrels qrels.txt --names tag",
    "doctor queries.tsv old.run",
    "evaluate ::error::x.run --qrels qrels.txt",
]


def surefoot_says(words: Sequence[str], folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "surefoot", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, encoding="utf-8")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Runs, judgments and texts whose names GitHub would take for commands."""
    folder = tmp_path_factory.mktemp("hostile")
    topics = ["::error::x", "a##[error]y", "a##vso[task.complete]", "q1", "q2", "q3", "q4"]
    for name, tag in NAMES.items():
        documents = ["::d1", "::d2"] if name == "old" else ["::d2", "::d1"]
        lines = [f"{topic} Q0 {one} 1 {-rank} {tag}" for topic in topics for rank, one in enumerate(documents)]
        (folder / f"{name}.run").write_text("\n".join(lines))
    (folder / "qrels.txt").write_text("".join(f"{topic} 0 ::d1 1\n{topic} 0 ::d2 0\n" for topic in topics))
    (folder / "queries.tsv").write_text("".join(f"{topic}\t::error::text ##[error]\n" for topic in topics))
    return folder


@pytest.mark.parametrize("words", TEXTS)
def test_no_printed_line_is_a_command_of_github(hostile: Path, words: str) -> None:
    """GitHub takes a line for a command if it begins with ::, or has ##[ anywhere; others if it has ##NAME[."""
    done = surefoot_says(words.split(), hostile)
    lines = (done.stdout + done.stderr).splitlines()
    assert lines
    assert not [line for line in lines if line.strip().startswith("::") or re.search(r"##\w*\[", line)]


STEERING = ["\x1b]0;title\x07", "\x1b[8mhidden", "\x9b31m", "\u202eturned", "\x7f"]
PRINTS = [
    "doctor old.json new.json qrels.json scores.json",
    "scores old.json new.json --qrels qrels.json",
    "judge old.json new.json --qrels qrels.json --candidate new --baseline old --enough 1",
    *(f"evaluate --scores scores.json --format {name}" for name in ("table", "csv", "json", "md", "latex")),
]


@pytest.mark.skipif(sys.platform == "win32", reason="this system has no pseudo-terminals")
@pytest.mark.parametrize("words", PRINTS)
def test_no_name_steers_the_terminal(tmp_path: Path, words: str) -> None:
    ranked = {topic: {f"{topic}{number}": 1.5 / (1 + number) for number in range(9)} for topic in STEERING}
    for name, content in {"old": ranked, "new": {topic: own | {"d": 9.0} for topic, own in ranked.items()}}.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    (tmp_path / "qrels.json").write_text(json.dumps({topic: {f"{topic}0": 0, f"{topic}1": 1} for topic in STEERING}))
    rows = [{"topic": topic, "system": name, "value": 0.5} for topic in STEERING for name in STEERING]
    (tmp_path / "scores.json").write_text(json.dumps(rows))
    printed = in_terminal(words.split(), tmp_path)
    assert len(printed) > 80
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e]", printed)


def in_terminal(words: Sequence[str], folder: Path) -> str:
    """What a command prints where standard output is a terminal without colours."""
    import pty

    ours, its = pty.openpty()
    command, environment = [sys.executable, "-m", "surefoot", *words], {**os.environ, "NO_COLOR": "1"}
    parts = []
    with subprocess.Popen(command, cwd=folder, stdout=its, stderr=subprocess.DEVNULL, env=environment):
        os.close(its)
        with suppress(OSError):  # Linux reports the end as an error
            while part := os.read(ours, 1 << 16):
                parts.append(part)
    os.close(ours)
    return b"".join(parts).decode()


def test_no_text_is_a_formula_in_the_list_of_documents_to_judge(tmp_path: Path) -> None:
    ranked = {f"q{topic}": {f"d{number}": 1.5 / (1 + number) for number in range(9)} for topic in range(4)}
    (tmp_path / "old.json").write_text(json.dumps(ranked))
    (tmp_path / "new.json").write_text(json.dumps({topic: own | {"d": 9.0} for topic, own in ranked.items()}))
    (tmp_path / "qrels.json").write_text(json.dumps({topic: {"d0": 0, "d1": 1} for topic in ranked}))
    (tmp_path / "queries.tsv").write_text("".join(f"{topic}\t=1+1\n" for topic in ranked))
    (tmp_path / "texts.tsv").write_text("".join(f"d{number}\t@SUM(1)\n" for number in ("", *range(9))))
    words = "judge old.json new.json --qrels qrels.json --candidate new --baseline old --enough 1 --queries queries.tsv"
    written = surefoot_says([*words.split(), "--documents-text", "texts.tsv"], tmp_path).stdout
    rows = [*csv.DictReader(io.StringIO(written))]
    assert {(row["query"], row["text"]) for row in rows} == {("'=1+1", "'@SUM(1)")}


def test_names_that_are_commands_survive_csv_and_json(hostile: Path) -> None:
    written = surefoot_says(TEXTS[1].split(), hostile).stdout
    assert [row["system"] for row in csv.DictReader(io.StringIO(written))] == [*NAMES.values()]
    whole = json.loads(surefoot_says(TEXTS[4].split(), hostile).stdout)
    assert {"a##[error]y", "a##vso[task.complete]", "::error::x"} <= {row["topic"] for row in whole["rows"]}
    with (hostile / "scores.csv").open("w") as file:
        subprocess.run([sys.executable, "-m", "surefoot", *TEXTS[9].split()], cwd=hostile, stdout=file, check=True)
    scores = surefoot.read_scores(hostile / "scores.csv")
    assert scores.systems == tuple(NAMES.values())
    assert {"a##[error]y", "::error::x"} <= set(scores.topics)


def test_a_file_that_looks_like_standard_input_is_refused(hostile: Path) -> None:
    """With a file of that name, * would make the command wait for somebody to type."""
    (hostile / "-").write_bytes((hostile / "old.run").read_bytes())
    try:
        refused = surefoot_says(["evaluate", "-", "new.run", "--qrels", "qrels.txt"], hostile)
        assert refused.returncode == 2
        assert "- may be an option or a file of that name" in refused.stderr
        assert surefoot_says(["evaluate", "./-", "new.run", "--qrels", "qrels.txt"], hostile).returncode == 0
    finally:
        (hostile / "-").unlink()


def test_files_that_look_like_options_are_files_or_refused(hostile: Path) -> None:
    """A shell puts the file --off=tail in the place of *; a gate must not take it for an option."""
    name = "--off=tail"
    (hostile / name).write_bytes((hostile / "old.run").read_bytes())
    try:
        given = ["gate", "--qrels", "qrels.txt", "--baseline", "old", "--candidate", "new"]
        refused = surefoot_says([*given, name, "old.run", "new.run"], hostile)
        assert refused.returncode == 2
        assert "--off=tail may be an option or a file of that name" in refused.stderr
        for words in ([*given, "--", name, "old.run", "new.run"], [*given, f"./{name}", "old.run", "new.run"]):
            assert surefoot_says(words, hostile).returncode == 1, words
    finally:
        (hostile / name).unlink()


def test_only_known_places_remove_files() -> None:
    """No cache is evicted: a folder that the user names may hold files of others."""
    removes = {
        f"{path.parent.name}/{path.name}"
        for path in SOURCES
        for name, _ in calls(path)
        if re.search(r"(^|\.)(unlink|rmtree|rmdir|removedirs)$|^os\.remove$", name)
    }
    assert removes <= REMOVE, removes - REMOVE
