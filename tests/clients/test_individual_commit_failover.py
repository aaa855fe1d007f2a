"""Individual commits at three brokers over TCP, of which leader and coordinator die meanwhile.

What was acknowledged is told by whoever coordinates next, and nothing else than was asked for.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, cast

import pytest

from mockbroker import MockBroker
from mockbroker_protocol.errors import ErrorCode
from tests.clients.settled import settled
from tests.support.blocking import BlockingConnection, ClosedByPeerError
from tests.support.range_group import RangeGroup, Standing

if TYPE_CHECKING:
    from tests.support.core import CoreClient

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

RECORDS = 60
TOPICS = "__consumer_offsets", "__individual_commit_offsets"
CONFIG = {
    "coop.extension.enable": True,
    "offsets.topic.num.partitions": 1,
    "offsets.topic.replication.factor": 3,
    "default.replication.factor": 3,
    "min.insync.replicas": 2,
}


class Group:
    """Commits single offsets of t-0, at whoever coordinates, until it is answered."""

    def __init__(self, broker: MockBroker) -> None:
        self.broker = broker
        self.acknowledged: set[int] = set()
        self.tried: set[int] = set()

    def _at_coordinator(self) -> BlockingConnection:
        node = self.broker.cluster.coordinator("g")
        return BlockingConnection(self.broker.bootstrap_servers.split(",")[node - 1])

    def commit(self, offset: int) -> bool:
        """Whether it was acknowledged."""
        self.tried.add(offset)
        try:
            with self._at_coordinator() as connection:
                asking = RangeGroup(cast("CoreClient", connection))
                done = asking.commit((offset, offset), initial=0).error == ErrorCode.NONE
        except (ClosedByPeerError, OSError):
            return False
        if done:
            self.acknowledged.add(offset)
        return done

    def standing(self) -> Standing | None:
        """How it stands, once that is replicated; None: not now."""
        try:
            with self._at_coordinator() as connection:
                told = RangeGroup(cast("CoreClient", connection)).fetch(require_stable=True)
        except (ClosedByPeerError, OSError):
            return None
        return None if told.error else told


@pytest.mark.parametrize("victim", ["leader", "coordinator"])
def test_what_was_acknowledged_is_kept(victim: str) -> None:
    with MockBroker(brokers=3, topics={"t": 1}, config=CONFIG, seed=1) as broker:
        cluster, group = broker.cluster, Group(broker)
        for number in range(RECORDS):
            broker.topic("t").put(b"%d" % number)
        for offset in range(1, RECORDS, 2):
            if offset % 15 == 0:
                dead = cluster.leader("t", 0) if victim == "leader" else cluster.coordinator("g")
                cluster.kill(dead)
                group.commit(offset)
                cluster.revive(dead)
                for topic in ("t", *TOPICS):
                    cluster.wait_in_sync(topic, 0)
                cluster.move_leader(TOPICS[1], 0, to=cluster.coordinator("g"))
            else:
                settled(partial(group.commit, offset), wanted=True)
        told: list[Standing] = []

        def is_told() -> bool:
            found = group.standing()
            told.extend([] if found is None else [found])
            return found is not None

        settled(is_told, wanted=True)
        ranges = {each for first, last in told[0].ranges for each in range(first, last + 1)}
        assert told[0].stable == 0
        assert group.acknowledged <= ranges <= group.tried
        assert len(group.acknowledged) > RECORDS / 3
