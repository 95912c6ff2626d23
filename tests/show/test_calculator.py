"""The page that computes in the browser what n queries can show, against the functions of the gate."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from surefoot.release_gate.finding import ScoredPair
from surefoot.release_gate.rules import Rules
from surefoot.release_gate.seen import SeenChecker, resolution_of
from tests.show.browser_page import Page

PAGE = Path(__file__).parents[2] / "docs" / "calculator.html"
CASES = [
    (2, 0.3, 0.02, 0.05),
    (20, 0.1, 0.02, 0.05),
    (50, 0.2, 0.02, 0.05),
    (43, 0.25, 0.0, 0.01),
    (2639, 0.3, 0.01, 0.2),
]


@pytest.fixture
def page(browser: Any) -> Iterator[Any]:
    opened = Page(browser, PAGE.as_uri())
    yield opened.page
    assert (opened.complaints, opened.requests) == ([], [PAGE.as_uri()])
    opened.context.close()


@pytest.mark.parametrize("case", CASES)
def test_the_page_computes_what_the_gate_does(page: Any, case: tuple[int, float, float, float]) -> None:
    n, spread, tolerance, level = case
    pair = ScoredPair("new", "old", "RR", (), np.zeros(0), np.zeros(0))
    checker = SeenChecker(pair, Rules(level=level))
    loss, needed = resolution_of(n, spread, tolerance, checker.fail_level(), checker.pass_level())
    found = page.evaluate("([n, s, t, l]) => resolution(n, s, t, l)", list(case))
    assert found["loss"] == pytest.approx(loss, rel=1e-6)
    assert found["needed"] == pytest.approx(needed, abs=1)
    for name, value in zip(("n", "spread", "tolerance", "level"), case, strict=True):
        page.fill(f"#{name}", str(value))
    assert f"a loss of {loss:.3f} or more" in page.inner_text("#loss")


def test_the_page_says_what_is_wrong(page: Any) -> None:
    page.fill("#spread", "0")
    assert page.inner_text("#loss").startswith("Enter at least 2 queries")
    assert page.inner_text("#needed") == ""
