"""How Sphinx makes the site of these pages: `mockbroker docs`, or `sphinx-build -W docs site`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from mockbroker import __version__

if TYPE_CHECKING:
    from sphinx.application import Sphinx

project = "mockbroker"
version = release = __version__
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
html_theme = "furo"
html_title = f"mockbroker {__version__}"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False
myst_heading_anchors = 4
# What the pages show is Python, JSON with comments and `…`, output of a shell.
suppress_warnings = ["misc.highlighting_failure"]
# Types are told by the docstrings' words; what only type checkers import cannot be looked up.
autodoc_typehints = "none"
# Backticks in docstrings are code.
default_role = "code"
# What the extra `docs` does not bring, and the reference tells of.
autodoc_mock_imports = ["pytest", "testcontainers"]
autodoc_member_order = "bysource"

_OUTSIDE: Final = re.compile(r"\[([^]]+)]\(\.\./([^)]+)\)")


def name_what_is_outside(_app: Sphinx, _page: str, text: list[str]) -> None:
    """A link to a file of the repository that is no page becomes its path."""
    text[0] = _OUTSIDE.sub(r"`\2`", text[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx."""
    app.connect("source-read", name_what_is_outside)
