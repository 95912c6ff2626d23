"""The last accepted candidate, the best one (the anchor), the count of tries, and the file that keeps them."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, listed
from surefoot.io.atomic import digest_of, exclusive, write_text
from surefoot.io.files import parse_json, read_bytes
from surefoot.io.shapes import fits
from surefoot.release_gate.finding import Question
from surefoot.release_gate.rules import resolve_rules
from surefoot.scores import Scores

FORMAT = "surefoot ratchet 4"
MISSING_KEYS: dict[str, dict[str, Any]] = {
    FORMAT: {},
    "surefoot ratchet 2": {
        **{key: {} for key in ("rules", "pinned", "documents", "trials", "anchors", "firsts")},
        "depth": 0,
    },
}
"""The formats that are read, and for each the keys that it lacks with their values."""


@dataclass(frozen=True)
class Anchor:
    """The accepted candidate with the highest mean of a measure, and its score by topic.

    A topic that was added later has the score of the first accepted candidate that had one.
    """

    system: str
    scores: Mapping[str, float]

    @property
    def name(self) -> str:
        """Its name as a baseline."""
        return f"{self.system} (anchor)"


@dataclass(frozen=True)
class First:
    """The first accepted candidate, and its mean; topics that were added later count as in `Anchor`."""

    system: str
    mean: float


@dataclass(frozen=True)
class Accepted:
    """A candidate that was accepted, and the candidates that were tested on the collection.

    Attributes
    ----------
    system, signature
        Its name, and the signature of its gate; empty as long as nothing was accepted.
    scores
        Its score by measure and topic.
    collection
        Digests of the judgments and of the queries; scores of a collection with other digests are not compared.
    asked
        Digests of the candidates that were tested on these topics, in order, each with what was accepted then.
    accepted_by
        How many candidates had been tested when it was accepted.
    anchors, firsts
        The anchor and the first accepted candidate of each measure, where they are not this candidate.
    rules
        The options of its gate, or only those of its rules.
    pinned
        All options that later gates are held to; empty if nothing is pinned.
    depth, documents
        The number of first documents kept for each topic (0 if the run is not known), and these documents.
    trials
        Its scores by measure and topic, one for each trial, if it was run several times.
    """

    system: str
    signature: str
    scores: Mapping[str, Mapping[str, float]]
    collection: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    accepted_by: int = 0
    anchors: Mapping[str, Anchor] = field(default_factory=dict)
    firsts: Mapping[str, First] = field(default_factory=dict)
    rules: Mapping[str, Any] = field(default_factory=dict)
    pinned: Mapping[str, Any] = field(default_factory=dict)
    depth: int = 0
    documents: Mapping[str, Sequence[str]] = field(default_factory=dict)
    trials: Mapping[str, Mapping[str, Sequence[float]]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its name as a baseline."""
        return f"{self.system} (accepted)"

    @property
    def summary(self) -> dict[str, dict[str, float]]:
        """Means and the number of topics, which the file repeats so that damage to a score is detected."""
        found = {measure: {"mean": fmean(own.values()), "topics": len(own)} for measure, own in self.scores.items()}
        for measure, anchor in self.anchors.items():
            found[measure]["anchor"] = fmean(anchor.scores.values())
        return found

    def scores_of(self, measure: str) -> Mapping[str, float]:
        """The score by topic."""
        if measure not in self.scores:
            raise SurefootError(
                f"the accepted scores are of {listed(self.scores)}, these of {measure}; use one measure"
            )
        return self.scores[measure]

    def anchor(self, measure: str) -> Anchor:
        """The accepted candidate with the highest mean."""
        return self.anchors.get(measure) or Anchor(self.system, self.scores_of(measure))

    def first(self, measure: str) -> First:
        """The candidate that was accepted first."""
        return self.firsts.get(measure) or First(self.system, fmean(self.scores_of(measure).values()))

    def ask(self, scores: Sequence[Scores], candidate: str) -> tuple[Accepted, Question]:
        """Count one more candidate as tested, and return its question; testing it again is the same question.

        The accepted candidate itself is not counted: it can't pass, since nothing changed. A candidate that was tested
        before the last acceptance is counted again: its level belongs to the candidate that was accepted then.
        """
        rows = {part.measure: by_topic(part, candidate) for part in scores}
        if rows == self.scores:
            return self, Question(len(self.asked) + 1, self.accepted_by)
        digest = digest_of(json.dumps([rows, self.scores], sort_keys=True), 8)
        asked = self.asked if digest in self.asked[self.accepted_by :] else (*self.asked, digest)
        return replace(self, asked=asked), Question(asked.index(digest, self.accepted_by) + 1, self.accepted_by)


def by_topic(scores: Scores, system: str) -> dict[str, float]:
    """The score of a system by topic."""
    return dict(zip(scores.topics, scores[system].tolist(), strict=True))


def write_accepted(path: PathLike, accepted: Accepted) -> None:
    """Write a ratchet file atomically.

    Parameters
    ----------
    path
        The file to write: JSON with one topic on each line, so that version control shows what changed.
    accepted
        What was accepted.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "accepted.json")
    >>> write_accepted(path, Accepted("new", "gate|...", {"nDCG@10": {"q1": 0.5}}))
    >>> read_accepted(path).scores
    {'nDCG@10': {'q1': 0.5}}
    """
    content = {
        "format": FORMAT,
        **vars(accepted),
        "figures": accepted.summary,
        "anchors": {measure: vars(anchor) for measure, anchor in accepted.anchors.items()},
        "firsts": {measure: vars(first) for measure, first in accepted.firsts.items()},
    }
    ordered = {name: content[name] for name in ("format", *_FIELDS)}
    write_text(path, _as_json(ordered) + "\n")


def _as_json(value: object, indent: str = " ") -> str:
    """JSON with each item of a map, and of the lists in the outermost map, on a line of its own."""
    if isinstance(value, Mapping) and value:
        rows = [f"{json.dumps(name, ensure_ascii=False)}: {_as_json(own, f'{indent} ')}" for name, own in value.items()]
        start, end = "{", "}"
    elif isinstance(value, list | tuple) and value and indent == "  ":
        rows = [json.dumps(one, ensure_ascii=False, allow_nan=False) for one in value]
        start, end = "[", "]"
    else:
        return json.dumps(value, ensure_ascii=False, allow_nan=False)
    return f"{start}\n{indent}" + f",\n{indent}".join(rows) + f"\n{indent[1:]}{end}"


def read_accepted(path: PathLike) -> Accepted:
    """Read a ratchet file.

    Parameters
    ----------
    path
        A file that `write_accepted` wrote; anything else is an `InputError`.

    Returns
    -------
    Accepted
        What was accepted; `write_accepted` has an example.
    """
    found = read_json(path, "a ratchet file", MISSING_KEYS, _REMEDY)
    found |= MISSING_KEYS[found["format"]]
    for name, (expected, shape) in _FIELDS.items():
        if not fits(found.get(name), shape):
            raise InputError(path, f"damaged ratchet file: {name} should be {expected}; {_REMEDY}")
    fields = {name: found[name] for name in _FIELDS if name != "figures"}
    fields["asked"] = tuple(found["asked"])
    fields["anchors"] = {measure: Anchor(**anchor) for measure, anchor in found["anchors"].items()}
    fields["firsts"] = {measure: First(**first) for measure, first in found["firsts"].items()}
    accepted = Accepted(**fields)
    if problem := _contradiction(accepted, found["figures"]):
        raise InputError(path, f"damaged ratchet file: {problem}; {_REMEDY}")
    return accepted


_REMEDY = "restore it, or delete it and accept a candidate again"


def read_json(path: PathLike, what: str, formats: Collection[str], remedy: str) -> dict[str, Any]:
    """The content of a JSON file that names its format; errors say what it should be."""
    try:
        found = parse_json(read_bytes(path).decode("utf-8"))
    except ValueError as error:
        raise InputError(path, f"not {what}: {' '.join(str(error).split())[:200]}; {remedy}") from None
    if not isinstance(found, dict) or str(found.get("format")) not in formats:
        raise InputError(path, f'not {what}: expected "format": "{next(iter(formats))}"; {remedy}')
    return found


def _contradiction(accepted: Accepted, figures: Mapping[str, Mapping[str, float]]) -> str | None:
    """What is inconsistent in a file; None if nothing is."""
    scores, anchors = accepted.scores, accepted.anchors
    if bool(accepted.system) != bool(scores) or figures.keys() != scores.keys():
        return "system, figures and scores are not consistent"
    if not 0 <= accepted.accepted_by <= len(accepted.asked):
        return "accepted_by is larger than the number of those asked, or below 0"
    if not accepted.firsts.keys() | accepted.trials.keys() <= scores.keys():
        return "firsts, trials and scores are of different measures"
    if not anchors.keys() <= scores.keys() or any(anchors[one].scores.keys() != scores[one].keys() for one in anchors):
        return "anchors and scores are of different measures or topics"
    for measure, summary in accepted.summary.items():
        for name, value in summary.items():
            if not math.isclose(value, figures[measure].get(name, math.nan), rel_tol=1e-9, abs_tol=1e-12):
                return f"its {name} is not that of its scores"
    return None


@dataclass
class Ratchet:
    """An open ratchet file. ``accepted`` is its content, None if there is no file yet; a new content is written."""

    accepted: Accepted | None


@contextmanager
def open_ratchet(path: PathLike) -> Iterator[Ratchet]:
    """Lock a ratchet file, read it, and write it when the block ends without an error, if its content was set.

    Gates that use the file at the same time wait for each other, so that none loses an acceptance or a try.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "accepted.json")
    >>> with open_ratchet(path) as ratchet:
    ...     ratchet.accepted = ratchet.accepted or Accepted("new", "gate|...", {"nDCG@10": {"q1": 0.5}})
    >>> read_accepted(path).system
    'new'
    """
    with exclusive(path):
        before = read_accepted(path) if Path(path).exists() else None
        ratchet = Ratchet(before)
        yield ratchet
        if ratchet.accepted is not None and ratchet.accepted is not before:
            write_accepted(path, ratchet.accepted)


def _topics(value: object) -> bool:
    return bool(value) and fits(value, {str: float})


def _rules(value: object) -> bool:
    try:
        return isinstance(value, dict) and bool(resolve_rules(value))
    except (SurefootError, TypeError):
        return False


OTHER_OPTIONS = {
    "assessors": (None, [str]),
    "missing": ("error", "zero", "drop"),
    "holdout": float,
    "seed": int,
    "segments": (None, str),
    "unjudged": ("zero", "skip"),
    "llm_qrels": (None, [str]),
    "baseline": [str],
    "measure": [str],
}
"""The options of a gate that a ratchet file pins besides its rules."""


def _options(value: object) -> bool:
    if not isinstance(value, dict) or not fits({name: value.get(name, ...) for name in OTHER_OPTIONS}, OTHER_OPTIONS):
        return False
    return value.keys() > OTHER_OPTIONS.keys() and _rules(
        {name: own for name, own in value.items() if name not in OTHER_OPTIONS}
    )


_FIELDS: dict[str, tuple[str, Any]] = {
    "system": ("text", str),
    "signature": ("text", str),
    "collection": ("text by name", {str: str}),
    "asked": ("a list of text", [str]),
    "accepted_by": ("a whole number", int),
    "rules": ("the options of a gate", (_rules, _options)),
    "pinned": ("the options of a gate", ({}, _options)),
    "depth": ("a whole number", int),
    "figures": ("finite numbers by measure", {str: {str: float}}),
    "firsts": ("a system and its mean by measure", {str: {"system": str, "mean": float}}),
    "anchors": ("a system and its scores by measure", {str: {"system": str, "scores": _topics}}),
    "scores": ("finite numbers by measure and topic", {str: _topics}),
    "trials": ("lists of finite numbers by measure and topic", {str: {str: [float]}}),
    "documents": ("lists of documents by topic", {str: [str]}),
}
"""The keys of the file besides ``format``, what each should be, and its shape."""
