"""Write a software bill of materials: ``python -m tools.sbom requirements/run.lock > sbom.json``.

CycloneDX 1.6, one component for each package of the lock, with its version, its marker and the hashes of its files.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

PINNED = re.compile(r"(?P<name>[\w.-]+)(\[.*\])?==(?P<version>[^\s;\\]+)\s*(;(?P<marker>[^\\]*))?")
HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def components(lock: str) -> list[dict[str, Any]]:
    """The packages of a lock.

    >>> components("numpy==2.1.0 ; python_version < '3.14' --hash=sha256:" + 64 * "0")[0]["purl"]
    'pkg:pypi/numpy@2.1.0'
    """
    found = []
    for entry in re.split(r"\n(?=[^\s#])", lock.replace("\\\n", " ")):
        pinned = PINNED.match(entry)
        if pinned is None:
            continue
        name, version = pinned["name"].lower().replace("_", "-"), pinned["version"]
        address = f"pkg:pypi/{name}@{version}"
        own: dict[str, Any] = {"type": "library", "bom-ref": f"{address}#{len(found)}", "name": name,
                               "version": version, "purl": address}  # fmt: skip
        if hashes := HASH.findall(entry):
            own["hashes"] = [{"alg": "SHA-256", "content": digest} for digest in hashes]
        if marker := (pinned["marker"] or "").partition("--hash")[0].strip():
            own["properties"] = [{"name": "marker", "value": marker}]
        found.append(own)
    return found


def bill(lock: Path) -> dict[str, Any]:
    """The bill of a lock, with Surefoot as its subject."""
    from surefoot._version import __version__

    subject = {"type": "application", "bom-ref": "surefoot", "name": "surefoot", "version": __version__,
               "purl": f"pkg:pypi/surefoot@{__version__}", "licenses": [{"license": {"id": "Apache-2.0"}}]}  # fmt: skip
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": subject, "properties": [{"name": "lock", "value": lock.name}]},
        "components": components(lock.read_text(encoding="utf-8")),
    }


if __name__ == "__main__":
    print(json.dumps(bill(Path(sys.argv[1])), indent=1))
