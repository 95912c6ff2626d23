"""Installed size and number of packages: `python -m tools.weight [REQUIREMENT ...] [options of pip install]`.

pip installs each requirement into an empty folder, with byte code. A plus sign joins several that belong together. By
default: the package, its extras, and the lab.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

DEFAULT = [".", ".[plots]", ".[frames]", ".[learn]", ".[all]", ".+./lab"]


def weigh(requirement: str, options: list[str]) -> tuple[int, list[Path]]:
    """The bytes that a requirement installs, and the packages' folders of metadata."""
    with TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", folder]
        subprocess.run([*command, *options, *requirement.split("+")], check=True)
        files = [path for path in Path(folder).rglob("*") if path.is_file() and not path.is_symlink()]
        return sum(path.stat().st_size for path in files), sorted(Path(folder).glob("*.dist-info"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("requirements", nargs="*", default=DEFAULT)
    parser.add_argument("--names", action="store_true", help="list the packages")
    arguments, options = parser.parse_known_args()
    for requirement in arguments.requirements:
        size, packages = weigh(requirement, options)
        print(f"{requirement:<30} {size / 1e6:8.0f} MB {len(packages):5} packages", flush=True)
        if arguments.names:
            print("   ", *(package.name.rpartition("-")[0] for package in packages))


if __name__ == "__main__":
    main()
