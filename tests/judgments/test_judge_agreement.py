"""Two judges: kappa, confusion, and which losing queries the second one finds."""

import json

import numpy as np
import pytest

from surefoot.cli import main
from surefoot.effectiveness import score_runs
from surefoot.errors import SurefootError
from surefoot.judgments.judge_agreement import judge_agreement
from tests.judgments.collection import random_collection, write_qrels


def statistics(found):
    return {row["statistic"]: row["value"] for row in found.rows()}


def test_statistics_are_those_of_a_plain_computation(tmp_path):
    files, qrels = random_collection(tmp_path, seed=3, holes=0)
    first = {t: {d: max(int(g), 0) for d, g in own.items()} for t, own in _grades(qrels).items()}
    random = np.random.default_rng(0)
    second = {
        t: {d: int(np.clip(g + random.integers(-1, 2), 0, 3)) for d, g in own.items()} for t, own in first.items()
    }
    found = statistics(judge_agreement(first, second, files, n_resamples=20))
    pairs = [(g, second[t][d]) for t, own in first.items() for d, g in own.items()]
    equal = np.mean([a == b for a, b in pairs])
    chance = sum(np.mean([a == k for a, _ in pairs]) * np.mean([b == k for _, b in pairs]) for k in range(4))
    assert found["kappa"] == pytest.approx((equal - chance) / (1 - chance))
    one, other = (score_runs(files, judge) for judge in (first, second))
    cells = [
        (one[s][t] - one[b][t], other[s][t] - other[b][t])
        for s in one.systems for b in one.systems for t in range(len(one.topics))
    ]  # fmt: skip
    lost, seen = [c for c in cells if c[0] < -1e-9], [c for c in cells if c[1] < -1e-9]
    assert found["recall of losses"] == pytest.approx(np.mean([c[1] < -1e-9 for c in lost]))
    assert found["precision of losses"] == pytest.approx(np.mean([c[0] < -1e-9 for c in seen]))
    assert found["ratio of F_Risk"] == pytest.approx(sum(c[1] for c in seen) / sum(c[0] for c in lost))
    large = [c for c in lost if c[0] < -0.1]
    assert found["large losses seen as wins"] == pytest.approx(np.mean([c[1] > 1e-9 for c in large]))


def _grades(qrels):
    found = {}
    for line in qrels.read_text().splitlines():
        topic, _, document, grade = line.split()
        found.setdefault(topic, {})[document] = int(grade)
    return found


def test_a_judge_agrees_with_itself(tmp_path, capsys):
    files, qrels = random_collection(tmp_path, seed=3, holes=0)
    words = ["agreement", "judges", str(qrels), str(qrels), *map(str, files), "--measure", "nDCG@5", "--measure", "P@3"]
    assert main([*words, "--n-resamples", "20", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    for row in told["rows"]:
        expected = 0 if row["statistic"] == "large losses seen as wins" else 1
        assert [row["low"], row["value"], row["high"]] == pytest.approx([expected] * 3)
    assert {row["measure"] for row in told["rows"]} == {"", "nDCG@5", "P@3"}
    confusion = np.array(told["confusion"])
    assert confusion.sum() == np.trace(confusion)


def test_judges_without_a_common_document_are_refused(tmp_path, capsys):
    a, b = (write_qrels(tmp_path / name, {"q": {name: 1}}) for name in ("a", "b"))
    with pytest.raises(SurefootError, match="no document in common"):
        judge_agreement(a, b)
    assert main(["agreement", "judges", str(a)]) == 2
    assert "two judges" in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
def test_runs_without_losses_give_undefined_values_and_no_warning():
    judge = {topic: {"d1": 1, "d2": 0} for topic in ("q1", "q2", "q3")}
    run = {topic: {"d1": 2.0, "d2": 1.0} for topic in judge}
    found = judge_agreement(judge, judge, {"old": run, "new": run}, n_resamples=10)
    assert np.isnan(found["value"][found["statistic"] == "recall of losses"]).all()
    assert np.isnan(found["low"][found["statistic"] == "ratio of F_Risk"]).all()
    lost = {"old": run, "new": {**run, "q1": {"d1": 1.0, "d2": 2.0}}}
    judge_agreement({**judge, "q1": {"d1": 0, "d2": 0}}, judge, lost, n_resamples=10)


def test_different_scales_are_noted():
    first, second = {"q": {"d1": 1, "d2": 0}}, {"q": {"d1": 3, "d2": 0}}
    assert any("largest grades are 1 and 3" in note for note in judge_agreement(first, second, n_resamples=5).notes)
    assert not any("largest grades" in note for note in judge_agreement(first, first, n_resamples=5).notes)
