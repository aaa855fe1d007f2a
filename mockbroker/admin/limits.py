"""What one client of the admin port may take: connections, time, bytes. Told to `server`.

It is imported when the port is bound, so it imports nothing.
"""

from __future__ import annotations

from typing import Final, NamedTuple

MAX_ELEMENTS: Final = 200_000
"""Values in a body of JSON: reading so many takes 0.1 seconds, in which no client is served."""
MAX_HEAD_BYTES: Final = 1 << 17
"""Of a request's first line and headers: a group's id of 32,767 characters has room in a path."""
MIN_TAKEN_BYTES: Final = 1 << 16
"""A client that takes less of its answer than this in `timeout_ms` does not read."""
BACKLOG: Final = 128


class Limits(NamedTuple):
    """The limits of one admin port."""

    connections: int = 100
    """At a time; one more is answered 503."""
    request_bytes: int = 32 << 20
    """Of a body, unless it is a snapshot's file; a larger one is answered 413."""
    timeout_ms: int = 30_000
    """How long a request may take to arrive, from its first byte on, and an answer to be taken."""
