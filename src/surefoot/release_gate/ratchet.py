"""The ratchet: a file that keeps the last accepted candidate, to gate the next one against, and counts the tries."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, choose, listed
from surefoot.io.atomic import digest_of, write_text
from surefoot.io.files import read_bytes
from surefoot.io.json_text import parse_json
from surefoot.release_gate.intervals import Question
from surefoot.release_gate.rules import RulesLike, resolve_rules
from surefoot.release_gate.verdict import GateResult, as_list, gate_all, refuse_unprotected
from surefoot.results import signature
from surefoot.scores import LARGEST, Missing, Scores

FORMAT = "surefoot ratchet 2"


@dataclass(frozen=True)
class Accepted:
    """A candidate that was accepted, and what was asked since the collection is in use.

    Attributes
    ----------
    system, signature
        Its name, and the signature of its gate; empty as long as nothing was accepted.
    scores
        Its score by measure and topic.
    collection
        Digests of the judgments and of the queries; other digests are another collection, which is not compared.
    asked
        Digests of the candidates that these topics were asked about, in order, each with what was accepted then.
    accepted_by
        How many had been asked about when it was accepted.
    """

    system: str
    signature: str
    scores: Mapping[str, Mapping[str, float]]
    collection: Mapping[str, str] = field(default_factory=dict)
    asked: tuple[str, ...] = ()
    accepted_by: int = 0

    @property
    def name(self) -> str:
        """Its name as a baseline."""
        return f"{self.system} (accepted)"

    @property
    def summary(self) -> dict[str, dict[str, float]]:
        """The mean and the number of topics, which the file repeats so that damage to a score is detected."""
        return {
            measure: {"mean": sum(own.values()) / len(own), "topics": len(own)} for measure, own in self.scores.items()
        }

    def ask(self, scores: Sequence[Scores], candidate: str) -> tuple[Accepted, Question]:
        """The same with one more candidate asked about, and its question; who asks again asks the same question.

        The accepted candidate itself is no question: it can't pass, since nothing changed. What was asked before the
        last acceptance is asked anew: its level belongs to the candidate that was accepted then.
        """
        rows = {part.measure: _by_topic(part, candidate) for part in scores}
        if rows == self.scores:
            return self, Question(len(self.asked) + 1, self.accepted_by)
        digest = digest_of(json.dumps([rows, self.scores], sort_keys=True), 8)
        asked = self.asked if digest in self.asked[self.accepted_by :] else (*self.asked, digest)
        return replace(self, asked=asked), Question(asked.index(digest, self.accepted_by) + 1, self.accepted_by)


def accept(
    scores: Scores | Sequence[Scores], result: GateResult, before: Accepted | None = None, missing: Missing = "error"
) -> Accepted:
    """The accepted form of a gate's candidate.

    Parameters
    ----------
    scores
        The scores that were gated.
    result
        The result of the gate.
    before
        What was accepted before. Its topics that have no score now are kept, and so is the count of tries.
    missing
        ``"zero"`` keeps such topics with a score of 0; otherwise they keep their old score.

    Returns
    -------
    Accepted
        To be written by `write_accepted`.

    Examples
    --------
    >>> from surefoot import gate
    >>> scores = Scores([[0.5, 0.4], [0.5, 0.6]], ["old", "new"], ["q1", "q2"])
    >>> accept(scores, gate(scores, "old", candidate="new")).scores
    {'score': {'q1': 0.5, 'q2': 0.6}}
    """
    found: dict[str, dict[str, float]] = {}
    for part in as_list(scores):
        own = _by_topic(part, result.candidate)
        old = {} if before is None else before.scores.get(part.measure, {})
        own |= {topic: 0.0 if missing == "zero" else score for topic, score in old.items() if topic not in own}
        found[part.measure] = own
    kept = Accepted("", "", {}) if before is None else before
    return replace(kept, system=result.candidate, signature=result.signature, scores=found, accepted_by=len(kept.asked))


def first_result(scores: Sequence[Scores], *, candidate: str) -> GateResult:
    """The result of a candidate that there is nothing to compare with yet: it passes, and a note says why."""
    measures = tuple(part.measure for part in scores)
    scores[0].row(candidate)
    stated = signature("gate", measure=measures, candidate=candidate, topics=len(scores[0].topics))
    note = f"nothing was accepted before: {candidate} is the first, and was compared with nothing"
    return GateResult(
        signature=stated, columns={}, candidate=candidate, measures=measures, notes=(*scores[0].notes, note)
    )


def gate_accepted(
    scores: Scores | Sequence[Scores],
    accepted: Accepted,
    *,
    candidate: str,
    rules: RulesLike | None = None,
    segments: Mapping[Any, object] | None = None,
    missing: Missing = "error",
) -> GateResult:
    """Gate a candidate against the candidate that was accepted last.

    A new topic has nothing to lose and is left out; a note names such topics. The candidate counts as one more try if
    it was not asked about before: the level for passing is corrected for that.

    Parameters
    ----------
    scores
        The scores of the candidate, of one or several measures.
    accepted
        What was accepted, of the same measures.
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
    >>> from surefoot import gate
    >>> scores = Scores([[0.5, 0.4], [0.5, 0.6]], ["old", "new"], ["q1", "q2"])
    >>> accepted = accept(scores, gate(scores, "new", candidate="old"))
    >>> gate_accepted(scores, accepted, candidate="new").verdict
    'undecided'
    """
    parts = as_list(scores)
    rules = resolve_rules(rules)
    refuse_unprotected(parts, rules)
    if not accepted.scores:
        raise SurefootError("nothing was accepted yet, so that there is nothing to compare with")
    _, question = accepted.ask(parts, candidate)
    comparisons = accepted_comparisons(parts, accepted, candidate, missing)
    return gate_all(comparisons, candidate=candidate, rules=rules, segments=segments, question=question)


def accepted_comparisons(
    scores: Sequence[Scores], accepted: Accepted, candidate: str, missing: Missing
) -> list[tuple[Scores, str]]:
    """The candidate beside what was accepted (if anything was), on the topics that were accepted, for each measure."""
    if not accepted.scores:
        return []
    return [(_beside(part, accepted, candidate, missing), accepted.name) for part in scores]


def refuse_other_collection(accepted: Accepted, collection: Mapping[str, str]) -> None:
    """Refuse to compare with scores that come of other judgments or queries."""
    for name, digest in collection.items():
        before = accepted.collection.get(name)
        if before is not None and before != digest:
            those = f"by which {accepted.system} was accepted" if accepted.system else "of the ratchet file"
            raise SurefootError(
                f"the {name} are not those {those}, so that scores can't be compared; use those, or delete the ratchet "
                "file and accept a candidate anew"
            )


def _beside(scores: Scores, accepted: Accepted, candidate: str, missing: Missing) -> Scores:
    old = accepted.scores.get(scores.measure)
    if old is None:
        raise SurefootError(
            f"the accepted scores are of {listed(accepted.scores)}, these of {scores.measure}; use one measure"
        )
    now = _by_topic(scores, candidate)
    gone = [topic for topic in old if topic not in now]
    new = [topic for topic in now if topic not in old]
    if gone and choose(missing, ("error", "zero", "drop"), "missing") == "error":
        raise SurefootError(
            f"{candidate} has no score for topics that were accepted: {listed(gone)}; "
            "choose missing='zero' to count them 0 or missing='drop' to leave them out"
        )
    topics = [topic for topic in old if missing == "zero" or topic in now]
    if not topics:
        raise SurefootError(f"the accepted scores share no topic with these: they have {listed(old, 3)}")
    values = [[now.get(topic, 0.0) for topic in topics], [old[topic] for topic in topics]]
    notes = (*scores.notes, *_notes(gone, new, missing))
    return Scores(values, [candidate, accepted.name], topics, scores.measure, notes)


def _by_topic(scores: Scores, system: str) -> dict[str, float]:
    return dict(zip(scores.topics, scores[system].tolist(), strict=True))


def _notes(gone: list[str], new: list[str], missing: Missing) -> list[str]:
    notes = []
    if gone:
        done = "counted 0" if missing == "zero" else "left out"
        notes.append(f"accepted topics without a score now, {done}: {listed(gone)}")
    if new:
        notes.append(f"new topics, not compared with the accepted scores: {listed(new)}")
    return notes


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
        "system": accepted.system,
        "signature": accepted.signature,
        "collection": accepted.collection,
        "asked": accepted.asked,
        "accepted_by": accepted.accepted_by,
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
        found = parse_json(read_bytes(path).decode("utf-8"))
    except ValueError as error:
        raise InputError(path, f"not a ratchet file: {' '.join(str(error).split())[:200]}; {_REMEDY}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise InputError(path, f'not a ratchet file: expected "format": "{FORMAT}"; {_REMEDY}')
    for name, (expected, is_right) in _FIELDS.items():
        if not is_right(found.get(name)):
            raise InputError(path, f"damaged ratchet file: {name} should be {expected}; {_REMEDY}")
    fields = {name: found[name] for name in ("system", "signature", "collection", "scores", "accepted_by")}
    accepted = Accepted(**fields, asked=tuple(found["asked"]))
    if not (bool(accepted.system) == bool(accepted.scores) and found["figures"].keys() == accepted.scores.keys()):
        raise InputError(path, f"damaged ratchet file: system, figures and scores do not fit together; {_REMEDY}")
    if not 0 <= accepted.accepted_by <= len(accepted.asked):
        raise InputError(path, f"damaged ratchet file: accepted_by is no number of those asked; {_REMEDY}")
    for measure, summary in accepted.summary.items():
        for name, value in summary.items():
            stated = found["figures"].get(measure, {}).get(name, math.nan)
            if not math.isclose(value, stated, rel_tol=1e-9, abs_tol=1e-12):
                raise InputError(path, f"damaged ratchet file: its {name} is not that of its scores; {_REMEDY}")
    return accepted


_REMEDY = "restore it, or delete it and accept a candidate anew"


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_numbers(value: object) -> bool:
    """Finite numbers by name, by measure."""
    return isinstance(value, dict) and all(
        isinstance(numbers, dict)
        and numbers
        and all(type(one) in (int, float) and abs(one) < LARGEST for one in numbers.values())
        for numbers in value.values()
    )


_FIELDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "system": ("text", _is_text),
    "signature": ("text", _is_text),
    "collection": ("text by name", lambda value: isinstance(value, dict) and all(map(_is_text, value.values()))),
    "asked": ("a list of text", lambda value: isinstance(value, list) and all(map(_is_text, value))),
    "accepted_by": ("a whole number", lambda value: type(value) is int),
    "figures": ("finite numbers by measure", _is_numbers),
    "scores": ("finite numbers by measure and topic", _is_numbers),
}
