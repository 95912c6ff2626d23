"""Measures by name, with the names, parameters and defaults of ir_measures: ``nDCG@10``, ``AP(rel=2)``.

The native library computes those of `MEASURES`; ir_measures computes all others.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from surefoot._lazy import optional
from surefoot._typing import FloatArray
from surefoot.errors import SurefootError, did_you_mean, listed

if TYPE_CHECKING:
    from surefoot.io.document_lists import Qrels, Run

UNJUDGED = -(1 << 31)
"""The grade of an unjudged document."""
NO_CUTOFF = (1 << 62) - 1
"""The cutoff of a measure without one."""
LARGEST_EXPONENT = 62
"""The largest grade for which sums of 2^grade - 1 are exact enough."""

Form = Literal["sum", "pairs", "cascade"]
Gain = Literal["binary", "linear", "exponential"]
Discount = Literal["none", "log2", "reciprocal", "geometric"]
Norm = Literal["none", "cutoff", "ideal", "relevant"]


class Formula(NamedTuple):
    """A measure as the native library takes it, ``struct measure``."""

    form: Form | None
    gain: Gain
    discount: Discount
    norm: Norm
    cutoff: int
    rel: float
    persistence: float
    scale: float | None


@dataclass(frozen=True)
class Measure:
    """An effectiveness measure; its name determines it.

    Documents are ranked by descending score, ties by descending id, as in trec_eval. ``form`` says how their gains
    combine; it is None for a measure that ir_measures computes, by its ``origin``:

    - ``sum``: the discounted gains of the documents add up.
    - ``pairs``: relevant documents add the precision at their ranks, to which the relevant documents above contribute.
    - ``cascade``: a gain, the probability that a document satisfies the user, counts if none above it has done so.

    ``gain`` is 1 from the grade ``rel`` on (``binary``), the grade (``linear``) or 2^grade - 1 (``exponential``),
    divided by ``scale``, or by the highest grade of the qrels if ``scale`` is None. Grades below 1 have no gain.
    ``discount`` at rank i is 1, 1 / log2(i + 1), 1 / i, or (1 - p) p^(i - 1) with the ``persistence`` p. ``norm``
    divides the value by the ``cutoff``, by the value of the ``ideal`` ranking, or by the number of ``relevant``
    documents. ``aliases`` are other names of the measure.

    >>> parse_measure("NDCG@10").name, parse_measure("AP(rel=2)").rel
    ('nDCG@10', 2)
    """

    name: str
    form: Form | None = None
    gain: Gain = "binary"
    discount: Discount = "none"
    norm: Norm = "none"
    cutoff: int = NO_CUTOFF
    rel: float = 1
    persistence: float = 0.8
    scale: float | None = 1.0
    needs_cutoff: bool = False
    aliases: tuple[str, ...] = ()
    origin: Any = None

    def __str__(self) -> str:
        return self.name

    @property
    def largest_grade(self) -> float:
        """The largest grade for which the measure is defined and its gains can be summed exactly."""
        if self.gain != "exponential":
            return math.inf
        return math.log2(self.scale or 1.0) if self.form == "cascade" else LARGEST_EXPONENT

    def scaled_to(self, highest: float) -> Measure:
        """The measure with a scale: the highest grade of the qrels if it has none of its own.

        >>> parse_measure("RBP").scaled_to(3).scale, parse_measure("ERR").scaled_to(3).scale
        (3.0, 16.0)
        """
        return replace(self, scale=max(1.0, float(highest))) if self.scale is None else self

    @property
    def formula(self) -> Formula:
        """The measure for the native library, which refuses one without a form or a scale."""
        return Formula(*(getattr(self, name) for name in Formula._fields))

    def discounts(self, ranks: int) -> FloatArray:
        """The discounts of the first ranks, relative to rank 1.

        >>> parse_measure("RBP(p=0.5)").discounts(3), parse_measure("RR").discounts(2)
        (array([1.  , 0.5 , 0.25]), array([1. , 0.5]))
        """
        rank = np.arange(1.0, ranks + 1)
        if self.discount == "geometric":
            return np.asarray(self.persistence ** (rank - 1))
        return np.asarray(1.0 / self.divisors(rank))

    def divisors(self, rank: npt.NDArray[np.floating[Any]]) -> FloatArray:
        """The reciprocal of the discount at these ranks."""
        if self.discount == "geometric":
            return np.asarray(self.persistence ** (1 - rank), np.float64)
        return np.asarray({"none": rank**0, "log2": np.log2(rank + 1), "reciprocal": rank}[self.discount], np.float64)


MEASURES = (
    Measure("ERR", "cascade", "exponential", "reciprocal", scale=16.0),
    Measure("nDCG", "sum", "linear", "log2", "ideal"),
    Measure("AP", "pairs", "binary", "reciprocal", "relevant", aliases=("map",)),
    Measure("RR", "cascade", "binary", "reciprocal", aliases=("mrr", "recip_rank")),
    Measure("P", "sum", "binary", norm="cutoff", needs_cutoff=True, aliases=("precision",)),
    Measure("R", "sum", "binary", norm="relevant", needs_cutoff=True, aliases=("recall",)),
    Measure("RBP", "sum", "linear", "geometric", scale=None),
    Measure("Success", "cascade", "binary", needs_cutoff=True),
)
"""The measures that Surefoot computes.

- ERR: Chapelle, Metzler, Zhang and Grinspan, "Expected reciprocal rank for graded relevance", CIKM 2009. The highest
  grade is 4, as in the TREC Web track's gdeval.
- nDCG: Järvelin and Kekäläinen, "Cumulated gain-based evaluation of IR techniques", TOIS 20(4), 2002. The gain is the
  grade, as in trec_eval, or 2^grade - 1, as in gdeval and in Burges et al., "Learning to rank using gradient descent",
  ICML 2005: ``nDCG(dcg='exp-log2')``.
- AP: Buckley and Voorhees, "Retrieval system evaluation", in TREC: Experiment and Evaluation, MIT Press, 2005.
- RR: Kantor and Voorhees, "The TREC-5 confusion track", Information Retrieval 2, 2000.
- P, R: van Rijsbergen, "Information Retrieval", 2nd edition, Butterworths, 1979.
- RBP: Moffat and Zobel, "Rank-biased precision for measurement of retrieval effectiveness", TOIS 27(1), 2008. Without
  ``rel`` the gain is the grade over the highest in the qrels, as TREC-COVID computed it.
- Success: 1 if a relevant document is above the cutoff, else 0, as in trec_eval.
"""
NATIVE = tuple(measure.name for measure in MEASURES)
ALIASES = {alias: measure.name.lower() for measure in MEASURES for alias in measure.aliases} | {
    "set_p": "setp",
    "set_recall": "setr",
    "set_f": "setf",
}
"""The names of measures by their other names, such as those of trec_eval."""


def canonical(name: str) -> str:
    """Normalise the name of a measure, for comparisons.

    >>> canonical("ndcg_cut_10"), canonical("nDCG@10"), canonical("recip_rank"), canonical("P_10"), canonical("MAP")
    ('ndcg@10', 'ndcg@10', 'rr', 'p@10', 'ap')
    >>> canonical('nDCG(dcg="exp-log2")@20')
    "ndcg(dcg='exp-log2')@20"
    """
    text = re.sub(r"\s", "", name).lower().replace('"', "'")
    text = re.sub(r"^(\w+?)(?:_cut)?_(\d+)$", r"\1@\2", text)
    base, rest = re.fullmatch(r"([^(@]*)(.*)", text).groups()  # type: ignore[union-attr]
    base = base.replace("-", "_")
    return ALIASES.get(base, base) + rest


def parse_measure(measure: object) -> Measure:
    """The measure that a name or an ir_measures object stands for.

    >>> parse_measure("nDCG( dcg = 'exp-log2' ) @20").name
    "nDCG(dcg='exp-log2')@20"
    >>> parse_measure("MAP").name, parse_measure("rr@10").name, parse_measure("RBP(p=0.5)").name
    ('AP', 'RR@10', 'RBP(p=0.5)')
    """
    if isinstance(measure, Measure):
        return measure
    if hasattr(measure, "validate_params"):
        return _measure_of(measure)
    name, params, at = _split(str(measure))
    return (None if params else _plain(name, at)) or _measure_of(_build(name, params, at))


def _plain(name: str, at: object) -> Measure | None:
    """A measure of Surefoot without parameters, for which ir_measures, slow to import, is not needed."""
    name, _, cutoff = canonical(name).partition("@")
    own = next((own for own in MEASURES if own.name.lower() == name), None)
    if own is None:
        return None
    at = int(cutoff) if cutoff else at
    if type(at) is int and at > 0:
        return replace(own, name=f"{own.name}@{at}", cutoff=min(at, NO_CUTOFF))
    return own if at is None and not own.needs_cutoff else None


def _measure_of(origin: Any) -> Measure:
    params = {name: origin.params[name] for name in origin.SUPPORTED_PARAMS if name in origin.params}
    own = next((own for own in MEASURES if own.name == origin.NAME), None)
    if own is None or "gains" in params or params.get("judged_only"):
        own = Measure(origin.NAME, origin=origin)
    elif params.get("dcg") == "exp-log2":
        own = replace(own, gain="exponential")
    elif own.scale is None and "rel" in params:
        own = replace(own, gain="binary", scale=1.0)
    return replace(
        own,
        name=repr(origin),
        cutoff=min(params.get("cutoff", NO_CUTOFF), NO_CUTOFF),
        rel=params.get("rel", 1),
        persistence=params.get("p", 0.8),
    )


def _split(text: str) -> tuple[str, dict[str, Any], Any]:
    """The name, the parameters and the cutoff in a text; the parser of ir_measures fails on Python 3.14."""
    several = "; give several one by one" if "," in text else ""
    refusal = SurefootError(
        f"can't read {text!r} as a measure; write one such as nDCG@10, AP(rel=2) or nDCG(dcg='exp-log2')@20{several}"
    )
    try:
        node: ast.expr = ast.parse(text.strip(), mode="eval").body
        at, params = None, {}
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            at, node = ast.literal_eval(node.right), node.left
        if isinstance(node, ast.Call) and not node.args:
            params = {str(word.arg): ast.literal_eval(word.value) for word in node.keywords}
            node = node.func
    except (SyntaxError, ValueError):
        raise refusal from None
    if not isinstance(node, ast.Name):
        raise refusal
    return node.id, params, at


def _build(name: str, params: dict[str, Any], at: Any) -> Any:
    """An ir_measures object with validated parameters."""
    registry = optional("ir_measures.measures").registry
    known = {alias.lower(): measure for alias, measure in registry.items()}
    if name.lower() not in known:  # as in trec_eval: ndcg_cut_10, P_10, recip_rank
        name, _, cutoff = canonical(name).partition("@")
        at = int(cutoff) if cutoff else at
    origin = known.get(name.lower())
    if origin is None:
        others = sorted({measure.NAME for measure in known.values()} - set(NATIVE), key=str.lower)
        raise SurefootError(
            f"no measure {name!r}{did_you_mean(name, [*NATIVE, *others])}; there are {', '.join(NATIVE)}, "
            f"and by ir_measures {', '.join(others)}"
        )
    given = {**origin.params, **params, **({} if at is None else {origin.AT_PARAM: at})}
    for param in given:
        if param not in origin.SUPPORTED_PARAMS:
            raise SurefootError(
                f"{origin.NAME} has no parameter {param!r}; it has {listed(origin.SUPPORTED_PARAMS) or 'none'}"
            )
    ordered = {}
    for param, info in origin.SUPPORTED_PARAMS.items():
        if param in given:
            ordered[param] = _validate_parameter(origin.NAME, param, info, given[param])
        elif info.required:
            raise SurefootError(f"{origin.NAME} needs its {param}, such as {_example(origin, param)}")
    return type(origin)(**ordered)


def _validate_parameter(name: str, param: str, info: Any, value: Any) -> Any:
    if info.dtype is float and type(value) is int:
        value = float(value)
    allowed = info.validate(value) and not (info.dtype is int and isinstance(value, bool))
    if param == "cutoff":
        allowed, expected = allowed and value > 0, "a whole number above 0"
    elif param == "p":
        allowed, expected = allowed and 0 < value < 1, "a number between 0 and 1"
    elif isinstance(info.choices, list):
        expected = "one of " + ", ".join(map(repr, info.choices))
    else:
        expected = {int: "a whole number", float: "a number", bool: "True or False"}.get(
            info.dtype, f"a {info.dtype.__name__}" if info.dtype else "another value"
        )
    if not allowed:
        raise SurefootError(f"the {param} of {name} must be {expected}; got {value!r}")
    return value


def _example(origin: Any, param: str) -> str:
    value = {int: 10, float: 0.5}.get(origin.SUPPORTED_PARAMS[param].dtype, "...")
    return f"{origin.NAME}@{value}" if param == origin.AT_PARAM else f"{origin.NAME}({param}={value})"


class ForeignMeasures:
    """Measures of ir_measures over one set of qrels; a lock serialises runs."""

    def __init__(self, measures: Sequence[Measure], qrels: Qrels, skip: bool = False) -> None:
        self._measures = measures
        self._topics = {topic: index for index, topic in enumerate(qrels.topics)}
        self._rows = {measure.origin: row for row, measure in enumerate(measures)}
        self._lock = Lock()
        self._kept = {topic: set(own) for topic, own, _ in qrels.by_topic()} if skip else None
        self._evaluator = self._make_evaluator(qrels)

    def _make_evaluator(self, qrels: Qrels) -> Any:
        ir_measures = optional("ir_measures")
        if not qrels.are_whole:
            raise self._refusal(ValueError("its measures need whole numbers as grades"))
        try:
            return ir_measures.evaluator(list(self._rows), list(_judgments(qrels)))
        except Exception as error:
            raise self._refusal(error) from error

    def _refusal(self, error: Exception) -> SurefootError:
        reason = " ".join(str(error).split()) or type(error).__name__
        return SurefootError(
            f"ir_measures can't compute {listed(self._measures)}: {reason}; Surefoot itself has {', '.join(NATIVE)}"
        )

    def values(self, run: Run) -> FloatArray:
        """Measures × topics of a run; topics without results have the value that ir_measures gives."""
        values = np.zeros((len(self._measures), len(self._topics)))
        with self._lock:
            try:
                for metric in self._evaluator.iter_calc(list(_ranking(run, self._kept))):
                    if metric.query_id in self._topics:
                        values[self._rows[metric.measure], self._topics[metric.query_id]] = metric.value
            except Exception as error:
                raise self._refusal(error) from error
        return values


def _judgments(qrels: Qrels) -> Iterator[Any]:
    Qrel = optional("ir_measures").Qrel
    for topic, documents, grades in qrels.by_topic():
        for document, grade in zip(documents, grades, strict=True):
            yield Qrel(topic, document, int(grade))
        if grades[0] < 0:  # pytrec_eval crashes on a topic that has only negative grades
            yield Qrel(topic, "no document", 0)


def _ranking(run: Run, kept: Mapping[str, set[str]] | None) -> Iterator[Any]:
    """The run's documents with descending whole scores, which all providers of ir_measures sort alike.

    ``kept`` names the documents of each topic to keep; None keeps all.
    """
    ScoredDoc = optional("ir_measures").ScoredDoc
    for topic, documents, _ in run.by_topic():
        ranked = documents if kept is None else [document for document in documents if document in kept.get(topic, ())]
        for rank, document in enumerate(ranked):
            yield ScoredDoc(topic, document, float(len(ranked) - rank))
