"""The documents of the report: what the file holds, and what its readers see in a real browser."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from surefoot import Scores, SurefootError, credibility
from surefoot.analysis import document_moves
from surefoot.judgments import JudgedRuns
from surefoot.show import Rankings
from surefoot.show.report import packed, report
from tests.show.report.report_cases import HOSTILE, random_rankings
from tests.show.report.test_browser import number, saved
from tests.show.report.test_page import data_of

MEASURES = tuple("nDCG@10 nDCG(dcg='exp-log2')@20 ERR@20 AP AP@10 RR RR(rel=3)@10 P@10 R@30 RBP Success@5".split())


@pytest.fixture
def case(tmp_path: Path) -> tuple[Scores, Rankings]:
    (scores,), rankings = random_rankings(tmp_path)
    texts = {name: f"The text of {name}. " * 9 for run in rankings.runs.values() for name in run.documents}
    return scores, replace(rankings, texts=texts)


def worst(scores: Scores) -> str:
    return scores.topics[int((scores["new"] - scores["old"]).argmin())]


def test_every_contribution_equals_the_librarys(open_report: Callable[..., Any], tmp_path: Path) -> None:
    scores, rankings = random_rankings(tmp_path, MEASURES, ("old", "new", "other"))
    page = open_report(scores, "old", candidate="new", rankings=rankings).page
    for one in scores:
        for system, baseline in (("new", "old"), ("other", "new")):
            moves = document_moves(rankings.runs[system], rankings.runs[baseline], rankings.qrels, one.measure)
            for topic in moves.topics:
                found = page.evaluate(
                    "([measure, ...which]) => (surefoot.useMeasure(measure), surefoot.movesOf(...which).moves)",
                    [one.measure, topic.topic, system, baseline],
                )
                shown = {move["document"]: move for move in found}
                assert sum(move["contribution"] for move in found) == pytest.approx(topic.delta, abs=1e-12)
                for move in topic.moves:
                    if move.contribution:
                        own = shown[move.document]
                        assert own["contribution"] == pytest.approx(move.contribution, abs=1e-12)
                        assert (own["before"] or None, own["after"] or None) == (move.baseline_rank, move.system_rank)


def test_both_rankings_stand_side_by_side(open_report: Callable[..., Any], case: tuple[Scores, Rankings]) -> None:
    scores, rankings = case
    page = open_report(scores, "old", candidate="new", rankings=rankings, queries={worst(scores): "what is a tie"}).page
    page.locator("#worst button.name").first.click()
    topic = worst(scores)
    assert page.inner_text("#one-topic-text") == "what is a tie"
    for side, system in (("before", "old"), ("after", "new")):
        shown = page.locator(f"#rankings .{side} .id").all_inner_texts()
        assert shown == list(rankings.runs[system].of_topic(topic))[:20]
    moves = document_moves(rankings.runs["new"], rankings.runs["old"], rankings.qrels, topics=[topic]).topics[0]
    costs = [number(text) for text in page.locator("#rankings .cost").all_inner_texts() if text]
    wanted = [move.contribution for move in moves.moves if round(move.contribution, 4)]
    assert sorted(costs) == pytest.approx(sorted(round(value, 4) for value in wanted))
    largest = moves.largest(-1)[0]
    assert f"{largest.document} (grade {largest.grade})" in page.inner_text("#documents-lead").split("gained")[0]
    unjudged = page.locator("#rankings .grade.unjudged").count()
    judged = rankings.qrels.of_topic(topic)
    lists = [list(run.of_topic(topic))[:20] for run in rankings.runs.values()]
    assert unjudged == sum(name not in judged for one in lists for name in one) > 0
    assert page.locator("#rankings path.way").count() == len(set(lists[0]) & set(lists[1]))


def test_arrow_keys_walk_the_rankings(open_report: Callable[..., Any], case: tuple[Scores, Rankings]) -> None:
    scores, rankings = case
    page = open_report(scores, "old", candidate="new", rankings=rankings).page
    focused = "document.activeElement.querySelector('.id')?.textContent"
    ranked = {name: list(run.of_topic(worst(scores))) for name, run in rankings.runs.items()}
    page.locator("#rankings .before .row").first.focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == ranked["old"][1]
    page.keyboard.press("Enter")
    assert page.get_attribute("#rankings .before li:nth-child(2) .row", "aria-expanded") == "true"
    assert ranked["old"][1] in page.inner_text("#rankings .before li:nth-child(2) .document-text")
    both = next(name for name in ranked["old"][1:20] if name in ranked["new"][:20])
    for _ in range(ranked["old"].index(both) - 1):
        page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowRight")
    assert page.evaluate(focused) == both
    assert page.evaluate("document.activeElement.closest('section').className") == "after"
    assert page.locator("#rankings .row.lit").count() == 2
    page.keyboard.press("End")
    assert page.evaluate(focused) == ranked["new"][19]


@pytest.mark.parametrize(("across", "scheme"), [(380, "dark"), (1280, "light")])
def test_it_fits_every_width_and_axe_finds_nothing(
    open_report: Callable[..., Any], case: tuple[Scores, Rankings], across: int, scheme: str
) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    scores, rankings = case
    settings = {"viewport": {"width": across, "height": 800}, "color_scheme": scheme}
    page = open_report(scores, "old", settings, candidate="new", rankings=rankings).page
    page.locator("#all-moves summary").click()
    assert page.evaluate("document.documentElement.scrollWidth") <= across
    before, after = (page.locator(f"#rankings .{side}").bounding_box() for side in ("before", "after"))
    beside = across > 832
    assert (after["x"] > before["x"] + before["width"]) == beside
    assert (after["y"] >= before["y"] + before["height"]) == (not beside)
    assert page.locator("#rankings .ways").is_visible() == beside
    assert [each["id"] for each in axe.Axe().run(page).response["violations"]] == []


def test_hostile_texts_are_texts(open_report: Callable[..., Any], tmp_path: Path) -> None:
    topics = [name for name in HOSTILE if len(name.split()) == 1 and name.isprintable()]
    (scores,), rankings = random_rankings(tmp_path, topics=topics)
    documents = [name for run in rankings.runs.values() for name in run.documents]
    texts = {name: HOSTILE[index % len(HOSTILE)] for index, name in enumerate(documents)}
    queries = dict(zip(topics, HOSTILE, strict=False))
    page = open_report(scores, "old", candidate="new", rankings=replace(rankings, texts=texts), queries=queries).page
    for index in range(len(topics)):
        for row in page.locator("#rankings .row").all()[::7]:
            row.click()
        assert page.locator("#rankings .document-text").count() > 20
        if index + 1 < len(topics):
            page.click("#next-topic")
    assert page.locator("img, iframe, object, embed, link").count() == 0
    assert page.locator("script").count() == 2


def test_a_link_leads_to_what_it_names(open_report: Callable[..., Any], tmp_path: Path) -> None:
    scores, rankings = random_rankings(tmp_path, ("nDCG@10", "AP"), ("old", "new", "a&b=c"))
    options: dict[str, Any] = {"candidate": "new", "rankings": rankings}
    fragment = "#measure=AP&system=a%26b%3Dc&baseline=MEAN&alpha=2.5&query=q3"
    report_page = open_report(scores, "old", fragment=fragment, **options)
    page = report_page.page
    assert [page.input_value(f"#{name}") for name in ("system", "baseline", "measure", "alpha-exact")] == [
        "a&b=c", "MEAN", "AP", "2.5",
    ]  # fmt: skip
    assert page.inner_text("#one-topic-title") == "Query q3"
    assert page.evaluate("document.activeElement.id") == "one-topic-title"
    assert page.locator("#rankings section").count() == 1, "the mean has no ranking"
    page.locator("#topics-table button.name", has_text="q1").click()
    assert page.url.endswith("#measure=AP&system=a%26b%3Dc&baseline=MEAN&alpha=2.5&query=q1")
    page.go_back()
    report_page.settle()
    assert page.inner_text("#one-topic-title") == "Query q3"
    page.fill("#alpha-exact", "4")
    page.wait_for_url("**alpha=4&**")
    plain = open_report(scores, "old", **options)
    first = plain.page.inner_text("#one-topic-title")
    plain.page.click("#next-topic")
    assert plain.page.inner_text("#one-topic-title") != first
    plain.page.go_back()
    plain.settle()
    assert plain.page.inner_text("#one-topic-title") == first
    unknown = open_report(scores, "old", fragment="#system=nobody&query=q9&alpha=99", **options).page
    assert unknown.inner_text("#link-note") == (
        "The link names what this report does not have: system nobody, query q9, alpha 99."
    )
    assert unknown.input_value("#system") == "new"


def test_another_measure_changes_everything(open_report: Callable[..., Any], tmp_path: Path) -> None:
    scores, rankings = random_rankings(tmp_path, ("nDCG@10", "AP", "Bpref"))
    page = open_report(scores, "old", candidate="new", rankings=rankings).page
    assert "nDCG@10" in page.inner_text("#about")
    page.select_option("#measure", "AP")
    assert page.inner_text("#signature").startswith("evaluate|measure=AP|baseline=old|")
    assert page.inner_text("#documents-lead").startswith("AP ")
    shown = [number(text) for text in page.locator("#systems-table tbody td:nth-child(2)").all_inner_texts()]
    assert sorted(shown) == sorted(round(float(row.mean()), 4) for row in scores[1].values)
    page.select_option("#measure", "Bpref")
    assert "not defined for this measure" in page.inner_text("#documents-lead")
    assert open_report(scores[0], "old").page.is_hidden("#measure")


def test_contents_and_the_way_from_query_to_query(
    open_report: Callable[..., Any], case: tuple[Scores, Rankings]
) -> None:
    scores, rankings = case
    page = open_report(scores, "old", candidate="new", rankings=rankings).page
    delta = scores["new"] - scores["old"]
    order = [scores.topics[index] for index in delta.argsort(kind="stable")]
    seen = [page.inner_text("#one-topic-title")]
    while page.is_enabled("#next-topic"):
        page.click("#next-topic")
        seen.append(page.inner_text("#one-topic-title"))
    assert seen == [f"Query {topic}" for topic in order]
    page.click("#previous-topic")
    assert page.inner_text("#topic-order") == "3 of 4, the largest loss first"
    link = page.url
    for entry in page.locator("#contents a").all():
        entry.click()
        assert page.evaluate("document.activeElement.textContent") != ""
        assert page.evaluate("document.activeElement.id") == entry.get_attribute("href").removeprefix("#")
    assert page.url == link


def test_the_moves_as_csv(open_report: Callable[..., Any], case: tuple[Scores, Rankings]) -> None:
    scores, rankings = case
    page = open_report(scores, "old", candidate="new", rankings=rankings).page
    page.locator("#all-moves summary").click()
    name, rows = saved(page, "moves-table")
    assert name == f"documents-of-{worst(scores)}.csv"
    runs = rankings.runs["new"], rankings.runs["old"], rankings.qrels
    library = document_moves(*runs, topics=[worst(scores)], depth=20)
    own = {row["document"]: row for row in rows}
    assert list(rows[0]) == [*library.columns, "signature"]
    assert {row["signature"] for row in rows} == {library.signature}
    assert set(own) == {row["document"] for row in library.rows()}
    for wanted in library.rows():
        row = own[wanted["document"]]
        assert float(row["contribution"]) == pytest.approx(wanted["contribution"], abs=1e-12)
        assert row["change"] == wanted["change"]
        assert row["grade"] == ("" if wanted["grade"] is None else str(wanted["grade"]))


def test_fifty_queries_with_texts_stay_below_two_megabytes(tmp_path: Path) -> None:
    (scores,), rankings = random_rankings(tmp_path, topics=[f"q{number}" for number in range(50)], depth=100)
    long = "A passage of a web page, cut where the report cuts it, with some words & marks. " * 50
    texts = {name: f"{name} {long}" for run in rankings.runs.values() for name in run.documents}
    page = report(scores, "old", candidate="new", rankings=replace(rankings, texts=texts))
    data = data_of(page)["documents"]
    assert data["left_out"] == ""
    assert all(len(topic["texts"]) >= 20 for topic in data["topics"].values())
    assert len(page.encode()) < 2_000_000


def test_what_does_not_fit_is_left_out_and_said(open_report: Callable[..., Any], tmp_path: Path) -> None:
    (scores,), rankings = random_rankings(tmp_path, systems=("old", "new", "other"))
    texts = {name: "<" * 500 for run in rankings.runs.values() for name in run.documents}
    sizes = {}
    for limit in (500, 1_500, 200_000, 2_000_000):
        small = replace(rankings, texts=texts, size_limit=limit)
        data = data_of(report(scores, "old", candidate="new", rankings=small))["documents"]
        sizes[limit] = data
    assert sizes[500]["topics"] == {}
    assert next(iter(sizes[1_500]["topics"])) == worst(scores), "what lost most comes first"
    assert "the rankings of 4 queries" in sizes[500]["left_out"]
    assert "the documents' texts of" in sizes[200_000]["left_out"]
    assert sizes[2_000_000]["left_out"] == ""
    page = open_report(scores, "old", candidate="new", rankings=replace(rankings, size_limit=1_500)).page
    assert "Left out, to keep documents within 0.0015 MB:" in page.inner_text("#documents-left-out")
    while page.is_enabled("#next-topic"):
        page.click("#next-topic")
    assert page.inner_text("#documents-lead") == "This file does not hold the rankings of this query."
    assert page.is_hidden("#rankings")


def test_rankings_of_other_systems_are_refused(case: tuple[Scores, Rankings]) -> None:
    scores, rankings = case
    with pytest.raises(SurefootError, match="rankings of new, which the scores do not have"):
        report(scores.rename({"new": "newer"}), "old", rankings=rankings)
    with pytest.raises(SurefootError, match="each measure once"):
        report([scores, scores], "old")
    with pytest.raises(SurefootError, match="has other systems or topics"):
        report([scores, scores.select(["new", "old"])], "old")


def test_the_payload_has_what_is_judged_and_how_credible_it_is(tmp_path: Path) -> None:
    scores, rankings = random_rankings(tmp_path)
    runs = JudgedRuns.read([tmp_path / "old.run", tmp_path / "new.run"], tmp_path / "qrels.txt", "nDCG@10")
    found = credibility(runs, "new", "old", n_draws=50)
    data = data_of(report(scores, "old", candidate="new", rankings=rankings, credible=[found]))
    (measure,) = data["measures"]
    assert measure["judged"] == packed(scores[0].judged)
    order = [found["topic"].tolist().index(topic) for topic in scores[0].topics]
    assert measure["credible"]["p_loss"] == packed(found["p_loss"][order])
    assert measure["credible"]["credible"] == found["credible"][order].tolist()
    assert measure["credible"]["real"] in found.notes
    assert measure["credible"]["real"].startswith("at least ")
    assert data_of(report(scores, "old", candidate="new", rankings=rankings))["measures"][0]["credible"] is None


def test_queries_show_how_credible_their_loss_is(open_report: Callable[..., Any], tmp_path: Path) -> None:
    scores, rankings = random_rankings(tmp_path, systems=("old", "new", "other"))
    files = [tmp_path / f"{name}.run" for name in ("old", "new", "other")]
    found = credibility(JudgedRuns.read(files, tmp_path / "qrels.txt", "nDCG@10"), "new", "old", n_draws=50)
    page = open_report(scores, "old", candidate="new", rankings=rankings, credible=[found]).page
    heads = [text.strip("▴▾ ") for text in page.locator("#topics-table thead th").all_inner_texts()]
    assert heads[-4:] == ["p_loss", "Credible", "Judged", "Baseline judged"]
    assert "p_loss" in page.inner_text("#worst")
    (real,) = (note for note in found.notes if note.startswith("at least "))
    assert f"A{real[1:]}." in page.inner_text("#worst")
    assert "p_loss is " in page.inner_text("#documents-remark")
    assert "Judged are " in page.inner_text("#documents-remark")
    page.select_option("#system", "other")
    page.wait_for_function("document.title.startsWith('other')")
    assert "p_loss" not in page.inner_text("#worst")
    assert "p_loss is " not in page.inner_text("#documents-remark")
