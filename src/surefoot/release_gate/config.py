"""The options of a gate: those of surefoot.toml, overridden by those of the command line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from surefoot._typing import PathLike
from surefoot.errors import SurefootError, listed
from surefoot.io.maps import read_names, read_segments
from surefoot.io.toml import TomlFile, read_toml
from surefoot.release_gate.ratchet import first_result, gate_accepted, read_accepted
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.verdict import GateResult, gate, merge
from surefoot.scores import Missing, Scores

CONFIG = "surefoot.toml"
TEXTS = ("candidate", "segment_by")
PATHS = ("segments", "protected_file", "ratchet")
RULES = tuple(option.name for option in fields(Rules))
NUMBERS = tuple(option.name for option in fields(Rules) if isinstance(option.default, float))
LISTS = (*(option.name for option in fields(Rules) if isinstance(option.default, tuple)), "baseline")
KEYS = (*RULES, "baseline", *TEXTS, *PATHS)


@dataclass(frozen=True)
class GateOptions:
    """What a gate compares, and by which rules; segments and ratchet are files."""

    rules: Rules
    candidate: str | None = None
    baseline: Sequence[str] = ()
    segments: str | None = None
    segment_by: str | None = None
    ratchet: str | None = None

    def run(self, scores: Scores, *, missing: Missing = "error", may_be_first: bool = False) -> GateResult:
        """The verdict over all baselines and, if the ratchet file exists, the accepted candidate.

        ``may_be_first`` allows a ratchet file that does not exist yet.
        """
        segments = read_segments(self.segments, self.segment_by) if self.segments else None
        candidate = self.candidate or _only_candidate(scores, self.baseline)
        has_accepted = self.ratchet is not None and Path(self.ratchet).exists()
        if self.ratchet is not None and not has_accepted and not may_be_first:
            raise SurefootError(f"{self.ratchet}: no such file; the first time, add --accept to remember the candidate")
        results = []
        if self.baseline:
            results.append(gate(scores, self.baseline, candidate=candidate, rules=self.rules, segments=segments))
        if self.ratchet is not None and has_accepted:
            accepted = read_accepted(self.ratchet)
            results.append(
                gate_accepted(
                    scores, accepted, candidate=candidate, rules=self.rules, segments=segments, missing=missing
                )
            )
        if not results and self.ratchet is None:
            raise SurefootError("nothing to compare with: name a --baseline, or give a --ratchet FILE")
        return merge(results) if results else first_result(scores, candidate=candidate)


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
    rules = Rules(**{name: options.pop(name) for name in RULES if name in options})
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


def _only_candidate(scores: Scores, baselines: Sequence[str]) -> str:
    """The candidate where none is named: the only system that is not a baseline."""
    others = [system for system in scores.systems if system not in baselines]
    if len(others) != 1:
        raise SurefootError(f"name the --candidate: one of {listed(others or scores.systems)}")
    return others[0]


def _name_of(file: TomlFile, key: str) -> str:
    name = key.replace("-", "_")
    if name not in KEYS:
        known = listed((known.replace("_", "-") for known in KEYS), most=len(KEYS))
        raise file.error(key, f"unknown key {key!r} in [gate]; the known ones are {known}")
    return name


def _value_of(file: TomlFile, key: str, value: object) -> object:
    name = key.replace("-", "_")
    if name in NUMBERS:
        if type(value) not in (int, float):
            raise file.error(key, f"{key} should be a number; got {value!r}")
        return value
    if name in LISTS:
        items = value if isinstance(value, list) else [value]
        if not all(type(item) in (str, int) for item in items):
            raise file.error(key, f"{key} should be a list of names; got {value!r}")
        return [str(item) for item in items]
    if not isinstance(value, str):
        raise file.error(key, f"{key} should be text; got {value!r}")
    return str(Path(file.path).parent / value) if name in PATHS else value
