"""Rules about single queries: facts, no statistics."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from surefoot.errors import counted, listed
from surefoot.release_gate.acknowledged import Acknowledged
from surefoot.release_gate.doubt import Doubt
from surefoot.release_gate.finding import (
    SLACK,
    Finding,
    ScoredPair,
    Verdict,
)
from surefoot.release_gate.rules import Rules


@dataclass(frozen=True)
class Contract:
    """Checks the single queries of one pair.

    ``emptied`` are the topics that had results and have none now, None where only scores are known; ``doubt`` knows
    what unjudged documents could change.
    """

    pair: ScoredPair
    rules: Rules
    emptied: tuple[str, ...] | None = None
    acknowledged: Acknowledged | None = None
    doubt: Doubt | None = None

    def findings(self) -> list[Finding]:
        """The findings of the rules that are on and have something to look at."""
        found = []
        loss = dict(zip(self.pair.topics, self.pair.loss.tolist(), strict=True))
        if "protected" not in self.rules.off and self.rules.protected:
            limit = self.rules.protected_tolerance
            chosen = [topic for topic in self.rules.protected if topic in loss]
            finding = self._losses("protected", {topic: loss[topic] for topic in chosen}, limit, "protected query")
            absent = [topic for topic in self.rules.protected if topic not in loss]
            if finding.verdict == "pass" and absent and self.rules.evidence == "sequential":
                said = f"{finding.sentence} {listed(absent)} {'has' if len(absent) == 1 else 'have'} not arrived yet."
                finding = replace(finding, verdict="undecided", sentence=said)
            found.append(finding)
        if "query-loss" not in self.rules.off and self.rules.max_query_loss is not None:
            found.append(self._losses("query-loss", loss, self.rules.max_query_loss, "query"))
        if "no-results" not in self.rules.off and self.emptied is not None:
            found.append(self._no_results(self.emptied))
        return found

    def _losses(self, rule: str, loss: Mapping[str, float], limit: float, noun: str) -> Finding:
        order = sorted(loss, key=lambda topic: (-loss[topic], topic))
        beyond = [topic for topic in order if loss[topic] > limit + SLACK]
        accepted = {topic: reason for topic in beyond if (reason := self._reason(topic)) is not None}
        open_ = [topic for topic in beyond if topic not in accepted]
        undoable = [topic for topic in open_ if self._may_be_undone(topic, limit)]
        broken = [topic for topic in open_ if topic not in undoable]
        verdict: Verdict = "fail" if broken else "undecided" if undoable else "pass"
        first = next(iter(broken or undoable or order), None)
        named = listed((f"{topic} ({-loss[topic]:.4f})" for topic in broken or undoable), most=5)
        several = counted(len(loss), noun)
        sentence = {
            "pass": f"None of {several} lost more than {limit:g}.",
            "undecided": f"{len(undoable)} of {several} lost more than {limit:g}, but unjudged documents could undo "
            f"it: {named}.",
            "fail": f"{len(broken)} of {several} lost more than {limit:g}: {named}.",
        }[verdict]
        if accepted:
            sentence = sentence.replace("None", "None of the others", 1) if verdict == "pass" else sentence
            sentence += f" Acknowledged: {listed((f'{topic} ({why})' for topic, why in accepted.items()), most=5)}."
        own = None if first is None else loss[first]
        return Finding(
            rule, self.pair.measure, self.pair.baseline, verdict, sentence, own, own, own, limit, where=first,
            documents=self._unjudged(undoable),
        )  # fmt: skip

    def _no_results(self, emptied: tuple[str, ...]) -> Finding:
        accepted = [topic for topic in emptied if self._reason(topic) is not None]
        broken = [topic for topic in emptied if topic not in accepted]
        sentence = f"Every {'other ' if accepted else ''}query that had results still has some."
        if broken:
            sentence = (
                f"{counted(len(broken), 'query')} had results and now {'has' if len(broken) == 1 else 'have'} none: "
            )
            sentence += f"{listed(broken, most=5)}."
        if accepted:
            sentence += f" Acknowledged: {listed(accepted, most=5)}."
        verdict: Verdict = "fail" if broken else "pass"
        where = broken[0] if broken else None
        share = len(broken) / len(self.pair.topics)
        return Finding(
            "no-results", self.pair.measure, self.pair.baseline, verdict, sentence, share, limit=0.0, where=where
        )

    @cached_property
    def _places(self) -> dict[str, int]:
        return {topic: place for place, topic in enumerate(self.pair.topics)}

    def _reason(self, topic: str) -> str | None:
        if self.acknowledged is None:
            return None
        place = self._places[topic]
        return self.acknowledged.covers(
            topic, self.pair.measure, float(self.pair.base[place]), float(self.pair.own[place])
        )

    def _may_be_undone(self, topic: str, limit: float) -> bool:
        return self.doubt is not None and bool(self.doubt.highest[self._places[topic]] >= -limit - SLACK)

    def _unjudged(self, topics: list[str]) -> tuple[tuple[str, str], ...]:
        if self.doubt is None:
            return ()
        return tuple(one for topic in topics for one in self.doubt.unjudged[self._places[topic]])
