"""Risk watched while a model learns: the measures are those of `surefoot.evaluate`."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import surefoot  # noqa: E402
from surefoot.errors import SurefootError  # noqa: E402
from surefoot.torch import RiskMonitor  # noqa: E402
from tests.torch.test_loss import Queries  # noqa: E402


def test_measures_are_those_of_evaluate() -> None:
    batch = Queries()
    monitor = RiskMonitor(batch.labels, batch.baselines, batch.mask, alpha=3.0, cutoff=5)
    found = monitor(batch.scores)
    (row,) = surefoot.evaluate(monitor.scores(batch.scores), "baseline 1", 3.0, systems=["model"])
    for name in ("mean", "urisk", "frisk", "freward", "trisk", "losses"):
        assert found[name] == pytest.approx(row[name], rel=1e-9)
    rows = RiskMonitor(
        batch.flat(batch.labels), batch.flat(batch.baselines), groups=batch.sizes, alpha=3.0, cutoff=5
    )(batch.flat(batch.scores))  # fmt: skip
    assert rows == found


@pytest.mark.parametrize(("stop_on", "best"), [(None, "urisk"), ("losses", "losses")])
def test_the_best_epoch(stop_on: str | None, best: str) -> None:
    batch = Queries()
    monitor = RiskMonitor(batch.labels, batch.baselines, batch.mask, alpha=3.0, stop_on=stop_on, patience=2)
    values, stopped = [], []
    for share in (0.0, 0.3, 0.9, 0.7, 0.5, 0.1):
        values.append(monitor(share * batch.labels + (1 - share) * batch.scores)[best])
        stopped.append(monitor.should_stop)
        assert monitor.is_best == (monitor.best == len(values) - 1)
    expected = int(np.argmax(values) if best == "urisk" else np.argmin(values))
    assert monitor.best == expected
    assert stopped.index(True) >= 2


def test_without_a_baseline_the_mean_decides() -> None:
    batch = Queries()
    monitor = RiskMonitor(batch.labels, mask=batch.mask)
    assert "urisk" not in monitor(batch.scores)
    assert monitor.stop_on == "mean"
    with pytest.raises(SurefootError, match="compares with a baseline"):
        RiskMonitor(batch.labels, mask=batch.mask, stop_on="urisk")
    with pytest.raises(SurefootError, match="scores must have the shape of scores, 30 × 25"):
        monitor(batch.scores[:2])
