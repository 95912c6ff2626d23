"""The design of an evaluation: baselines, populations and values resolved from names into arrays; derived columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from surefoot._names import as_names
from surefoot._typing import Columns, FloatArray
from surefoot.errors import SurefootError, choose, listed
from surefoot.results import signature
from surefoot.risk.measures import Risk, compute_all, get_risk, registered, sources
from surefoot.risk.moments import Statistic
from surefoot.risk.population import expected
from surefoot.risk.statistics import Expectation, Mean
from surefoot.risk.values import FITTED, VALUES, Family, Linear, Monotone, Smooth, Value, fences, value_functions
from surefoot.scores import Scores
from surefoot.stats.bootstrap import jackknife_error, jackknife_weights

Baseline = str | Mapping[str, str] | None
Population = Literal["PAIR"] | Sequence[str] | None
Statistics = dict[Callable[..., Statistic], Statistic | None]
"""Statistics by the function that makes them; None where one is undefined."""
RANK, JACKKNIFE = "rank_", "se_jackknife_"
"""Prefixes of derived columns."""


@dataclass(frozen=True)
class Design:
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
    ) -> Design:
        """Resolve the names; `surefoot.evaluate` describes them."""
        if not isinstance(baseline, str | Mapping | None):
            raise SurefootError(f"baseline must be the name of one system, or map each system to one; got {baseline!r}")
        if population == "PAIR" and baseline is None:
            raise SurefootError("the population PAIR needs a baseline; name one")
        chosen = tuple(scores.systems if systems is None else scores.select(systems).systems)
        if population is not None and population != "PAIR":
            population = as_names(population)
        over = None if population == "PAIR" else population
        family, label = _family(value, scores, baseline, over)
        return cls(
            scores,
            baseline,
            chosen,
            _baseline_names(chosen, baseline),
            _baseline_rows(scores, chosen, baseline, over),
            population,
            family,
            label,
        )

    @property
    def rows(self) -> FloatArray:
        """The scores of the systems, in their order."""
        if self.systems == self.scores.systems:
            return self.scores.values
        return self.scores.select(self.systems).values

    def matrices(self) -> Iterator[tuple[FloatArray, list[int], list[int]]]:
        """The populations of Z_Risk: a matrix, the rows of it that are shown, and their indices among the systems.

        Members are in the order of their names; of a pair, the system comes first.
        None where a score is below 0: Z_Risk is undefined then.
        """
        if self.scores.lowest < 0:
            return
        if self.population == "PAIR" and self.baselines is not None:
            baselines = np.broadcast_to(self.baselines, self.rows.shape)
            for index, (row, baseline) in enumerate(zip(self.rows, baselines, strict=True)):
                if self.systems[index] != self.baseline_names[index]:
                    yield np.stack([row, baseline]), [0], [index]
        else:
            members = (self.scores if self.population is None else self.scores.select(self.population)).by_name()
            row_of = {name: row for row, name in enumerate(members.systems)}
            inside = [index for index, name in enumerate(self.systems) if name in row_of]
            yield members.values, [row_of[self.systems[index]] for index in inside], inside

    def values(self, measures: Iterable[Risk], alphas: FloatArray) -> Columns:
        """The measures by name, each alphas × systems."""
        wanted = tuple(measures)
        shape = (len(alphas), len(self.systems))
        found = compute_all(wanted, self.statistics(wanted, alphas), alphas)
        return {name: np.broadcast_to(values, shape) for name, values in found.items()}

    def statistics(self, measures: Iterable[Risk], alphas: FloatArray, weights: FloatArray | None = None) -> Statistics:
        """The statistics that measures are made of, each computed once."""
        return {make: self._statistic(measure, alphas, weights) for make, measure in sources(measures).items()}

    def _statistic(self, measure: Risk, alphas: FloatArray, weights: FloatArray | None) -> Statistic | None:
        if measure.needs is None:
            return measure.source(self.rows, weights=weights)
        values = value_functions(self.family, alphas)
        if measure.needs == "population":
            return self._against_population(measure, values, weights)
        if self.baselines is None:
            raise SurefootError(f"{measure.name} needs a baseline; name one")
        return measure.source(self.rows, self.baselines, weights=weights, values=values)

    def _against_population(
        self, measure: Risk, values: Mapping[float, Value], weights: FloatArray | None
    ) -> Statistic | None:
        """One statistic of all systems, NaN for those outside the population; None if all are outside."""
        whole: Statistic | None = None
        for matrix, rows, indices in self.matrices():
            if weights is None:
                part = measure.source(matrix, values=values)[rows]
            else:
                part = measure.source(matrix[rows], weights, totals=matrix.sum(axis=0), values=values)
            if whole is None:
                whole = part.map(lambda array: np.full((len(self.systems), *array.shape[1:]), np.nan))
            whole.map(partial(_put, indices), part)
        if isinstance(whole, Expectation) and weights is not None and len(indices) < len(self.systems):
            # Of all systems at once: BLAS rounds a product differently for another number of rows.
            whole = replace(whole, total=Mean.of(self.rows, weights).total)
        return whole


def _put(indices: list[int], whole: FloatArray, part: FloatArray) -> FloatArray:
    whole[indices] = part
    return whole


def signature_of(kind: str, designs: Sequence[Design], alphas: FloatArray, **more: object) -> str:
    """The signature: the fields that every analysis of designs has, then its own."""
    first, named = designs[0], list(dict.fromkeys(str(design.baseline) for design in designs))
    return signature(
        kind,
        measure=list(dict.fromkeys(design.scores.measure for design in designs)),
        baseline="map" if isinstance(first.baseline, Mapping) else first.baseline and named,
        alpha=alphas.tolist(),
        value=first.value,
        population=f"all({len(first.scores.systems)})" if first.population is None else first.population,
        topics=list(dict.fromkeys(len(design.scores.topics) for design in designs)),
        ties=first.scores.ties,
        trials=sorted({len(own) for design in designs for own in design.scores.trials.values()}) or None,
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
    """The value functions asked for, and their name in the signature (None for the linear ones).

    Smooth and monotone ones are fitted to the differences of all systems from the baseline, its own row left out;
    without a baseline, to the differences from what Z_Risk expects.
    """
    if isinstance(value, Linear | Smooth | Monotone):
        raise SurefootError(
            f"value takes a family of functions, one for each alpha: {type(value).__name__}, not {value}"
        )
    if not isinstance(value, str):
        return value, _family_name(value)
    if choose(value, VALUES, "value") == "linear":
        return Linear, None
    rows = _baseline_rows(scores, scores.systems, baseline, over)
    if rows is None:
        members = scores if over is None else scores.select(over)
        lower, upper = fences(members.values - expected(members.values))
    else:
        names = _baseline_names(scores.systems, baseline)
        others = [name != own for name, own in zip(names, scores.systems, strict=True)]
        lower, upper = fences((scores.values - rows)[others])
    family = partial(FITTED[value], lower=lower, upper=upper)
    return family, _family_name(family)


def _family_name(family: Family) -> str | None:
    if family is Linear:
        return None
    for name, fitted in FITTED.items():
        if family is fitted:
            return f"{name}({fitted.lower:.5f},{fitted.upper:.5f})"
        if isinstance(family, partial) and family.func is fitted and set(family.keywords) == {"lower", "upper"}:
            return f"{name}({{lower:.5f}},{{upper:.5f}})".format(**family.keywords)
    return getattr(family, "__name__", repr(family))


def is_extra(name: str) -> bool:
    """Whether an evaluation has this column only if asked for it.

    >>> [is_extra(name) for name in ("rank_urisk", "correlation", "tail_0.1", "urisk", "urisk_low")]
    [True, True, True, False, False]
    """
    if name.startswith((RANK, JACKKNIFE, "tail_")):
        return True
    return any(measure.name == name and not measure.in_evaluate for measure in registered())


def behind(names: Sequence[str]) -> Iterator[Risk]:
    """The measures that columns are made of."""
    return (get_risk(name.removeprefix(RANK).removeprefix(JACKKNIFE)) for name in names)


def derived(names: Sequence[str], design: Design, alphas: FloatArray, table: Columns) -> Columns:
    """The columns that no measure has by itself, each broadcast to alphas × systems."""
    shape = (len(alphas), len(design.systems))
    own = np.array([name == base for name, base in zip(design.systems, design.baseline_names, strict=True)])
    found: Columns = {}
    for name in names:
        if name.startswith(JACKKNIFE):
            found[name] = _jackknife_error(design, alphas, get_risk(name.removeprefix(JACKKNIFE)))
        elif name.startswith(RANK):
            measure = get_risk(name.removeprefix(RANK))
            if measure.higher_is_better is None:
                raise SurefootError(f"{measure.name} has no better and worse, so there is no {name}")
            values = np.broadcast_to(table[measure.name], shape) * (1 if measure.higher_is_better else -1)
            found[name] = _ranks(np.where(own & (measure.needs == "baseline"), np.nan, values))
    return found


def _ranks(values: FloatArray) -> npt.NDArray[np.object_]:
    """1 for the largest of each row, equals sharing the better rank; None where there is no value."""
    ahead = np.count_nonzero(values[:, np.newaxis, :] > values[:, :, np.newaxis], axis=2)
    ranks: npt.NDArray[np.object_] = np.asarray(1 + ahead, dtype=np.object_)
    ranks[np.isnan(values)] = None
    return ranks


def _jackknife_error(design: Design, alphas: FloatArray, measure: Risk) -> FloatArray:
    """SE_J of a measure, alphas × systems."""
    topics = len(design.scores.topics)
    if topics < 2:
        raise SurefootError("the jackknife needs at least two topics")
    left_out = np.concatenate(
        [
            compute_all([measure], design.statistics([measure], alphas, weights), alphas)[measure.name]
            for weights in jackknife_weights(topics)
        ],
        axis=-1,
    )
    return jackknife_error(left_out)
