"""Acknowledged losses: a committed file that names queries that may lose, each with its scores and a reason."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

from surefoot._names import as_names, as_utf8, positions
from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, did_you_mean, listed
from surefoot.io.atomic import digest_of, exclusive, write_text
from surefoot.io.shapes import fits
from surefoot.io.small_files import TomlFile, read_toml
from surefoot.release_gate.doubt import lost_results
from surefoot.scores import Scores

LOSSES = "surefoot-losses.toml"
TOLERANCE = 1e-9
"""Scores that differ by at most this are the same."""
HEADER = "# Acknowledged losses of single queries. An entry expires when the score of the query changes again.\n"
TABLE = re.compile(r"""^[ \t]*\[\[[ \t]*(?:loss|"loss"|'loss')[ \t]*\]\]""", re.MULTILINE)


@dataclass(frozen=True)
class Loss:
    """An acknowledged loss: the scores as measured, the reason, and the line of its table in the file."""

    query: str
    measure: str
    baseline_score: float
    candidate_score: float
    reason: str
    date: date
    line: int | None = field(default=None, compare=False)

    def __str__(self) -> str:
        where = "" if self.line is None else f" (line {self.line})"
        return f"{listed([self.query])} in {listed([self.measure])}{where}"


@dataclass(frozen=True)
class Acknowledged:
    """The acknowledged losses of a file, by query and measure."""

    losses: Mapping[tuple[str, str], Loss] = field(default_factory=dict)

    def covers(self, query: str, measure: str, baseline_score: float, candidate_score: float) -> str | None:
        """The reason why a loss was acknowledged; None if it was not.

        The candidate must have the score that was acknowledged, and the loss must not be larger than it was then.
        """
        loss = self.losses.get((query, measure))
        if loss is None or _differ(loss.candidate_score, candidate_score):
            return None
        return loss.reason if baseline_score <= loss.baseline_score + TOLERANCE else None

    @property
    def digest(self) -> str:
        """A digest, for signatures."""
        losses = self.losses.values()
        return digest_of(
            repr(sorted((one.query, one.measure, one.baseline_score, one.candidate_score) for one in losses)), 4
        )

    def expired(self, scores: Sequence[Scores], candidate: str) -> list[Loss]:
        """The entries whose query has another score now; queries and measures without scores don't count."""
        now = {
            (topic, part.measure): score
            for part in scores
            for topic, score in zip(part.topics, part[candidate].tolist(), strict=True)
        }
        return [loss for key, loss in self.losses.items() if key in now and _differ(loss.candidate_score, now[key])]


def read_acknowledged(path: PathLike) -> Acknowledged:
    """Read a file of acknowledged losses; an error names the file and the line."""
    return Acknowledged({(loss.query, loss.measure): loss for _, loss in _read(path)[1]})


def acknowledge(
    path: PathLike,
    comparisons: Sequence[tuple[Scores, str]],
    candidate: str,
    queries: str | Sequence[str],
    why: str,
    *,
    today: date | None = None,
) -> list[Loss]:
    """Acknowledge the losses of queries: add them to the file, or replace their entries.

    Other entries and comments stay as they are. A file that does not exist yet is created.

    Parameters
    ----------
    path
        The file.
    comparisons
        Scores, each with the name of a baseline among them, as the gate compares them. The entry of a query has the
        highest score of the baselines against which it lost.
    candidate
        The candidate.
    queries
        The queries. Each must have lost in at least one comparison; there is one entry for each measure in which it
        lost.
    why
        The reason.
    today
        The date of the entries.

    Returns
    -------
    list[Loss]
        The new entries.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "surefoot-losses.toml")
    >>> scores = Scores([[0.5, 0.8], [0.6, 0.2]], ["old", "new"], ["q1", "q2"], "nDCG@10")
    >>> print(*acknowledge(path, [(scores, "old")], "new", "q2", "the document was deleted"))
    q2 in nDCG@10
    >>> read_acknowledged(path).covers("q2", "nDCG@10", 0.8, 0.2)
    'the document was deleted'
    """
    if not why.strip():
        raise SurefootError("an acknowledged loss needs a reason; say why it is acceptable")
    losses = _losses(comparisons, candidate, as_utf8("query", as_names(queries)), why, today or date.today())
    with exclusive(path):
        preamble, entries = _read(path) if Path(path).exists() else (HEADER, [])
        texts = [preamble]
        left = {(loss.query, loss.measure): loss for loss in losses}
        for text, loss in entries:
            new = left.pop((loss.query, loss.measure), None)
            texts.append(text if new is None else _table(new) + _trailing(text))
        write_text(path, _joined([*texts, *(f"\n{_table(loss)}" for loss in left.values())]))
    return losses


def _losses(
    comparisons: Sequence[tuple[Scores, str]], candidate: str, queries: Sequence[str], why: str, today: date
) -> list[Loss]:
    positions("query", list(dict.fromkeys(topic for scores, _ in comparisons for topic in scores.topics)), queries)
    found: dict[tuple[str, str], Loss] = {}
    for scores, baseline in comparisons:
        pairs = zip(scores.baseline(baseline).tolist(), scores[candidate].tolist(), strict=True)
        by_query = dict(zip(scores.topics, pairs, strict=True))
        emptied = lost_results(scores, candidate, baseline) or ()
        for query in (query for query in queries if query in by_query):
            base, own = by_query[query]
            known = found.get((query, scores.measure))
            has_lost = base > own + TOLERANCE or query in emptied
            if has_lost and (known is None or base > known.baseline_score):
                found[query, scores.measure] = Loss(query, scores.measure, base, own, why, today)
    lost = {query for query, _ in found}
    if unlost := [query for query in dict.fromkeys(queries) if query not in lost]:
        raise SurefootError(f"{candidate} did not lose on {listed(unlost)}; acknowledge only queries that lost")
    return list(found.values())


def _differ(one: float, other: float) -> bool:
    return abs(one - other) > TOLERANCE


def _table(loss: Loss) -> str:
    """An entry as TOML. JSON writes strings as TOML does, except that it does not escape the character DEL."""
    lines = ["[[loss]]"]
    for name in _KEYS:
        value = getattr(loss, name)
        text = (
            json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f") if isinstance(value, str) else str(value)
        )
        lines.append(f"{name} = {text}")
    return "\n".join(lines) + "\n"


def _joined(texts: Sequence[str]) -> str:
    """Texts one after the other, each on lines of its own."""
    return "".join(text if not text or text.endswith("\n") else f"{text}\n" for text in texts)


def _trailing(text: str) -> str:
    """The blank lines and comments after an entry, which are not part of it."""
    lines, content = text.split("\n"), tomllib.loads(text)
    for end in range(1, len(lines)):
        try:
            if tomllib.loads("\n".join(lines[:end]) + "\n") == content:
                return "\n".join(lines[end:])
        except tomllib.TOMLDecodeError:  # in the middle of a multi-line string
            continue
    return ""


def _read(path: PathLike) -> tuple[str, list[tuple[str, Loss]]]:
    """The text before the first entry, and each entry with its text."""
    file = read_toml(path)
    for name in file.content:
        if name != "loss":
            raise file.error(name, f"unknown key {name!r}; a file of acknowledged losses has only [[loss]] tables")
    tables = list(_tables(file.text))
    preamble = file.text[: len(file.text) - sum(len(text) for text, _ in tables)]
    content = file.content.get("loss", [])
    if not isinstance(content, list) or len(content) != len(tables):
        raise file.error("loss", "write each acknowledged loss as a table [[loss]]")
    entries: list[tuple[str, Loss]] = []
    seen: set[tuple[str, str]] = set()
    line = preamble.count("\n") + 1
    for text, table in tables:
        loss = _loss(TomlFile(path, text, table), line)
        if (loss.query, loss.measure) in seen:
            raise InputError(path, f"a second entry of {loss.query!r} in {loss.measure!r}; remove one of them", line)
        seen.add((loss.query, loss.measure))
        entries.append((text, loss))
        line += text.count("\n")
    return preamble, entries


def _tables(text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The text of each ``[[loss]]`` table with its content.

    A line of a multi-line string may look like the start of a table, but the text before it is not valid TOML.
    """
    starts = [found.start() for found in TABLE.finditer(text)] + [len(text)]
    begin = starts[0]
    for end in starts[1:]:
        try:
            table = tomllib.loads(text[begin:end])["loss"][0]
        except tomllib.TOMLDecodeError:
            continue
        yield text[begin:end], table
        begin = end


def _loss(file: TomlFile, first: int) -> Loss:
    """The loss of a table that begins at a line."""

    def error(key: str, message: str) -> InputError:
        return InputError(file.path, message, first + (file.line_of(key) or 1) - 1)

    for key in file.content:
        if key not in _KEYS:
            raise error(key, f"unknown key {key!r} in [[loss]]{did_you_mean(key, _KEYS)}; use {listed(_KEYS)}")
    for key, (expected, shape) in _KEYS.items():
        if key not in file.content:
            raise error("loss", f"[[loss]] has no {key}, which should be {expected}")
        if not fits(file.content[key], shape):
            raise error(key, f"{key} should be {expected}; got {str(file.content[key])[:50]!r}")
    return Loss(**file.content, line=first)


def _is_name(value: object) -> bool:
    return isinstance(value, str) and bool(value.strip())


_KEYS = {
    "query": ("a name", _is_name),
    "measure": ("a name", _is_name),
    "baseline_score": ("a finite number", float),
    "candidate_score": ("a finite number", float),
    "reason": ("a text that says why", _is_name),
    "date": ("a date such as 2026-01-31", date),
}
