"""Every code block of the README and the manual runs, literally, in the order of the page."""

import re
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.docs.conftest import DEMO, Python, run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
RUNS = {"sh", "python"}
NEEDS = re.compile(r'needs="(\w+)"')
"""On the first line of a block: the package, in no lock, that it needs."""


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """The language, the rest of the first line, and the text of each block."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


RUNNING = [page for page in PAGES if any(language in RUNS for language, _, _ in blocks(page))]


def script_of(block: str) -> str:
    """The block as one script that ends at the first command that fails; ``# exit 1`` says that a command should."""
    expected = re.compile(r"^(.*?)\s*# exit (\d).*$", re.MULTILINE)
    return expected.sub(r"if \1; then exit 99; else test $? = \2; fi", block.replace("\\\n", " ").replace(DEMO, ""))


@pytest.mark.parametrize("page", RUNNING, ids=lambda page: page.name)
def test_every_block_runs(page: Path, demo: Path, tmp_path: Path) -> None:
    for _, options, _ in blocks(page):
        if (needed := NEEDS.search(options)) and find_spec(needed[1]) is None:
            pytest.skip(f"{needed[1]} is not installed")
    with Python(tmp_path) as python:
        for language, options, text in blocks(page):
            if re.search(r'skip="[^"]+"', options) or language not in RUNS:
                continue
            if language == "python":
                python.run(text)
                continue
            if DEMO in text:
                shutil.copytree(demo, tmp_path / "demo")
            run(["bash", "-e", "-o", "pipefail", "-c", script_of(text)], tmp_path)


def test_blocks_say_their_language() -> None:
    for page in PAGES:
        bare = re.findall(r"^```$\n(?=[^\n])", re.sub(BLOCK, "", page.read_text(encoding="utf-8")), re.MULTILINE)
        assert not bare, page.name
