"""What docs/diagnosis.md says about a rule, for the page: it is read where there are no docs.

Called by `page`. The wheel has the pages beside the code, a clone has them at its top.
"""

from __future__ import annotations

import html
import re
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

_FOLDERS: Final = (
    files("mockbroker") / "docs",
    Path(__file__).resolve().parents[3] / "docs",
)
_PAGE: Final = "diagnosis.md"
_CODE: Final = re.compile(r"`([^`]+)`")
_LINK: Final = re.compile(r"\[([^\]]+)\]\([^)]+\)")


@cache
def advice() -> dict[str, str]:
    """Each rule to its part of the page, as HTML; empty where an installation has no pages."""
    for folder in _FOLDERS:
        if (folder / _PAGE).is_file():
            parts = (folder / _PAGE).read_text("utf-8").split("\n## ")[1:]
            return {rule: _html(text) for rule, _, text in (p.partition("\n") for p in parts)}
    return {}


def _html(text: str) -> str:
    """Paragraphs with code; links are their words."""
    told = _CODE.sub(r"<code>\1</code>", _LINK.sub(r"\1", html.escape(text.strip())))
    return "".join(f"<p>{' '.join(part.split())}</p>" for part in told.split("\n\n"))
