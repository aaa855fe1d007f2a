"""The pictures of docs/console.md are those that scripts/pictures.py takes, and small."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from scripts.pictures import FOLDER, HEIGHT, VIEWS, WIDTH, take
from tests.mockbroker.admin.console.conftest import chromium

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser

__all__ = ("chromium",)

MOST_BYTES = 80_000
"""Of one picture; all of them are in the wheel, for `mockbroker docs`."""


def test_the_page_shows_each_picture_once() -> None:
    page = (FOLDER.parent / "console.md").read_text("utf-8")
    shown = re.findall(r"!\[[^]]+]\(pictures/(\w+)\.webp\)", page)
    assert sorted(shown) == sorted(VIEWS)
    assert {path.name for path in FOLDER.iterdir()} == {f"{name}.webp" for name in VIEWS}


def test_they_are_small() -> None:
    assert [path for path in FOLDER.iterdir() if path.stat().st_size > MOST_BYTES] == []


@pytest.mark.browser
@pytest.mark.timeout(240)
def test_they_can_be_taken(chromium: Browser, tmp_path: Path) -> None:
    for path in take(chromium, tmp_path):
        data = path.read_bytes()
        assert size_of(data) == size_of((FOLDER / path.name).read_bytes()) == (WIDTH, HEIGHT)
        assert len(data) <= MOST_BYTES


def size_of(webp: bytes) -> tuple[int, int]:
    """Width and height of an extended WebP: RFC 9649, 2.7."""
    assert (webp[:4], webp[8:16]) == (b"RIFF", b"WEBPVP8X")
    width, height = (int.from_bytes(webp[at : at + 3], "little") + 1 for at in (24, 27))
    return width, height
