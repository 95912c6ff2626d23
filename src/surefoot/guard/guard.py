"""A guard blends a candidate's ranking with its baseline's. It is a value, saved as JSON and applied with numpy only.

The blends are pure functions of two score arrays that return a score for each document to rank by. ``weight`` is the
weight of the baseline. `Scale` has the units of scores, estimated from many queries without labels.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from surefoot._alignment import LARGEST
from surefoot._typing import BoolArray, FloatArray, IntArray, PathLike
from surefoot.errors import InputError, SurefootError, choose
from surefoot.guard.pairs import Pair, Scale, Scored, baseline_term, falling_in_queries, sorted_in_queries
from surefoot.guard.second_stage import FEATURES, Forest, Tree, features_of, train_trees
from surefoot.io.files import parse_json

if TYPE_CHECKING:
    from surefoot.io.document_lists import Run

FORMAT = "surefoot guard 1"

Part = TypeVar("Part", Scale, Tree)


def candidate_only(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """The candidate's own scores."""
    return pair.candidate.scores


def z_scores(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """Interpolation of z scores: each ranker's scores in standard deviations from their mean in the query."""
    return (1 - weight) * pair.candidate.z + weight * pair.baseline.z


def log_ranks(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """Interpolation of log ranks. It needs no scores; documents that a ranker did not return come after its last."""
    return -((1 - weight) * np.log(pair.candidate.rank) + weight * np.log(pair.baseline.rank))


def interpolation(pair: Pair, weight: float, scale: Scale) -> FloatArray:
    """The candidate's score plus a term of the baseline's score over its rank; kept for files of 0.1 and 0.2."""
    own = pair.candidate.filled / scale.spread
    return own + weight * baseline_term(pair, scale) if weight else own


BLENDS: dict[str, Callable[[Pair, float, Scale], FloatArray]] = {
    "none": candidate_only,
    "z": z_scores,
    "log-rank": log_ranks,
    "interpolation": interpolation,
}
"""The blends that need no training, by their names in files."""

SECOND_STAGE = "second-stage"
"""The guard that is learned."""

THRESHOLD = "threshold"
"""The guard that ranks a whole query by one of the two rankers (Wang, Bennett and Collins-Thompson, SIGIR 2012)."""

KINDS = (*BLENDS, THRESHOLD, SECOND_STAGE)

RENAMED = {"lean": "interpolation", "trees": SECOND_STAGE}
"""Kinds in files of 0.2 by their present names."""
REMOVED = ("minmax", "ranks", "cap", "fallback")


@dataclass(frozen=True)
class Guard:
    """A way to rank a query's documents by two scores each, the baseline's and the candidate's.

    Parameters
    ----------
    kind : str
        ``none``, ``z``, ``log-rank``, ``second-stage``, ``threshold`` or ``interpolation``; docs/guard.md has the
        formulas.
    weight : float
        The weight of the baseline.
    scale : Scale
        The units of scores.
    trees : tuple of Tree
        The trees of the second stage.
    safety : float
        How far the result is moved towards the baseline's ranking, by interpolation of z scores: 0 not at all, 1
        gives the baseline's ranking. A certificate chooses it.
    card : mapping
        How it was fitted, such as the measure; plain values, kept in the file.
    threshold : float
        For the kind ``threshold``: the candidate ranks the queries whose highest score by the baseline is below it.

    Examples
    --------
    >>> guard = Guard("z", weight=0.5)
    >>> guard.rank(baseline_scores=[9.0, 5.0, 1.0], candidate_scores=[0.2, 0.9, 0.1])
    array([1, 0, 2])
    """

    kind: str = "none"
    weight: float = 0.0
    scale: Scale = field(default_factory=Scale)
    trees: tuple[Tree, ...] = ()
    safety: float = 0.0
    card: Mapping[str, Any] = field(default_factory=dict, compare=False)
    threshold: float = 0.0

    def __post_init__(self) -> None:
        choose(self.kind, KINDS, "the kind of a guard")
        if not 0 <= self.weight <= LARGEST:
            raise SurefootError(f"the weight of a guard must be 0 or more, and finite; got {self.weight:g}")
        if not 0 <= self.safety <= 1:
            raise SurefootError(f"the safety of a guard must lie from 0 to 1; got {self.safety:g}")
        if (self.kind == SECOND_STAGE) != bool(self.trees):
            raise SurefootError(f"a guard has trees if its kind is {SECOND_STAGE}, and only then")
        if not -np.inf < self.threshold < np.inf:
            raise SurefootError(f"the threshold of a guard must be finite; got {self.threshold:g}")

    def __str__(self) -> str:
        is_plain = self.kind in ("none", THRESHOLD) or (self.kind == SECOND_STAGE and not self.weight)
        own = self.kind if is_plain else f"{self.kind} {self.weight:g}"
        return f"{own}, {self.safety:g} towards the baseline" if self.safety else own

    def rank(self, baseline_scores: npt.ArrayLike, candidate_scores: npt.ArrayLike) -> IntArray:
        """Rank the documents of one query.

        Parameters
        ----------
        baseline_scores, candidate_scores
            A score for each document, minus infinity or None if the ranker did not return it.

        Returns
        -------
        array
            The indices of the documents, best first. Ties are broken by the candidate, then by the order given.
        """
        if np.size(baseline_scores) == np.size(candidate_scores) == 0:
            return np.empty(0, np.intp)
        pair = Pair.of(baseline_scores, candidate_scores)
        order = pair.candidate.order
        return order[(-self.scores(pair)[order]).argsort(kind="stable")]

    def blend(self, baseline: npt.ArrayLike, candidate: npt.ArrayLike, bounds: npt.ArrayLike) -> FloatArray:
        """`ranking_scores` of both rankers' scores; the documents of query q are rows bounds[q] to bounds[q + 1]."""
        return self.ranking_scores(Pair.of(baseline, candidate, bounds))

    def scores(self, pair: Pair) -> FloatArray:
        """The blended score of each document of one or many queries."""
        if self.safety == 1:
            return pair.baseline.scores
        own = self._own_scores(pair)
        if not self.safety:
            return own
        return (1 - self.safety) * Scored(own, pair.bounds).z + self.safety * pair.baseline.z

    def ranking_scores(self, pair: Pair) -> FloatArray:
        """Falling whole numbers by which each query's documents rank as by `rank`, ties included.

        Where only one of the rankers decides, the documents that it did not return have minus infinity.
        """
        return self.ranked(pair)[1]

    def ranked(self, pair: Pair) -> tuple[IntArray, FloatArray]:
        """The rows of each query's documents as by `rank`, and the numbers of `ranking_scores`."""
        scores, order = self.scores(pair), pair.candidate.order
        ranked = order[sorted_in_queries(-scores[order], pair.bounds)]
        return ranked, falling_in_queries(scores, ranked, pair.bounds)

    @classmethod
    def fit(cls, baseline: object, candidate: object, qrels: object, **options: Any) -> Guard:
        """Fit a guard to two runs; `fit_guard_to_runs` has the same options, and returns a table as well."""
        from surefoot.guard.runs import fit_guard_to_runs

        return fit_guard_to_runs(baseline, candidate, qrels, **options).guard

    def apply(self, baseline: object, candidate: object) -> Run:
        """The guarded run, of the topics that both runs have; its scores are falling whole numbers."""
        from surefoot.guard.runs import apply_guard

        return apply_guard(self, baseline, candidate)[0]

    def towards_baseline(self, safety: float) -> Guard:
        """The same guard with this safety."""
        return replace(self, safety=safety)

    def blended(self, strength: float, weight: float = 0.0) -> Guard:
        """The same second stage with its corrections multiplied by ``strength``, and this weight of the baseline."""
        return replace(self, weight=weight, trees=tuple(tree.scaled(strength) for tree in self.trees))

    def _own_scores(self, pair: Pair) -> FloatArray:
        """The score by the kind; the second stage adds trees over `features_of` to an interpolation."""
        if self.kind == THRESHOLD:
            is_candidate = np.repeat(self.takes_candidate(pair), pair.candidate.sizes)
            return np.where(is_candidate, pair.candidate.scores, pair.baseline.scores)
        if self.trees:
            corrections = self._forest(features_of(pair, self.scale))
            return np.asarray(interpolation(pair, self.weight, self.scale) + corrections)
        return BLENDS[self.kind](pair, self.weight, self.scale)

    def takes_candidate(self, pair: Pair) -> BoolArray:
        """Which queries the kind ``threshold`` ranks by the candidate."""
        return np.asarray(pair.baseline.highest < self.threshold)

    @cached_property
    def _forest(self) -> Forest:
        return Forest(self.trees)

    def to_json(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "format": FORMAT,
            "kind": self.kind,
            "weight": self.weight,
            "safety": self.safety,
            "scale": asdict(self.scale),
            "features": list(FEATURES) if self.trees else [],
            "trees": [asdict(tree) for tree in self.trees],
            "card": dict(self.card),
            **({"threshold": self.threshold} if self.kind == THRESHOLD else {}),
        }

    @classmethod
    def from_json(cls, found: Any) -> Guard:
        """A guard from the values of `to_json`; anything else is an error of one line."""
        if not isinstance(found, Mapping) or not str(found.get("format", "")).startswith("surefoot guard "):
            raise SurefootError(f'not a guard: expected "format": "{FORMAT}"')
        if found["format"] != FORMAT:
            raise SurefootError(f"its format is {found['format']!r}, this version reads {FORMAT!r}; fit it again")
        expected = {*Guard().to_json(), *(["threshold"] if found.get("kind") == THRESHOLD else [])}
        different = ", ".join(sorted(set(found) ^ expected))
        if different:
            raise SurefootError(f"damaged guard: missing or unknown {different}")
        if not isinstance(found["trees"], list) or not isinstance(found["card"], Mapping):
            raise SurefootError("damaged guard: expected a list of trees, and a card")
        if not all(_is_number(found.get(name, 0)) for name in ("weight", "safety", "threshold")):
            raise SurefootError("damaged guard: expected finite numbers for weight, safety and threshold")
        if found["trees"] and found["features"] != list(FEATURES):
            raise SurefootError("damaged guard: its trees are over other features")
        if found["kind"] in REMOVED:
            raise SurefootError(f"guards of kind {found['kind']} are no longer served; fit it again")
        return cls(
            RENAMED.get(str(found["kind"]), str(found["kind"])),
            found["weight"],
            _part(Scale, found["scale"]),
            tuple(_part(Tree, tree) for tree in found["trees"]),
            found["safety"],
            dict(found["card"]),
            found.get("threshold", 0.0),
        )

    def save(self, path: PathLike) -> None:
        """Write it as JSON, atomically.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp(), "guard.json")
        >>> Guard("z", 0.3).save(file)
        >>> Guard.load(file) == Guard("z", 0.3)
        True
        """
        from surefoot.io.atomic import digest_of, write_text

        content = self.to_json()
        content["digest"] = digest_of(json.dumps(content, sort_keys=True), 8)
        write_text(path, json.dumps(content, ensure_ascii=False, allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: PathLike) -> Guard:
        """Read a guard that `save` wrote; a file that was edited is refused."""
        from surefoot.io.atomic import digest_of
        from surefoot.io.files import read_bytes

        try:
            content = parse_json(read_bytes(path).decode("utf-8"))
        except ValueError as error:
            raise InputError(path, f"not a guard: {' '.join(str(error).split())}") from None
        digest = content.pop("digest", None) if isinstance(content, dict) else None
        try:
            guard = cls.from_json(content)
        except SurefootError as error:
            raise InputError(path, str(error)) from None
        if digest != digest_of(json.dumps(content, sort_keys=True), 8):
            raise InputError(path, "was changed after it was fitted, so its certificate no longer holds; fit it again")
        return guard


def _is_number(value: Any, allowed: tuple[type, ...] = (int, float)) -> bool:
    return type(value) in allowed and (isinstance(value, float) or abs(value) < 1 << 31)


def _part(kind: type[Part], found: Any) -> Part:
    """A part of a guard, whose fields are numbers or lists of numbers, from its JSON."""
    noun, types = kind.__name__.lower(), {one.name: str(one.type) for one in fields(kind)}
    if not isinstance(found, Mapping) or set(found) != set(types):
        raise SurefootError(f"damaged guard: a {noun} has the fields {', '.join(types)}")
    given: dict[str, Any] = {}
    for name, value in found.items():
        numbers = value if "tuple" in types[name] else [value]
        allowed = (int,) if "int" in types[name] else (int, float)
        if not isinstance(numbers, list) or not all(_is_number(number, allowed) for number in numbers):
            raise SurefootError(f"damaged guard: the {name} of a {noun} must be numbers")
        given[name] = tuple(numbers) if "tuple" in types[name] else value
    return kind(**given)


def fit_second_stage(pair: Pair, labels: npt.ArrayLike, *, seed: int = 0, features: Sequence[str] = FEATURES) -> Guard:
    """Train the second stage by U-CRO, for NDCG, and average several seeds.

    Parameters
    ----------
    pair
        Both rankers' scores of documents of queries that the candidate was not trained on.
    labels
        The relevance of each document, 0 or more.
    seed
        Random seed of the documents and features that each tree sees.
    features
        The features of `FEATURES` that splits may use.

    Returns
    -------
    Guard
        Its kind is ``second-stage``.
    """
    scale, trees = train_trees(pair, labels, seed, features)
    return Guard(SECOND_STAGE, scale=scale, trees=trees)
