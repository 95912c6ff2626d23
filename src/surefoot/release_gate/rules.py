"""The rules of the gate and their tolerances. Each option has one name: as field, flag and key of the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from surefoot._alignment import LARGEST
from surefoot._names import as_names
from surefoot.errors import SurefootError, choose, did_you_mean, listed
from surefoot.io.atomic import digest_of

CONTRACT = {
    "protected": "a protected query lost",
    "no-results": "a query that had results has none now",
    "query-loss": "a single query lost too much",
}
"""Rules about single queries: facts, no statistics."""

SAMPLE = {
    "mean": "mean effectiveness fell",
    "risk": "the gains do not pay for the losses, which weigh 1 + alpha",
    "losses": "most of the changed queries lost",
    "large-losses": "too many queries lost more than 20 %",
    "tail": "the worst queries lost too much",
    "segments": "the mean of a segment fell",
    "churn": "too many queries changed",
}
"""Rules about queries like these: the ones at hand are a sample."""

RULES = CONTRACT | SAMPLE
"""The rules, in the order in which they are reported, and what each means when it fails."""

TIERS = {"seen": "as far as seen", "strict": "strict", "sequential": "sequential"}
"""The tiers of evidence, and their names in a verdict."""

UNDECIDED = {"pass": 0, "warn": 0, "hold": 0, "fail": 1, "exit3": 3}
"""How to treat an undecided candidate, and the exit code of the command; ``hold`` exits 1 if it leans against."""


def _option(default: Any, help: str) -> Any:
    return field(default=default, metadata={"help": help})


def _limit(help: str, seen: float, strict: float | None = None) -> Any:
    """A limit with its default, and that of strict evidence if it is another."""
    text = f"{help} (default: {seen:g}{'' if strict is None else f'; strict: {strict:g}'})"
    return field(default=None, metadata={"help": text, "limits": (seen, seen if strict is None else strict)})


@dataclass(frozen=True)
class Rules:
    """The rules of the gate. Every tolerance and limit says how much may be lost, so all are 0 or more.

    Parameters
    ----------
    evidence
        ``"seen"``: bounds that are calibrated on real rankers and decide on fifty queries. ``"strict"``: bounds that
        hold for every distribution, and need some 300 queries to pass anything. ``"sequential"``: bounds that also
        hold however often one looks; see `SequentialGate`.
    level
        How often a candidate whose change has no effect may fail. A candidate passes if its mean loss is beyond the
        limit with a probability of at most three times the level, and its tail with at most 1.5 times the level. With
        strict and sequential evidence: how often the gate may be wrong, in each direction.
    decide
        Decide undecided rules at this probability, between 0.5 and 1: pass if every limit holds with at least this
        probability, fail if one is exceeded with it. None: leave them undecided.
    undecided
        How to treat an undecided candidate: ``"pass"``, ``"warn"`` (exit code 0 as well), ``"hold"`` (1 if it leans
        against the candidate, else 0), ``"fail"`` (1) or ``"exit3"`` (3).
    alpha
        Risk sensitivity: a loss weighs 1 + alpha in the rule ``risk``, which is on only where alpha is above 0.
    mean_tolerance, risk_tolerance, segment_tolerance
        How far the mean, U_Risk and the mean of a segment may fall, in points of the measure.
    max_losses
        The share of the changed queries that may lose (strict: of all queries).
    max_large_losses
        The share of queries that may lose more than 20 %; None: their number is only reported (strict: 0.33).
    max_tail_loss, tail_share
        What the worst queries may lose on average beyond what the best ones win, and the share of queries that counts
        as worst and best. With strict evidence gains do not count.
    max_churn
        The share of queries whose score may change at all; None: any.
    protected, protected_tolerance
        Queries that must not lose, and the loss that each may have nevertheless.
    max_query_loss
        What any single query may lose; None: any loss.
    loss_budget
        How far the mean may fall below that of the best candidate that a ratchet accepted; None: twice the mean
        tolerance.
    largest_change
        The most that a single query can win or lose: the range of the measure, unless more is known.
    off
        Rules to leave out.

    Examples
    --------
    >>> Rules(undecided="fail", protected=["q1"]).protected
    ('q1',)
    """

    evidence: str = _option("seen", f"the tier of evidence: {', '.join(TIERS)}")
    level: float = _option(0.05, "how often a change without effect may fail")
    decide: float | None = _option(None, "decide undecided rules at this probability, such as 0.8")
    undecided: str = _option("warn", f"how to treat a candidate without enough evidence: {', '.join(UNDECIDED)}")
    alpha: float = _option(0.0, "turns on the rule risk, in which a loss weighs 1 + alpha")
    mean_tolerance: float | None = _limit("how far the mean may fall", 0.02, strict=0.01)
    risk_tolerance: float | None = _limit("how far U_Risk may lie below 0", 0.02, strict=0.01)
    max_losses: float | None = _limit("share of the changed queries that may lose", 0.8, strict=0.6)
    max_large_losses: float | None = _limit("share of queries that may lose more than 20 %", 0.33)
    max_tail_loss: float | None = _limit("what the worst queries may lose, beyond what the best win", 0.25)
    tail_share: float = _option(0.1, "share of queries that are the worst ones")
    max_churn: float | None = _option(None, "share of queries that may change at all (default: any)")
    protected: tuple[str, ...] = _option((), "queries that must not lose, by comma")
    protected_tolerance: float = _option(0.05, "what a protected query may lose")
    max_query_loss: float | None = _option(None, "what any single query may lose (default: anything)")
    segment_tolerance: float | None = _limit("how far the mean of a segment may fall", 0.05)
    loss_budget: float | None = _option(
        None, "how far the mean may fall below the ratchet's best (default: twice the mean tolerance)"
    )
    largest_change: float = _option(1.0, "the most that a single query can win or lose")
    off: tuple[str, ...] = _option((), f"rules to leave out, by comma: {', '.join(RULES)}")

    def __post_init__(self) -> None:
        for name in ("protected", "off"):
            object.__setattr__(self, name, tuple(dict.fromkeys(as_names(getattr(self, name)))))
        choose(self.undecided, UNDECIDED, "undecided")
        choose(self.evidence, TIERS, "evidence")
        self._check_numbers()
        if self.decide is not None and self.evidence != "seen":
            raise SurefootError(f"decide needs evidence 'seen': {self.evidence} bounds give no probability")
        unknown = [name for name in self.off if name not in RULES]
        if unknown:
            raise SurefootError(
                f"no rule {listed(unknown)} to leave out{did_you_mean(unknown[0], RULES)}; there are {listed(RULES)}"
            )

    def _check_numbers(self) -> None:
        for name in NUMBERS:
            value = getattr(self, name)
            is_number = isinstance(value, int | float) and 0 <= value < LARGEST
            if not is_number and not (value is None and name in OPTIONAL):
                raise SurefootError(f"{flag(name)} must be a number of 0 or more; got {value}")
        for name in ("max_losses", "max_large_losses", "max_churn"):
            if (getattr(self, name) or 0) > 1:
                raise SurefootError(f"{flag(name)} is a share of queries, from 0 to 1; got {getattr(self, name):g}")
        if not 0 < self.level < 0.5:
            raise SurefootError(f"level must lie between 0 and 0.5; got {self.level:g}")
        if self.decide is not None and not 0.5 <= self.decide < 1:
            raise SurefootError(f"decide is a probability of at least 0.5 and below 1; got {self.decide:g}")
        if not 0 < self.tail_share <= 1:
            raise SurefootError(f"tail-share must lie above 0 and be at most 1; got {self.tail_share:g}")
        if not self.largest_change > 0:
            raise SurefootError(f"largest-change must be above 0; got {self.largest_change:g}")

    def limit(self, name: str) -> float:
        """A limit: as given, or the default of the tier."""
        given = getattr(self, name)
        return float(LIMITS[name][self.evidence == "strict"] if given is None else given)

    def is_given(self, name: str) -> bool:
        """Whether a limit was given."""
        return getattr(self, name) is not None

    def enforced(self, name: str) -> float:
        """A limit that a candidate must be shown to keep; infinite if it is only reported, or if there is none."""
        reported = self.evidence != "strict" and name in ("max_losses", "max_large_losses")
        is_off = not self.is_given(name) and (reported or name not in LIMITS)
        return float("inf") if is_off else self.limit(name)

    def options(self) -> dict[str, Any]:
        """All options, as JSON has them."""
        return {name: list(value) if isinstance(value, tuple) else value for name, value in vars(self).items()}

    def looser_than(self, other: Rules) -> list[str]:
        """The options by which this gate may be looser than another: wider limits, and differences of `TWO_SIDED`.

        >>> Rules(mean_tolerance=0.05, off=["tail"]).looser_than(Rules(max_query_loss=0.5))
        ['mean_tolerance', 'max_query_loss', 'off']
        """
        same = {name: getattr(other, name) for name in TWO_SIDED}
        own = replace(self, **same)
        found = {name for name, strictness in STRICTNESS.items() if strictness(own) < strictness(other)}
        found |= {name for name, value in same.items() if value != getattr(self, name)}
        found |= {"protected"} if set(other.protected) - set(self.protected) else set()
        if not (self.is_given("loss_budget") or other.is_given("loss_budget")):
            found.discard("loss_budget")  # it follows the mean tolerance
        return [option.name for option in fields(self) if option.name in found]

    def pinned_to(self, other: Rules) -> Rules:
        """These rules, with the options of another gate wherever these may be looser."""
        options = {name: getattr(other, name) for name in self.looser_than(other)}
        if "protected" in options:
            options["protected"] = (*self.protected, *other.protected)
        return replace(self, **options)

    @property
    def budget(self) -> float:
        """How far the mean may fall below the ratchet's best."""
        return 2 * self.limit("mean_tolerance") if self.loss_budget is None else self.loss_budget

    def sample_rules(self, has_segments: bool) -> list[str]:
        """The rules on a sample that are on and have something to test."""
        idle = {"risk": not self.alpha, "segments": not has_segments, "churn": self.max_churn is None}
        if self.evidence == "strict":
            idle["churn"] = True
        return [name for name in SAMPLE if name not in self.off and not idle.get(name)]

    def changed(self) -> dict[str, object]:
        """The options that differ from the defaults, for the signature; protected queries as number and digest."""
        others = [option for option in fields(self) if option.name not in ("level", "evidence")]
        changed = {one.name: value for one in others if (value := getattr(self, one.name)) != one.default}
        if self.protected:
            changed["protected"] = f"{len(self.protected)}:{digest_of(repr(sorted(self.protected)), 4)}"
        return changed


LIMITS: dict[str, tuple[float, float]] = {
    option.name: option.metadata["limits"] for option in fields(Rules) if "limits" in option.metadata
}
"""The limits where none is given, and those of strict evidence."""

STRICTNESS: dict[str, Callable[[Rules], float]] = {
    "undecided": lambda rules: ("pass", "warn", "hold", "exit3", "fail").index(rules.undecided),
    **{name: lambda rules, name=name: -rules.enforced(name) for name in LIMITS},  # type: ignore[misc]
    "max_churn": lambda rules: -rules.enforced("max_churn"),
    "protected_tolerance": lambda rules: -rules.protected_tolerance,
    "max_query_loss": lambda rules: -rules.enforced("max_query_loss"),
    "loss_budget": lambda rules: -rules.budget,
}
"""How strict a gate is by each option that makes it only stricter or only looser; larger is stricter."""

TWO_SIDED = ("evidence", "level", "decide", "alpha", "tail_share", "largest_change", "off")
"""Options that make some verdicts stricter and others looser: a smaller level passes less and fails less, and one more
rule leaves the others a smaller part of the level."""

NUMBERS = tuple(option.name for option in fields(Rules) if "float" in str(option.type))
OPTIONAL = tuple(option.name for option in fields(Rules) if option.default is None)


def flag(name: str) -> str:
    """An option as the command line and the configuration file write it."""
    return name.replace("_", "-")


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
