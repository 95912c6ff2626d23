"""The options of a gate: from surefoot.toml, overridden by the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import SurefootError, listed
from surefoot.io.atomic import digest_of
from surefoot.io.files import IRDS, STDIN, read_bytes
from surefoot.io.shapes import fits
from surefoot.io.small_files import TomlFile, read_names, read_segments, read_toml
from surefoot.release_gate.accepted import Accepted, open_ratchet
from surefoot.release_gate.acknowledged import LOSSES
from surefoot.release_gate.arrivals import SequentialGate
from surefoot.release_gate.comparison import Policy
from surefoot.release_gate.gate import gate
from surefoot.release_gate.pinned import options_of
from surefoot.release_gate.ratchet import accept as accept_candidate
from surefoot.release_gate.ratchet import gate_ratchet, refuse_other_collection
from surefoot.release_gate.rules import NUMBERS, Rules, flag
from surefoot.release_gate.verdict import GateResult
from surefoot.scores import Missing, Scores

CONFIG = "surefoot.toml"
PATHS = ("segments", "protected_file", "ratchet", "sequential", "qrels", "queries", "acknowledged")
RULE_OPTIONS = tuple(option.name for option in fields(Rules))
LISTS = ("protected", "off", "baseline", "measure", "assessors")


@dataclass(frozen=True)
class GateOptions:
    """The options of a gate; segments, ratchet, judgments and queries are files."""

    rules: Rules
    candidate: str | None = None
    baseline: Sequence[str] = ()
    measure: Sequence[str] = ()
    qrels: str | None = None
    queries: str | None = None
    segments: str | None = None
    segment_by: str | None = None
    ratchet: str | None = None
    sequential: str | None = None
    holdout: float = 0.0
    assessors: Sequence[str] | None = None
    acknowledged: str | None = None
    seed: int = 0
    noun: str | None = None

    @property
    def losses_file(self) -> str:
        """The file that acknowledged losses are written to: as named, or surefoot-losses.toml."""
        return self.acknowledged or LOSSES

    @property
    def _losses(self) -> str | None:
        """The file that acknowledged losses are read from, if it is named or exists."""
        return self.losses_file if self.acknowledged is not None or Path(LOSSES).is_file() else None

    def run(
        self,
        scores: Sequence[Scores],
        *,
        missing: Missing = "error",
        accept: bool = False,
        pin: bool = False,
        loosen: bool = False,
    ) -> Outcome:
        """The verdict over all baselines, the accepted candidate and the anchor.

        ``accept`` creates the ratchet file if there is none, and keeps a candidate that passes. ``pin`` keeps the
        options in the file, so that later gates can't be looser; ``loosen`` allows pinning options that are looser than
        the pinned ones. The file is locked while the gate runs.
        """
        self._validate(accept, pin, loosen)
        noun = self.noun or scores[0].noun
        parts = [part if part.noun == noun else replace(part, noun=noun) for part in scores]
        candidate = self.candidate_of(parts[0])
        segments = read_segments(self.segments, self.segment_by) if self.segments else None
        shared: dict[str, Any] = {"candidate": candidate, "rules": self.rules, "acknowledged": self._losses}
        shared["segments"] = segments
        if self.sequential is not None:
            return Outcome(SequentialGate(self.sequential, self.baseline, **shared).add(parts), False)
        if self.ratchet is None:
            return Outcome(gate(parts, self.baseline, assessors=self.assessors, seed=self.seed, **shared), False)
        policy = Policy.of(
            self.rules, self._losses, assessors=self.assessors, seed=self.seed, baselines=self.baseline,
            segments=segments, missing=missing, holdout=self.holdout,
        )  # fmt: skip
        with open_ratchet(self.ratchet) as ratchet:
            account = self._account(ratchet.accepted, may_be_first=accept)
            if not (account.scores or self.baseline or accept):
                raise SurefootError(f"{self.ratchet}: nothing was accepted yet: name a --baseline, or add --accept")
            result, account = gate_ratchet(parts, account, policy, candidate=candidate, pin=pin, loosen=loosen)
            accepted = accept and result.acceptable
            kept: Missing = account.pinned.get("missing", missing)
            if accepted:
                used = account.pinned or options_of(policy, parts)
                account = replace(accept_candidate(parts, result, account, kept), rules=used)
            ratchet.accepted = account
        return Outcome(result, accepted)

    def candidate_of(self, scores: Scores) -> str:
        """The candidate that is named, or the only system that is not a baseline."""
        others = [system for system in scores.systems if system not in self.baseline]
        if self.candidate is None and len(others) != 1:
            raise SurefootError(f"name the --candidate: one of {listed(others or scores.systems)}")
        return self.candidate or others[0]

    def _validate(self, accept: bool, pin: bool, loosen: bool) -> None:
        """Refuse options that do not go together."""
        if loosen and not pin:
            raise SurefootError("--loosen goes together with --pin")
        if self.ratchet is None:
            given = {"--accept": accept, "--holdout": self.holdout, "--pin": pin}
            if option := next((name for name, value in given.items() if value), None):
                raise SurefootError(f"{option} needs the ratchet file: give it with --ratchet FILE")
            if not self.baseline:
                raise SurefootError("nothing to compare with: name a --baseline, or give a --ratchet FILE")
        if self.sequential is not None and (self.ratchet is not None or self.assessors is not None):
            raise SurefootError("--sequential does not go together with --ratchet or --assessors")

    def _account(self, found: Accepted | None, may_be_first: bool) -> Accepted:
        """The content of the ratchet file; an empty account where there is no file yet."""
        if found is None:
            if may_be_first:
                return Accepted("", "", {}, self._collection())
            raise SurefootError(f"{self.ratchet}: no such file; the first time, add --accept to remember the candidate")
        refuse_other_collection(found, own := self._collection())
        if found.pinned and "qrels" in found.collection and "qrels" not in own:
            raise SurefootError(
                f"{self.ratchet}: pins a gate on judgments, and a table may hold anything: give --qrels"
            )
        return found

    def _collection(self) -> dict[str, str]:
        """Digests of judgments and queries: of the files, or of the name of an ir_datasets collection."""
        files = {"qrels": self.qrels, "queries": self.queries}
        if STDIN in files.values():
            raise SurefootError(
                "a ratchet reads judgments and queries a second time, for their digest; standard input can't be read "
                "twice, so name a file"
            )
        return {
            name: digest_of(path if path.startswith(IRDS) else read_bytes(path)) for name, path in files.items() if path
        }


KEYS = (*RULE_OPTIONS, *(option.name for option in fields(GateOptions) if option.name != "rules"), "protected_file")
"""The keys of the configuration file."""


@dataclass(frozen=True)
class Outcome:
    """A gate's result, and whether the ratchet accepted the candidate."""

    result: GateResult
    accepted: bool


def read_options(config: PathLike | None = None, given: Mapping[str, Any] | None = None) -> GateOptions:
    """The options of a configuration file, overridden by those given that are not None.

    Without a name, the file is surefoot.toml in the current folder, if there is one.
    """
    path = config or (CONFIG if Path(CONFIG).is_file() else None)
    options = read_config(path) if path else {}
    options |= {key: value for key, value in (given or {}).items() if value is not None}
    if protected_file := options.pop("protected_file", None):
        names = read_names(protected_file)
        if not names:
            raise SurefootError(f"{protected_file}: names no query to protect; remove the option, or fill it")
        options["protected"] = [*options.get("protected", []), *names]
    if "segment_by" in options and "segments" not in options:
        raise SurefootError("--segment-by names a column of the segments file: give that with --segments FILE")
    rules = Rules(**{name: options.pop(name) for name in RULE_OPTIONS if name in options})
    return GateOptions(rules, **options)


def read_config(path: PathLike) -> dict[str, Any]:
    """The options under ``[gate]``. Hyphens and underscores are alike; paths are relative to the file's folder."""
    file = read_toml(path)
    unknown = [name for name in file.content if name != "gate"]
    if unknown:
        raise file.error(unknown[0], f"unknown key {listed(unknown)}; the only table is [gate]")
    table = file.content.get("gate", {})
    if not isinstance(table, dict):
        raise file.error("gate", "gate should be a table: [gate]")
    return {_name_of(file, key): _value_of(file, key, value) for key, value in table.items()}


def _name_of(file: TomlFile, key: str) -> str:
    name = key.replace("-", "_")
    if name not in KEYS:
        known = listed(map(flag, KEYS), most=len(KEYS))
        raise file.error(key, f"unknown key {key!r} in [gate]; the known ones are {known}")
    return name


def _value_of(file: TomlFile, key: str, value: Any) -> object:
    name = key.replace("-", "_")
    expected: str = "text"
    shape: Any = str
    if name in (*NUMBERS, "holdout"):
        expected, shape = "a number", float
    elif name == "seed":
        expected, shape = "a whole number", int
    elif name in LISTS:
        expected, shape = "a list of names", [(str, float if name == "assessors" else int)]
    items = value if name not in LISTS or isinstance(value, list) else [value]
    if not fits(items, shape):
        raise file.error(key, f"{key} should be {expected}; got {value!r}")
    if name in LISTS:
        return [str(item) for item in items]
    is_path = name in PATHS and not value.startswith(IRDS)
    return str(Path(file.path).parent / value) if is_path else value
