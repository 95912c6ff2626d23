"""Principal axes of systems × topics: which systems are similar, and which topics separate them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from surefoot._typing import FloatArray
from surefoot.errors import SurefootError
from surefoot.results import Column, Result, signature
from surefoot.scores import VIRTUAL, Scores, ScoresLike

LONG = 4
"""With at least this many columns for each row, the product of the rows is decomposed."""

LEAST = 1e-3
"""The least singular value as a fraction of the largest, so that the product of the rows keeps ten digits of it."""


@dataclass(frozen=True, eq=False)
class PrincipalAxes:
    """Axes of a matrix: the fraction of variance of each, positions of the rows, loadings of the columns."""

    shares: FloatArray
    coordinates: FloatArray
    loadings: FloatArray
    centre: FloatArray

    def project(self, rows: npt.ArrayLike) -> FloatArray:
        """Where other rows lie on these axes."""
        return np.asarray((np.asarray(rows, dtype=np.float64) - self.centre) @ self.loadings.T)


def principal_axes(matrix: npt.ArrayLike, *, centred: bool = False) -> PrincipalAxes:
    """The singular value decomposition X = U S V', shares S_k² / sum S², coordinates U S, loadings V' (axes × columns).

    ``centred`` takes each column's mean off first, which is the usual principal component analysis; without it the
    first axis is mostly the general level of the rows. Signs are arbitrary in theory; here the largest loading of each
    axis is positive.

    >>> axes = principal_axes([[0.3, 0.1], [0.6, 0.2], [0.1, 0.4]])
    >>> axes.shares.round(3), axes.coordinates.round(3)[:, 0]
    (array([0.839, 0.161]), array([0.312, 0.623, 0.278]))
    """
    x = np.asarray(matrix, dtype=np.float64)
    if x.ndim != 2 or 0 in x.shape or not np.isfinite(x).all():
        raise SurefootError(f"principal axes need a matrix of systems × topics of finite scores; got shape {x.shape}")
    centre = x.mean(axis=0) if centred else np.zeros(x.shape[1])
    u, s, v = _decompose(x - centre)
    if not s[0] > 1e-13 * np.abs(x).max():
        raise SurefootError("there is nothing to explain: all scores are 0, or all systems alike")
    largest = np.take_along_axis(v, np.abs(v).argmax(axis=1, keepdims=True), axis=1)
    sign = np.where(largest < 0, -1.0, 1.0)
    return PrincipalAxes(np.square(s) / np.square(s).sum(), u * s * sign.T, v * sign, centre)


def _decompose(x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """The singular value decomposition; for many columns by the eigenvectors of X X', which is far smaller.

    X X' has the squares of the singular values. If digits of the least one would be lost, X itself is decomposed.
    """
    if LONG * len(x) <= x.shape[1]:
        squares, u = (part[..., ::-1] for part in np.linalg.eigh(x @ x.T))
        if squares[-1] > LEAST**2 * squares[0]:
            s = np.sqrt(squares)
            return u, s, u.T @ x / s[:, np.newaxis]
    u, s, v = np.linalg.svd(x, full_matrices=False)
    return u, s, v


@dataclass(frozen=True, kw_only=True, eq=False)
class PCA(Result):
    """Systems and virtual runs on the principal axes; see `pca`."""

    names: tuple[str, ...]
    topics: tuple[str, ...]
    shares: FloatArray
    coordinates: FloatArray
    loadings: FloatArray

    def extra(self) -> dict[str, object]:
        """The share of variance that each axis explains, for JSON."""
        return {"shares": self.shares.tolist()}


def pca(
    scores: ScoresLike,
    *,
    systems: Sequence[str] | None = None,
    virtual: Sequence[str] = tuple(VIRTUAL),
    include: bool = False,
    centred: bool = False,
    axes: int = 2,
) -> PCA:
    """The systems on their first principal axes (`principal_axes`), and the virtual runs MEAN, MEDIAN and MAX.

    Not centred by default, as in Dinçer, Ounis and Macdonald (*Tackling biased baselines in the risk-sensitive
    evaluation of retrieval systems*, ECIR 2014), whose shares of variance that reproduces.

    Parameters
    ----------
    scores
        Systems × topics of one effectiveness measure.
    systems
        The systems to place; all by default.
    virtual
        The virtual runs to place beside them. They are projected, so that they do not move the axes.
    include
        Whether virtual runs are rows like all others instead.
    centred
        Whether each topic's mean is subtracted first, the usual principal component analysis.
    axes
        The number of axes.

    Returns
    -------
    PCA
        Columns ``system, virtual, axis1, axis2 …``; beside them ``shares`` of variance of all axes, ``coordinates``
        (systems × axes) and ``loadings`` (axes × topics).

    Examples
    --------
    >>> scores = Scores([[0.3, 0.1], [0.6, 0.2], [0.1, 0.4]], ["a", "b", "c"], ["q1", "q2"])
    >>> found = pca(scores, virtual=["MAX"])
    >>> found.names, found.coordinates.round(2)[-1]
    (('a', 'b', 'c', 'MAX'), array([0.72, 0.07]))

    """
    scores = Scores.of(scores)
    chosen = scores if systems is None else scores.select(systems)
    unknown = [name for name in virtual if name not in VIRTUAL]
    if unknown or axes < 1:
        raise SurefootError(f"virtual runs are {', '.join(VIRTUAL)}, axes 1 or more; got {list(virtual)} and {axes}")
    rows = np.concatenate([chosen.values, *(VIRTUAL[name](chosen.values)[np.newaxis] for name in virtual)])
    found = principal_axes(rows if include else chosen.values, centred=centred)
    loadings, coordinates = found.loadings[:axes], found.project(rows)[:, :axes]
    names = (*chosen.systems, *virtual)
    columns: dict[str, Column] = {"system": names, "virtual": [name in VIRTUAL for name in names]}
    columns |= {f"axis{number + 1}": coordinates[:, number] for number in range(len(loadings))}
    explained = [f"{100 * share:.2f} %" for share in found.shares[:axes]]
    return PCA(
        signature=signature(
            "pca",
            scores,
            systems=len(chosen.systems),
            topics=len(scores.topics),
            virtual=list(virtual) or None,
            included="yes" if include else None,
            centred="yes" if centred else "no",
        ),
        columns=columns,
        notes=(*scores.all_notes, f"share of variance by axis: {', '.join(explained)}"),
        names=names,
        topics=scores.topics,
        shares=found.shares,
        coordinates=coordinates,
        loadings=loadings,
    )
