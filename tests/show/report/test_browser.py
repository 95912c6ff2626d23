"""The report used as its readers use it, in a real browser."""

import csv
import io
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest

from surefoot import Scores, evaluate, explore, gate
from surefoot.show.report import report
from tests.show.report.report_cases import HOSTILE, random_scores

OLD_NEW = Scores(
    [[0.2, 0.4, 0.4, 0.5, 0.6, 0.3], [0.3, 0.1, 0.5, 0.7, 0.8, 0.4]],
    ["old", "new"],
    [f"q{n}" for n in range(1, 7)],
    "nDCG@10",
)


def number(text: str) -> float:
    return float(text.replace("−", "-"))


def test_the_first_screen_says_it_in_words(open_report: Callable[..., Any]) -> None:
    page = open_report(OLD_NEW, "old", candidate="new").page
    assert page.inner_text("h1") == gate(OLD_NEW, "old", candidate="new").sentence()
    assert page.inner_text("#lead").startswith("new and old are too close to call. Here a loss counts")
    assert page.locator("#changed li").all_inner_texts() == ["1 worse", "0 equal", "5 better"]
    assert "On average the score rose by 0.0667 (mean nDCG@10 0.4000 → 0.4667). Noise could do that" in page.inner_text(
        "#sure"
    )
    assert page.inner_text("#worst-title") == "The query it made worse"
    assert page.title() == "new against old: risk report"


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ([0.5, 0.6, 0.6, 0.7, 0.8, 0.7], "new is better than old, and made no query worse."),
        ([0.2, 0.4, 0.4, 0.5, 0.6, 0.3], "new scores the same as old on every query."),
        ([0.3, 0.5, 0.5, 0.6, 0.7, 0.4], "new is better than old by the same on every query."),
        ([0.1, 0.2, 0.2, 0.1, 0.3, 0.1], "new is worse than old, and that is more than noise."),
        ([0.5, 0.4, 0.4, 0.5, 0.6, 0.3], "new made no query worse than old, but too few queries better to be sure."),
    ],
)
def test_the_verdict_follows_the_scores(open_report: Callable[..., Any], new: list[float], words: str) -> None:
    scores = Scores([OLD_NEW["old"], new], ["old", "new"], OLD_NEW.topics)
    page = open_report(scores, "old", candidate="new").page
    assert page.inner_text("#lead").startswith(words)
    assert page.inner_text("h1") == gate(scores, "old", candidate="new").sentence()
    page.select_option("#baseline", "MEAN")
    assert page.inner_text("h1").startswith("new")
    assert "ship" not in page.inner_text("h1")


def test_the_pick_of_many_is_judged_as_such(open_report: Callable[..., Any], scores: Scores) -> None:
    picked = open_report(scores, "s1").page
    assert "among 11 systems compared" in picked.inner_text("#sure")
    planned = open_report(scores, "s1", candidate="s4").page
    assert "among" not in planned.inner_text("#sure")


def test_the_slider_computes_anew_and_sorts(open_report: Callable[..., Any], scores: Scores) -> None:
    report_page = open_report(scores, "s1")
    page = report_page.page
    for alpha in (0.0, 1.0, 12.5):
        page.locator("#alpha").fill(str(alpha))
        report_page.settle()
        rows = sorted(evaluate(scores, "s1", alpha).rows(), key=lambda row: -row["urisk"])
        assert [name.split()[0] for name in report_page.column("systems-table", 1)] == [row["system"] for row in rows]
        for place, name, digits in ((3, "urisk", 4), (4, "trisk", 2), (7, "zrisk", 2), (8, "georisk", 4)):
            shown = report_page.column("systems-table", place)
            wanted = ["–" if row[name] is None else f"{row[name]:+.{digits}f}" for row in rows]
            assert [text if text == "–" else number(text) for text in shown] == [
                text if text == "–" else float(text) for text in wanted
            ]
    assert page.input_value("#alpha-exact") == "12.5"
    assert "13.5 times" in page.inner_text("#weight")
    assert page.is_visible("#systems-remark")


def test_the_slider_by_keyboard(open_report: Callable[..., Any], scores: Scores) -> None:
    report_page = open_report(scores, "s1")
    report_page.page.focus("#alpha")
    report_page.page.keyboard.press("ArrowRight")
    report_page.settle()
    assert report_page.page.input_value("#alpha-exact") == "1.1"
    assert "alpha 1.1" in report_page.page.get_attribute("#alpha", "aria-valuetext")


def test_a_wrong_alpha_changes_nothing(open_report: Callable[..., Any], scores: Scores) -> None:
    report_page = open_report(scores, "s1")
    for wrong in ("-1", "999", ""):
        report_page.alpha(wrong)
        assert "alpha=1|" in report_page.page.inner_text("#signature")
    report_page.page.press("#alpha-exact", "Tab")
    assert report_page.page.input_value("#alpha-exact") == "1"


@pytest.mark.parametrize("baseline", ["s5", "MEAN", "MEDIAN", "MAX"])
def test_another_baseline(open_report: Callable[..., Any], scores: Scores, baseline: str) -> None:
    report_page = open_report(scores, "s1")
    report_page.page.select_option("#baseline", baseline)
    result = evaluate(scores, baseline, 1, correct="holm")
    assert report_page.page.inner_text("#signature") == result.signature
    wanted = sorted((row["urisk"] for row in result.rows()), reverse=True)
    assert [number(text) for text in report_page.column("systems-table", 3)] == [round(x, 4) + 0.0 for x in wanted]


def test_sorting_by_a_heading(open_report: Callable[..., Any], scores: Scores) -> None:
    report_page = open_report(scores, "s1")
    page = report_page.page
    means = page.locator("#systems-table th", has_text="Mean")
    means.get_by_role("button").click()
    assert means.get_attribute("aria-sort") == "descending"
    shown = [number(text) for text in report_page.column("systems-table", 2)]
    assert shown == sorted(shown, reverse=True)
    means.get_by_role("button").press("Enter")
    assert means.get_attribute("aria-sort") == "ascending"
    assert [number(text) for text in report_page.column("systems-table", 2)] == sorted(shown)
    assert page.locator("#systems-table th[aria-sort]").count() == 1
    page.locator("#systems-table th", has_text="T_Risk").get_by_role("button").click()
    assert report_page.column("systems-table", 4)[-1] == "–", "what is undefined comes last"


def test_search(open_report: Callable[..., Any], scores: Scores) -> None:
    report_page = open_report(scores, "s0")
    report_page.page.locator("#systems-table input[type=search]").fill("S1")
    assert sorted(report_page.column("systems-table", 1)) == ["s1", "s10", "s11"]
    assert "3 of 12" in report_page.page.inner_text("#systems-table .count")
    report_page.page.locator("#systems-table input[type=search]").fill("nobody")
    assert report_page.page.inner_text("#systems-table .count") == "nothing found"


def test_leafing_through_the_queries(open_report: Callable[..., Any], scores: Scores) -> None:
    report_page = open_report(scores, "s0")
    first = report_page.column("topics-table", 1)
    report_page.page.locator("#topics-table button", has_text="Next").click()
    rest = report_page.column("topics-table", 1)
    assert sorted([*first, *rest]) == sorted(scores.topics)
    assert report_page.page.locator("#topics-table button", has_text="Next").is_disabled()


def test_from_a_system_to_its_topics_to_all_systems(open_report: Callable[..., Any], scores: Scores) -> None:
    report_page = open_report(scores, "s1")
    page = report_page.page
    page.locator("#systems-table button.name", has_text="s7").click()
    assert page.inner_text("#one-system-title") == "s7, query by query"
    assert page.evaluate("document.activeElement.id") == "one-system-title"
    assert page.input_value("#system") == "s7"
    library = explore(scores, "s7", "s1", 1).rows()
    marked = [row["topic"] for row in library if row["significant"]]
    texts = page.locator("#topics-table tbody tr").all_inner_texts()
    assert [text.split("\t")[0] for text in texts if text.endswith(("loss", "win"))] == [
        topic for topic in marked if any(text.startswith(f"{topic}\t") for text in texts)
    ]
    page.locator("#topics-table button.name").first.click()
    topic = library[0]["topic"]
    assert page.inner_text("#one-topic-title") == f"Query {topic}"
    column = scores.topics.index(topic)
    best = sorted(scores.values[:, column], reverse=True)[:10]
    assert [number(text) for text in report_page.column("topic-table", 2)] == [round(float(score), 4) for score in best]
    page.locator("#topic-table button.name").first.click()
    assert page.inner_text("#one-system-title").endswith(", query by query")


def test_a_click_on_a_bar_leads_to_the_query(open_report: Callable[..., Any], scores: Scores) -> None:
    page = open_report(scores, "s1", candidate="s7").page
    box = page.locator("#differences svg").bounding_box()
    page.mouse.click(box["x"] + 52, box["y"] + box["height"] / 2)
    delta = scores["s7"] - scores["s1"]
    assert page.inner_text("#one-topic-title") == f"Query {scores.topics[int(delta.argmin())]}"


def test_the_curves_follow_their_choice(open_report: Callable[..., Any], scores: Scores) -> None:
    page = open_report(scores, "s1").page
    for measure in ("T_Risk", "Z_Risk", "GeoRisk", "U_Risk"):
        page.get_by_role("radio", name=measure).check()
        assert page.get_attribute("#curve svg", "aria-label").startswith(measure)
        assert page.locator("#curve path.chosen-one").count() == 1


def test_segments_appear_where_they_are_given(open_report: Callable[..., Any], scores: Scores) -> None:
    assert open_report(scores, "s1").page.is_hidden("#segments")
    groups = {topic: f"group {place % 3}" for place, topic in enumerate(scores.topics)}
    page = open_report(scores, "s1", segments=groups).page
    assert sorted(page.locator("#segments-table tbody th").all_inner_texts()) == ["group 0", "group 1", "group 2"]


def test_the_words_of_the_queries(open_report: Callable[..., Any]) -> None:
    page = open_report(OLD_NEW, "old", queries={"q2": "how to <b>fall</b>"}).page
    assert "how to <b>fall</b>" in page.inner_text("#worst")


def saved(page: Any, table: str) -> tuple[str, list[dict[str, str]]]:
    with page.expect_download() as caught:
        page.locator(f"#{table} button", has_text="Download CSV").click()
    text = Path(caught.value.path()).read_text("utf-8")
    return caught.value.suggested_filename, list(csv.DictReader(io.StringIO(text, newline="")))


def test_downloads(open_report: Callable[..., Any], scores: Scores) -> None:
    page = open_report(scores, "s1", candidate="s7").page
    name, rows = saved(page, "systems-table")
    assert name == "systems-against-s1.csv"
    result = evaluate(scores, "s1", 1, correct="holm")
    library = {row["system"]: row for row in result.rows()}
    assert list(rows[0]) == [*library["s1"], "signature"]
    assert {row["system"] for row in rows} == set(scores.systems)
    for row in rows:
        assert row["signature"] == result.signature
        own = library[row["system"]]
        assert (
            row["trisk"] == "" if own["trisk"] is None else float(row["trisk"]) == pytest.approx(own["trisk"], rel=1e-9)
        )
        assert float(row["georisk"]) == pytest.approx(own["georisk"], rel=1e-9)
    name, rows = saved(page, "topics-table")
    explored = explore(scores, "s7", "s1", 1)
    assert name == "queries-of-s7.csv"
    assert list(rows[0]) == [*explored.columns, "signature"]
    assert [row["topic"] for row in rows] == explored["topic"].tolist()
    assert rows[0]["signature"] == explored.signature
    _, rows = saved(page, "topic-table")
    assert len(rows) == len(scores.systems)


def test_hostile_names_show_as_text_and_run_nothing(open_report: Callable[..., Any]) -> None:
    many = random_scores(len(HOSTILE), len(HOSTILE))
    scores = Scores(many.values, HOSTILE, HOSTILE, measure=HOSTILE[3], notes=HOSTILE)
    report_page = open_report(scores, HOSTILE[0], candidate=HOSTILE[1], segments=dict.fromkeys(HOSTILE, HOSTILE[2]))
    page = report_page.page
    for name in HOSTILE:
        page.select_option("#system", name)
        page.select_option("#baseline", name)
        page.locator("#systems-table button.name").first.click()
        page.locator("#topics-table button.name").first.click()
    assert HOSTILE[0] in "".join(report_page.column("systems-table", 1))
    assert page.locator("img, iframe, object, embed, link").count() == 0
    assert page.locator("script").count() == 2
    page.select_option("#system", HOSTILE[6])
    name, rows = saved(page, "topics-table")
    assert "/" not in name
    assert {row["topic"] for row in rows} >= {"'" + HOSTILE[6], HOSTILE[8]}


def test_dark_mode_by_setting_and_by_button(open_report: Callable[..., Any], scores: Scores) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light = open_report(scores, "s1", settings={"color_scheme": "light"}).page
    dark = open_report(scores, "s1", settings={"color_scheme": "dark"}).page
    white, black = light.evaluate(paper), dark.evaluate(paper)
    assert white != black
    assert dark.get_attribute("#theme", "aria-pressed") == "true"
    for page, start, end in ((light, white, black), (dark, black, white)):
        page.click("#theme")
        assert page.evaluate(paper) == end
        page.click("#theme")
        assert page.evaluate(paper) == start


def test_print(open_report: Callable[..., Any], scores: Scores) -> None:
    page = open_report(scores, "s1", settings={"color_scheme": "dark"}).page
    page.emulate_media(media="print")
    assert page.is_hidden("#theme")
    assert page.is_hidden("#systems-table input")
    assert page.is_visible("h1")
    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "light"
    assert page.pdf(format="A4").startswith(b"%PDF")


@pytest.mark.parametrize("across", [320, 380, 768, 1280])
def test_no_width_scrolls_sideways(open_report: Callable[..., Any], scores: Scores, across: int) -> None:
    groups = {topic: f"a rather long segment {place % 3}" for place, topic in enumerate(scores.topics)}
    page = open_report(scores, "s1", settings={"viewport": {"width": across, "height": 800}}, segments=groups).page
    assert page.evaluate("document.documentElement.scrollWidth") <= across


def test_the_skip_link_and_focus(open_report: Callable[..., Any], scores: Scores) -> None:
    page = open_report(scores, "s1").page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the verdict"
    page.keyboard.press("Enter")
    assert page.url.endswith("#verdict")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(open_report: Callable[..., Any], scores: Scores, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    groups = {topic: f"group {place % 3}" for place, topic in enumerate(scores.topics)}
    page = open_report(scores, "s1", settings={"color_scheme": scheme}, segments=groups).page
    found = axe.Axe().run(page).response["violations"]
    told = [(each["id"], each["impact"], [node["html"][:120] for node in each["nodes"]][:3]) for each in found]
    assert [each for each in told if each[1] in ("serious", "critical")] == []
    assert told == []


def test_five_hundred_systems_by_a_thousand_topics(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "large.html"
    before = time.perf_counter()
    path.write_text(report(random_scores(500, 1000), "s0"), encoding="utf-8")
    built = time.perf_counter() - before
    page = browser.new_page()
    page.goto(path.as_uri())
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    moves = page.evaluate(
        """async () => {
            const slider = document.getElementById("alpha"), times = [];
            for (let alpha = 2; alpha < 12; alpha += 0.5) {
                const start = performance.now();
                slider.value = alpha;
                slider.dispatchEvent(new Event("input"));
                await new Promise(done => requestAnimationFrame(() => setTimeout(done)));
                times.push(performance.now() - start);
            }
            return times;
        }"""
    )
    switch = page.evaluate(
        """() => {
            const start = performance.now(), choice = document.getElementById("baseline");
            choice.value = "MEAN";
            choice.dispatchEvent(new Event("change"));
            return performance.now() - start;
        }"""
    )
    page.close()
    print(
        f"\n500 × 1,000: built in {built:.1f} s, {path.stat().st_size / 1e6:.1f} MB, first paint {paint:.0f} ms, "
        f"slider move {median(moves):.0f} ms (largest {max(moves):.0f}), other baseline {switch:.0f} ms"
    )


def test_one_bad_system_does_not_flatten_the_curves(open_report: Callable[..., Any]) -> None:
    random = np.random.default_rng(0)
    base = random.uniform(0.4, 0.6, 30)
    rows = [base, *(base + random.normal(0, 0.02, 30) for _ in range(6)), base - 0.4]
    scores = Scores(np.clip(rows, 0, 1), [*"abcdefg", "bad"], [f"q{n}" for n in range(30)])
    heights = []
    for candidate in ("b", "bad"):
        page = open_report(scores, "a", candidate=candidate).page
        ticks = page.locator("#curves svg .tick").all_text_contents()
        heights.append(min(number(text) for text in ticks if text != "alpha"))
    assert heights[1] < -5 < heights[0], "the bad one is drawn whole only if it is chosen"


def test_a_narrow_screen_shows_the_change(open_report: Callable[..., Any]) -> None:
    page = open_report(OLD_NEW, "old", candidate="new", queries={"q2": "a long text " * 20}).page
    page.set_viewport_size({"width": 380, "height": 800})
    box = page.locator("#worst th").last.bounding_box()
    assert box["x"] + box["width"] <= 380
