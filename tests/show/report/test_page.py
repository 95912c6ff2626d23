"""The report as a text: what it holds, what it can't hold, and how large it is."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import Scores, SurefootError
from surefoot.cli import main
from surefoot.show.report import report
from tests.show.report.report_cases import HOSTILE, random_scores


def data_of(page: str) -> dict[str, Any]:
    """What a browser would take for the data: up to the first end of the script element."""
    found = re.search(r'<script type="application/json" id="data">(.*?)</script', page, re.DOTALL | re.IGNORECASE)
    assert found
    data: dict[str, Any] = json.loads(found[1])
    return data


def unpacked(text: str) -> Any:
    return np.frombuffer(base64.b64decode(text), dtype="<f8")


def test_the_page_holds_the_scores_to_the_last_bit(scores: Scores) -> None:
    data = data_of(report(scores, "s1"))
    assert np.array_equal(unpacked(data["measures"][0]["values"]).reshape(scores.values.shape), scores.values)
    assert (tuple(data["systems"]), tuple(data["topics"])) == (scores.systems, scores.topics)
    for name in ("MEAN", "MEDIAN", "MAX"):
        assert np.array_equal(unpacked(data["measures"][0]["virtual"][name]), scores.baseline(name))


def test_no_name_can_leave_the_data() -> None:
    values = np.random.default_rng(0).random((len(HOSTILE), len(HOSTILE)))
    hostile = Scores(values, HOSTILE, [f"{name} query" for name in HOSTILE], measure=HOSTILE[1], notes=HOSTILE)
    page = report(hostile, HOSTILE[0], candidate=HOSTILE[1], segments=dict.fromkeys(hostile.topics[:5], HOSTILE[3]))
    data = data_of(page)
    assert tuple(data["systems"]) == HOSTILE
    rest = page.replace(re.search(r'id="data">(.*?)</script', page, re.DOTALL)[1], "")  # type: ignore[index]
    assert not any(word in rest for word in ("alert(", "onerror", "HYPERLINK"))
    assert "<" not in re.search(r'id="data">(.*?)</script', page, re.DOTALL)[1]  # type: ignore[index]
    page.encode("utf-8")


def test_only_the_pages_own_script_and_style_may_run(scores: Scores) -> None:
    page = report(scores)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)[1]  # type: ignore[index]
    assert policy.startswith("default-src 'none'; ")
    for tag in ("script", "style"):
        (text,) = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in policy
    assert not re.search(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval)\b", page)
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", page)


def test_the_same_scores_give_the_same_page(scores: Scores) -> None:
    assert report(scores, "s1") == report(scores, "s1")


def test_fifty_by_fifty_stays_far_below_a_megabyte() -> None:
    assert len(report(random_scores(50, 50), "MEAN").encode()) < 200_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"baseline": "nobody"}, "no baseline 'nobody'"),
        ({"candidate": "nobody"}, "no system 'nobody'"),
        ({"baseline": "s1", "candidate": "s1"}, "is the baseline"),
        ({"alpha": 21}, "from 0 to 20"),
        ({"segments": {"nothing": "head"}}, "no topic has a segment"),
    ],
)
def test_mistakes_are_said(scores: Scores, options: dict[str, Any], message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        report(scores, **options)


def test_a_baseline_alone_is_no_comparison() -> None:
    with pytest.raises(SurefootError, match="besides the baseline"):
        report(Scores([[0.1, 0.2]], ["only"], ["q1", "q2"]), "only")


def test_it_opens_with_the_best_mean_unless_told(scores: Scores) -> None:
    best = max(scores.systems, key=lambda name: scores[name].mean())
    assert data_of(report(scores))["start"] == {"system": best, "baseline": "MEAN", "alpha": 1.0, "planned": False}
    assert data_of(report(scores, "s1", 5, candidate="s2"))["start"] == {
        "system": "s2", "baseline": "s1", "alpha": 5.0, "planned": True,
    }  # fmt: skip


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, groups, page = tmp_path / "nDCG@10.csv", tmp_path / "segments.csv", tmp_path / "report.html"
    table.write_text("topic,old,new\nq1,0.2,0.3\nq2,0.4,0.1\nq3,0.4,0.5\n")
    groups.write_text("topic,segment\nq1,head\nq2,tail\nq3,head\n")
    words = ["report", "--scores", str(table), "--baseline", "old", "--segments", str(groups), "-o", str(page)]
    assert main(words) == 0
    data = data_of(page.read_text("utf-8"))
    assert data["segments"] == {"names": ["head", "tail"], "of": [0, 1, 0]}
    assert data["start"]["system"] == "new"
    assert main([*words[:-1], str(tmp_path / "nowhere" / "report.html")]) == 2
    assert "can't be written" in capsys.readouterr().err
