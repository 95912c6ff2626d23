"""The design of an evaluation: names resolved to baselines, populations and values; columns, and notes on them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
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
from surefoot.risk.values import FITTED, VALUES, Family, Linear, Monotone, Smooth, Value, value_functions
from surefoot.scores import Scores
from surefoot.stats.bootstrap import jackknife_weights
from surefoot.stats.inference import correct, jackknife_error

Baseline = str | Mapping[str, str] | None
Population = Literal["PAIR"] | Sequence[str] | None
Statistics = dict[Callable[..., Statistic], Statistic | None]
"""Statistics by the function that makes them; None where one is undefined."""
RANK, JACKKNIFE = "rank_", "se_jackknife_"
"""Prefixes of derived columns."""
UNEQUAL_JUDGING = 0.05
"""The smallest difference of judged@k that gets a note."""


@dataclass(frozen=True)
class Design:
    """Systems with their scores, the baseline of each (if any), the population around them, and the values."""

    scores: Scores
    baseline: Baseline
    systems: tuple[str, ...]
    shown: tuple[str, ...]
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
        *,
        by_name: bool = False,
        whole: bool = False,
    ) -> Design:
        """Resolve the names; `surefoot.evaluate` describes them.

        ``by_name`` computes the systems in the order of their names, so that the order of files changes no bit;
        ``whole`` computes all systems, whichever are shown.
        """
        shown = scores.select(systems).systems
        if by_name:
            scores, systems = scores.by_name(), sorted(shown)
        if not isinstance(baseline, str | Mapping | None):
            raise SurefootError(f"baseline must be the name of one system, or map each system to one; got {baseline!r}")
        if population == "PAIR" and baseline is None:
            raise SurefootError("the population PAIR needs a baseline; name one")
        chosen = scores.systems if whole else scores.select(systems).systems
        if population is not None and population != "PAIR":
            population = as_names(population)
        over = None if population == "PAIR" else population
        family, label = _family(value, scores, baseline, over)
        return cls(
            scores,
            baseline,
            chosen,
            shown,
            _baseline_names(chosen, baseline),
            _baseline_rows(scores, chosen, baseline, over),
            population,
            family,
            label,
        )

    def as_rows(self, table: Columns, alphas: FloatArray) -> Columns:
        """The columns of the systems that are shown, alphas × systems, as rows by system and alpha."""
        places, shape = [self.systems.index(name) for name in self.shown], (len(alphas), len(self.systems))
        return {name: np.broadcast_to(column, shape).T[places].ravel() for name, column in table.items()}

    @cached_property
    def rows(self) -> FloatArray:
        """The scores of the systems, in their order."""
        return self.scores.select(self.systems).values

    @cached_property
    def _members(self) -> Scores:
        """The population in the order of names; a pair has none."""
        return self.scores.select(self.population).by_name()

    def populations(self) -> Iterator[tuple[FloatArray, list[int], list[int]]]:
        """The populations of Z_Risk: a matrix, its rows that are shown, and their indices among the systems.

        Members are in the order of their names; in a pair, the system comes first. There is no population if a score is
        below 0, since Z_Risk is then undefined.
        """
        if self.scores.lowest < 0:
            return
        if self.population == "PAIR" and self.baselines is not None:
            baselines = np.broadcast_to(self.baselines, self.rows.shape)
            for index, (row, baseline) in enumerate(zip(self.rows, baselines, strict=True)):
                if self.systems[index] != self.baseline_names[index]:
                    yield np.stack([row, baseline]), [0], [index]
        else:
            members = self._members
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
        for matrix, rows, indices in self.populations():
            if weights is None:
                part = measure.source(matrix, values=values)[rows]
            else:
                part = measure.source(matrix[rows], weights, totals=matrix.sum(axis=0), values=values)
            if whole is None:
                whole = part.map(lambda array: np.full((len(self.systems), *array.shape[1:]), np.nan))
            whole.map(partial(_put, indices), part)
        if isinstance(whole, Expectation) and weights is not None and len(indices) < len(self.systems):
            # For all systems at once, since BLAS rounds products of different numbers of rows differently.
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
    """The value functions, and their name in the signature (None for the linear ones).

    Smooth and monotone ones are fitted to the differences of all other systems from the baseline; without a baseline,
    to the differences from the scores that Z_Risk expects.
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
        members = scores.select(over).values
        found = members - expected(members)
    else:
        names = _baseline_names(scores.systems, baseline)
        others = [name != own for name, own in zip(names, scores.systems, strict=True)]
        found = (scores.values - rows)[others]
    family = FITTED[value].fitted(found)
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


def measure_columns(
    systems: Sequence[str],
    baselines: Sequence[str] | Literal[False],
    alphas: FloatArray,
    measures: Sequence[Risk],
    statistics: Statistics,
) -> Columns:
    """System, baseline (if any), alpha and the measures, alphas × systems."""
    table: Columns = {"system": np.array(systems)}
    if baselines:
        table["baseline"] = np.array(baselines)
    table["alpha"] = alphas[:, np.newaxis]
    values = compute_all(measures, statistics, alphas)
    table |= {one.name: values[one.name].astype(np.int64) if one.is_count else values[one.name] for one in measures}
    return {name: np.broadcast_to(column, (len(alphas), len(systems))) for name, column in table.items()}


def add_corrected(tables: Sequence[Columns], names: Iterable[str], method: str, family: Family | None = None) -> None:
    """Add columns such as ``p_flip_holm``: p values, alphas × systems, adjusted over all tables.

    A test whose p is the same at every alpha counts once.
    """
    same = {"p_t", "p_wilcoxon"} | ({"p_flip"} if family is Linear else set())
    for name in names:
        p = np.stack([np.atleast_2d(table[name]) for table in tables])
        for table, own in zip(tables, correct(p[:, :1] if name in same else p, method), strict=True):
            table[f"{name}_{method}"] = own


def is_extra(name: str) -> bool:
    """Whether an evaluation has this column only on request.

    >>> [is_extra(name) for name in ("rank_urisk", "correlation", "tail_0.1", "urisk", "urisk_low")]
    [True, True, True, False, False]
    """
    if name.startswith((RANK, JACKKNIFE, "tail_")):
        return True
    return any(measure.name == name and not measure.in_evaluate for measure in registered())


def measures_of_columns(names: Sequence[str]) -> Iterator[Risk]:
    """The measures that derived columns are made of."""
    return (get_risk(name.removeprefix(RANK).removeprefix(JACKKNIFE)) for name in names)


def derived_columns(names: Sequence[str], design: Design, alphas: FloatArray, table: Columns) -> Columns:
    """Ranks and jackknife errors of measures, alphas × systems."""
    own = np.array([name == base for name, base in zip(design.systems, design.baseline_names, strict=True)])
    found: Columns = {}
    for name in names:
        if name.startswith(JACKKNIFE):
            found[name] = _jackknife_error(design, alphas, get_risk(name.removeprefix(JACKKNIFE)))
        elif name.startswith(RANK):
            measure = get_risk(name.removeprefix(RANK))
            if measure.higher_is_better is None:
                raise SurefootError(f"{measure.name} has no better and worse, so there is no {name}")
            values = table[measure.name] * (1 if measure.higher_is_better else -1)
            found[name] = _ranks(np.where(own & (measure.needs == "baseline"), np.nan, values))
    return found


def _ranks(values: FloatArray) -> npt.NDArray[np.object_]:
    """Ranks within each row, 1 for the largest; equal values share the better rank, NaN has none."""
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


def judged_means(judged: FloatArray) -> FloatArray:
    """judged@k of each system over the topics that it retrieved."""
    return np.asarray(np.nan_to_num(judged).sum(axis=1) / np.maximum((~np.isnan(judged)).sum(axis=1), 1))


def notes_on_unequal_judging(scores: Scores, systems: Sequence[str], baselines: Sequence[str]) -> list[str]:
    """A note on systems whose judged@k differs from that of their baselines.

    >>> judged = [[1.0, 1.0], [0.5, 0.7]]
    >>> scores = Scores([[0.2, 0.4], [0.3, 0.1]], ["old", "new"], ["q1", "q2"], judged=judged)
    >>> notes_on_unequal_judging(scores, ["new"], ["old"])
    ["judged@k differs from the baseline's: new 60 %, baseline 100 %"]
    """
    if scores.judged is None:
        return []
    means = dict(zip(scores.systems, judged_means(scores.judged).tolist(), strict=True))
    found = [
        f"{system} {100 * means[system]:.0f} %, baseline {100 * means[baseline]:.0f} %"
        for system, baseline in zip(systems, baselines, strict=True)
        if baseline in means and abs(means[system] - means[baseline]) >= UNEQUAL_JUDGING
    ]
    return [f"judged@k differs from the baseline's: {listed(found, most=3)}"] if found else []


def notes_on_columns(
    alphas: FloatArray, table: Columns, lowest: float, topics: int, outside: Sequence[str] = ()
) -> Iterator[str]:
    """Notes on the columns of an evaluation that are undefined or inconsistent, or do not hold on few topics."""
    if alphas.max() > 2:
        yield "GeoRisk at alpha > 2 is not consistent: a better score on one topic can lower it"
    if outside:
        yield f"Z_Risk and GeoRisk are undefined outside the population: {listed(outside)}"
    if lowest < 0:
        yield "Z_Risk and GeoRisk are undefined: some scores are below 0"
    if "trisk" in table:
        untested = table["system"][np.isnan(table["trisk"]) & (table["system"] != table["baseline"])]
        if len(untested):
            reason = "all values are alike" if topics > 1 else "there is only one topic"
            yield f"T_Risk and p are undefined where {reason}: {listed(sorted(set(untested.tolist())))}"
    if "urisk_low" in table:
        left = table["system"][np.isnan(table["urisk_low"]) & np.isfinite(table["urisk"])]
        if len(left):
            named = listed(sorted(set(left.tolist())))
            yield f"no interval where fewer than ten queries changed, since it would not hold: {named}"
    yield from notes_on_few_topics(topics, alphas, table)


def notes_on_few_topics(topics: int, alphas: FloatArray, columns: Collection[str]) -> Iterator[str]:
    """Notes on p values and intervals that do not hold on few topics; ``python -m studies calibration`` has the rates.

    >>> list(notes_on_few_topics(50, np.array([1.0]), ["p"]))
    []
    >>> [note[:22] for note in notes_on_few_topics(50, np.array([5.0]), ["p", "urisk_low"])]
    ['p at alpha 5 and above', 'on few topics interval']
    """
    if topics < 2:
        return
    too_small = "is too small on few topics: where U_Risk is 0, it is below 0.05 in"
    if "p" in columns and topics < 50 and ((alphas > 0) & (alphas < 5)).any():
        yield f"p at alpha below 5 {too_small} 7 to 10 % of samples of 25 topics (alpha 1)"
    if "p" in columns and topics <= 200 and alphas.max() >= 5:
        rates = "up to 16 % of samples of 25 topics, 9 % of 50 and 7 % of 200"
        yield f"p at alpha 5 and above {too_small} {rates}; p_bootstrap (evaluate --tests bootstrap) is closer"
    if topics < 100 and any(name.endswith("_low") for name in columns):
        rates = "83 to 97 % of samples of 25 topics, in 91 to 97 % of 50"
        yield f"on few topics intervals hold the truth less often than they say: the default ones of 95 % in {rates}"
