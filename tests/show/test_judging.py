"""The judging page, used by keyboard in a real browser."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from surefoot import SurefootError, read_qrels
from surefoot.cli import main
from surefoot.show import judging_page
from tests.show.browser_page import Page
from tests.show.report.report_cases import HOSTILE, random_rankings
from tests.show.report.test_page import data_of

ROWS = [
    {"topic": f"q{number}", "document": f"d{number}", "priority": 1.0, "reason": "secret", "query": f"query {number}",
     "text": f"Text {number}."}
    for number in range(4)
]  # fmt: skip


@pytest.fixture
def open_page(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    opened: list[Page] = []
    path = tmp_path / "judge.html"

    def open_it(rows: list[dict[str, Any]] = ROWS, settings: dict[str, Any] | None = None, **options: Any) -> Page:
        path.write_text(judging_page(rows, **options), encoding="utf-8")
        opened.append(Page(browser, path.as_uri(), **(settings or {})))
        return opened[-1]

    yield open_it
    for page in opened:
        page.context.close()
        assert page.complaints == []
        assert [url for url in page.requests if not url.startswith((path.as_uri(), "blob:"))] == []


def saved(page: Any, folder: Path) -> list[str]:
    with page.expect_download() as caught:
        page.keyboard.press("s")
    assert caught.value.suggested_filename == "judgments.qrels"
    file = folder / "saved.qrels"
    caught.value.save_as(file)
    read_qrels(file)  # our own reader takes it
    return file.read_text().splitlines()


def reload_until_kept(page: Any) -> None:
    """Reload, as often as it takes: a browser may write its storage down a moment after the key was pressed."""
    for _ in range(50):
        page.reload()
        if page.inner_text("#notice"):
            return
        page.wait_for_timeout(100)


def test_judging_by_keyboard_alone(open_page: Callable[..., Page], tmp_path: Path) -> None:
    page = open_page().page
    assert page.inner_text("h1") == "query 0"
    assert page.inner_text("#text") == "Text 0."
    page.keyboard.press("2")
    assert page.inner_text("h1") == "query 1"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("0")
    assert page.inner_text("#progress") == "document 4 of 4, 2 judged"
    page.keyboard.press("n")
    assert page.inner_text("h1") == "query 1", "the next open one comes round"
    page.keyboard.press("7")
    assert page.inner_text("#progress") == "document 2 of 4, 2 judged", "7 is no grade here"
    page.keyboard.press("3")
    page.keyboard.press("1")
    assert "All 4 are judged" in page.inner_text("#notice")
    page.keyboard.press("Backspace")
    assert saved(page, tmp_path) == ["q0 0 d0 2", "q1 0 d1 3", "q2 0 d2 0"]


def test_progress_is_kept_and_taken_in(open_page: Callable[..., Page], tmp_path: Path) -> None:
    first = open_page()
    first.page.keyboard.press("3")
    assert "1 judged" in first.page.inner_text("#progress")
    reload_until_kept(first.page)
    assert first.page.inner_text("#notice") == "1 judgment kept from an earlier visit."
    assert first.page.inner_text("h1") == "query 1"
    lines = saved(first.page, tmp_path)
    other = open_page().page  # another browser profile
    assert other.is_hidden("#notice")
    (tmp_path / "half.qrels").write_text("\n".join([*lines, "q2 0 d2 9", "q9 0 d9 1", "broken"]))
    other.set_input_files("#continue", tmp_path / "half.qrels")
    other.wait_for_function("document.getElementById('notice').textContent.startsWith('1 judgment read')")
    assert "1 judged" in other.inner_text("#progress")


def test_a_browser_that_keeps_nothing(browser: Any, tmp_path: Path) -> None:
    path = tmp_path / "judge.html"
    path.write_text(judging_page(ROWS), encoding="utf-8")
    context = browser.new_context(offline=True)
    context.add_init_script("Object.defineProperty(window, 'localStorage', { get() { throw new Error('no'); } })")
    page = context.new_page()
    page.goto(path.as_uri())
    page.keyboard.press("1")
    assert "keeps nothing" in page.inner_text("#kept")
    assert saved(page, tmp_path) == ["q0 0 d0 1"]
    context.close()


@pytest.mark.parametrize(("across", "scheme"), [(380, "dark"), (1100, "light")])
def test_it_fits_and_axe_finds_nothing(open_page: Callable[..., Page], across: int, scheme: str) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed")
    rows = [{**ROWS[0], "text": "word " * 2000}, ROWS[1]]
    page = open_page(rows, {"viewport": {"width": across, "height": 800}, "color_scheme": scheme}).page
    page.keyboard.press("1")
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.documentElement.scrollWidth") <= across
    assert [each["id"] for each in axe.Axe().run(page).response["violations"]] == []


def test_hostile_texts_are_texts(open_page: Callable[..., Page], tmp_path: Path) -> None:
    names = [name for name in HOSTILE if len(name.split()) == 1 and name.isprintable()]
    rows = [
        {"topic": name, "document": name, "query": text, "text": text}
        for name, text in zip(names, HOSTILE, strict=False)
    ]
    page = open_page(rows).page
    for name in names:
        assert page.inner_text("#document") == name
        page.keyboard.press("1")
    assert page.locator("img, iframe, object, embed, link").count() == 0
    assert page.locator("script").count() == 2
    assert saved(page, tmp_path) == [f"{name} 0 {name} 1" for name in names]


def test_queries_with_blanks(open_page: Callable[..., Page], tmp_path: Path) -> None:
    """As in a case of Quepid, whose topics are the texts: fields are separated by tabs, and merging keeps them."""
    rows = [{"topic": topic, "document": "d 1"} for topic in ("red shoes", "tents")]
    page = open_page(rows).page
    page.keyboard.press("2")
    reload_until_kept(page)
    page.keyboard.press("1")
    assert saved(page, tmp_path) == ["red shoes\t0\td 1\t2", "tents\t0\td 1\t1"]
    (tmp_path / "case.csv").write_text("query,docid,rating\nred shoes,d 2,0\n")
    files = [str(tmp_path / name) for name in ("saved.qrels", "case.csv", "merged.qrels")]
    assert main(["judge", "--merge", files[0], "--qrels", files[1], "-o", files[2]]) == 0
    found = {(topic, name): float(grade) for topic, names, grades in read_qrels(files[2]).by_topic()
             for name, grade in zip(names, grades, strict=True)}  # fmt: skip
    assert found == {("red shoes", "d 1"): 2, ("red shoes", "d 2"): 0, ("tents", "d 1"): 1}


def test_only_its_own_script_may_run_and_no_reason_is_told() -> None:
    page = judging_page(ROWS)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy
    assert policy[1].startswith("default-src 'none'; script-src 'sha256-")
    assert "secret" not in page
    assert not re.search(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval)\b", page)
    assert page == judging_page(ROWS)


@pytest.mark.parametrize(
    ("rows", "grades", "message"),
    [
        ([], (0, 1), "nothing to judge"),
        ([{"topic": "q\t1", "document": "d"}], (0, 1), "can't hold the topic 'q"),
        ([{"topic": "q1"}], (0, 1), "can't hold the document ''"),
        (ROWS, (1,), "two or more grades"),
        (ROWS, (0, 12), "each one key from 0 to 9"),
    ],
)
def test_mistakes_are_said(rows: list[dict[str, Any]], grades: tuple[int, ...], message: str) -> None:
    with pytest.raises(SurefootError, match=message):
        judging_page(rows, grades)


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    random_rankings(tmp_path)
    (tmp_path / "queries.tsv").write_text("q1\tthe first query\n")
    files = {name: str(tmp_path / name) for name in ("old.run", "new.run", "qrels.txt", "queries.tsv", "page.html")}
    words = ["judge", files["old.run"], files["new.run"], "--qrels", files["qrels.txt"], "--budget", "30"]
    words += [
        "--enough",
        "1",
        "--candidate",
        "new",
        "--baseline",
        "old",
        "--queries",
        files["queries.tsv"],
        "--page",
        files["page.html"],
    ]
    assert main(words) == 0
    assert capsys.readouterr().out == "", "the page is what was asked for"
    data = data_of(Path(files["page.html"]).read_text("utf-8"))
    judged = read_qrels(files["qrels.txt"])
    assert (data["grades"], data["name"]) == ([0, 1, 2, 3], "page")
    assert data["documents"]
    for row in data["documents"]:
        assert row["document"] not in judged.of_topic(row["topic"])
        assert row["query"] == ("the first query" if row["topic"] == "q1" else "")
    assert main(words) == 2
    assert "page.html exists; name another, or overwrite it with --force" in capsys.readouterr().err
