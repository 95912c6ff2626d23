"""One HTML file that a team can pass around: the verdict in words first, then every figure behind it."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any

from surefoot.scores import Scores
from surefoot.show.report.payload import LARGEST_ALPHA, embedded, payload

__all__ = ["LARGEST_ALPHA", "report"]

SCRIPTS = ("special", "model", "words", "dom", "tables", "charts", "sections", "details", "page")
"""The page's script, in the order in which its parts build on each other."""


def report(
    scores: Scores,
    baseline: str | None = None,
    candidate: str | None = None,
    *,
    alpha: float = 1.0,
    segments: Mapping[Any, object] | None = None,
    queries: Mapping[str, str] | None = None,
) -> str:
    """A page that shows how every system stands against any baseline at any alpha; it needs no network and no server.

    The page opens with ``candidate`` against ``baseline`` at ``alpha``, all of which its reader can change.
    ``baseline`` is a system, or MEAN (the default), MEDIAN or MAX of each topic. Without a candidate it opens with the
    best mean, and tests that one as what it is, the pick of many: corrected after Holm. ``segments`` maps topics to
    their segment, ``queries`` topics to the words that were searched for.

    The text depends on nothing but the arguments and the versions named at its foot.

    >>> scores = Scores([[0.2, 0.4, 0.4], [0.3, 0.1, 0.5]], ["old", "new"], ["q1", "q2", "q3"])
    >>> report(scores, baseline="old").startswith("<!doctype html>")
    True
    """
    data = payload(scores, baseline, candidate, alpha, segments, queries)
    style = _part("style.css")
    script = '"use strict";\n(() => {\n' + "\n".join(_part(f"{name}.js") for name in SCRIPTS) + "})();\n"
    return Template(_part("template.html")).substitute(
        policy=_policy(style, script),
        style=style,
        data=embedded(data),
        script=script,
    )


def _part(name: str) -> str:
    return files("surefoot.show.report").joinpath(name).read_text(encoding="utf-8")


def _policy(style: str, script: str) -> str:
    """The page may run this script and use this style, and load or send nothing at all."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
