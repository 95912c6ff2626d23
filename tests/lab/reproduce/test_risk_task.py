"""The official U_Risk of the TREC Web track: what follows without the baselines' runs."""

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.datasets.prepare import number_topics
from surefoot_lab.reproduce import reproduce
from surefoot_lab.reproduce.risk_task import FILES, names_of, official

from surefoot import risk
from surefoot.io.tables import read_scores


def test_one_constant_names_every_column_of_2013(data: Path) -> None:
    folder = data / "trec-web-2013"
    means = {measure: read_scores(folder / file).values.mean(axis=1) for measure, file in FILES.items()}
    names = names_of(official("2013", "track baseline"), means)
    assert round(names.constants["ERR@20"], 5) == 0.09627
    assert set(names.columns.values()) == set(range(34))
    assert len(names.columns) == 38
    assert max(names.next_best.values()) == 5


def test_cells_of_2013_and_2014(data: Path) -> None:
    result = reproduce(tables=["trec-web-2013", "trec-web-2014"])
    assert result.summary["cells"] == 584
    assert result.summary["unexplained"] == 0
    states = Counter((row["table"], row["column"].split()[1], row["verdict"] == "not run") for row in result.rows())
    assert states["trec-web-2013", "a1", False] == states["trec-web-2013", "a5", False] == 122
    assert states["trec-web-2013", "a0", False] == 76
    assert states["trec-web-2013", "a10", True] == 122
    assert sum(count for (table, _, waits), count in states.items() if table == "trec-web-2014" and waits) == 96


def test_without_scores_only_linearity_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUREFOOT_DATA", str(tmp_path))
    monkeypatch.setenv("SUREFOOT_CACHE", str(tmp_path))
    verdicts = Counter(row["verdict"] for row in reproduce(tables=["trec-web-2013"]).rows())
    assert verdicts["equal"] + verdicts["proved"] == 244
    assert verdicts["not run"] == 244


def test_names_of_generated_runs() -> None:
    """Runs whose scores are known: each is found, and one that is not among the columns is not."""
    rng = np.random.default_rng(1)
    scores = {measure: rng.beta(1, 4, (12, 50)).round(5) for measure in FILES}
    baseline = {measure: rng.beta(1, 4, 50).round(5) for measure in FILES}
    figures = {
        (f"run{row}", measure): {"0": f"{risk.urisk(own[row], baseline[measure], 0):.5f}"}
        for measure, own in scores.items()
        for row in range(12)
    }
    shown = {measure: own[3:].mean(axis=1) for measure, own in scores.items()}
    names = names_of(figures, shown)
    assert names.columns == {f"run{row}": row - 3 for row in range(3, 12)}
    for measure, own in baseline.items():
        assert names.constants[measure] == pytest.approx(own.mean(), abs=1e-5)


def test_unnamed_topics_get_numbers(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "web2013_err20.csv").write_text('"sys1","sys2"\n0.5,0.1\n0,1\n')
    assert number_topics(tmp_path) == ()
    assert (tmp_path / "err20.csv").read_text() == "topic,sys1,sys2\nt1,0.5,0.1\nt2,0,1\n"
