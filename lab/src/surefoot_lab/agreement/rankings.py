"""Do two rankings agree? Rank-biased overlap, and the orders of systems by two measures or two kinds of values."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import chain, combinations

import numpy as np

from surefoot._typing import FloatArray, IntArray
from surefoot.analysis.design import Design
from surefoot.analysis.evaluate import evaluate
from surefoot.errors import SurefootError, choose
from surefoot.results import Result, signature
from surefoot.risk.measures import GEOMINUS_PUBLISHED, GEORISK, URISK, ZRISK, get_risk, usual
from surefoot.risk.values import Family, normalise_alphas
from surefoot.scores import Scores, ScoresLike
from surefoot.stats.ranks import Values, kendall

TAUS = {"tau": "tau", "p": "p", "weighted_tau": "weighted"}
"""The columns of Kendall's tau, and the fields of `Kendall`."""
Ranking = Sequence[Hashable | AbstractSet[Hashable]]
"""Items, the best first; a set or frozenset instead of an item is a group of tied items."""


def ranking(values: Values, names: Sequence[Hashable] | None = None, *, ties: str = "share") -> Ranking:
    """The items in the order of their values, the largest first.

    Parameters
    ----------
    values
        Maps items to values, or an array beside ``names``. Where less is better, pass the negative. Values tie if they
        are equal to the last bit.
    names
        The items of an array; 0, 1, 2 … by default.
    ties
        ``"share"`` puts tied items into one frozenset; ``"order"`` leaves them in the order given.

    Returns
    -------
    Ranking
        The items, the best first.

    Examples
    --------
    >>> ranking({"a": 0.2, "b": 0.5, "c": 0.2}, ties="order")
    ('b', 'a', 'c')
    >>> ranking([3, 1, 2, 2], names="wxyz") == ("w", frozenset("yz"), "x")
    True

    """
    choose(ties, ("share", "order"), "ties")
    items, array = _labelled(values, names)
    order = np.argsort(-array, kind="stable")
    if ties == "order":
        return tuple(items[index] for index in order)
    starts = np.flatnonzero(array[order][1:] != array[order][:-1]) + 1
    groups = ([items[index] for index in group] for group in np.split(order, starts))
    return tuple(group[0] if len(group) == 1 else frozenset(group) for group in groups)


@dataclass(frozen=True)
class RBO:
    """Rank-biased overlap: its minimum, its residual, and the extrapolated value between the two.

    Items beyond the ends of the rankings can add at most ``residual`` to ``minimum``; ``extrapolated`` assumes that
    they go on agreeing as they did.
    """

    minimum: float
    residual: float
    extrapolated: float


def rbo(first: Ranking, second: Ranking, p: float = 0.9) -> RBO:
    """RBO = (1 - p) sum_d p^(d-1) A_d, A_d = X_d / d the agreement and X_d the overlap of the rankings at depth d.

    A reader goes from each rank to the next with probability p, so the first ten ranks carry 86 % of the weight at
    p = 0.9. Rankings may differ in length and in items. With s and l the shorter and the longer length:

    - minimum: nothing beyond the ends matches, X_d = X_l for d > l;
    - minimum + residual: all that can match does, X_d grows by 1 a rank beyond s and by 2 beyond l, up to d;
    - extrapolated: the missing end of the shorter agrees as its head did, A_d = (X_d + (d - s) X_s / s) / d, and
      beyond l A_d stays.

    Webber, Moffat and Zobel, *A similarity measure for indefinite rankings*, TOIS 2010 (eqs. 11, 30 and 32).

    Tied items come as a set. The rule is RBO^a of Corsi and Urbano (*The treatment of ties in rank-biased overlap*,
    SIGIR 2024): a tie is an order that is not known, and each value is its mean over all ways to break the ties, those
    of one ranking independently of the other's. So two equal rankings with ties have less than 1 in common.

    Parameters
    ----------
    first, second
        Rankings, such as `ranking` makes.
    p
        The probability of going on to the next rank, between 0 and 1.

    Returns
    -------
    RBO
        The minimum, the residual and the extrapolated overlap.

    Examples
    --------
    >>> rbo("abc", "abc", p=0.5).extrapolated
    1.0
    >>> found = rbo(["a", "b", "c", "d"], ["b", "a", "e"])
    >>> round(found.minimum, 3), round(found.residual, 3), round(found.extrapolated, 3)
    (0.312, 0.543, 0.63)
    >>> round(rbo([{"a", "b"}, "c"], ["a", "b", "c"]).extrapolated, 3)
    0.95

    """
    if not 0 < p < 1:
        raise SurefootError(f"p of rank-biased overlap must lie between 0 and 1; got {p:g}")
    short, long = sorted((_Ranks(first), _Ranks(second)), key=len)
    overlap, s, l = _overlap(short, long), len(short), len(long)  # noqa: E741, the paper's own letters
    depth = np.arange(1, l + 1)
    weight = _weight(p, depth)
    beyond = max(0.0, (1 - p) / p * -np.log1p(-p) - weight.sum())
    minimum = weight @ overlap + beyond * overlap[-1]
    extended = overlap + np.maximum(depth - s, 0) * overlap[s - 1] / s
    extrapolated = weight @ extended + p**l * extended[-1] / l
    return RBO(float(minimum), float(_maximum(overlap, s, p) - minimum), float(extrapolated))


def _maximum(overlap: FloatArray, s: int, p: float) -> float:
    """RBO if all that is not known matches: from depth s + l - X_l on, the rankings hold the same items."""
    l = overlap.size  # noqa: E741
    matched = s + l - round(overlap[-1])
    depth = np.arange(1, matched + 1)
    known = np.pad(overlap, (0, matched - l), mode="edge")
    most = known + np.maximum(depth - s, 0) + np.maximum(depth - l, 0)
    return float(_weight(p, depth) @ most + p**matched)


def _weight(p: float, depth: IntArray) -> FloatArray:
    """The weight of one item of overlap at each depth."""
    return np.asarray((1 - p) / p * p**depth / depth)


class _Ranks:
    """The first and the last rank that each item of a ranking may take: the same, unless it is tied."""

    def __init__(self, ranking: Ranking) -> None:
        groups = [group if isinstance(group, AbstractSet) else (group,) for group in ranking]
        self.sizes = np.array([len(group) for group in groups], dtype=np.int64)
        self.last = self.sizes.cumsum()
        self.first = self.last - self.sizes + 1
        self.group = {item: index for index, group in enumerate(groups) for item in group}
        if not self.group or not self.sizes.all():
            raise SurefootError("a ranking, and each group of tied items in it, needs at least one item")
        if len(self.group) < len(self):
            raise SurefootError(f"a ranking names each item once; {_twice(groups)!r} occurs again")

    def __len__(self) -> int:
        return int(self.last[-1])

    def ranks(self, items: Iterable[Hashable]) -> tuple[IntArray, IntArray]:
        groups = np.array([self.group[item] for item in items], dtype=np.int64)
        return self.first[groups], self.last[groups]

    def inside(self, depth: IntArray) -> FloatArray:
        """How much of the group at each depth lies within it: 1 where it is complete, and beyond the end."""
        at = np.searchsorted(self.last, np.minimum(depth, len(self)))
        return np.minimum((depth - self.first[at] + 1) / self.sizes[at], 1.0)


def _overlap(short: _Ranks, long: _Ranks) -> FloatArray:
    """X_d at each depth, expected over the orders of tied items.

    An item is within depth d surely if its last rank is, with the fraction of its group if only its first rank is. Both
    rankings together make four cases; in each, the items that two given ranks have reached are counted.
    """
    depth = np.arange(1, len(long) + 1)
    common = list(short.group.keys() & long.group.keys())
    expected = np.zeros(depth.size)
    for ranks, fraction in _reached(short, common, depth):
        for other_ranks, other_fraction in _reached(long, common, depth):
            met = np.bincount(np.maximum(ranks, other_ranks), minlength=depth.size + 1)[1:]
            expected += fraction * other_fraction * met.cumsum()
    return expected


def _reached(ranking: _Ranks, items: Iterable[Hashable], depth: IntArray) -> list[tuple[IntArray, FloatArray]]:
    first, last = ranking.ranks(items)
    inside = ranking.inside(depth)
    return [(first, inside), (last, 1 - inside)]


def _labelled(values: Values, names: Sequence[Hashable] | None) -> tuple[list[Hashable], FloatArray]:
    """The items and their values, in the order given."""
    if isinstance(values, Mapping):
        if names is not None:
            raise SurefootError("values that come by name need no names beside them")
        items, array = list(values), np.array(list(values.values()), dtype=np.float64)
    else:
        array = np.asarray(values, dtype=np.float64)
        items = list(range(array.size)) if names is None else list(names)
    if array.ndim != 1 or len(items) != array.size:
        raise SurefootError(f"each of the {len(items)} items needs one value; got values of shape {array.shape}")
    if np.isnan(array).any():
        raise SurefootError(f"item {items[int(np.isnan(array).argmax())]!r} has no value (NaN); leave it out")
    return items, array


def _twice(groups: Iterable[Iterable[Hashable]]) -> Hashable:
    seen: set[Hashable] = set()
    return next(item for item in chain.from_iterable(groups) if item in seen or seen.add(item))  # type: ignore[func-returns-value]


def rank_agreement(
    scores: ScoresLike, baseline: str | None = None, alpha: float = 1.0, *, measures: Sequence[str] = (), p: float = 0.9
) -> Result:
    """Kendall's tau and RBO between the orders of the systems by each two measures; the baseline's own row is left out.

    Parameters
    ----------
    scores, baseline, alpha
        As in `surefoot.evaluate`.
    measures
        Names of measures; by default the usual ones (`Risk.usual`).
    p
        The parameter of `rbo`.

    Returns
    -------
    Result
        Columns ``measure, other, tau, p, weighted_tau, rbo_minimum, rbo_residual`` (`kendall`, `rbo`).

    Examples
    --------
    >>> scores = Scores(np.random.default_rng(1).random((6, 30)), "abcdef", range(30))
    >>> rank_agreement(scores, "a", 5, measures=["mean", "urisk"])["tau"].round(2)
    array([0.8])

    """
    scores = Scores.of(scores)
    directed = [get_risk(name) for name in measures] or [
        one for one in usual(baseline is not None) if one.higher_is_better is not None
    ]
    names = [one.name for one in directed]
    if len(names) < 2 or any(one.higher_is_better is None for one in directed):
        raise SurefootError(f"orders need two measures or more in which one value is better; got {', '.join(names)}")
    found = evaluate(scores, baseline, alpha, extra=names)
    kept = found["system"] != (baseline or "")
    orders = {one.name: found[one.name][kept] * (1 if one.higher_is_better else -1) for one in directed}
    if np.isnan(list(orders.values())).any():
        raise SurefootError("some measure is undefined for some system; choose other measures or systems")
    pairs = [(one, two, kendall(orders[one], orders[two]), rbo(ranking(orders[one]), ranking(orders[two]), p))
             for one, two in combinations(orders, 2)]  # fmt: skip
    fields = {"baseline": baseline, "alpha": float(alpha), "p": p, "systems": int(kept.sum())}
    return Result(
        signature("rank-agreement", scores, **fields, topics=len(scores.topics)),
        {
            "measure": [one for one, *_ in pairs],
            "other": [two for _, two, *_ in pairs],
            **{name: np.array([getattr(tau, own) for _, _, tau, _ in pairs]) for name, own in TAUS.items()},
            **{f"rbo_{name}": np.array([getattr(one, name) for *_, one in pairs]) for name in ("minimum", "residual")},
        },
        scores.all_notes,
    )


def value_agreement(
    scores: ScoresLike,
    baseline: str,
    alpha: float = 1.0,
    *,
    value: str | Family = "smooth",
    step: int = 5,
    p: float = 0.9,
    ties: str = "order",
) -> Result:
    """RBO between the rankings by linear and by smooth values: of their first 5, 10, 15 … systems, and of all.

    Each ranking has its own head, so that the two may hold different systems. The longer the heads, the more is
    certain: the minimum rises, minimum + residual falls, and the truth lies between. The safest system ranks first: the
    largest U_Risk, Z_Risk or GeoRisk, the smallest Geo- as printed. The ranking by U_Risk leaves the baseline out,
    whose own U_Risk is 0 by definition; the population of the others is all systems.

    Benham, Moffat and Culpepper, *On the pluses and minuses of risk*, ECIR 2020, figure 4 (their alpha-hat is
    1 + alpha).

    Parameters
    ----------
    scores, baseline, alpha
        As in `surefoot.evaluate`.
    value
        ``"smooth"`` or ``"monotone"``, fitted to all systems, or a family of value functions to compare with linear
        ones.
    step
        By how many systems the heads grow.
    p
        The parameter of `rbo`.
    ties
        ``"order"`` breaks ties in both rankings by the order of ``scores``, so that copies of a run agree with
        themselves; ``"share"`` treats a tie as an order that is not known (a tie at the end of a head is cut by the
        order of ``scores``).

    Returns
    -------
    Result
        Columns ``systems`` (the length of the heads), ``measure`` (``urisk``, ``zrisk``, ``georisk``,
        ``geominus_published``) and ``minimum, residual, extrapolated`` (see `rbo`).

    Examples
    --------
    >>> import numpy as np
    >>> from surefoot.risk.values import Smooth
    >>> scores = Scores(np.random.default_rng(4).random((7, 20)), "abcdefg", range(20))
    >>> found = value_agreement(scores, "a", value=Smooth)
    >>> [(row["systems"], round(row["minimum"], 3)) for row in found.rows() if row["measure"] == "urisk"]
    [(5, 0.434), (7, 0.539)]

    """
    scores = Scores.of(scores)
    if step < 2 or len(scores.systems) < 2:
        raise SurefootError(f"rankings to compare need 2 or more systems; got {len(scores.systems)} in steps of {step}")
    designs = [Design.of(scores, baseline, value=family) for family in ("linear", value)]
    linear, other = (_safety(design, alpha) for design in designs)
    rows = [
        (size, measure, _overlap_of_heads(linear[measure], other[measure], size, p, ties))
        for size in [*range(step, len(scores.systems), step), len(scores.systems)]
        for measure in linear
    ]
    notes = ["Z_Risk and GeoRisk are undefined: some scores are below 0"] if scores.values.min() < 0 else []
    fields = {"baseline": baseline, "alpha": alpha, "value": designs[1].value, "p": p, "ties": ties}
    return Result(
        signature("value_agreement", scores, **fields, topics=len(scores.topics)),
        {
            "systems": [size for size, _, _ in rows],
            "measure": [measure for _, measure, _ in rows],
            **{
                name: [getattr(found, name) for _, _, found in rows] for name in ("minimum", "residual", "extrapolated")
            },
        },
        (*scores.all_notes, *notes),
    )


def _safety(design: Design, alpha: float) -> dict[str, dict[str, float]]:
    """By measure, the value of each system, larger meaning safer."""
    measures = [URISK] if design.scores.values.min() < 0 else [URISK, ZRISK, GEORISK, GEOMINUS_PUBLISHED]
    values = design.values(measures, normalise_alphas(alpha))
    found = {
        measure.name: dict(zip(design.systems, (values[measure.name][0] * sign).tolist(), strict=True))
        for measure in measures
        for sign in [-1 if measure is GEOMINUS_PUBLISHED else 1]
    }
    found["urisk"].pop(design.baseline_names[0], None)
    return found


def _overlap_of_heads(first: dict[str, float], second: dict[str, float], size: int, p: float, ties: str) -> RBO:
    def head(values: dict[str, float]) -> Ranking:
        names = [str(name) for name in ranking(values, ties="order")[:size]]
        return ranking({name: values[name] for name in names}, ties=ties)

    return rbo(head(first), head(second), p)
