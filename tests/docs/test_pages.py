"""Every code block of the README and the manual runs, in the order of the page, and prints the output shown.

The pictures of guides are made by their blocks: ``figures/demo-plane.png`` is the ``plane.png`` that a block draws.
``SUREFOOT_WRITE_PAGES=1 pytest tests/docs`` writes pictures and outputs that have changed into the pages.
"""

import os
import re
import runpy
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from tests.docs.conftest import DEMO, Python, run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md")), *sorted((ROOT / "skills").glob("*/SKILL.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNS = {"sh", "python"}
NEEDS = re.compile(r'needs="(\w+)"')
"""On the first line of a block: the package, in no lock, that it needs."""
PICTURE = re.compile(r"!\[[^\]]*\]\((figures/demo-([\w-]+\.png))\)")
WRITE = bool(os.environ.get("SUREFOOT_WRITE_PAGES"))
"""Whether pages are written again, instead of compared."""
ALIKE = 0.02
"""The largest root mean square difference of two pictures that are the same; they are written with few colours."""
DEMO_PYTHON = (3, 11)
"""The embedded collection, and with it the output shown, depends on the version of Python."""


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """The language, the rest of the first line, and the text of each block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


RUNNING = [page for page in PAGES if any(language in RUNS for language, _, _ in blocks(page))]


def script_of(block: str) -> str:
    """The block as one script that ends at the first command that fails; ``# exit 1`` says that a command should."""
    expected = re.compile(r"^(.*?)\s*# exit (\d).*$", re.MULTILINE)
    return expected.sub(r"if \1; then exit 99; else test $? = \2; fi", block.replace("\\\n", " ").replace(DEMO, ""))


def assert_shown(shown: str, printed: str) -> None:
    """The lines of a block ``text output`` were printed; a line ``...`` stands for any lines."""
    start = 0
    for piece in re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE):
        assert (start := printed.find(piece, start)) >= 0, f"{piece}\nis not in\n{printed}"


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page: Path, demo: Path, tmp_path: Path) -> None:
    for _, options, _ in blocks(page):
        if (needed := NEEDS.search(options)) and find_spec(needed[1]) is None:
            pytest.skip(f"{needed[1]} is not installed")
    printed, comparable = "", True
    with Python(tmp_path) as python:
        for language, options, text in blocks(page):
            if language == "text" and "output" in options.split() and comparable:
                check_output(page, text, printed)
            if re.search(r'skip="[^"]+"', options) or language not in RUNS:
                continue
            if language == "python":
                printed = python.run(text)
                continue
            if DEMO in text:
                shutil.copytree(demo, tmp_path / "demo")
                comparable = sys.version_info[:2] == DEMO_PYTHON
            printed = run(["bash", "-e", "-o", "pipefail", "-c", script_of(text)], tmp_path)

    for shown, name in PICTURE.findall(page.read_text(encoding="utf-8")) if comparable else ():
        check_picture(page.parent / shown, tmp_path / name)


def check_output(page: Path, shown: str, printed: str) -> None:
    """The block shows what was printed, or is written again with as many of its lines."""
    try:
        assert_shown(shown, printed)
    except AssertionError:
        if not WRITE:
            raise
        pieces = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
        assert len(pieces) == 1, f"{page}: a block with left out lines is to be written by hand:\n{printed}"
        lines = printed.splitlines(keepends=True)[: shown.count("\n")]
        page.write_text(page.read_text(encoding="utf-8").replace(shown, "".join(lines)), encoding="utf-8")


def check_picture(shown: Path, made: Path) -> None:
    """The picture on the page is the one that a block made, or is replaced by it."""
    assert made.exists(), f"no block draws {made.name}, which {shown} shows"
    runpy.run_path(str(ROOT / "docs" / "make_figures.py"))["shrink"](made)
    if differ(shown, made) <= ALIKE:
        return
    assert WRITE, f"{shown} is not what its page draws now: run SUREFOOT_WRITE_PAGES=1 pytest tests/docs"
    shutil.copyfile(made, shown)


def differ(one: Path, other: Path) -> float:
    """The root mean square difference of two pictures, 0 to 1; 1 if their sizes differ."""
    from matplotlib.image import imread

    first, second = (np.asarray(imread(path))[..., :3] for path in (one, other))
    return float(np.sqrt(np.mean((first - second) ** 2))) if first.shape == second.shape else 1.0


def test_another_picture_is_seen(tmp_path: Path) -> None:
    plane, helped = (ROOT / "docs" / "figures" / f"demo-{name}.png" for name in ("plane", "helped"))
    assert differ(plane, plane) == 0
    assert differ(plane, helped) > ALIKE
    with pytest.raises(AssertionError, match=r"no block draws gone\.png"):
        check_picture(plane, tmp_path / "gone.png")


def test_a_page_that_shows_other_output_is_seen() -> None:
    assert_shown("one\n...\nthree\n", "one\ntwo\nthree\n")
    for wrong in ("four\n", "three\n...\none\n", "one\nthree\n"):
        with pytest.raises(AssertionError):
            assert_shown(wrong, "one\ntwo\nthree\n")


def test_blocks_say_their_language() -> None:
    for page in PAGES:
        bare = re.findall(r"^```$\n(?=[^\n])", re.sub(BLOCK, "", page.read_text(encoding="utf-8")), re.MULTILINE)
        assert not bare, page


def test_the_list_for_language_models_has_every_page() -> None:
    """Each page of the manual, once, by its title."""
    lines = (ROOT / "docs" / "llms.txt").read_text(encoding="utf-8")
    listed = dict(re.findall(r"^- \[(.*)\]\((.*)\)$", lines, re.MULTILINE))
    wanted = {
        page.relative_to(ROOT / "docs")
        for folder in (".", "research")
        for page in (ROOT / "docs" / folder).glob("*.md")
    }
    assert {Path(link) for link in listed.values()} == wanted - {Path("README.md")} | {Path("studies/README.md")}
    for title, link in listed.items():
        assert (ROOT / "docs" / link).read_text(encoding="utf-8").startswith(f"# {title}\n"), link
