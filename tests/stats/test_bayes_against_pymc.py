"""The Gibbs sampler against PyMC's NUTS, an independent sampler of the same model.

PyMC is in no lock: ``pip install pymc pytest hypothesis`` in an environment of its own, then
``PYTHONPATH=src python -m pytest -c /dev/null --rootdir . tests/stats/test_bayes_against_pymc.py``.
With ``SUREFOOT_DATA`` it compares the runs of TREC 2012 too.
"""

import os
import warnings
from pathlib import Path

import numpy as np
import pytest

from surefoot._typing import FloatArray
from surefoot.io.tables import read_scores
from surefoot.stats.bayes import CENTRE, DEGREES, SCALE, SPREAD, posterior

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pm = pytest.importorskip("pymc", reason="PyMC is not installed; it is in no lock")

TREC = Path(os.environ.get("SUREFOOT_DATA", "/nonexistent")) / "trec-web-2012" / "err20.csv"


def sampled(table: FloatArray) -> dict[str, FloatArray]:
    """Draws of the systems' means and of the three standard deviations, by NUTS."""
    systems, topics = table.shape
    with pm.Model(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mean = pm.Normal("mean", CENTRE, SPREAD)
        sd = {name: pm.HalfStudentT(name, nu=DEGREES, sigma=SCALE) for name in ("system_sd", "topic_sd", "noise_sd")}
        own = pm.Deterministic("systems", mean + sd["system_sd"] * pm.Normal("s", 0, 1, shape=systems))
        difficulty = sd["topic_sd"] * pm.Normal("t", 0, 1, shape=topics)
        pm.Normal("scores", own[:, None] + difficulty[None, :], sd["noise_sd"], observed=table)
        found = pm.sample(3000, tune=1500, chains=2, cores=1, random_seed=1, progressbar=False, target_accept=0.95)
    draws = found.posterior
    return {name: draws[name].values.reshape(-1, *draws[name].shape[2:]) for name in ("systems", *sd)}


def tables() -> dict[str, FloatArray]:
    rng = np.random.default_rng(8)
    effects = rng.normal(0.5, 0.05, (6, 1)) + rng.normal(0, 0.2, 25)
    found = {"generated": effects + rng.normal(0, 0.1, (6, 25))}
    if TREC.exists():
        found["TREC 2012"] = read_scores(TREC).values[:8]
    return found


@pytest.mark.parametrize("name", tables())
def test_both_samplers_draw_from_one_posterior(name: str) -> None:
    """Means within a tenth, deviations within a tenth of themselves, probabilities within three points."""
    table = tables()[name]
    theirs, ours = sampled(table), posterior(table, 24_000, 0)
    spread = theirs["systems"].std(axis=0)
    gaps = np.abs(ours.systems.mean(axis=0) - theirs["systems"].mean(axis=0)) / spread
    better = [(draws > draws[:, [0]]).mean(axis=0) for draws in (ours.systems, theirs["systems"])]
    wide = np.abs(ours.systems.std(axis=0) / spread - 1).max()
    print(
        f"{name}: means {gaps.max():.3f} deviations apart, deviations {wide:.3f}, P {np.ptp(better, axis=0).max():.3f}"
    )
    assert gaps.max() < 0.1
    np.testing.assert_allclose(ours.systems.std(axis=0), spread, rtol=0.1)
    np.testing.assert_allclose(better[0], better[1], atol=0.03)
    for part in ("system_sd", "topic_sd", "noise_sd"):
        both = [getattr(ours, part), theirs[part]]
        assert abs(both[0].mean() - both[1].mean()) < 0.15 * both[1].std(), part
