"""The page's figures, computed by its script in a real browser, equal the library's."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot import Scores, evaluate, explore, read_scores
from surefoot.analysis import evaluate_segments
from surefoot.scores import VIRTUAL
from surefoot.stats.inference import correct
from tests.show.report.report_cases import random_scores

ALPHAS = (0.0, 0.1, 1.0, 3.7, 5.0, 20.0)

ALIKE = Scores(
    [[0.1, 0.2, 0.3, 0.7], [0.2, 0.3, 0.4, 0.8], [0.1, 0.2, 0.3, 0.7], [0.1, 0.2, 0.31, 0.7]],
    ["old", "shifted", "same", "one query"],
    ["q1", "q2", "q3", "q4"],
)
CASES = {
    "random": random_scores(),
    "two systems": random_scores(2, 9, seed=1),
    "one system": random_scores(1, 9, seed=1),
    "one topic": random_scores(5, 1, seed=2),
    "two topics": random_scores(4, 2, seed=4),
    "alike": ALIKE,
    "zeros": Scores(np.zeros((3, 4)), "abc", "wxyz"),
    "below zero": Scores(random_scores(4, 8).values - 0.5, "abcd", range(8)),
    "thousands": Scores(random_scores(3, 4000, seed=5).values * 1000, "abc", range(4000)),
}


def same(page: Any, library: Any, what: str) -> None:
    own = np.array([np.nan if value is None else value for value in library], dtype=float)
    np.testing.assert_allclose(np.array(page, dtype=float), own, rtol=1e-9, atol=1e-9, err_msg=what)


def check_figures(page: Any, scores: Scores, baselines: tuple[str, ...]) -> None:
    for baseline in baselines:
        found = page.evaluate(
            "([alphas, baseline]) => alphas.map(alpha => surefoot.measures(alpha, baseline))", [list(ALPHAS), baseline]
        )
        for alpha, rows in zip(ALPHAS, found, strict=True):
            library = evaluate(scores, baseline, alpha, correct="holm").rows()
            assert list(rows[0]) == list(library[0])
            for name in library[0]:
                own = [row[name] for row in library]
                theirs = [row[name] for row in rows]
                if name in ("system", "baseline"):
                    assert theirs == own
                else:
                    same(theirs, own, f"{name} against {baseline} at alpha {alpha}")


@pytest.mark.parametrize("case", CASES)
def test_every_figure_for_every_alpha_and_baseline(open_report: Callable[..., Any], case: str) -> None:
    scores = CASES[case]
    check_figures(open_report(scores, "MEAN").page, scores, (*scores.systems, *VIRTUAL))


def test_the_figures_of_trec_2012(open_report: Callable[..., Any], data: Path) -> None:
    scores = read_scores(data / "trec-web-2012" / "err20.csv")
    check_figures(open_report(scores, "indriCASP").page, scores, (*scores.systems, *VIRTUAL))


@pytest.mark.parametrize("case", ["random", "two topics", "one topic", "alike", "below zero"])
def test_the_topics_of_every_system(open_report: Callable[..., Any], case: str) -> None:
    scores = CASES[case]
    page = open_report(scores, "MAX").page
    for system, baseline, alpha in zip(scores.systems, [*scores.systems[1:], "MEAN"], ALPHAS * 2, strict=False):
        found = page.evaluate("words => surefoot.topicMeasures(...words)", [system, alpha, baseline])
        library = {row["topic"]: row for row in explore(scores, system, baseline, alpha).rows()}
        assert [row["topic"] for row in found] == list(scores.topics)
        for name in ("system_score", "baseline_score", "delta", "x", "z", "tr", "tj"):
            same([row[name] for row in found], [library[topic][name] for topic in scores.topics], name)
        assert [row["significant"] for row in found] == [library[topic]["significant"] for topic in scores.topics]


def test_the_segments(open_report: Callable[..., Any], scores: Scores) -> None:
    groups = {topic: f"group {place % 3}" for place, topic in enumerate(scores.topics[:-1])}
    page = open_report(scores, "s1", segments=groups).page
    for alpha in ALPHAS:
        found = page.evaluate("words => surefoot.segmentMeasures(...words)", ["s4", alpha, "s1"])
        library = evaluate_segments(scores, groups, "s1", alpha, systems=["s4"]).rows()
        by_name = {row["segment"]: row for row in library}
        assert {row["segment"] for row in found} == set(by_name)
        for name in ("topics", "urisk", "trisk", "p", "wins", "losses"):
            same([row[name] for row in found], [by_name[row["segment"]][name] for row in found], name)
        own = [by_name[row["segment"]]["p"] for row in found]
        holm = correct([np.nan if p is None else p for p in own], "holm")
        same([row["p_holm"] for row in found], holm, "p_holm")


def test_small_p_and_few_or_many_topics(open_report: Callable[..., Any]) -> None:
    """p holds its digits far out, where only a relative difference tells."""
    for topics in (3, 10, 200, 3000):
        random = np.random.default_rng(topics)
        shifts = [[0.0], [0.001], [0.01], [0.1], [1.0], [10.0]]
        scores = Scores(
            5 + random.normal(0, 0.5, topics) * 0.1 + shifts + random.normal(0, 0.2, (6, topics)),
            "abcdef",
            range(topics),
        )
        found = open_report(scores, "a").page.evaluate("surefoot.measures(0, 'a').map(row => row.p)")
        library = evaluate(scores, "a", 0)["p"]
        small = library > 1e-290
        np.testing.assert_allclose(np.array(found)[small], library[small], rtol=1e-9)
