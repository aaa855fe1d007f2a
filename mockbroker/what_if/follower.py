"""A follower of a simulated broker: the replicas of another node, and the fetcher that feeds them.

Both are the broker's own (`replica.manager`, `replica.fetcher`); only the channel between the two
nodes is of this room. `simulate` makes one for each broker that follows.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.replica.fetcher import (
    FETCH_VERSION,
    FETCH_VERSION_WITHOUT_HIGH_WATERMARK,
    ReplicaFetcher,
)
from mockbroker.replica.manager import ReplicaManager
from mockbroker.what_if.broker import Client
from mockbroker.what_if.delays import Reached

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.replica.partition import Partition
    from mockbroker.what_if.broker import SimulatedBroker
    from mockbroker.what_if.costs import Costs, Histogram
    from mockbroker.what_if.delays import Moves
    from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse

    Key = tuple[bytes, int]

CLIENT_ID: Final = "broker-{}-fetcher-0"
"""Kafka: ReplicaFetcherManager.createFetcherThread."""


class _Channel:
    """What carries the fetcher's requests (a `FetchChannel`)."""

    __slots__ = ("_broker", "_client", "_heard")

    def __init__(
        self, broker: SimulatedBroker, client: Client, heard: Callable[[FetchResponse], None]
    ) -> None:
        self._broker = broker
        self._client = client
        self._heard = heard

    def fetch(
        self,
        request: FetchRequest,
        version: int,
        on_response: Callable[[FetchResponse | None], None],
    ) -> None:
        def answered(response: FetchResponse) -> None:
            on_response(response)
            self._heard(response)

        self._broker.fetch(self._client, request, version, answered)

    def send(
        self, request: object, version: int, on_response: Callable[[object | None], None]
    ) -> None:
        """Leaders never answer that an offset is unknown here, so nobody asks for one."""
        raise AssertionError(f"nothing else is sent: {request!r} v{version}, {on_response!r}")

    def close(self) -> None:
        """There is nothing to hang up."""


class Follower:
    """Node `node_id`, which follows what it has replicas of at `leader`."""

    def __init__(
        self, leader: SimulatedBroker, node_id: int, costs: Costs, *, tells_high_watermark: bool
    ) -> None:
        self._leader = leader
        clock, timer, config = leader.clock, leader.timer, leader.config
        self._replicas = ReplicaManager(node_id, clock, timer, config, leader.metadata)
        client = Client(-node_id - 1, CLIENT_ID.format(node_id), costs)
        channel = _Channel(leader, client, self._heard)
        self._fetcher = ReplicaFetcher(channel, clock, timer, config, node_id, 0)
        self._fetcher.version = (
            FETCH_VERSION if tells_high_watermark else FETCH_VERSION_WITHOUT_HIGH_WATERMARK
        )
        self._partitions: dict[Key, Partition] = {}
        self._reached: dict[Key, tuple[Reached, Reached]] = {}
        for partition in self._replicas.all_partitions():
            self._partitions[partition.topic_id, partition.index] = partition
            self._fetcher.add(partition)

    def measure(
        self,
        moves: Mapping[Key, tuple[Moves, Moves]],
        records: Histogram,
        high_watermarks: Histogram,
    ) -> None:
        """Note how long ends of logs, and high watermarks, take to come here."""
        for key in self._partitions:
            ends, marks = moves[key]
            self._reached[key] = Reached(ends, records), Reached(marks, high_watermarks)

    def start(self) -> None:
        """Send the first fetch."""
        self._fetcher.poll()

    def _heard(self, response: FetchResponse) -> None:
        now_ms = self._leader.clock.now_ms
        for topic in response.responses:
            for data in topic.partitions:
                key = topic.topic_id, data.partition_index
                reached = self._reached.get(key)
                log = self._partitions[key].log
                if reached is not None and log is not None:
                    reached[0].note(log.log_end_offset, now_ms)
                    reached[1].note(data.high_watermark, now_ms)
