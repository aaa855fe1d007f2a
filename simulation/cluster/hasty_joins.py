"""Joins that come once more while the first is on its way or waits, where a seed draws "hasty".

A client whose connection broke unnoticed joins again on another one, under the id that it has; a
static member is started again, and the one that was before still waits (KIP-345). The first is
answered in either case: its member goes by what it is told. Nobody uses what the second is told.

Meanwhile what the coordinator writes may not be replicated for a while, so that the first waits for
its record when the second comes, or when its group is in another generation.
"""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from functools import partial
from typing import TYPE_CHECKING

from mockbroker.cluster.node_controls import ControlError
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
)
from simulation.cluster.clients import NodeChannel

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.group_book import GroupBook
    from simulation.cluster.world import ClusterWorld

CHANCE = 0.3
HOLDS = 0.3
HELD_MS = (30.0, 100.0, 300.0)
AFTER_MS = (0.0, 1.0, 3.0, 20.0, 60.0)


def hold_replication(world: ClusterWorld, held_ms: float) -> None:
    """For a while what the coordinator of groups writes counts for nothing, if there is one.

    No step of the operator's: a run that is given other steps does it all the same.
    """
    controls = world.controls

    def hold() -> None:
        with suppress(ControlError):
            controls.hold_high_watermark(GROUP_METADATA_TOPIC, 0)

    def release() -> None:
        with suppress(ControlError):
            controls.release_high_watermark(GROUP_METADATA_TOPIC, 0)

    world.operate(hold)
    world.at(held_ms, lambda: world.operate(release))


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
        if self._rng.random() < HOLDS:
            self._hold()
        delay_ms = self._rng.choice(AFTER_MS)
        self._book.world.at(delay_ms, partial(self._join, node, again, version))

    def syncs(self, node: int, joined: JoinGroupRequest, subscription: bytes, version: int) -> None:
        """A member that joined so has just synced: perhaps it joins once more, with another
        subscription, before its generation's assignment is replicated.
        """
        if joined.group_instance_id is not None or self._rng.random() >= CHANCE:
            return
        again = copy(joined)
        again.protocols = [
            JoinGroupRequestProtocol(one.name, subscription) for one in joined.protocols
        ]
        self._hold()
        self._book.world.at(self._rng.choice(AFTER_MS), partial(self._join, node, again, version))

    def _hold(self) -> None:
        """For a while nothing more of groups is replicated."""
        hold_replication(self._book.world, self._rng.choice(HELD_MS))

    def _join(self, node: int, request: JoinGroupRequest, version: int) -> None:
        book = self._book
        book.joins(book.ask(node).time, request.member_id)
        channel = NodeChannel(book.world, "hasty", node)

        def answered(_answer: object | None) -> None:
            if channel.wire is not None:
                channel.wire.close()

        channel.call(request, version, answered)
