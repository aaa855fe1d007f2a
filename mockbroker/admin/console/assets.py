"""The files of the console, from where the package is installed, and under which rules they run.

Called by `routes.console` for the browser and by `page` for a report. Only the files that are
listed at the first call are ever opened: a name is looked up, never joined to a path.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

PAGE: Final = "index.html"
_TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No inline script, nothing from elsewhere, in nobody's frame."""
HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",
}


class Asset(NamedTuple):
    """One file."""

    data: bytes
    media_type: str


def asset(name: str) -> Asset | None:
    """The file of that name below `static`, such as `vendor/preact-htm.js`; None without one."""
    found = _listed().get(name)
    if found is None:
        return None
    return Asset(found.read_bytes(), _TYPES[_suffix(name)])


def names() -> list[str]:
    """The names of all files, in order."""
    return sorted(_listed())


@cache
def _listed() -> dict[str, Traversable]:
    return dict(_walk(files("mockbroker.admin.console") / "static", ""))


def _walk(folder: Traversable, prefix: str) -> list[tuple[str, Traversable]]:
    found: list[tuple[str, Traversable]] = []
    for each in folder.iterdir():
        if each.is_dir():
            found += _walk(each, f"{prefix}{each.name}/")
        elif _suffix(each.name) in _TYPES:
            found.append((f"{prefix}{each.name}", each))
    return found


def _suffix(name: str) -> str:
    return f".{name.rpartition('.')[2]}"
