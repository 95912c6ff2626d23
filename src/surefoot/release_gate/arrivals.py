"""The sequential gate: items arrive in batches, a state file keeps what was seen, and every look gives a verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from surefoot._names import NO_SEGMENT
from surefoot._typing import PathLike
from surefoot.errors import InputError, SurefootError, counted, listed
from surefoot.io.atomic import digest_of, exclusive, write_text
from surefoot.io.shapes import fits
from surefoot.release_gate.accepted import read_json
from surefoot.release_gate.acknowledged import Acknowledged
from surefoot.release_gate.comparison import Policy
from surefoot.release_gate.doubt import lost_results
from surefoot.release_gate.finding import Arrival
from surefoot.release_gate.gate import as_baselines, as_list, gate_all
from surefoot.release_gate.rules import RulesLike, resolve_rules
from surefoot.release_gate.verdict import GateResult
from surefoot.scores import VIRTUAL, Scores, ScoresLike

FORMAT = "surefoot sequential 1"
CHANGEABLE = ("undecided", "protected", "protected_tolerance", "max_query_loss")
"""Options of `Rules` that may change between looks: they concern exit codes and single queries, not samples."""
SHAPES = {"question": dict, "items": [[str, [[float]], (None, str), (None, [str])]], "earlier": list}
"""The shapes of the parts of a state file; see `fits`."""
_REMEDY = "restore it, or name another file to start again"


@dataclass(frozen=True)
class Item:
    """An item that arrived: for each measure the scores of the candidate and of the baselines, and its segment.

    ``emptied`` are the baselines that had results where the candidate has none; None if only scores are known.
    """

    scores: tuple[tuple[float, ...], ...]
    segment: str | None = None
    emptied: tuple[str, ...] | None = None


@dataclass(frozen=True)
class State:
    """The question, the items by name in the order of arrival, and earlier questions with their items."""

    question: Mapping[str, Any]
    items: Mapping[str, Item] = field(default_factory=dict)
    earlier: tuple[Mapping[str, Any], ...] = ()

    @property
    def digest(self) -> str:
        """A digest of everything, to detect edited files."""
        return digest_of(json.dumps([self.question, self._rows(), self.earlier], sort_keys=True), 8)

    def _rows(self) -> list[list[Any]]:
        return [[name, item.scores, item.segment, item.emptied] for name, item in self.items.items()]

    def asked(self, question: Mapping[str, Any]) -> tuple[State, list[str]]:
        """Return this state if the question is the same, else a new state that keeps this one as earlier, and notes."""
        if not self.items or question == self.question:
            return replace(self, question=question), []
        differs = [name for name in question if question[name] != self.question.get(name)]
        changes = listed((f"{name} {self.question.get(name)} → {question[name]}" for name in differs), most=5)
        many = counted(len(self.items), "query")
        before = {"question": self.question, "items": self._rows()}
        note = f"started again, because the question changed ({changes}); the {many} seen before are kept, not counted"
        return State(question, earlier=(*self.earlier, before)), [note]

    def with_items(self, items: Mapping[str, Item]) -> State:
        """The same with new items added; within a batch the order is that of a hash of the names."""
        found = {**items, **self.items}
        if len({tuple(map(len, item.scores)) for item in found.values()}) > 1:
            raise SurefootError(f"items that arrived before have scores of other systems or measures; {_REMEDY}")
        for name, item in items.items():
            if name in self.items and self.items[name] != item:
                raise SurefootError(
                    f"item {name} arrived before with other scores ({self.items[name].scores[0]}, now "
                    f"{item.scores[0]}) or another segment; nothing was added"
                )
        new = sorted((name for name in items if name not in self.items), key=lambda name: digest_of(name, 8))
        return replace(self, items={**self.items, **{name: items[name] for name in new}})

    def write(self, path: PathLike) -> None:
        """Write the state atomically, an item on each line."""
        head = {"format": FORMAT, "digest": self.digest, "question": self.question, "earlier": self.earlier}
        rows = ",\n  ".join(json.dumps(row, ensure_ascii=False, allow_nan=False) for row in self._rows())
        write_text(path, f'{json.dumps(head, indent=1, ensure_ascii=False)[:-2]},\n "items": [\n  {rows}\n ]\n}}\n')

    @classmethod
    def read(cls, path: PathLike) -> State:
        """The state that `write` wrote; anything else is an `InputError`."""
        found = read_json(path, "a state file", [FORMAT], _REMEDY)
        if not fits({name: found.get(name) for name in SHAPES}, SHAPES):
            raise InputError(path, f"edited or damaged state file: items, scores or question are missing; {_REMEDY}")
        rows = {
            name: Item(tuple(map(tuple, scores)), segment, None if emptied is None else tuple(emptied))
            for name, scores, segment, emptied in found["items"]
        }
        state = cls(found["question"], rows, tuple(found["earlier"]))
        if state.digest != found.get("digest"):
            raise InputError(path, f"edited or damaged state file: its digest is not that of its items; {_REMEDY}")
        return state


class SequentialGate:
    """A gate that may be evaluated after every item: its error rates stay below the level over the whole path.

    The items must be a random sample of those that the candidate will serve, in an order independent of the scores.

    Parameters
    ----------
    path
        The state file, locked from reading to writing; None keeps the state in memory.
    baseline, candidate, rules, segments, acknowledged
        As in `gate`. With another question (other systems, measures or limits) the gate starts again, with a note.

    Examples
    --------
    >>> gate = SequentialGate(None, "old", candidate="new")
    >>> for batch in range(3):
    ...     names = [f"q{batch}-{number}" for number in range(100)]
    ...     result = gate.add(Scores([[0.4] * 100, [0.45] * 100], ["old", "new"], names))
    >>> result.verdict
    'pass'
    """

    def __init__(
        self,
        path: PathLike | None,
        baseline: str | Sequence[str],
        *,
        candidate: str,
        rules: RulesLike | None = None,
        segments: Mapping[Any, object] | None = None,
        acknowledged: PathLike | Acknowledged | None = None,
    ) -> None:
        given = resolve_rules(rules)
        if given.evidence == "strict":
            raise SurefootError("a sequential gate has its own evidence; leave out 'strict'")
        self._path, self._candidate, self._baselines = path, candidate, as_baselines(baseline)
        self._policy = Policy.of(replace(given, evidence="sequential"), acknowledged)
        self._segments = segments
        if virtual := [name for name in self._baselines if name in VIRTUAL]:
            raise SurefootError(
                f"{virtual[0]} depends on all systems loaded; a sequential gate needs a system as baseline"
            )
        self._state: State | None = None

    @property
    def items(self) -> tuple[str, ...]:
        """The items that were seen, in the order of arrival."""
        return () if self._state is None else tuple(self._state.items)

    def add(self, scores: ScoresLike) -> GateResult:
        """Add the items that are new, and judge all items so far."""
        parts = as_list(scores)
        with nullcontext() if self._path is None else exclusive(self._path):
            if self._path is not None:
                self._state = State.read(self._path) if Path(self._path).exists() else None
            before, notes = (self._state or State({})).asked(self._question(parts))
            state = before.with_items(self._items(parts))
            added, total = len(state.items) - len(before.items), len(state.items)
            result = self._judge(state, parts[0].noun)
            if self._path is not None and (state.items != before.items or notes):
                state.write(self._path)
            self._state = state
        look = f"{counted(added, 'new query')}, {total:,} so far"
        return replace(result, notes=(*(note for part in parts for note in part.notes), *notes, look, *result.notes))

    def _question(self, parts: Sequence[Scores]) -> dict[str, Any]:
        """Everything that must not change while items arrive."""
        rules = {name: value for name, value in asdict(self._policy.rules).items() if name not in CHANGEABLE}
        systems = {"candidate": self._candidate, "baseline": self._baselines, "measure": [one.measure for one in parts]}
        question: dict[str, Any] = json.loads(json.dumps({**systems, "segments": self._segments is not None, **rules}))
        return question

    def _items(self, parts: Sequence[Scores]) -> dict[str, Item]:
        rows = [[part[self._candidate], *map(part.baseline, self._baselines)] for part in parts]
        named = {str(topic): str(segment) for topic, segment in (self._segments or {}).items()}
        emptied = {name: lost_results(parts[0], self._candidate, name) for name in self._baselines}
        if others := [part.measure for part in parts if part.topics != parts[0].topics]:
            raise SurefootError(f"{others[0]} and {parts[0].measure} have different items; score the same ones")
        is_known = None not in emptied.values()
        return {
            topic: Item(
                tuple(tuple(float(row[place]) for row in own) for own in rows),
                None if self._segments is None else named.get(topic, NO_SEGMENT),
                tuple(name for name, lost in emptied.items() if topic in (lost or ())) if is_known else None,
            )
            for place, topic in enumerate(parts[0].topics)
        }

    def _judge(self, state: State, noun: str) -> GateResult:
        values = np.array([item.scores for item in state.items.values()])
        systems = [self._candidate, *self._baselines]
        scores = [
            Scores(values[:, number].T, systems, list(state.items), measure, noun=noun)
            for number, measure in enumerate(state.question["measure"])
        ]
        kept = {name: item.emptied for name, item in state.items.items() if item.emptied is not None}
        emptied = {base: tuple(name for name, own in kept.items() if base in own) for base in self._baselines if kept}
        segments = {name: item.segment for name, item in state.items.items() if item.segment is not None}
        return gate_all(
            [(part, baseline) for part in scores for baseline in self._baselines],
            candidate=self._candidate,
            policy=replace(self._policy, segments=segments or None),
            arrival=Arrival(state.digest, emptied),
        )
