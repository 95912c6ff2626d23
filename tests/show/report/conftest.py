"""Scores to report on, and a real browser to look at the report with."""

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from surefoot import Scores
from surefoot.show.report import report
from tests.show.report.report_cases import random_scores

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
QUIET = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking --disable-sync".split()
)


@pytest.fixture(scope="session")
def scores() -> Scores:
    return random_scores()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium: what SUREFOOT_CHROMIUM names, or one that is installed."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    path = os.environ.get("SUREFOOT_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("no Chromium is installed; the report is tested in a real browser")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=path, args=QUIET)
        yield chromium
        chromium.close()


class Page:
    """A report in the browser, with all that it said and asked for."""

    def __init__(self, browser: Any, address: str, **settings: Any) -> None:
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.context = browser.new_context(offline=True, reduced_motion="reduce", **settings)
        self.page = self.context.new_page()
        self.page.on("console", lambda message: self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def settle(self) -> None:
        """Wait until what was asked for has been drawn."""
        self.page.evaluate("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def alpha(self, alpha: float) -> None:
        self.page.fill("#alpha-exact", str(alpha))
        self.settle()

    def column(self, table: str, place: int) -> list[str]:
        """The texts of a column of the page's table, from 1."""
        found: list[str] = self.page.locator(f"#{table} tbody tr > :nth-child({place})").all_inner_texts()
        return found


@pytest.fixture
def open_report(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Page]]:
    """Open the report of some scores; afterwards nothing may have been complained of, or asked of the network."""
    opened: list[Page] = []

    def open_it(
        scores: Scores | Sequence[Scores],
        baseline: str | None = None,
        settings: dict[str, Any] | None = None,
        fragment: str = "",
        **options: Any,
    ) -> Page:
        path = tmp_path / f"report{len(opened)}.html"
        path.write_text(report(scores, baseline, **options), encoding="utf-8")
        opened.append(Page(browser, path.as_uri() + fragment, **(settings or {})))
        return opened[-1]

    yield open_it
    for number, page in enumerate(opened):
        page.settle()
        own = ((tmp_path / f"report{number}.html").as_uri(), "blob:")
        page.context.close()
        assert page.complaints == []
        assert [url for url in page.requests if not url.startswith(own)] == []
