"""A consumer of a simulated broker: it reads what it is given at once, and asks for more.

Its session is Kafka's (FetchSessionHandler): a full fetch opens it; after that a request names the
partitions whose position changed, and no others; a fetch that was refused a session asks for one
again, and so does one whose session is gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.journal.replay import next_offset
from mockbroker.what_if.delays import Reached
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.what_if.broker import Client, SimulatedBroker
    from mockbroker.what_if.costs import Histogram
    from mockbroker.what_if.delays import Moves
    from mockbroker_protocol.messages.fetch import FetchResponse

    Key = tuple[bytes, int]

VERSION: Final = 17
MAX_WAIT_MS: Final = 500
"""fetch.max.wait.ms of Kafka's consumer."""
PARTITION_MAX_BYTES: Final = 1 << 20
"""max.partition.fetch.bytes."""


class Session:
    """A consumer's half of its fetch session, and its positions."""

    __slots__ = ("_asked", "_epoch", "_id", "max_bytes", "max_partition_bytes", "positions")

    def __init__(
        self,
        partitions: Iterable[Key],
        max_bytes: int,
        max_partition_bytes: int = PARTITION_MAX_BYTES,
    ) -> None:
        self.positions: dict[Key, int] = dict.fromkeys(partitions, 0)
        self.max_bytes = max_bytes
        self.max_partition_bytes = max_partition_bytes
        self._asked: dict[Key, int] = {}
        """What the session knows of each."""
        self._id = self._epoch = 0

    def request(self) -> FetchRequest:
        """The next poll."""
        topics: dict[bytes, FetchRequestTopic] = {}
        for key, position in self.positions.items():
            if self._asked.get(key) == position:
                continue
            self._asked[key] = position
            topic = topics.get(key[0])
            if topic is None:
                topic = topics[key[0]] = FetchRequestTopic(topic_id=key[0], partitions=[])
            topic.partitions.append(
                FetchRequestPartition(
                    partition=key[1],
                    current_leader_epoch=0,
                    fetch_offset=position,
                    partition_max_bytes=self.max_partition_bytes,
                )
            )
        return FetchRequest(
            max_wait_ms=MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=self.max_bytes,
            session_id=self._id,
            session_epoch=self._epoch,
            topics=list(topics.values()),
        )

    def take(self, response: FetchResponse) -> None:
        """The answer came: go on behind what it brought."""
        if response.error_code or (not self._epoch and not response.session_id):
            self._id = self._epoch = 0
            self._asked.clear()
        else:
            self._id = response.session_id
            self._epoch += 1
        for topic in response.responses:
            for data in topic.partitions:
                offset = next_offset(data)
                if offset is not None:
                    self.positions[topic.topic_id, data.partition_index] = offset


class Consumer:
    """It reads some partitions of one broker for ever."""

    def __init__(
        self, broker: SimulatedBroker, client: Client, partitions: Iterable[Key], max_bytes: int
    ) -> None:
        self._broker = broker
        self._client = client
        self.session = Session(partitions, max_bytes)
        self._reached: dict[Key, tuple[Reached, Reached]] = {}

    def measure(
        self,
        moves: Mapping[Key, tuple[Moves, Moves]],
        records: Histogram,
        high_watermarks: Histogram,
    ) -> None:
        """Note how long high watermarks take to come here, and the records below them."""
        for key in self.session.positions:
            _, marks = moves[key]
            self._reached[key] = Reached(marks, records), Reached(marks, high_watermarks)

    def start(self) -> None:
        """Poll, and poll again behind each answer."""
        self._broker.fetch(self._client, self.session.request(), VERSION, self._answered)

    def _answered(self, response: FetchResponse) -> None:
        self.session.take(response)
        now_ms = self._broker.clock.now_ms
        for topic in response.responses:
            for data in topic.partitions:
                key = topic.topic_id, data.partition_index
                reached = self._reached.get(key)
                if reached is not None:
                    reached[0].note(self.session.positions[key], now_ms)
                    reached[1].note(data.high_watermark, now_ms)
        self.start()
