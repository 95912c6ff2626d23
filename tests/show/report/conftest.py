"""Scores to report on, and reports opened in the browser."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from surefoot import Scores
from surefoot.show.report import report
from tests.show.browser_page import Page
from tests.show.report.report_cases import random_scores


@pytest.fixture(scope="session")
def scores() -> Scores:
    return random_scores()


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
