"""README.md as an index shows it, with absolute links and the installation from it: python docs/absolute_readme.py.

Run it in a checkout that is built.
The address is ``Repository`` of ``[project.urls]`` in pyproject.toml, the one place where it stands.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?!https?:|#)(?P<target>[^)\s]+)\)")

CLONE = "pip install . ./lab      # in a clone; ./lab is only needed for the demo"
INDEX = "pip install surefoot surefoot-lab    # surefoot-lab is only needed for the demo"


def absolute(text: str, address: str, tag: str) -> str:
    """The text with every link into the repository as one to its tag; pictures as what they are.

    >>> absolute("![A](docs/a.png) [b](docs/b.md) [c](https://c.org)", "https://host/we/it", "v1")
    '![A](https://host/we/it/raw/v1/docs/a.png) [b](https://host/we/it/blob/v1/docs/b.md) [c](https://c.org)'
    """

    def link(found: re.Match[str]) -> str:
        kind = "raw" if found["picture"] else "blob"
        return f"{found['picture']}[{found['text']}]({address}/{kind}/{tag}/{found['target']})"

    return LINK.sub(link, text)


def main() -> None:
    """Rewrite README.md for the tag of the version in the source."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    address = project.get("urls", {}).get("Repository", "").rstrip("/")
    if not address:
        sys.exit("pyproject.toml has no address: add Repository to [project.urls] before a release")
    source = (ROOT / "src/surefoot/_version.py").read_text(encoding="utf-8")
    (version,) = re.findall(r'^__version__ = "(.+)"$', source, re.MULTILINE)
    readme = ROOT / "README.md"
    text = readme.read_text(encoding="utf-8").replace(CLONE, INDEX)
    readme.write_text(absolute(text, address, f"v{version}"), encoding="utf-8")


if __name__ == "__main__":
    main()
