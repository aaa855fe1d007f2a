"""Why the admin API cannot be served. Raised by `listener`, told by `cli`."""

from __future__ import annotations


class AdminError(Exception):
    """One line that names the option."""
