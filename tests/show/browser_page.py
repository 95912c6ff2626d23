"""A page in a real browser, with all that it said and asked for."""

from typing import Any


class Page:
    """A page opened offline; ``complaints`` and ``requests`` are for tests to look at."""

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
