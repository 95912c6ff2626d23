"""The options that make a verdict stricter or looser: those of this gate, of an earlier one, and pinned ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from surefoot.errors import SurefootError, listed
from surefoot.io.atomic import digest_of
from surefoot.io.document_lists import digests_of
from surefoot.judgments.assessors import parse_assessors
from surefoot.release_gate.accepted import OTHER_OPTIONS, Accepted
from surefoot.release_gate.comparison import Policy
from surefoot.release_gate.doubt import assessors_name
from surefoot.release_gate.rules import LIMITS, Rules, flag, resolve_rules
from surefoot.scores import Scores

PINNED_OPTIONS = ("assessors", "missing", "holdout", "seed")
"""Options besides the rules that a pinned gate takes from the ratchet file."""

INPUTS = tuple(name for name in OTHER_OPTIONS if name not in PINNED_OPTIONS)
"""Inputs that a pinned gate must be given again; further baselines and measures may be added."""


def options_of(policy: Policy, scores: Sequence[Scores]) -> dict[str, Any]:
    """Everything besides the scores that the verdict depends on, by the names of the options."""
    source = scores[0].source
    segments = sorted((str(topic), str(own)) for topic, own in (policy.segments or {}).items())
    return {
        **policy.rules.options(),
        "assessors": policy.assessors,
        "missing": policy.missing,
        "holdout": policy.holdout,
        "seed": policy.seed,
        "segments": digest_of(repr(segments), 4) if segments else None,
        "unjudged": "skip" if source is not None and source.skips_unjudged else "zero",
        "llm_qrels": digests_of(source.llm_qrels) if source else None,
        "baseline": list(policy.baselines),
        "measure": [part.measure for part in scores],
    }


def looser_than(own: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    """The options by which a gate may be looser than another, whose options besides the rules may be unknown."""
    names = [name for name in OTHER_OPTIONS if name in other and _differs(name, own[name], other[name])]
    return [*rules_of(own).looser_than(rules_of(other)), *names]


def _differs(name: str, own: Any, other: Any) -> bool:
    if name in ("baseline", "measure"):
        return bool(set(other) - set(own))
    if name == "assessors":
        return assessors_name(parse_assessors(own)) != assessors_name(parse_assessors(other))
    return bool(own != other)


def named_loosened(own: Mapping[str, Any], account: Accepted, pin: bool) -> tuple[tuple[str, ...], str]:
    """The options that may be looser than pinned ones, or than those of the gate that accepted, and a note on them."""
    before = account.pinned or account.rules
    then = "pinned" if account.pinned else "before"
    names = looser_than(own, before) if before else []
    more = set(own["protected"]) - set(rules_of(before).protected)
    if more and before.get("holdout") and not (account.pinned and not pin):
        names.append("protected")  # these are never held out
    loosened = tuple(f"{flag(name)} {_shown(name, own)} ({then}: {_shown(name, before)})" for name in names)
    if not account.pinned:
        return loosened, f"changed since {account.system} was accepted, and perhaps looser"
    if pin:
        return loosened, "pinned now, and perhaps looser than before"
    return loosened, "without effect, since the ratchet file pins these options"


def held_to(policy: Policy, own: Mapping[str, Any], pinned: Mapping[str, Any]) -> Policy:
    """The policy with the pinned options wherever it may be looser; other inputs are an error."""
    looser = looser_than(own, pinned)
    if given := [f"{flag(name)} {_shown(name, pinned)}" for name in looser if name in INPUTS]:
        raise SurefootError(
            f"the ratchet file pins {'; '.join(given)}: give the same, or pin other ones by --pin --loosen"
        )
    held = {name: pinned[name] for name in PINNED_OPTIONS}
    rules = rules_of(pinned)
    return replace(policy, rules=policy.rules.pinned_to(rules), keep_open=rules.protected, **held)


def rules_of(options: Mapping[str, Any]) -> Rules:
    """The rules among the options of a gate."""
    return resolve_rules({name: value for name, value in options.items() if name not in OTHER_OPTIONS})


def _shown(name: str, options: Mapping[str, Any]) -> str:
    """The value of an option, for a note."""
    rules = rules_of(options)
    value = options[name] if name in OTHER_OPTIONS else rules.limit(name) if name in LIMITS else getattr(rules, name)
    if isinstance(value, list | tuple):
        return listed(map(str, value)) if value else "none"
    return "none" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
