"""The ratchet: a file that keeps the scores of the last accepted candidate, to gate the next one against."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, choose, listed
from surefoot.io.atomic import write_text
from surefoot.io.files import read_bytes
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.verdict import GateResult, gate, result_of
from surefoot.results import signature
from surefoot.scores import Missing, Scores

FORMAT = "surefoot ratchet 1"


@dataclass(frozen=True)
class Accepted:
    """A candidate that was accepted: its score on each topic, and the signature of its gate."""

    system: str
    measure: str
    signature: str
    scores: Mapping[str, float]

    @property
    def name(self) -> str:
        """Its name as a baseline."""
        return f"{self.system} (accepted)"

    @property
    def summary(self) -> dict[str, float]:
        """The mean and the number of topics, which the file repeats so that damage to a score is detected."""
        return {"mean": sum(self.scores.values()) / len(self.scores), "topics": len(self.scores)}


def accept(scores: Scores, result: GateResult, before: Accepted | None = None, missing: Missing = "error") -> Accepted:
    """The accepted form of a gate's candidate.

    Parameters
    ----------
    scores
        The scores that were gated.
    result
        The result of the gate.
    before
        What was accepted before. Its topics that have no score now are kept.
    missing
        ``"zero"`` keeps such topics with a score of 0; otherwise they keep their old score.

    Returns
    -------
    Accepted
        To be written by `write_accepted`.

    Examples
    --------
    >>> scores = Scores([[0.5, 0.4], [0.5, 0.6]], ["old", "new"], ["q1", "q2"])
    >>> accept(scores, gate(scores, "old", candidate="new")).scores
    {'q1': 0.5, 'q2': 0.6}
    """
    own = dict(zip(scores.topics, scores[result.candidate].tolist(), strict=True))
    old = {} if before is None else before.scores
    own |= {topic: 0.0 if missing == "zero" else score for topic, score in old.items() if topic not in own}
    return Accepted(result.candidate, scores.measure, result.signature, own)


def first_result(scores: Scores, *, candidate: str) -> GateResult:
    """The result of a candidate that there is nothing to compare with yet: it passes, and a note says why."""
    scores.row(candidate)
    stated = signature("gate", measure=scores.measure, candidate=candidate, topics=len(scores.topics))
    note = f"nothing was accepted before: {candidate} is the first, and was compared with nothing"
    return result_of(stated, candidate=candidate, measure=scores.measure, notes=(*scores.notes, note))


def gate_accepted(
    scores: Scores,
    accepted: Accepted,
    *,
    candidate: str,
    rules: Rules | None = None,
    segments: Mapping[Any, object] | None = None,
    missing: Missing = "error",
) -> GateResult:
    """Gate a candidate against the candidate that was accepted last.

    A new topic has nothing to lose and is left out; a note names such topics.

    Parameters
    ----------
    scores
        The scores of the candidate.
    accepted
        What was accepted, of the same measure.
    candidate, rules, segments
        As in `gate`.
    missing
        What to do with topics that were accepted and have no score now: ``"error"``, since a query must not vanish
        unseen, ``"zero"`` to count them 0, or ``"drop"`` to leave them out. A note names them.

    Returns
    -------
    GateResult
        As that of `gate`.

    Examples
    --------
    >>> scores = Scores([[0.5, 0.4], [0.5, 0.6]], ["old", "new"], ["q1", "q2"])
    >>> accepted = accept(scores, gate(scores, "old", candidate="old"))
    >>> gate_accepted(scores, accepted, candidate="new").verdict
    'pass'
    """
    if scores.measure != accepted.measure:
        raise SurefootError(
            f"the accepted scores are of {accepted.measure}, these of {scores.measure}; use one measure"
        )
    now = dict(zip(scores.topics, scores[candidate].tolist(), strict=True))
    gone = [topic for topic in accepted.scores if topic not in now]
    new = [topic for topic in now if topic not in accepted.scores]
    if gone and choose(missing, ("error", "zero", "drop"), "missing") == "error":
        raise SurefootError(
            f"{candidate} has no score for topics that were accepted: {listed(gone)}; "
            "choose missing='zero' to count them 0 or missing='drop' to leave them out"
        )
    topics = [topic for topic in accepted.scores if missing == "zero" or topic in now]
    if not topics:
        raise SurefootError(f"the accepted scores share no topic with these: they have {listed(accepted.scores, 3)}")
    pair = Scores(
        [[now.get(topic, 0.0) for topic in topics], [accepted.scores[topic] for topic in topics]],
        [candidate, accepted.name],
        topics,
        scores.measure,
        (*scores.notes, *_notes(gone, new, missing)),
    )
    rules = Rules() if rules is None else rules
    rules = replace(rules, protected=tuple(topic for topic in rules.protected if topic not in new))
    return gate(pair, accepted.name, candidate=candidate, rules=rules, segments=segments)


def _notes(gone: list[str], new: list[str], missing: Missing) -> list[str]:
    notes = []
    if gone:
        done = "counted 0" if missing == "zero" else "left out"
        notes.append(f"accepted topics without a score now, {done}: {listed(gone)}")
    if new:
        notes.append(f"new topics, not compared with the accepted scores: {listed(new)}")
    return notes


def update_accepted(
    path: PathLike, scores: Scores, result: GateResult, *, warnings: bool = False, missing: Missing = "error"
) -> bool:
    """Write the candidate to the ratchet file if it passed, or if ``warnings`` are accepted too; returns whether."""
    if result.verdict == "fail" or (result.verdict == "warn" and not warnings):
        return False
    before = read_accepted(path) if Path(path).exists() else None
    write_accepted(path, accept(scores, result, before, missing))
    return True


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
    >>> write_accepted(path, Accepted("new", "nDCG@10", "gate|...", {"q1": 0.5}))
    >>> read_accepted(path).scores
    {'q1': 0.5}
    """
    content = {
        "format": FORMAT,
        "system": accepted.system,
        "measure": accepted.measure,
        "signature": accepted.signature,
        "figures": accepted.summary,
        "scores": accepted.scores,
    }
    write_text(path, json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n")


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
    try:
        found = json.loads(read_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(path, f"not a ratchet file: {' '.join(str(error).split())}; {_REMEDY}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(path, f'not a ratchet file: expected "format": "{FORMAT}"; {_REMEDY}')
    for name in ("system", "measure", "signature"):
        if not isinstance(found.get(name), str):
            raise InputError(path, f"damaged ratchet file: {name} should be text; {_REMEDY}")
    for name in ("figures", "scores"):
        if not _all_numbers(found.get(name)):
            raise InputError(path, f"damaged ratchet file: {name} should be finite numbers by name; {_REMEDY}")
    accepted = Accepted(found["system"], found["measure"], found["signature"], found["scores"])
    for name, value in accepted.summary.items():
        if not math.isclose(value, found["figures"].get(name, math.nan), rel_tol=1e-9, abs_tol=1e-12):
            raise InputError(path, f"damaged ratchet file: its {name} is not that of its scores; {_REMEDY}")
    return accepted


_REMEDY = "restore it, or delete it and accept a candidate anew"


def _all_numbers(numbers: object) -> bool:
    if not isinstance(numbers, dict) or not numbers:
        return False
    return all(type(value) in (int, float) and math.isfinite(value) for value in numbers.values())
