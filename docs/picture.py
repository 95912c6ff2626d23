"""Takes the README's picture of the report that `make demo` wrote; needs what `make test` installs, and chromium."""

from pathlib import Path
from shutil import which

from playwright.sync_api import sync_playwright

ROOT = Path(__file__).parent.parent


def main() -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 800}, color_scheme="light")
        page.goto((ROOT / "demo" / "report.html").as_uri())
        page.screenshot(path=ROOT / "docs" / "picture.png")
        browser.close()


if __name__ == "__main__":
    main()
