"""The simulated collections of the studies: built-in ones, and ones fitted to TREC Web 2012 where the data are."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
from scipy.special import bdtr

from surefoot.results import Column, Result, signature
from surefoot.scores import FloatArray
from surefoot.stats.simulator import Simulator

SYSTEMS = tuple(f"s{number}" for number in range(10))
LEVEL = 0.05
RUNS = (
    "indriCASP irra12c uogTrA44xi qutwb ICTNET12ADR2 DFalah120A lcmweb10p srchvrs12c09 QUTparaBline utw2012c2"
).split()


def sources() -> Iterator[tuple[str, Simulator]]:
    """Simulators of ten systems, the first being the baseline."""
    yield "built-in margins", Simulator.standard(SYSTEMS)
    if "SUREFOOT_DATA" in os.environ:
        from surefoot import read_scores

        scores = read_scores(Path(os.environ["SUREFOOT_DATA"]) / "trec-web-2012" / "err20.csv").select(RUNS)
        yield "margins of TREC Web 2012", Simulator.fit(scores.rename(dict(zip(RUNS, SYSTEMS, strict=True))))


def collections(simulator: Simulator, topics: int, count: int, seed: int) -> FloatArray:
    """Many collections at once: systems × collections × topics."""
    return simulator.values(topics * count, seed).reshape(len(simulator.systems), count, topics)


def nominal_bounds(n: int, share: float = LEVEL, sure: float = 0.99) -> tuple[float, float]:
    """Between which rates n trials of a true rate ``share`` fall with probability ``sure``, tails alike."""
    below = bdtr(np.arange(n + 1), n, share)
    low = int(np.searchsorted(below, (1 - sure) / 2))
    high = int(np.searchsorted(below, (1 + sure) / 2))
    return low / n, high / n


def table_of_rates(kind: str, labels: Mapping[str, Column], rates: list[float], n: int, share: float) -> Result:
    """Rates beside the bounds within which a true rate of ``share`` would lie."""
    low, high = nominal_bounds(n, share)
    verdict = ["below" if rate < low else "above" if rate > high else "within" for rate in rates]
    bounds = [f"{low:.4f} to {high:.4f}"] * len(rates)
    columns: dict[str, Column] = {**labels, "rate": rates, "bounds": bounds, "verdict": verdict}
    return Result(signature(kind, n=n, level=LEVEL), columns)
