"""A real browser for the tier `browser`, and what people do with a console in it."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    """It ends with its module: while it is driven, a loop runs in this thread, and no other may."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("needs Debian's package chromium")
    playwright = pytest.importorskip("playwright.sync_api", exc_type=ImportError)
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


class Tab:
    """A page and what its console said that it should not."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        page.on("console", lambda said: self._note(said.type, said.text))
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _note(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.errors.append(text)


@pytest.fixture
def tab(chromium: Browser) -> Iterator[Tab]:
    context = chromium.new_context(viewport={"width": 1400, "height": 900})
    context.set_default_timeout(20_000)
    yield Tab(context.new_page())
    context.close()
