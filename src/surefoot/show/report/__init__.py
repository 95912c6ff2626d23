"""The report: one HTML file with the verdict in words, and every measure behind it."""

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
"""The parts of the page's script; each uses those before it."""


def report(
    scores: Scores,
    baseline: str | None = None,
    alpha: float = 1.0,
    *,
    candidate: str | None = None,
    segments: Mapping[Any, object] | None = None,
    queries: Mapping[str, str] | None = None,
) -> str:
    """An interactive HTML page that compares every system with any baseline at any alpha.

    The page needs no network and no server. Its reader can change the candidate, the baseline and alpha. The same
    arguments give the same text, as long as the versions named at its foot are the same.

    Parameters
    ----------
    scores
        The scores of all systems.
    baseline
        What to compare with first: a system, or MEAN (the default), MEDIAN or MAX of each topic.
    alpha
        The risk sensitivity that the page opens with.
    candidate
        The system that the page opens with. If None it is the one of the best mean, and since that was chosen from
        all, its test is corrected after Holm.
    segments
        The segment of each topic.
    queries
        The text of each topic.

    Returns
    -------
    str
        The page.

    Examples
    --------
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
    """The content security policy: the page may use this script and this style, and load or send nothing."""
    return (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
