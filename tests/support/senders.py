"""Who sends the requests of tests that have no connection."""

from __future__ import annotations

from typing import NamedTuple


class SentBy(NamedTuple):
    """What a context takes of a connection."""

    id: int = 1
    peer: str = "/127.0.0.1"
    principal: str = "User:ANONYMOUS"
    listener: str = "PLAINTEXT"
    local_address: tuple[str, int] = ("127.0.0.1", 9092)


SENDER = SentBy()
