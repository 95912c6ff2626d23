"""Every system against its baseline by several tests."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from string import ascii_lowercase
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from surefoot._typing import Columns, FloatArray, Progress
from surefoot.analysis.design import Baseline, Design, Population, signature_of
from surefoot.errors import SurefootError, choose
from surefoot.results import Result, signature
from surefoot.risk.measures import TRISK, URISK
from surefoot.risk.values import Family, Linear, normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.bootstrap import bootstrap_test
from surefoot.stats.corrections import correct as corrected
from surefoot.stats.inference import LEVEL
from surefoot.stats.permutation import flip_centre, flip_test, swap_test, t_test, wilcoxon_test

TESTS = ("trisk", "bootstrap", "t", "wilcoxon", "flip", "max", "swap")


def run_tests(
    scores: ScoresLike,
    baseline: Baseline,
    alpha: npt.ArrayLike = 1.0,
    *,
    tests: Sequence[str] = TESTS,
    alternative: str = "two-sided",
    systems: Sequence[str] | None = None,
    population: Population = None,
    value: str | Family = "linear",
    correct: str | None = None,
    n_resamples: int = 10_000,
    seed: int = 0,
    progress: Progress | None = None,
) -> Result:
    """Every system against the baseline by several tests, one row for each system and alpha.

    Parameters
    ----------
    scores, baseline, alpha, systems, population, value
        As in `surefoot.evaluate`.
    tests
        Any of ``trisk`` (T_Risk against 0, by Student's distribution), ``bootstrap`` (the same by the studentised
        bootstrap), ``t`` (paired t, alpha = 0), ``wilcoxon``, ``flip``, ``max`` (flip, adjusted for all systems) and
        ``swap`` (GeoRisk of system and baseline).
    alternative
        ``"two-sided"``, or ``"worse"`` for the system.
    correct
        Adds columns such as ``p_flip_holm``, adjusted over all systems, and over the alphas where the test depends on
        them.
    n_resamples, seed
        Of the bootstrap and the permutation tests.
    progress
        Called with how many resamples of a test are done, of how many, and a message.

    Returns
    -------
    Result
        Columns ``system, baseline, alpha, urisk, centre`` (what U_Risk would be without a system effect), ``trisk``,
        and for each test its p, such as ``p_flip``; NaN where there is nothing to test.

    Examples
    --------
    >>> draws = np.random.default_rng(1).random((3, 30)) ** 2
    >>> result = run_tests(Scores(draws, ["old", "new", "other"], range(30)), "old", alpha=5)
    >>> [(row["system"], round(row["p_trisk"], 3), round(row["p_flip"], 3)) for row in result.rows()[1:]]
    [('new', 0.017, 0.713), ('other', 0.009, 0.826)]

    """
    scores = Scores.of(scores)
    for test in tests:
        choose(test, TESTS, "tests")
    alphas = normalise_alphas(alpha)
    names = scores.systems if systems is None else scores.select(systems).systems
    # Adjustment for other systems counts all of them, whichever are shown; the order of names is that of computation.
    chosen = None if correct or "max" in tests else sorted(names)
    design = Design.of(scores.by_name(), baseline, chosen, population, value)
    if design.baselines is None:
        raise SurefootError("tests need a baseline; name one")
    method: Method = {"alternative": alternative, "n_resamples": n_resamples, "seed": seed, "progress": progress}
    found = _columns(design, alphas, tests, method)
    if correct is not None:
        found |= _corrected(found, design.family, correct)
    shape = (len(alphas), len(design.systems))
    shown = [design.systems.index(name) for name in names]
    columns = {name: np.broadcast_to(column, shape).T[shown].ravel() for name, column in found.items()}
    fields = {"alternative": alternative, "correct": correct, "n_resamples": n_resamples, "seed": seed}
    signature = signature_of("tests", [design], alphas, **fields)
    return Result(signature, columns, (*scores.all_notes, *_notes(design, alphas, tests)))


class Method(TypedDict):
    """Options that tests by resampling share."""

    alternative: str
    n_resamples: int
    seed: int
    progress: Progress | None


def _columns(design: Design, alphas: FloatArray, tests: Sequence[str], method: Method) -> Columns:
    rows, baselines = design.rows, np.broadcast_to(np.asarray(design.baselines), design.rows.shape)
    family, alternative = design.family, method["alternative"]
    flips = cache(lambda: flip_test(rows, baselines, alphas, family, **method))
    p: dict[str, Callable[[], FloatArray]] = {
        "trisk": lambda: t_test(rows, baselines, alphas, family, alternative),
        "bootstrap": lambda: bootstrap_test(rows, baselines, alphas, family, **method),
        "t": lambda: t_test(rows, baselines, 0.0, Linear, alternative),
        "wilcoxon": lambda: wilcoxon_test(rows, baselines, alternative),
        "flip": lambda: flips().p,
        "max": lambda: flips().p_max,
        "swap": lambda: _swaps(design, alphas, method),
    }
    values = design.values([URISK, TRISK], alphas)
    return {
        "system": np.array(design.systems),
        "baseline": np.array(design.baseline_names),
        "alpha": alphas[:, np.newaxis],
        "urisk": values["urisk"],
        "centre": flip_centre(rows, baselines, alphas, family),
        "trisk": values["trisk"],
        **{f"p_{test}": p[test]() for test in tests},
    }


def _swaps(design: Design, alphas: FloatArray, method: Method) -> FloatArray:
    """The p of the swap test, alphas × systems; NaN where system and baseline are not two rows of the population."""
    p = np.full((len(alphas), len(design.systems)), np.nan)
    for matrix, rows, indices in design.matrices():
        for row, index in zip(rows, indices, strict=True):
            other = _row_of_baseline(design, index)
            if other is not None:
                p[:, index] = swap_test(matrix, row, other, alphas, design.family, **method).p
    return p


def _row_of_baseline(design: Design, index: int) -> int | None:
    """The row of a system's baseline in the population; None if the baseline is virtual or outside."""
    if design.population == "PAIR":
        return 1
    members = sorted(design.population or design.scores.systems)
    name = design.baseline_names[index]
    return members.index(name) if name in members else None


def _corrected(found: Columns, family: Family, method: str) -> Columns:
    """The p values adjusted; those that are the same at every alpha are one test and count once."""
    result: Columns = {}
    for name in found:
        if name.startswith("p_") and name != "p_max":
            p = np.atleast_2d(found[name])[: 1 if _is_same(name, family) else None]
            result[f"{name}_{method}"] = corrected(p, method)
    return result


def _is_same(name: str, family: Family) -> bool:
    """Whether the p of a test is the same at every alpha."""
    return name in ("p_t", "p_wilcoxon") or (name == "p_flip" and family is Linear)


def correct_over(tables: Sequence[Columns], alphas: int, family: Family, method: str) -> None:
    """Adjust the corrected p values of tables against different baselines over all of them; rows are by system."""
    for name in [name for name in tables[0] if name.startswith("p_") and f"{name}_{method}" in tables[0]]:
        p = np.stack([table[name].reshape(-1, alphas) for table in tables])
        adjusted = corrected(p[..., : 1 if _is_same(name, family) else None], method)
        for table, own in zip(tables, np.broadcast_to(adjusted, p.shape), strict=True):
            table[f"{name}_{method}"] = own.ravel()


def _notes(design: Design, alphas: FloatArray, tests: Sequence[str]) -> list[str]:
    notes = []
    if alphas.max() > 0:
        notes.append(
            "p_trisk compares T_Risk with 0; without a system effect U_Risk would be about the value under centre, "
            "and p_flip compares with that"
        )
        if design.family is Linear and {"flip", "max"} & set(tests):
            notes.append("p_flip and p_max are the same at every alpha: exchanging scores never changes |d|")
    if "swap" in tests and not set(design.baseline_names) <= set(design.scores.systems):
        notes.append("p_swap is undefined against a virtual baseline: it is no row of the population")
    return notes


@dataclass(frozen=True, eq=False)
class Pairs(Result):
    """A row for each two systems, the better one first; see `compare_pairs` for the columns."""

    legend: str = ""

    def better_than(self, system: str) -> set[str]:
        """The systems that a system is significantly better than."""
        rows = zip(self["system"].tolist(), self["other"].tolist(), self["significant"].tolist(), strict=True)
        return {other for one, other, significant in rows if one == system and significant}


def compare_pairs(
    scores: ScoresLike, systems: Sequence[str] | None = None, *, correct: str = "holm", level: float = LEVEL
) -> Pairs:
    """Compare the means of every two systems by the paired t test, corrected over all pairs.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure; anything that `Scores.of` takes.
    systems
        The systems to compare; all by default.
    correct
        ``"holm"``, ``"bonferroni"`` or ``"bh"``.
    level
        The significance level of the corrected p.

    Returns
    -------
    Pairs
        Columns ``system, other, difference, p``, the corrected p such as ``p_holm``, and ``significant``.

    Examples
    --------
    >>> scores = Scores([[0.2, 0.4, 0.3, 0.1], [0.3, 0.5, 0.4, 0.3]], ["old", "new"], ["q1", "q2", "q3", "q4"])
    >>> compare_pairs(scores).better_than("new")
    {'old'}

    """
    scores = Scores.of(scores)
    chosen = scores if systems is None else scores.select(systems)
    if len(chosen.systems) < 2:
        raise SurefootError("pairs need at least two systems")
    means = chosen.values.mean(axis=1)
    order = np.argsort(-means, kind="stable")
    one, other = np.triu_indices(len(order), k=1)
    better, worse = order[one], order[other]
    p = np.array([t_test(chosen.values[i], chosen.values[j]) for i, j in zip(better, worse, strict=True)], np.float64)
    adjusted = corrected(p, correct)
    names = np.array(chosen.systems)
    columns = {
        "system": names[better],
        "other": names[worse],
        "difference": means[better] - means[worse],
        "p": p,
        f"p_{correct}": adjusted,
        "significant": adjusted < level,
    }
    size = {"systems": len(names), "topics": len(chosen.topics)}
    made = signature("pairs", scores, test="t", correct=correct, level=level, **size)
    legend = (
        f"letters: the systems with a significantly lower mean (paired t test, {correct} over all pairs, p < {level:g})"
    )
    return Pairs(made, columns, scores.all_notes, legend)


ALPHABET = len(ascii_lowercase)


def letter_of(index: int) -> str:
    """A letter for a system; beyond the alphabet, two.

    >>> letter_of(0), letter_of(25), letter_of(26), letter_of(53)
    ('a', 'z', 'aa', 'bb')
    """
    rounds, place = divmod(index, ALPHABET)
    return (letter_of(rounds - 1) if rounds else "") + ascii_lowercase[place]
