"""Tests that cannot run on the compiled build, each with its reason: they run on the sources.

A compiled class takes no subclass but a compiled one, and has no attribute that can be replaced.
"""

from __future__ import annotations

from typing import Final

PURE_ONLY: Final[dict[str, str]] = {}
"""Files, or FILE::TEST."""
