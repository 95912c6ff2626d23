"""The rules of the gate and their tolerances. Each option has one name: as field, flag and key of the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from surefoot.errors import SurefootError, choose, did_you_mean, listed

RULES = {
    "mean": "mean effectiveness fell",
    "risk": "the gains do not pay for the losses, which weigh 1 + alpha",
    "losses": "too many queries lost",
    "large-losses": "too many queries lost more than 20 %",
    "tail": "the worst queries lost too much",
    "protected": "a protected query lost",
    "segments": "a segment of the queries lost",
}
"""The rules, in the order in which they are reported, and what each means when it fails."""

UNDECIDED = {"pass": 0, "warn": 0, "fail": 1, "exit3": 3}
"""What a candidate that can't be decided counts as, and the exit code of the command."""


def _option(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


@dataclass(frozen=True)
class Rules:
    """The rules of the gate. Every tolerance and limit says how much may be lost, so all are 0 or more.

    Parameters
    ----------
    alpha
        Risk sensitivity: a loss weighs 1 + alpha in the rule ``risk``. At 0 that rule would repeat ``mean``, so it is
        left out.
    level
        How often a gate may refuse a candidate that is within all limits, and how often it may pass one that is not.
    undecided
        What a candidate counts as whose loss is neither shown to be within the tolerances nor beyond one: ``"pass"``,
        ``"warn"`` (exit code 0 as well), ``"fail"`` (1) or ``"exit3"`` (3).
    mean_tolerance
        How far the mean may fall, in points of the measure.
    risk_tolerance
        How far U_Risk may lie below 0.
    max_losses, max_large_losses
        The fraction of queries that may lose, and that may lose more than 20 %.
    max_tail_loss, tail_share
        What the worst queries may lose on average, and which fraction of the queries these are.
    protected, protected_tolerance
        Queries that must not lose, and what each of them may lose all the same.
    segment_tolerance
        How far the mean of a segment may fall.
    largest_change
        The most that a single query can win or lose: the range of the measure, unless more is known.
    off
        Rules to leave out: mean, risk, losses, large-losses, tail, protected, segments.

    Examples
    --------
    >>> Rules(undecided="fail", protected=["q1"]).protected
    ('q1',)
    """

    alpha: float = _option(0.0, "turns on the rule risk, in which a loss weighs 1 + alpha")
    level: float = _option(0.05, "how often the verdict may be wrong")
    undecided: str = _option("warn", f"what a candidate counts as that can't be decided: {', '.join(UNDECIDED)}")
    mean_tolerance: float = _option(0.01, "how far the mean may fall, in points of the measure")
    risk_tolerance: float = _option(0.01, "how far U_Risk may lie below 0")
    max_losses: float = _option(0.6, "share of queries that may lose")
    max_large_losses: float = _option(0.33, "share of queries that may lose more than 20 %")
    max_tail_loss: float = _option(0.25, "what the worst queries may lose on average")
    tail_share: float = _option(0.1, "share of queries that are the worst ones")
    protected: tuple[str, ...] = _option((), "queries that must not lose, by comma")
    protected_tolerance: float = _option(0.05, "what a protected query may lose")
    segment_tolerance: float = _option(0.05, "how far the mean of a segment may fall")
    largest_change: float = _option(1.0, "the most that a single query can win or lose")
    off: tuple[str, ...] = _option((), f"rules to leave out, by comma: {', '.join(RULES)}")

    def __post_init__(self) -> None:
        for name in ("protected", "off"):
            object.__setattr__(self, name, tuple(dict.fromkeys(map(str, getattr(self, name)))))
        choose(self.undecided, UNDECIDED, "undecided")
        for option in fields(self):
            value = getattr(self, option.name)
            if isinstance(option.default, float) and not 0 <= value < float("inf"):
                raise SurefootError(f"{option.name} must be a number of 0 or more; got {value:g}")
        for name in ("max_losses", "max_large_losses"):
            if getattr(self, name) > 1:
                raise SurefootError(f"{name} is a share of the queries, from 0 to 1; got {getattr(self, name):g}")
        if not 0 < self.level < 0.5:
            raise SurefootError(f"level must lie between 0 and 0.5; got {self.level:g}")
        if not 0 < self.tail_share <= 1:
            raise SurefootError(f"tail_share must lie above 0 and be at most 1; got {self.tail_share:g}")
        if not self.largest_change > 0:
            raise SurefootError(f"largest_change must be above 0; got {self.largest_change:g}")
        unknown = [name for name in self.off if name not in RULES]
        if unknown:
            raise SurefootError(f"no rule {listed(unknown)} to leave out; there are {listed(RULES)}")

    def changed(self) -> dict[str, object]:
        """The options that differ from the defaults, for the signature; protected queries as their number."""
        own = {option.name: getattr(self, option.name) for option in fields(self)}
        kept = {option.name for option in fields(self) if own[option.name] == option.default}
        return {
            name: len(self.protected) if name == "protected" else value
            for name, value in own.items()
            if name not in kept | {"level"}
        }


RulesLike = Rules | Mapping[str, Any]
"""Rules, or their options by name."""


def resolve_rules(rules: RulesLike | None) -> Rules:
    """The rules given, as such or by their options, or the defaults.

    >>> resolve_rules({"mean_tolerance": 0.02}).mean_tolerance
    0.02
    """
    if isinstance(rules, Mapping):
        known = [option.name for option in fields(Rules)]
        for name in rules:
            if name not in known:
                raise SurefootError(
                    f"rules have no option {name!r}{did_you_mean(name, known)}; there are {listed(known, 20)}"
                )
        return Rules(**rules)
    if rules is not None and not isinstance(rules, Rules):
        raise SurefootError(f"rules should be Rules(...) or their options in a dict; got {type(rules).__name__}")
    return rules or Rules()
