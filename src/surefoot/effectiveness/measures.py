"""Measures by name, with the names, parameters and defaults of ir_measures: ``nDCG@10``, ``AP(rel=2)``.

The common ones are computed by Surefoot, all others by ir_measures.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Any, NamedTuple

from surefoot.effectiveness import kernels
from surefoot.errors import SurefootError, did_you_mean, listed
from surefoot.io.measure_names import canonical

PLAIN = {
    "ERR": kernels.ERR,
    "nDCG": kernels.NDCG,
    "AP": kernels.AP,
    "RR": kernels.RR,
    "P": kernels.P,
    "R": kernels.R,
    "RBP": kernels.RBP_GRADED,
}
"""The kernels of measures without parameters."""

NATIVE = tuple(PLAIN)
NEED_CUTOFF = ("P", "R")
LARGEST_GRADE = {kernels.ERR: kernels.LARGEST_ERR_GRADE, kernels.NDCG_EXP: 62}
"""The largest grades for which a measure is defined, or its gains can be summed exactly."""


FORMULAS = {
    kernels.ERR: ("cascade", "exponential", "reciprocal", "none"),
    kernels.NDCG: ("sum", "linear", "log2", "ideal"),
    kernels.NDCG_EXP: ("sum", "exponential", "log2", "ideal"),
    kernels.AP: ("pairs", "binary", "none", "relevant"),
    kernels.RR: ("cascade", "binary", "reciprocal", "none"),
    kernels.P: ("sum", "binary", "none", "cutoff"),
    kernels.R: ("sum", "binary", "none", "relevant"),
    kernels.RBP: ("sum", "binary", "geometric", "none"),
    kernels.RBP_GRADED: ("sum", "linear", "geometric", "none"),
}
"""Form, gain, discount and norm of each kind."""


class Formula(NamedTuple):
    """A measure as the native library takes it, ``struct measure``."""

    form: str
    gain: str
    discount: str
    norm: str
    cutoff: int
    rel: float
    persistence: float
    scale: float


@dataclass(frozen=True)
class Measure:
    """An effectiveness measure; its name determines it.

    ``kind`` is the number of the kernel that computes it, or None if ir_measures does, by its ``origin``.

    >>> parse_measure("NDCG@10").name, parse_measure("AP(rel=2)").rel
    ('nDCG@10', 2)
    """

    name: str
    kind: int | None
    cutoff: int
    rel: float = 1
    persistence: float = 0.8
    origin: Any = None

    def __str__(self) -> str:
        return self.name

    def formula(self, highest: float) -> Formula:
        """The measure for the native library, if Surefoot computes it; ``highest`` is the highest grade of the qrels.

        >>> parse_measure("ERR@20").formula(4).scale
        16.0
        """
        assert self.kind is not None
        scales = {kernels.ERR: 2.0**kernels.LARGEST_ERR_GRADE, kernels.RBP_GRADED: max(1.0, highest)}
        return Formula(*FORMULAS[self.kind], self.cutoff, self.rel, self.persistence, scales.get(self.kind, 1.0))


def parse_measure(measure: object) -> Measure:
    """The measure of a name, or of an ir_measures object.

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
    """A measure of Surefoot without parameters, which needs no ir_measures: its import takes as long as two runs."""
    own = next((own for own in PLAIN if own.lower() == name.lower()), None)
    if own is None:
        return None
    if isinstance(at, int) and at is not True and at > 0:
        return Measure(f"{own}@{at}", PLAIN[own], min(at, kernels.ALL))
    return Measure(own, PLAIN[own], kernels.ALL) if at is None and own not in NEED_CUTOFF else None


def _measure_of(origin: Any) -> Measure:
    params = {name: origin.params[name] for name in origin.SUPPORTED_PARAMS if name in origin.params}
    kind = PLAIN.get(origin.NAME)
    if origin.NAME == "nDCG" and params.get("dcg") == "exp-log2":
        kind = kernels.NDCG_EXP
    if origin.NAME == "RBP" and "rel" in params:
        kind = kernels.RBP
    if "gains" in params or params.get("judged_only"):
        kind = None
    return Measure(
        repr(origin),
        kind,
        min(params.get("cutoff", kernels.ALL), kernels.ALL),
        params.get("rel", 1),
        params.get("p", 0.8),
        origin if kind is None else None,
    )


def _split(text: str) -> tuple[str, dict[str, Any], Any]:
    """Name, parameters and cutoff of a measure's text; ir_measures' own parser fails on Python 3.14."""
    refusal = SurefootError(
        f"can't read {text!r} as a measure; write one such as nDCG@10, AP(rel=2) or nDCG(dcg='exp-log2')@20"
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
    from ir_measures import measures

    known = {alias.lower(): measure for alias, measure in measures.registry.items()}
    if name.lower() not in known:  # trec_eval's way: ndcg_cut_10, P_10, recip_rank
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
