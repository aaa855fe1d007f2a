"""A transactional producer over the core's verbs: each method is one request and what it answers.

`Transactional.begin` does what a client does first; time stands still unless the test moves it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from mockbroker_protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    EndTxnRequest,
    EndTxnResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from mockbroker_protocol.records.batch import build_batch, iterate_batches, iterate_records
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import EPOCH_MS, Core

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

    from mockbroker_protocol.messages.transaction_admin import (
        DescribeTransactionsResponseTransactionState,
    )
    from tests.support.core import CoreClient

GROUP, TRANSACTION = 0, 1
READ_COMMITTED = 1


class Told(NamedTuple):
    """Error, producer id and epoch."""

    error: int
    producer_id: int
    epoch: int


class Transactional:
    """One producer, by default of transactions V2; `v1` makes it speak the older versions."""

    def __init__(self, core: Core, transactional_id: str = "tx", *, v1: bool = False) -> None:
        self._client: CoreClient | None = None
        self._core = core
        self.transactional_id = transactional_id
        self.v1 = v1
        self.producer_id = -1
        self.epoch = -1
        self.sequences: dict[tuple[str, int], int] = {}

    @classmethod
    def begin(cls, core: Core, transactional_id: str = "tx", *, v1: bool = False) -> Self:
        """A producer that found its coordinator and has its id."""
        producer = cls(core, transactional_id, v1=v1)
        producer.find()
        producer.become(producer.init())
        return producer

    @property
    def client(self) -> CoreClient:
        """The connection to the coordinator."""
        if self._client is None:
            self._client = self._core.client()
        return self._client

    def leader(self, _topic: str, _index: int) -> CoreClient:
        """The connection to the leader of a partition."""
        return self.client

    def find(self, key: str | None = None, kind: int = TRANSACTION) -> int:
        """FindCoordinator; the error."""
        key = self.transactional_id if key is None else key
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        (found,) = self.client.call(request, 4, FindCoordinatorResponse).coordinators
        return found.error_code

    def become(self, told: Told) -> None:
        """Go on as the coordinator said."""
        assert told.error == 0, told
        if (told.producer_id, told.epoch) != (self.producer_id, self.epoch):
            self.sequences.clear()
        self.producer_id, self.epoch = told.producer_id, told.epoch

    def init(
        self,
        producer_id: int = -1,
        epoch: int = -1,
        *,
        timeout_ms: int = 60_000,
        version: int = 5,
    ) -> Told:
        """InitProducerId."""
        request = self.init_request(producer_id, epoch, timeout_ms=timeout_ms)
        answer = self.client.call(request, version, InitProducerIdResponse)
        return Told(answer.error_code, answer.producer_id, answer.producer_epoch)

    def init_request(
        self, producer_id: int = -1, epoch: int = -1, *, timeout_ms: int = 60_000
    ) -> InitProducerIdRequest:
        return InitProducerIdRequest(self.transactional_id, timeout_ms, producer_id, epoch)

    def add(self, partitions: dict[str, list[int]], version: int = 3) -> dict[tuple[str, int], int]:
        """AddPartitionsToTxn up to v3; errors by partition."""
        request = self.add_request(partitions)
        answer = self.client.call(request, version, AddPartitionsToTxnResponse)
        return {
            (topic.name, result.partition_index): result.partition_error_code
            for topic in answer.results_by_topic_v3_and_below
            for result in topic.results_by_partition
        }

    def add_request(self, partitions: dict[str, list[int]]) -> AddPartitionsToTxnRequest:
        return AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(topic, indexes) for topic, indexes in partitions.items()
            ],
        )

    def batch(self, values: Iterable[str], sequence: int, *, transactional: bool = True) -> bytes:
        records = [Record(at, EPOCH_MS, None, one.encode(), []) for at, one in enumerate(values)]
        return build_batch(
            records,
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=sequence,
            transactional=transactional,
        )

    def produce_request(
        self, topic: str, index: int, data: bytes, *, acks: int = -1
    ) -> ProduceRequest:
        partition = ProduceRequestPartition(index, data)
        return ProduceRequest(
            self.transactional_id, acks, 1_000, [ProduceRequestTopic(topic, bytes(16), [partition])]
        )

    def send(
        self,
        topic: str,
        index: int,
        *values: str,
        sequence: int | None = None,
        version: int | None = None,
    ) -> int:
        """Produce to a partition; the error. The sequence goes on by itself."""
        if version is None:
            version = 11 if self.v1 else 12
        if sequence is None:
            sequence = self.sequences.get((topic, index), 0)
        request = self.produce_request(topic, index, self.batch(values, sequence))
        answer = self.leader(topic, index).call(request, version, ProduceResponse)
        (result,) = answer.responses[0].partition_responses
        if not result.error_code:
            self.sequences[topic, index] = sequence + len(values)
        return result.error_code

    def write(self, topic: str, index: int, *values: str) -> None:
        """Produce as a client of its generation does; it must succeed."""
        if self.v1:
            assert self.add({topic: [index]}) == {(topic, index): 0}
        assert self.send(topic, index, *values) == 0

    def add_offsets(self, group_id: str, version: int = 4) -> int:
        """AddOffsetsToTxn."""
        request = AddOffsetsToTxnRequest(
            self.transactional_id, self.producer_id, self.epoch, group_id
        )
        return self.client.call(request, version, AddOffsetsToTxnResponse).error_code

    def commit_offset(
        self,
        group_id: str,
        topic: str,
        index: int,
        offset: int,
        *,
        version: int | None = None,
        generation: int = -1,
        member_id: str = "",
        instance: str | None = None,
    ) -> int:
        """TxnOffsetCommit of one partition; the error."""
        if version is None:
            version = 3 if self.v1 else 5
        partition = TxnOffsetCommitRequestPartition(index, offset, -1, "m")
        request = TxnOffsetCommitRequest(
            self.transactional_id,
            group_id,
            self.producer_id,
            self.epoch,
            generation,
            member_id,
            instance,
            [TxnOffsetCommitRequestTopic(topic, bytes(16), [partition])],
        )
        answer = self.client.call(request, version, TxnOffsetCommitResponse)
        (result,) = answer.topics[0].partitions
        return result.error_code

    def end(self, *, commit: bool, version: int | None = None) -> Told:
        """EndTxn; `finish` also goes on with what it answers."""
        if version is None:
            version = 4 if self.v1 else 5
        answer = self.client.call(self.end_request(commit=commit), version, EndTxnResponse)
        return Told(answer.error_code, answer.producer_id, answer.producer_epoch)

    def end_request(self, *, commit: bool) -> EndTxnRequest:
        return EndTxnRequest(self.transactional_id, self.producer_id, self.epoch, commit)

    def finish(self, *, commit: bool) -> None:
        """End the transaction, which must succeed."""
        told = self.end(commit=commit)
        if self.v1:
            assert told == (0, -1, -1)
        else:
            self.become(told)

    def describe(
        self, transactional_id: str | None = None
    ) -> DescribeTransactionsResponseTransactionState:
        """DescribeTransactions of its own id."""
        request = DescribeTransactionsRequest([transactional_id or self.transactional_id])
        (state,) = self.client.call(request, 0, DescribeTransactionsResponse).transaction_states
        return state

    @property
    def state(self) -> str:
        return self.describe().transaction_state


def fetch_request(
    topic: str, index: int, offset: int = 0, *, isolation: int = READ_COMMITTED, wait_ms: int = 0
) -> FetchRequest:
    """A fetch of one partition without a session."""
    partition = FetchRequestPartition(
        partition=index, fetch_offset=offset, partition_max_bytes=1 << 20
    )
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=isolation,
        session_id=0,
        session_epoch=-1,
        topics=[FetchRequestTopic(topic=topic, partitions=[partition])],
    )


def values_in(response: FetchResponse) -> list[str]:
    """The values that a read_committed consumer gets out of a response, in order.

    As clients do it (Fetcher.nextFetchedRecord): a batch of an aborted producer is left out from
    the first offset that the response names until that producer's marker.
    """
    (answer,) = response.responses[0].partitions
    assert answer.error_code == 0
    aborted = sorted(
        (one.first_offset, one.producer_id) for one in answer.aborted_transactions or ()
    )
    data = as_bytes(answer.records)
    found: list[str] = []
    skipped: set[int] = set()
    for pos, header in iterate_batches(data):
        while aborted and aborted[0][0] <= header.last_offset:
            skipped.add(aborted.pop(0)[1])
        if header.is_control:
            skipped.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in skipped):
            found += [(one.value or b"").decode() for one in iterate_records(data, pos, header)]
    return found


def as_bytes(records: object) -> bytes:
    if records is None:
        return b""
    if isinstance(records, list):
        return b"".join(records)
    assert isinstance(records, bytes | bytearray | memoryview)
    return bytes(records)


def read_committed(core: Core, topic: str, index: int = 0) -> list[str]:
    """What a new read_committed consumer sees of a partition."""
    request = fetch_request(topic, index)
    return values_in(core.client().call(request, 12, FetchResponse))


def committed_offset(
    core: Core, group_id: str, topic: str, index: int = 0, *, stable: bool = True
) -> tuple[int, int]:
    """OffsetFetch: (error, offset)."""
    topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[index])]
    group = OffsetFetchRequestGroup(group_id=group_id, topics=topics)
    request = OffsetFetchRequest(groups=[group], require_stable=stable)
    answer = core.client().call(request, 8, OffsetFetchResponse)
    (result,) = answer.groups[0].topics[0].partitions
    return result.error_code, result.committed_offset
