"""Measures of held-out queries that are computed when they are asked for."""

import numpy as np
import pytest

from surefoot.learn.baseline import baselines_of
from surefoot.learn.data import RankingData
from surefoot.learn.settings import Settings
from surefoot.learn.validation import COMPLETE_EVERY, History, Measures, Validation

SETTINGS = {"plain": Settings("ucro"), "of two metrics": Settings("ucro", risk_metric="mrr")}


def validation(settings: Settings, baseline: str | None = "feature:0") -> tuple[Validation, np.ndarray]:
    rng = np.random.default_rng(3)
    features, labels = rng.normal(size=(120, 2)), rng.integers(0, 3, 120)
    data = RankingData.of(features, labels, qid=np.arange(120) // 8)
    return Validation.of(settings, data, baselines_of(baseline, data)), rng.normal(size=120)


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize("baseline", ["feature:0", None])
def test_lazy_measures_are_the_same_in_the_same_order(name: str, baseline: str | None) -> None:
    valid, scores = validation(SETTINGS[name], baseline)
    eager, lazy = valid(scores), valid.lazily(scores)
    assert len(lazy) == len(eager)
    assert list({**lazy}.items()) == list(eager.items())


def test_one_measure_can_be_asked_for_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    valid, scores = validation(Settings("ucro"))
    eager, lazy = valid(scores), valid.lazily(scores) | {"trees": 7}
    asked: list[list[str]] = []
    compute = Validation.measures_of_each

    def recorded(self: Validation, rows: np.ndarray, names: list[str]) -> list[dict[str, float]]:
        asked.append(list(names))
        return compute(self, rows, names)

    monkeypatch.setattr(Validation, "measures_of_each", recorded)
    assert "urisk" in lazy
    assert "recall" not in lazy
    assert (lazy["mean"], lazy["mean"], lazy["trees"]) == (eager["mean"], eager["mean"], 7)
    assert asked == [["mean"]]
    with pytest.raises(KeyError):
        lazy["recall"]
    assert dict(lazy) == eager | {"trees": 7}
    assert len(asked) == 2


def test_a_history_keeps_values_of_few_iterations_and_ends_as_plain_dictionaries() -> None:
    valid, scores = validation(Settings("ucro"))
    history = History(COMPLETE_EVERY + 2, stop_on="mean")
    for trees in range(1, COMPLETE_EVERY + 2):
        history.append(valid.lazily(scores * np.arange(trees, trees + scores.size)), trees)
        assert sum(isinstance(one, Measures) for one in history.iterations) == trees % COMPLETE_EVERY
    for trees, measures in enumerate(history.complete(), 1):
        assert measures == valid(scores * np.arange(trees, trees + scores.size)) | {"trees": trees}
    assert {type(one) for one in history.iterations} == {dict}
