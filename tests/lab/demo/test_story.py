"""The story says what the figures say, whichever way they fall."""

from pathlib import Path

import numpy as np
import pytest
from surefoot_lab.demo.files import DemoFiles
from surefoot_lab.demo.story import SystemComparison, TTest, commentary, comparisons, tempting

from surefoot.errors import SurefootError
from surefoot.scores import Scores

TOPICS = [f"t{i:03}" for i in range(200)]
QUERIES = {topic: f"What is {topic}?" for topic in TOPICS}
FILES = DemoFiles(
    Path("my demo"),
    Path("my demo/qrels.txt"),
    Path("my demo/queries.tsv"),
    Path("my demo/documents.tsv"),
    {},
    {"train": Path("my demo/letor/train.txt.gz")},
)


def scores_of(**changes):
    """BM25 at 0.5 on each topic, with a ripple, and systems that differ from it by the given steps."""
    base = 0.5 + 0.01 * np.sin(np.arange(200))
    rows = {"BM25": base} | {name: base + change for name, change in changes.items()}
    return Scores(list(rows.values()), rows, TOPICS, "nDCG@10")


def gamble(gain=0.32, loss=-0.3):
    """Half of the queries better, half worse, a little more gained than lost."""
    return np.where(np.arange(200) % 2, gain, loss + 0.001 * np.arange(200) / 200)


def sure():
    return np.where(np.arange(200) % 10, 0.05, -0.01) + 0.001 * np.cos(np.arange(200))


def told(scores):
    lines = commentary(scores, QUERIES, FILES)
    assert all(len(line) <= 130 for line in lines)
    return " ".join(" ".join(lines).split())


def test_a_risky_system_is_found_and_its_worst_queries_shown():
    scores = scores_of(gamble=gamble(), sure=sure())
    story = told(scores)
    assert "3 systems answered 200 queries. The best on average is sure" in story
    assert "Look closer at gamble, the riskiest of those with no lower mean." in story
    assert "it made 100 queries worse, 100 by more than a fifth" in story
    assert "Its gains do not make up for its losses weighed 2 times, and that is no noise" in story
    worst = TOPICS[int(np.argmin(scores["gamble"] - scores["BM25"]))]
    row = scores.topics.index(worst)
    assert f"{scores['BM25'][row]:.3f} -> {scores['gamble'][row]:.3f} {worst} What is {worst}?" in story
    assert story.count(" What is ") == 5


def test_the_table_holds_the_figures_of_the_evaluation():
    scores = scores_of(gamble=gamble(), sure=sure())
    line = next(line for line in commentary(scores, QUERIES, FILES) if line.startswith("  gamble"))
    gap = scores["gamble"] - scores["BM25"]
    ratio = gap[gap > 0].sum() / -gap[gap < 0].sum()
    assert line.split()[:5] == ["gamble", f"{scores['gamble'].mean():.3f}", "100", "100", f"{ratio:.2f}"]
    x = np.where(gap < 0, 2 * gap, gap)
    assert line.split()[5] == f"{x.mean() / x.std(ddof=1) * np.sqrt(200):.2f}"


def test_the_safest_improvement_is_named():
    story = told(scores_of(gamble=gamble(), sure=sure()))
    assert "The safest of those that are better on average is sure: 180 queries better, 20 worse." in story
    assert "Its gains make up for its losses even weighed 2 times" in story
    assert "the gains of 1 of the 2 would make up for the losses" in story


def test_noise_is_called_noise():
    ripple = 0.05 * np.sin(7 * np.arange(200) + 1)
    story = told(scores_of(ripple=ripple - ripple.mean() + 1e-4))
    assert "may be noise" in story
    assert "ripple 0.500" in story
    assert "No system is better than BM25 on average beyond noise." in story


def test_when_no_average_is_better():
    story = told(scores_of(bad=gamble(0.3, -0.4), worse=-np.abs(gamble()) / 2))
    assert "On average none is better than BM25: its nDCG@10 is 0.500." in story
    assert "Look closer at bad, the nearest to the baseline on average." in story
    assert "the gains of none of the 2 would make up for the losses" in story


def test_a_system_that_changes_nothing():
    story = told(scores_of(copy=np.zeros(200)))
    assert "the same on every query" in story
    assert "it made 0 queries worse" in story
    assert "there is no risk to test" in story
    assert "hit hardest" not in story


def test_the_commands_can_be_pasted():
    lines = commentary(scores_of(gamble=gamble()), QUERIES, FILES)
    assert lines[-2] == (
        "  surefoot explore 'my demo'/runs/*.run --qrels 'my demo'/qrels.txt --measure nDCG@10 "
        "--candidate gamble --baseline BM25"
    )


def test_a_baseline_alone_makes_no_story():
    with pytest.raises(SurefootError, match="systems besides the baseline 'BM25'"):
        commentary(scores_of(), QUERIES, FILES)


def test_comparisons_leave_out_the_baseline_and_start_with_the_best():
    found = comparisons(scores_of(gamble=gamble(), sure=sure()), "BM25")
    assert [standing.system for standing in found] == ["sure", "gamble"]


def test_tempting_is_the_riskiest_of_those_the_average_speaks_for():
    def standing(name, mean, t):
        return SystemComparison(name, mean, 1, 1, 1, 0.1, 0.1, TTest(0.0, 1.0), TTest(t, 0.01))

    others = [standing("a", 0.6, 1.0), standing("b", 0.55, -3.0), standing("c", 0.3, -9.0)]
    assert tempting(others, baseline_mean=0.5).system == "b"
    assert tempting(others, baseline_mean=0.7).system == "a"
