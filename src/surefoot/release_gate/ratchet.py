"""The ratchet: a file that remembers the last accepted candidate, query by query, to gate the next one against."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from surefoot._types import PathLike
from surefoot.errors import InputError, SurefootError, choose, listed
from surefoot.io.atomic import write_text
from surefoot.io.files import read_bytes
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.verdict import GateResult, gate
from surefoot.results import signature
from surefoot.scores import Missing, Scores

FORMAT = "surefoot ratchet 1"


@dataclass(frozen=True)
class Accepted:
    """A candidate that was accepted: its score on each topic, its figures, and the signature of its gate."""

    system: str
    measure: str
    signature: str
    figures: Mapping[str, float]
    scores: Mapping[str, float]

    @property
    def name(self) -> str:
        """What it is called as a baseline."""
        return f"{self.system} (accepted)"


def accept(scores: Scores, result: GateResult, before: Accepted | None = None, missing: Missing = "error") -> Accepted:
    """What to remember of the candidate of a gate.

    A topic that was accepted ``before`` and has no score now is not forgotten: it is remembered as 0 where missing
    topics counted 0, and keeps its old score where they were left out.
    """
    own = dict(zip(scores.topics, scores[result.candidate].tolist(), strict=True))
    old = {} if before is None else before.scores
    own |= {topic: 0.0 if missing == "zero" else score for topic, score in old.items() if topic not in own}
    return Accepted(
        system=result.candidate,
        measure=scores.measure,
        signature=result.signature,
        figures=_figures(own),
        scores=own,
    )


def _figures(scores: Mapping[str, float]) -> dict[str, float]:
    return {"mean": sum(scores.values()) / len(scores), "topics": len(scores)}


def first_of(scores: Scores, candidate: str) -> GateResult:
    """The result of a candidate that has nothing to be compared with yet: it passes, and says so."""
    scores.row(candidate)
    stated = signature("gate", measure=scores.measure, candidate=candidate, topics=len(scores.topics))
    note = f"nothing was accepted before: {candidate} is the first, and was compared with nothing"
    return GateResult(stated, candidate, scores.measure, (), (), (), (*scores.notes, note))


def gate_accepted(
    scores: Scores,
    candidate: str,
    accepted: Accepted,
    rules: Rules | None = None,
    segments: Mapping[Any, object] | None = None,
    missing: Missing = "error",
) -> GateResult:
    """Gate a candidate against what was accepted last.

    A topic that was accepted but has no score now is an error, since a query must not vanish unseen, unless
    ``missing`` counts it 0 (``"zero"``) or leaves it out (``"drop"``). A topic that is new has nothing to lose and is
    left out. Notes tell both.
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
    rules = Rules() if rules is None else rules
    pair = Scores(
        [[now.get(topic, 0.0) for topic in topics], [accepted.scores[topic] for topic in topics]],
        [candidate, accepted.name],
        topics,
        scores.measure,
        (*scores.notes, *_notes(gone, new, missing)),
    )
    kept = tuple(topic for topic in rules.protected if topic not in new)
    return gate(pair, candidate, accepted.name, replace(rules, protected=kept), segments)


def _notes(gone: list[str], new: list[str], missing: Missing) -> list[str]:
    notes = []
    if gone:
        done = "counted 0" if missing == "zero" else "left out"
        notes.append(f"accepted topics without a score now, {done}: {listed(gone)}")
    if new:
        notes.append(f"new topics, not compared with the accepted scores: {listed(new)}")
    return notes


def write_accepted(path: PathLike, accepted: Accepted) -> None:
    """Write the ratchet file whole or not at all; a topic a line, so that a change of it reads well."""
    text = json.dumps({"format": FORMAT, **asdict(accepted)}, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def read_accepted(path: PathLike) -> Accepted:
    """Read a ratchet file; anything else is an error in one line."""
    try:
        found = json.loads(read_bytes(path).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise InputError(path, f"not a ratchet file: {_one_line(error)}; {_REMEDY}") from None
    if not isinstance(found, dict) or found.pop("format", None) != FORMAT:
        raise InputError(path, f'not a ratchet file: expected "format": "{FORMAT}"; {_REMEDY}')
    texts, figures = ("system", "measure", "signature"), ("figures", "scores")
    for name in texts:
        if not isinstance(found.get(name), str):
            raise InputError(path, f"damaged ratchet file: {name} should be text; {_REMEDY}")
    for name in figures:
        if not _all_numbers(found.get(name)):
            raise InputError(path, f"damaged ratchet file: {name} should be finite numbers by name; {_REMEDY}")
    for name, figure in _figures(found["scores"]).items():
        if not math.isclose(figure, found["figures"].get(name, math.nan), rel_tol=1e-9, abs_tol=1e-12):
            raise InputError(path, f"damaged ratchet file: its {name} is not that of its scores; {_REMEDY}")
    return Accepted(**{name: found[name] for name in (*texts, *figures)})


_REMEDY = "restore it, or delete it and accept a candidate anew"


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _all_numbers(figures: object) -> bool:
    if not isinstance(figures, dict) or not figures:
        return False
    return all(type(value) in (int, float) and math.isfinite(value) for value in figures.values())
