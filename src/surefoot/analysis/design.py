"""What is compared with what: the words for baselines, populations and values, turned into arrays once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from surefoot.errors import SurefootError, choose, listed
from surefoot.results import signature
from surefoot.risk import expected
from surefoot.risk.values import Family, Linear, Smooth, fences
from surefoot.scores import FloatArray, Scores, as_names

Baseline = str | Mapping[str, str] | None
Population = Literal["PAIR"] | Sequence[str] | None


@dataclass(frozen=True)
class Setting:
    """Systems with their scores, the baseline of each (if any), the population around them, and the values."""

    scores: Scores
    baseline: Baseline
    systems: tuple[str, ...]
    baseline_names: tuple[str, ...]
    baselines: FloatArray | None
    population: Population
    family: Family
    value: str | None

    @classmethod
    def of(
        cls,
        scores: Scores,
        baseline: Baseline = None,
        systems: Sequence[str] | None = None,
        population: Population = None,
        value: str | Family = "linear",
    ) -> Setting:
        """Resolve the words; see `surefoot.analysis.evaluate.evaluate` for what each may be."""
        if population == "PAIR" and baseline is None:
            raise SurefootError("the population PAIR needs a baseline; name one")
        chosen = tuple(scores.systems if systems is None else scores.select(systems).systems)
        if population is not None and population != "PAIR":
            population = as_names(population)
        over = None if population == "PAIR" else population
        family, word = _family(value, scores, baseline, over)
        return cls(
            scores,
            baseline,
            chosen,
            _baseline_names(chosen, baseline),
            _baseline_rows(scores, chosen, baseline, over),
            population,
            family,
            word,
        )

    @property
    def rows(self) -> FloatArray:
        """The scores of the systems, in their order."""
        if self.systems == self.scores.systems:
            return self.scores.values
        return self.scores.select(self.systems).values

    def only(self, systems: Sequence[str]) -> Setting:
        """The same setting for fewer systems; the population stays."""
        places = [self.systems.index(name) for name in systems]
        rows = self.baselines
        return replace(
            self,
            systems=tuple(systems),
            baseline_names=tuple(self.baseline_names[place] for place in places),
            baselines=rows[places] if rows is not None and rows.ndim > 1 else rows,
        )

    def matrices(self) -> Iterator[tuple[FloatArray, list[int], list[int]]]:
        """The populations of Z_Risk: a matrix, which of its rows are asked for, and which systems those are."""
        if self.population == "PAIR" and self.baselines is not None:
            baselines = np.broadcast_to(self.baselines, self.rows.shape)
            for place, (row, baseline) in enumerate(zip(self.rows, baselines, strict=True)):
                if self.systems[place] != self.baseline_names[place]:
                    yield np.stack([row, baseline]), [0], [place]
        else:
            members = self.scores if self.population is None else self.scores.select(self.population)
            row_of = {name: row for row, name in enumerate(members.systems)}
            inside = [place for place, name in enumerate(self.systems) if name in row_of]
            yield members.values, [row_of[self.systems[place]] for place in inside], inside


def signature_of(kind: str, settings: Sequence[Setting], alphas: FloatArray, **more: object) -> str:
    """What was computed, from what: the fields that every analysis of settings has, then its own."""
    first = settings[0]
    return signature(
        kind,
        measure=[setting.scores.measure for setting in settings],
        baseline=first.baseline if first.baseline is None or isinstance(first.baseline, str) else "map",
        alpha=alphas.tolist(),
        value=first.value,
        population=f"all({len(first.scores.systems)})" if first.population is None else first.population,
        topics=list(dict.fromkeys(len(setting.scores.topics) for setting in settings)),
        **more,
    )


def _baseline_names(systems: Sequence[str], baseline: Baseline) -> tuple[str, ...]:
    if baseline is None or isinstance(baseline, str):
        return (baseline or "",) * len(systems)
    absent = [name for name in systems if name not in baseline]
    if absent:
        raise SurefootError(f"the baseline map has no line for {listed(absent)}; add one for each")
    return tuple(baseline[name] for name in systems)


def _baseline_rows(
    scores: Scores, systems: Sequence[str], baseline: Baseline, over: Sequence[str] | None
) -> FloatArray | None:
    """One row for all systems, or one row each; None without a baseline."""
    if baseline is None:
        return None
    if isinstance(baseline, str):
        return scores.baseline(baseline, over)
    return np.stack([scores.baseline(name, over) for name in _baseline_names(systems, baseline)])


def _family(
    value: str | Family, scores: Scores, baseline: Baseline, over: Sequence[str] | None
) -> tuple[Family, str | None]:
    """The value functions asked for, and their word in the signature (None for the linear ones).

    Smooth ones are fitted to the differences of all systems from the baseline, its own row left out; without a
    baseline, to the differences from what Z_Risk expects.
    """
    if isinstance(value, Linear | Smooth):
        raise SurefootError(
            f"value takes a family of functions, one for each alpha: {type(value).__name__}, not {value}"
        )
    if not isinstance(value, str):
        return value, _family_word(value)
    if choose(value, ("linear", "smooth"), "value") == "linear":
        return Linear, None
    rows = _baseline_rows(scores, scores.systems, baseline, over)
    if rows is None:
        members = scores if over is None else scores.select(over)
        lower, upper = fences(members.values - expected(members.values))
    else:
        names = _baseline_names(scores.systems, baseline)
        others = [name != own for name, own in zip(names, scores.systems, strict=True)]
        lower, upper = fences((scores.values - rows)[others])
    return partial(Smooth, lower=lower, upper=upper), f"smooth({lower:.5f},{upper:.5f})"


def _family_word(family: Family) -> str | None:
    if family is Linear:
        return None
    if family is Smooth:
        return f"smooth({Smooth.lower:.5f},{Smooth.upper:.5f})"
    if isinstance(family, partial) and family.func is Smooth and set(family.keywords) == {"lower", "upper"}:
        return "smooth({lower:.5f},{upper:.5f})".format(**family.keywords)
    return getattr(family, "__name__", repr(family))
