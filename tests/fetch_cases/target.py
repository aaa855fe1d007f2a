"""The brokers that cases run against, and what a case does to their topics.

A `Target` is a broker reached over TCP and nothing else. `replica_target.py` and `raft_target.py`
have those with a follower and with a controller's endpoint.
"""

from __future__ import annotations

import itertools
import time
import uuid
from typing import TYPE_CHECKING, Any, TypeVar

from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.fetch_cases.asking import Reader, Topic
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.testing.mock_broker import MockBroker

T = TypeVar("T")
R = TypeVar("R", bound=Reader)
KAFKA = "kafka"
OURS = "ours"
READY_SECONDS = 15.0
KAFKA_SETTLES_SECONDS = 0.06
"""Kafka handles requests of two connections on threads of its own: no answer on one tells that the
other is parked, but this long without one does, and a fetch that is late only ends earlier."""

# COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE, NOT_COORDINATOR
COORDINATOR_STARTS = (14, 15, 16)

_numbers = itertools.count(1)
_RUN = uuid.uuid4().hex[:8]


def batch(
    size: int = 50, *, count: int = 1, timestamp: int | None = None, compression: int = 0
) -> bytes:
    """`b(size)` of the cases: one record takes 69, 88, 118, 170, 1070 bytes for 1, 20, 50, 100,
    1000."""
    now = int(time.time() * 1000) if timestamp is None else timestamp
    records = [Record(offset, now, None, b"v" * size) for offset in range(count)]
    return build_batch(records, compression=compression)


class Target:
    """A broker. `kind` is OURS or KAFKA."""

    def __init__(self, kind: str, address: str) -> None:
        self.kind = kind
        self.address = address
        self.control = BlockingConnection(address)
        self._readers: list[Reader] = []
        self._shared: dict[str, Any] = {}

    @property
    def is_kafka(self) -> bool:
        return self.kind == KAFKA

    def reader(self, source: str = "") -> Reader:
        """A new connection, closed when the test is over; `source` is where it comes from."""
        return self._greeted(Reader(self.address, source))

    def _greeted(self, reader: R) -> R:
        """Once a connection was answered, what it sends is looked at in turn; see `settled`."""
        self._readers.append(reader)
        reader.call(MetadataRequest([]), 4, MetadataResponse)
        return reader

    def close_readers(self) -> None:
        for reader in self._readers:
            reader.close()
        self._readers.clear()

    def close(self) -> None:
        self.close_readers()
        self.control.close()

    def shared(self, name: str, make: Callable[[Target], T]) -> T:
        """What several tests read and none changes, made once a broker."""
        if name not in self._shared:
            self._shared[name] = make(self)
        made: T = self._shared[name]
        return made

    # -- topics ------------------------------------------------------------------------------

    def topic(
        self, partitions: int = 1, *data: tuple[int, ...], name: str = "", **configs: str
    ) -> Topic:
        """A new topic; `data` gives the value sizes of one-record batches, partition by
        partition."""
        name = name or self.new_name()
        settings = [
            CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()
        ]
        wanted = CreatableTopic(name, partitions, 1, [], settings)
        created = self.control.call(
            CreateTopicsRequest([wanted], 15_000), 7, CreateTopicsResponse
        ).topics[0]
        assert created.error_code == 0, created
        topic = Topic(name, created.topic_id)
        self.until(lambda: self._offsets_answer(topic, partitions))
        for index, sizes in enumerate(data):
            for size in sizes:
                self.produce(topic, index, size)
        return topic

    @staticmethod
    def new_name() -> str:
        """A name that no topic has, of this run or of another against the same broker."""
        return f"case-{_RUN}-{next(_numbers)}"

    def delete(self, topic: Topic) -> None:
        request = DeleteTopicsRequest([DeleteTopicState(topic.name)], [], 15_000)
        deleted = self.control.call(request, 6, DeleteTopicsResponse).responses[0]
        assert deleted.error_code == 0, deleted
        self.until(lambda: self._offset_errors(topic, 1) == [3])

    def until(self, holds: Callable[[], bool]) -> None:
        """Ask again until it holds: Kafka applies metadata a moment later."""
        deadline = time.monotonic() + READY_SECONDS
        while not holds():
            assert time.monotonic() < deadline, "the broker's metadata do not follow"

    def _offsets_answer(self, topic: Topic, partitions: int) -> bool:
        return self._offset_errors(topic, partitions) == [0] * partitions

    def _offset_errors(self, topic: Topic, partitions: int) -> list[int]:
        """Metadata are published before partitions are made; this asks the partitions."""
        asked = [ListOffsetsPartition(index, -1, -1) for index in range(partitions)]
        request = ListOffsetsRequest(-1, 0, [ListOffsetsTopic(topic.name, asked)])
        response = self.control.call(request, 5, ListOffsetsResponse)
        return [part.error_code for part in response.topics[0].partitions]

    def earliest(self, topic: Topic, index: int = 0) -> int:
        """The log start offset, as ListOffsets tells it."""
        request = ListOffsetsRequest(
            -1, 0, [ListOffsetsTopic(topic.name, [ListOffsetsPartition(index, -1, -2)])]
        )
        (data,) = self.control.call(request, 5, ListOffsetsResponse).topics[0].partitions
        assert data.error_code == 0, data
        return data.offset

    def leader_epoch(self, topic: Topic, index: int = 0) -> int:
        request = MetadataRequest([MetadataRequestTopic(name=topic.name)])
        response = self.control.call(request, 9, MetadataResponse)
        partitions = {part.partition_index: part for part in response.topics[0].partitions}
        return partitions[index].leader_epoch

    # -- records -----------------------------------------------------------------------------

    def produce(self, topic: Topic, index: int, *sizes: int) -> int:
        """Append batches of one record with values of these sizes; the last one's offset."""
        offset = -1
        for size in sizes:
            offset = self.append(topic, index, batch(size))
        return offset

    def append(
        self, topic: Topic, index: int, records: bytes, transactional_id: str | None = None
    ) -> int:
        """Append one batch; its base offset."""
        offsets = self.append_all(topic, {index: records}, transactional_id)
        return offsets[0]

    def append_all(
        self, topic: Topic, batches: dict[int, bytes], transactional_id: str | None = None
    ) -> list[int]:
        """Append one batch to each partition with one request; their base offsets."""
        data = [ProduceRequestPartition(index, records) for index, records in batches.items()]
        request = ProduceRequest(
            transactional_id, 1, 10_000, [ProduceRequestTopic(topic.name, partition_data=data)]
        )
        response = self.control.call(request, 9, ProduceResponse)
        results = response.responses[0].partition_responses
        assert [part.error_code for part in results] == [0] * len(data), results
        return [part.base_offset for part in results]

    def open_transaction(
        self, topic: Topic, index: int, producer_id: int, records: bytes | None = None
    ) -> int:
        """Append a batch of a transaction that stays open; its offset."""
        records = records or transactional(producer_id)
        return self.append(topic, index, records, f"tx-{producer_id}")

    def end_transaction(
        self, topic: Topic, index: int, producer_id: int, *, commit: bool = False
    ) -> None:
        """Write the marker that ends the transaction."""
        marker = WritableTxnMarker(
            producer_id, 0, commit, [WritableTxnMarkerTopic(topic.name, [index])]
        )
        response = self.control.call(WriteTxnMarkersRequest([marker]), 1, WriteTxnMarkersResponse)
        assert response.markers[0].topics[0].partitions[0].error_code == 0, response

    def coordinated(self) -> Coordinated:
        """A new transactional id, and a producer id that its coordinator gave out."""
        transactional_id = self.new_name()
        find = FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id])
        self.until(
            lambda: (
                self.control.call(find, 4, FindCoordinatorResponse).coordinators[0].error_code == 0
            )
        )
        init = InitProducerIdRequest(transactional_id, 60_000)
        answers: list[InitProducerIdResponse] = []

        def is_given() -> bool:
            answers.append(self.control.call(init, 4, InitProducerIdResponse))
            return answers[-1].error_code not in COORDINATOR_STARTS

        self.until(is_given)
        assert answers[-1].error_code == 0, answers[-1]
        return Coordinated(self, transactional_id, answers[-1].producer_id)

    def delete_records(self, topic: Topic, index: int, offset: int) -> None:
        """Move the log start."""
        asked = DeleteRecordsTopic(topic.name, [DeleteRecordsPartition(index, offset)])
        response = self.control.call(
            DeleteRecordsRequest([asked], 10_000), 2, DeleteRecordsResponse
        )
        assert response.topics[0].partitions[0].error_code == 0, response

    # -- parked fetches ----------------------------------------------------------------------

    def parked(self, reader: Reader) -> None:
        """Return once the fetch that `reader` sent is parked; fail when it is answered."""
        assert not self.settled(reader), reader.answer().parts

    def settled(self, reader: Reader) -> bool:
        """Return once the fetch that `reader` sent is parked or answered; whether answered."""
        # Ours takes what arrived first: by its answer the fetch was looked at. Kafka's threads
        # have a moment more, as they have all that came until then in one queue.
        self.control.call(MetadataRequest([]), 9, MetadataResponse)
        self.control.call(MetadataRequest([]), 9, MetadataResponse)
        return reader.readable_within(KAFKA_SETTLES_SECONDS if self.is_kafka else 0)

    def pass_time(self, milliseconds: float) -> None:
        """Let the broker's time go on: by itself, unless it can be told to."""


class TimedTarget(Target):
    """Ours in this process; its clock stands still until a case moves it on."""

    def __init__(self, broker: MockBroker) -> None:
        super().__init__(OURS, broker.bootstrap_servers)
        self._clock = broker.clock

    def pass_time(self, milliseconds: float) -> None:
        self._clock.advance(milliseconds)


class Coordinated:
    """A producer in its first epoch whose transaction a coordinator begins and ends."""

    def __init__(self, target: Target, transactional_id: str, producer_id: int) -> None:
        self.producer_id = producer_id
        self._control = target.control
        self._target = target
        self._id = transactional_id

    def begin(self, topic: Topic, index: int) -> int:
        """Let the partition join the transaction, and append its first batch; its offset."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self._id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=0,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic.name, [index])],
        )
        response = self._control.call(request, 3, AddPartitionsToTxnResponse)
        (result,) = response.results_by_topic_v3_and_below[0].results_by_partition
        assert result.partition_error_code == 0, result
        return self._target.append(topic, index, transactional(self.producer_id), self._id)

    def end(self, version: int, *, commit: bool) -> None:
        """Answered before the marker is in the log."""
        request = EndTxnRequest(self._id, self.producer_id, 0, commit)
        response = self._control.call(request, version, EndTxnResponse)
        assert response.error_code == 0, response


def transactional(producer_id: int, timestamp: int | None = None) -> bytes:
    """The first batch of a producer's transaction, 118 bytes."""
    now = int(time.time() * 1000) if timestamp is None else timestamp
    return build_batch(
        [Record(0, now, None, b"v" * 50)],
        producer_id=producer_id,
        producer_epoch=0,
        base_sequence=0,
        transactional=True,
    )
