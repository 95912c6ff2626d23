"""A guard: one way to blend a candidate's ranking with its baseline's, fixed; kept as JSON, applied by numpy alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray, IntArray
from surefoot.errors import InputError, SurefootError, choose
from surefoot.guard.blends import BLENDS, FEATURES, TREES, Scale, second_stage
from surefoot.guard.pairs import Pair, Scored, falling_in_queries, sorted_in_queries
from surefoot.guard.trees import Forest, Tree
from surefoot.io.json_text import parse_json

if TYPE_CHECKING:
    from surefoot._typing import PathLike
    from surefoot.io.document_lists import Run

FORMAT = "surefoot guard 1"
KINDS = (*BLENDS, TREES)


@dataclass(frozen=True)
class Guard:
    """A way to rank a query's documents by two scores each, the baseline's and the candidate's.

    Parameters
    ----------
    kind : str
        ``none``, ``lean``, ``z``, ``minmax``, ``ranks``, ``cap``, ``fallback`` or ``trees``; see
        `surefoot.guard.blends`.
    weight : float
        What the baseline counts.
    scale : Scale
        The units of scores.
    trees : tuple of Tree
        Those of the second stage.
    safety : float
        How far the result is moved towards the baseline's ranking, by interpolation of z scores: 0 not at all, 1
        leaves the baseline's ranking. A certificate chooses it.
    card : mapping
        What it was fitted on and for, such as the measure; plain values, kept in the file.

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

    def __post_init__(self) -> None:
        choose(self.kind, KINDS, "the kind of a guard")
        if not 0 <= self.weight < np.inf:
            raise SurefootError(f"the weight of a guard must be 0 or more; got {self.weight:g}")
        if not 0 <= self.safety <= 1:
            raise SurefootError(f"the safety of a guard must lie from 0 to 1; got {self.safety:g}")
        if (self.kind == TREES) != bool(self.trees):
            raise SurefootError("a guard has trees if its kind is trees, and only then")

    def __str__(self) -> str:
        own = self.kind if self.kind in ("none", TREES) else f"{self.kind} {self.weight:g}"
        return f"{own}, {self.safety:g} towards the baseline" if self.safety else own

    def rank(self, baseline_scores: npt.ArrayLike, candidate_scores: npt.ArrayLike) -> IntArray:
        """Rank the documents of one query.

        Parameters
        ----------
        baseline_scores, candidate_scores
            A score of each document, minus infinity for one that the ranker did not return.

        Returns
        -------
        array
            The indices of the documents, best first. Ties are broken by the candidate, then by the order given.
        """
        pair = Pair.of(baseline_scores, candidate_scores)
        order = pair.candidate.order
        return order[(-self.scores(pair)[order]).argsort(kind="stable")]

    def scores(self, pair: Pair) -> FloatArray:
        """The blended score of each document of one or many queries."""
        if self.safety == 1:
            return pair.baseline.scores
        own = second_stage(pair, self._forest, self.scale) if self.trees else self._blend(pair)
        return own if not self.safety else self._towards_baseline(own, pair)

    def ranking_scores(self, pair: Pair) -> FloatArray:
        """Falling whole numbers by which each query's documents rank as by `rank`, ties included.

        A candidate that is left alone has no document that it did not return, and so has the baseline: minus infinity.
        """
        return self.ranked(pair)[1]

    def ranked(self, pair: Pair) -> tuple[IntArray, FloatArray]:
        """The rows of each query's documents as by `rank`, and the numbers of `ranking_scores`."""
        scores, order = self.scores(pair), pair.candidate.order
        ranked = order[sorted_in_queries(-scores[order], pair.bounds)]
        return ranked, falling_in_queries(scores, ranked, pair.bounds)

    @classmethod
    def fit(cls, baseline: object, candidate: object, qrels: object, **options: Any) -> Guard:
        """Fit a guard to two runs; `fit_guard_to_runs` tells its options, and returns also what each guard did."""
        from surefoot.guard.runs import fit_guard_to_runs

        return fit_guard_to_runs(baseline, candidate, qrels, **options).guard

    def apply(self, baseline: object, candidate: object) -> Run:
        """The guarded run, of the topics that both runs have; its scores are falling whole numbers."""
        from surefoot.guard.runs import apply_guard

        return apply_guard(self, baseline, candidate)[0]

    def towards_baseline(self, safety: float) -> Guard:
        """The same guard, moved so far towards the baseline's ranking."""
        return replace(self, safety=safety)

    def at_strength(self, strength: float) -> Guard:
        """The same second stage with its corrections so many times as large."""
        return replace(self, trees=tuple(tree.scaled(strength) for tree in self.trees))

    def _blend(self, pair: Pair) -> FloatArray:
        return BLENDS[self.kind](pair, self.weight, self.scale)

    def _towards_baseline(self, own: FloatArray, pair: Pair) -> FloatArray:
        return (1 - self.safety) * Scored(own, pair.bounds).z + self.safety * pair.baseline.z

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
        }

    @classmethod
    def from_json(cls, found: Any) -> Guard:
        """A guard from what `to_json` gave; anything else is an error of one line."""
        if not isinstance(found, Mapping) or not str(found.get("format", "")).startswith("surefoot guard "):
            raise SurefootError(f'not a guard: expected "format": "{FORMAT}"')
        if found["format"] != FORMAT:
            raise SurefootError(f"its format is {found['format']!r}, this version reads {FORMAT!r}; fit it anew")
        expected = set(Guard().to_json())
        if set(found) != expected:
            different = ", ".join(sorted(set(found) ^ expected))
            raise SurefootError(f"damaged guard: missing or unknown {different}")
        for name, kind in (("scale", Mapping), ("trees", list), ("card", Mapping), ("features", list)):
            if not isinstance(found[name], kind):
                raise SurefootError(f"damaged guard: {name} is of the wrong kind")
        numbers = {"weight": found["weight"], "safety": found["safety"], **found["scale"]}
        wrong = [name for name, value in numbers.items() if type(value) not in (int, float) or not np.isfinite(value)]
        if wrong or set(found["scale"]) != set(Scale.__dataclass_fields__):
            raise SurefootError(f"damaged guard: expected finite numbers for weight, safety and scale; see {wrong}")
        if found["trees"] and tuple(found["features"]) != FEATURES:
            raise SurefootError("damaged guard: its trees are over other features")
        trees = tuple(Tree.from_json(tree, len(FEATURES)) for tree in found["trees"])
        return cls(
            str(found["kind"]), found["weight"], Scale(**found["scale"]), trees, found["safety"], dict(found["card"])
        )

    def save(self, path: PathLike) -> None:
        """Write it as JSON, atomically.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp(), "guard.json")
        >>> Guard("lean", 0.6).save(file)
        >>> Guard.load(file) == Guard("lean", 0.6)
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
            raise InputError(path, "was changed after it was fitted, so what it promises no longer holds; fit it anew")
        return guard
