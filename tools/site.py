"""Build the manual of every version, with the demo's report: ``python -m tools.site site``.

`site/latest` is this tree, `site/0.3` the newest release 0.3.x, and so on, each built from its tag. `versions.json` is
what the theme's version selector reads; `index.html` leads to the newest release, or to `latest` before the first.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
TAG = re.compile(r"v(\d+)\.(\d+)\.(\d+)")
FIRST = (0, 3)
"""The first version whose manual this program can build."""


def releases(tags: Iterable[str]) -> dict[str, str]:
    """The newest tag of each minor version, the newest version first.

    >>> releases(["v0.2.0", "v0.3.9", "v0.3.10", "v0.10.0", "v0.4.0rc1", "nightly"])
    {'0.10': 'v0.10.0', '0.3': 'v0.3.10'}
    """
    numbers = (tuple(map(int, found.groups())) for tag in tags if (found := TAG.fullmatch(tag)))
    newest = {number[:2]: number for number in sorted(numbers) if number[:2] >= FIRST}
    found = ((".".join(map(str, minor)), "v" + ".".join(map(str, own))) for minor, own in newest.items())
    return dict(sorted(found, key=lambda item: tuple(map(int, item[0].split("."))), reverse=True))


def selector(versions: Iterable[str]) -> str:
    """The file of the theme's version selector.

    >>> selector(["latest", "0.3"])
    '[{"version": "latest", "title": "latest", "aliases": []}, {"version": "0.3", "title": "0.3", "aliases": []}]'
    """
    return json.dumps([{"version": name, "title": name, "aliases": []} for name in versions])


def build(tree: Path, target: Path) -> None:
    """The manual of a tree, and beside it the report that its demo makes."""
    paths = os.pathsep.join(str(tree / part) for part in ("src", "lab/src"))
    environment = {**os.environ, "PYTHONPATH": paths, "NO_MKDOCS_2_WARNING": "1"}

    def run(*words: str | Path) -> None:
        subprocess.run([sys.executable, "-m", *map(str, words)], cwd=tree, env=environment, check=True)

    run("mkdocs", "build", "--strict", "--quiet", "--site-dir", target.resolve())
    with tempfile.TemporaryDirectory() as folder:
        run("surefoot", "demo", "-o", folder)
        (target / "demo").mkdir()
        shutil.copy(Path(folder) / "report.html", target / "demo" / "report.html")


def main(site: Path) -> None:
    """All versions."""
    listed = subprocess.run(["git", "tag"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    found = releases(listed)
    build(ROOT, site / "latest")
    for minor, tag in found.items():
        with tempfile.TemporaryDirectory() as folder:
            tree = Path(folder) / "tree"
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", tree, tag], cwd=ROOT, check=True)
            try:
                build(tree, site / minor)
            finally:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    (site / "versions.json").write_text(selector(["latest", *found]))
    first = next(iter(found), "latest")
    (site / "index.html").write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={first}/">\n')


if __name__ == "__main__":
    main(Path(sys.argv[1]))
