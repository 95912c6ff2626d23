"""The simulated collections of the studies: built-in ones, and ones fitted to TREC Web 2012 where it is available."""

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


def nominal_bounds(n: int, rate: float = LEVEL, probability: float = 0.99) -> tuple[float, float]:
    """The central interval that the observed rate of n trials lies in, with this probability, for a true rate."""
    below = bdtr(np.arange(n + 1), n, rate)
    low = int(np.searchsorted(below, (1 - probability) / 2))
    high = int(np.searchsorted(below, (1 + probability) / 2))
    return low / n, high / n


def table_of_rates(kind: str, labels: Mapping[str, Column], rates: list[float], n: int, nominal: float) -> Result:
    """Observed rates beside the bounds of the nominal rate."""
    low, high = nominal_bounds(n, nominal)
    verdict = ["below" if rate < low else "above" if rate > high else "within" for rate in rates]
    bounds = [f"{low:.4f} to {high:.4f}"] * len(rates)
    columns: dict[str, Column] = {**labels, "rate": rates, "bounds": bounds, "verdict": verdict}
    return Result(signature(kind, n=n, level=LEVEL), columns)
