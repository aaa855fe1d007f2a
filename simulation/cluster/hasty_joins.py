"""Joins that come once more while the first is on its way or waits, where a seed draws "hasty".

A client whose connection broke unnoticed joins again on another one, under the id that it has; a
static member is started again, and the one that was before still waits (KIP-345). The first is
answered in either case: its member goes by what it is told. Nobody uses what the second is told.
"""

from __future__ import annotations

from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from simulation.cluster.clients import NodeChannel

if TYPE_CHECKING:
    from random import Random

    from mockbroker_protocol.messages.group_membership import JoinGroupRequest
    from simulation.cluster.group_book import GroupBook

CHANCE = 0.3
AFTER_MS = (0.0, 1.0, 3.0, 20.0, 60.0)


class HastyJoins:
    """Those of one group."""

    def __init__(self, book: GroupBook, rng: Random) -> None:
        self._book = book
        self._rng = rng

    def joins(self, node: int, request: JoinGroupRequest, version: int) -> None:
        """A member has just asked a broker to join: perhaps it does so again soon."""
        if self._rng.random() >= CHANCE:
            return
        again = request
        if request.group_instance_id is not None and self._rng.random() < 0.7:
            again = copy(request)
            again.member_id = ""
        delay_ms = self._rng.choice(AFTER_MS)
        self._book.world.at(delay_ms, partial(self._join, node, again, version))

    def _join(self, node: int, request: JoinGroupRequest, version: int) -> None:
        book = self._book
        book.joins(book.ask(node).time, request.member_id)
        channel = NodeChannel(book.world, "hasty", node)

        def answered(_answer: object | None) -> None:
            if channel.wire is not None:
                channel.wire.close()

        channel.call(request, version, answered)
