"""The Bayesian columns, as the library and the command give them."""

import json
from pathlib import Path

import numpy as np
import pytest

from surefoot.analysis.tests import bayes
from surefoot.cli import main
from surefoot.errors import SurefootError
from surefoot.scores import Scores


@pytest.fixture
def scores() -> Scores:
    rng = np.random.default_rng(4)
    values = np.clip(rng.beta(2, 3, 30) + rng.normal(0, 0.1, (5, 30)) + np.array([[0], [0.3], [0], [0], [-0.2]]), 0, 1)
    return Scores(values, ["old", "good", "b", "a", "bad"], [f"q{number}" for number in range(30)])


def test_probabilities_say_what_the_scores_do(scores: Scores) -> None:
    rows = {row["system"]: row for row in bayes(scores, "old", 1, n_draws=3000).rows()}
    assert list(rows) == list(scores.systems)
    assert rows["good"]["p_better"] > 0.99 > 0.01 > rows["bad"]["p_better"]
    assert rows["bad"]["p_loses"] > 0.9 > 0.1 > rows["good"]["p_loses"]
    assert rows["old"]["urisk_predicted"] == 0
    assert rows["old"]["p_better"] is rows["old"]["p_loses"] is None
    for row in rows.values():
        assert row["shrunken_low"] < row["shrunken"] < row["shrunken_high"]


def test_neither_order_nor_selection_changes_a_number(scores: Scores) -> None:
    whole = {row["system"]: row for row in bayes(scores, "old", [0, 5], n_draws=500).rows()}
    moved = bayes(scores.select(["bad", "old", "a", "good", "b"]), "old", [0, 5], n_draws=500, systems=["good", "a"])
    assert [row["system"] for row in moved.rows()] == ["good", "good", "a", "a"]
    assert moved.rows()[1] == whole["good"]


def test_the_command_gives_the_same(scores: Scores, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table = tmp_path / "s.csv"
    rows = zip(scores.topics, *scores.values.tolist(), strict=True)
    table.write_text("\n".join([",".join(["topic", *scores.systems]), *(",".join(map(str, row)) for row in rows)]))
    words = ["evaluate", "--scores", str(table), "--baseline", "old", "--bayes", "--loses-on", "40", "--format", "json"]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = bayes(Scores(scores.values, scores.systems, scores.topics, "score"), "old", loses_on=0.4)
    assert found["signature"] == wanted.signature
    assert found["rows"] == wanted.rows()


def test_progress_counts_the_predicted_tables(scores: Scores, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[tuple[int, int | None, object]] = []
    whole = bayes(scores, "old", n_draws=400)
    monkeypatch.setattr("surefoot.analysis.tests.CELLS", 150 * 200)  # two parts and a little of 400 tables of 150 cells
    parts = bayes(scores, "old", n_draws=400, progress=lambda *report: seen.append(report))
    assert parts.rows() == whole.rows()
    assert seen == [(done, 400, f"predicted tables: {done} of 400") for done in (134, 267, 400)]


def test_a_share_of_all_topics_is_refused(scores: Scores) -> None:
    with pytest.raises(SurefootError, match="from 0 to below 1"):
        bayes(scores, "old", loses_on=1)


@pytest.mark.parametrize("options", [{"n_draws": 0}, {"n_draws": 1.5}, {"level": 0}, {"level": 2}, {"seed": -1}])
def test_bad_settings_are_refused_by_their_name(scores: Scores, options: dict[str, float]) -> None:
    with pytest.raises(SurefootError, match=next(iter(options))):
        bayes(scores, "old", **{"n_draws": 10, **options})
