"""HTML pages in one file: they load nothing, send nothing, and run only their own script."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Sequence
from hashlib import sha256
from importlib.resources import files
from string import Template


def self_contained(package: str, scripts: Sequence[str], data: object) -> str:
    """A page made of a package's template.html, style.css, scripts and data.

    The style that all pages share precedes the package's own. A script ``package:name`` comes from another package.
    """
    style = _part("surefoot.show", "base.css") + _part(package, "style.css")
    homes = (name.rpartition(":") for name in scripts)
    parts = [_part(home or package, f"{name}.js") for home, _, name in homes]
    script = '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"
    return Template(_part(package, "template.html")).substitute(
        policy=_policy(style, script), style=style, data=embedded(data), script=script
    )


def embedded(data: object) -> str:
    r"""JSON for a script element, which no name in it can close: ``<`` never appears.

    >>> embedded({"name": "</script><!-- é"})
    '{"name":"\\u003c/script\\u003e\\u003c!-- \\u00e9"}'
    """
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _part(package: str, name: str) -> str:
    return files(package).joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """The content security policy: the page may use this script and this style, and load or send nothing."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
