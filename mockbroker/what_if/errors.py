"""The one error of this room: a journal that cannot be run again, a topology that cannot be."""

from __future__ import annotations


class WhatIfError(ValueError):
    """One line that names the value, or the journal, and what is allowed."""
