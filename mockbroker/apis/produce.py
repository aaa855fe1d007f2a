"""Produce (key 0), v0–v13: append batches, and answer when they are as safe as asked.

v0–v2 message sets of magic 0 and 1, converted to one batch; v3 batches, transactional id;
v5 log start offset in the answer; v7 zstd; v8 errors per record (KIP-467); v9 flexible;
v10 current leader and endpoints (KIP-951); v11 error 120; v12 the broker adds partitions to the
transaction (KIP-890); v13 topic ids.

acks 0 gets no answer, and an error closes the connection; 1 answers after the append; -1 when the
in-sync replicas have it. The checks of a partition come in the order of KafkaApis and
ReplicaManager: topic, shape of the batch, transaction, acks, internal topic, then the log's own.

Where this differs from Apache Kafka: v0–v2 are served; null records answer 87, where 4.4 never
answers.
"""

from __future__ import annotations

from itertools import starmap
from typing import TYPE_CHECKING, Final

from mockbroker.apis.context import CLOSE, NO_RESPONSE, PARKED
from mockbroker.log.validator import (
    InspectedBatch,
    inspect,
    is_stored_as_sent,
    whole_batch_size,
)
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.brokers import broker_endpoint
from mockbroker.replica.append_entry import AppendEntry
from mockbroker.replica.manager import VALID_ACKS
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    ProduceResponse,
    ProduceResponsePartition,
    ProduceResponseTopic,
)
from mockbroker_protocol.records.batch import (
    ATTRIBUTES_OFFSET,
    MAGIC_OFFSET,
    RECORD_BATCH_OVERHEAD,
    BatchHeader,
    read_batch_header,
)
from mockbroker_protocol.versions import (
    PRODUCE_BATCHES,
    PRODUCE_LEADERS,
    PRODUCE_RECORD_ERRORS,
    PRODUCE_TOPIC_IDS,
    PRODUCE_ZSTD,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services, Verdict
    from mockbroker.log.results import Buffer, RecordErrors
    from mockbroker.metadata.store import Topic
    from mockbroker.replica.delayed_entries import DelayedEntries
    from mockbroker.replica.partition import Partition
    from mockbroker.security.quotas import QuotaManager
    from mockbroker_protocol.messages.produce import (
        ProduceRequest,
        ProduceRequestPartition,
        ProduceRequestTopic,
    )

_NONE: Final = ErrorCode.NONE
_NOT_LEADER: Final = ErrorCode.NOT_LEADER_OR_FOLLOWER
PRODUCER_BYTE_RATE: Final = "producer_byte_rate"


ADMIN_CLIENT_ID: Final = "__admin_client"
LARGE_BATCH_BYTES: Final = 1024
"""Compressed batches that are larger, together, may take longer than a turn of the loop."""
MANY_ERRORS: Final = 1000
"""An answer that tells of more records is encoded in slices."""
PLAIN_SHIFT: Final = 6
"""Batches that are not compressed may take as long as compressed ones of a 64th of their size."""
LOOKED_THROUGH_SHIFT: Final = 4
"""Those do whose records are looked at of a 16th."""
ENTRY_BYTES: Final = 8
"""Of a compressed batch, which take as long as all else that is done for a partition."""
INSPECTED_AT_ONCE_BYTES: Final = 8 * LARGE_BATCH_BYTES
"""Of batches, of which each becomes 4 MiB at the most before it is a slice of its own."""
QUICK_BYTES: Final = 256
"""Of a batch that is looked through as it is appended, unless that unpacks it."""
APPENDED_AT_ONCE_BYTES: Final = 2 << 20
"""Of batches that were looked through, in one slice."""
APPENDED_ENTRY_BYTES: Final = 8192
"""What a partition counts beside its bytes."""
DONE: Final = object()
_MAGIC: Final = 2
_MAGIC_BYTE = bytes((_MAGIC,))
_ZSTD: Final = 4
_CODEC_MASK: Final = 0x07
_TRANSACTIONAL_BIT: Final = 0x10
_NO_RECORDS: Final = b""
_TWO_PRODUCERS: Final = "Transactional records contained more than one producer ID"
_COORDINATOR_ERRORS: Final = frozenset(
    {
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class _Append:
    """A produce between its appends and its answer."""

    __slots__ = ("ctx", "entries", "parked", "request", "response", "services")

    def __init__(self, services: Services, ctx: RequestContext, request: ProduceRequest) -> None:
        self.services = services
        self.ctx = ctx
        self.request = request
        self.entries: list[AppendEntry] = []
        self.parked = False
        self.response: ProduceResponse | Verdict = NO_RESPONSE

    def complete(self) -> None:
        """Every entry has its outcome."""
        for one in self.entries:
            if one.error and len(one.record_errors) > MANY_ERRORS:
                self.response = PARKED
                self.ctx.respond_in_slices(self._make_response())
                return
        if self.parked:
            self.ctx.respond_by(self._make_response)
        else:
            self.response = self._make_response()

    def _make_response(self) -> ProduceResponse | Verdict:
        quotas = self.services.quotas
        if quotas is not None:
            self._charge(quotas)
        if self.request.acks:
            return _response(self.services, self.ctx, self.request, self.entries)
        return CLOSE if any(entry.error for entry in self.entries) else NO_RESPONSE

    def _charge(self, quotas: QuotaManager) -> None:
        """Kafka: the request's bytes count whatever became of it, and acks=0 costs no time."""
        ctx = self.ctx
        asked_ms = ctx.throttle_time_ms if self.request.acks else 0
        throttle_ms = quotas.charge(
            PRODUCER_BYTE_RATE, ctx.principal, ctx.client_id, ctx.request_bytes
        )
        ctx.throttle_time_ms = max(asked_ms, throttle_ms)

    def refuse_all(self, error: ErrorCode, message: str | None) -> None:
        """The request fails as a whole: nothing of it is appended."""
        for entry in self.entries:
            entry.error = error
            entry.error_message = message

    def append(self) -> ProduceResponse | Verdict:
        """Append what was not refused."""
        request = self.request
        delayed = self.services.replicas.append_records(
            request.timeout_ms, request.acks, self.entries, self.complete
        )
        return self._answer_after(delayed)

    def _answer_after(self, delayed: DelayedEntries | None) -> ProduceResponse | Verdict:
        if delayed is None:
            return self.response
        self.parked = True
        self.ctx.on_disconnect = delayed.give_up
        return PARKED

    def in_slices(self, check: _Checks) -> ProduceResponse | Verdict:
        """Look batches through, and append them, in slices if that takes long."""

        def go_on() -> Iterator[object]:
            yield first
            yield from steps

        steps = self._steps(check)
        first = next(steps, DONE)
        if first is DONE:
            return self.response
        self.parked = True
        self.services.work_in_slices(self.ctx, go_on())
        return PARKED

    def _steps(self, check: _Checks) -> Iterator[object]:
        yield from self._inspect()
        if check.transactional:
            # All at once: the transaction must not end in between.
            self.response = self.verify_and_append(check.transactional)
            return
        request, replicas = self.request, self.services.replicas
        pending: list[AppendEntry] = []
        for some in _portions(self.entries):
            if some[0] is not self.entries[0]:
                yield None
            pending += replicas.append_each(request.acks, some)
        left = [entry for entry in pending if not entry.is_done()]
        delayed = replicas.when_replicated(request.timeout_ms, left, self.complete)
        self.response = self._answer_after(delayed)

    def _inspect(self) -> Iterator[object]:
        left = INSPECTED_AT_ONCE_BYTES
        for entry in self.entries:
            if left <= 0:
                yield None
                left = INSPECTED_AT_ONCE_BYTES
            left -= ENTRY_BYTES
            partition = entry.partition
            if entry.error is _NONE and partition is not None:
                log = partition.log or partition.open_log()
                records = entry.records
                assert not isinstance(records, InspectedBatch)
                if len(records) < QUICK_BYTES and is_stored_as_sent(records, log.config):
                    continue
                inspection = inspect(records, log.config, self.services.clock.wall_ms())
                entry.records = yield from inspection
                if entry.records.outcome is not None:
                    left -= _weight(records)

    def verify_and_append(
        self, transactional: list[tuple[AppendEntry, BatchHeader]]
    ) -> ProduceResponse | Verdict:
        """Append when the transaction's coordinator has let these entries pass."""
        from mockbroker.coordinator.txn.verification import produce_operation

        transactional_id = self.request.transactional_id
        assert transactional_id is not None
        producer_id, producer_epoch = _producer(transactional[0][1])
        if any(_producer(header) != (producer_id, producer_epoch) for _, header in transactional):
            self.refuse_all(ErrorCode.INVALID_PRODUCER_ID_MAPPING, _TWO_PRODUCERS)
            return self.append()
        operation = produce_operation(self.ctx.api_version)
        by_partition: dict[Partition, list[AppendEntry]] = {}
        for entry, _ in transactional:
            entry.transaction_version = operation.transaction_version
            if entry.partition is not None:
                by_partition.setdefault(entry.partition, []).append(entry)
        verdict: ProduceResponse | Verdict = PARKED

        def verified(refused: dict[Partition, ErrorCode]) -> None:
            nonlocal verdict
            for partition, error in refused.items():
                for entry in by_partition[partition]:
                    _refuse_unverified(entry, error, adds=operation.transaction_version > 0)
            verdict = self.append()

        self.services.transactions.verifier.check(
            transactional_id,
            producer_id,
            producer_epoch,
            by_partition,
            operation,
            verified,
            patient=True,
        )
        self.parked = True
        return verdict


def _portions(entries: list[AppendEntry]) -> Iterator[list[AppendEntry]]:
    """Some of them at a time, of which each takes a few milliseconds to be appended."""
    begin = 0
    left = APPENDED_AT_ONCE_BYTES
    for end, entry in enumerate(entries, 1):
        left -= len(entry.records) + APPENDED_ENTRY_BYTES
        if left <= 0:
            yield entries[begin:end]
            begin, left = end, APPENDED_AT_ONCE_BYTES
    if begin < len(entries):
        yield entries[begin:]


def _weight(records: Buffer) -> int:
    """How long it took to look through a batch, in bytes of compressed ones."""
    if records[ATTRIBUTES_OFFSET + 1] & _CODEC_MASK:
        return max(len(records), LARGE_BATCH_BYTES)
    return len(records) >> LOOKED_THROUGH_SHIFT


def _producer(header: BatchHeader) -> tuple[int, int]:
    return header.producer_id, header.producer_epoch


def _refuse_unverified(entry: AppendEntry, error: ErrorCode, *, adds: bool) -> None:
    """What the coordinator's error is to a producer (ReplicaManager.handleProduceAppend)."""
    if error is ErrorCode.INVALID_TXN_STATE:
        entry.error_message = "Partition was not added to the transaction"
    elif error in _COORDINATOR_ERRORS or (error is ErrorCode.CONCURRENT_TRANSACTIONS and not adds):
        # An error that old producers retry without asking for new metadata.
        entry.error_message = (
            "Unable to verify the partition has been added to the transaction. "
            f"Underlying error: {error.name}"
        )
        error = ErrorCode.NOT_ENOUGH_REPLICAS
    entry.error = error


def handle(
    services: Services, ctx: RequestContext, request: ProduceRequest
) -> ProduceResponse | Verdict:
    """Append, then answer by acks; acks=-1 may be parked until other replicas have it."""
    append = _Append(services, ctx, request)
    check = _Checks(services, ctx, request)
    for topic in request.topic_data:
        append.entries += check.topic(topic)
    if check.corrupt is not None:
        append.refuse_all(ErrorCode.CORRUPT_MESSAGE, check.corrupt)
    elif check.has_transactional and request.transactional_id is None:
        append.refuse_all(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, None)
    elif check.weight > LARGE_BATCH_BYTES:
        return append.in_slices(check)
    elif check.transactional:
        return append.verify_and_append(check.transactional)
    return append.append()


class _Checks:
    """What is looked at before a batch reaches the log."""

    __slots__ = (
        "_acks_known",
        "_client_id",
        "_header",
        "_metadata",
        "_replicas",
        "_version",
        "corrupt",
        "has_transactional",
        "transactional",
        "weight",
    )

    def __init__(self, services: Services, ctx: RequestContext, request: ProduceRequest) -> None:
        self._metadata = services.metadata
        self._replicas = services.replicas
        self._version = ctx.api_version
        self._client_id = ctx.client_id
        self._acks_known = request.acks in VALID_ACKS
        self._header: BatchHeader | None = None
        self.has_transactional = False
        self.weight = 0
        """How long it may take, in bytes of compressed batches: they may become very much."""
        # Why the request fails as a whole: bytes that begin no batch, before a transactional one.
        self.corrupt: str | None = None
        # What a coordinator must let pass: batches of a transaction that nothing else refuses.
        self.transactional: list[tuple[AppendEntry, BatchHeader]] = []

    def topic(self, requested: ProduceRequestTopic) -> list[AppendEntry]:
        """An entry for each partition of the request, refused or ready to append."""
        if self._version >= PRODUCE_TOPIC_IDS:
            topic = self._metadata.topics_by_id.get(requested.topic_id)
            unknown = ErrorCode.UNKNOWN_TOPIC_ID
        else:
            topic = self._metadata.topics.get(requested.name)
            unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if topic is None:
            return [self._unknown(asked, unknown) for asked in requested.partition_data]
        return [self._partition(topic, asked) for asked in requested.partition_data]

    def _unknown(self, asked: ProduceRequestPartition, error: ErrorCode) -> AppendEntry:
        if self._version >= PRODUCE_BATCHES:
            self._shape(_contiguous(asked))
        return AppendEntry(asked.index, None, _NO_RECORDS, error)

    def _partition(self, topic: Topic, asked: ProduceRequestPartition) -> AppendEntry:
        index = asked.index
        if not 0 <= index < len(topic.partitions):
            return self._unknown(asked, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        records: Buffer = _contiguous(asked)
        error = _NONE
        message: str | None = None
        if self._version >= PRODUCE_BATCHES or _is_batch(records):
            error = self._shape(records)
        else:
            records, error, message = _up_converted(records)
        if error is _NONE and topic.internal and self._acks_known:
            error = (
                _NONE if self._client_id == ADMIN_CLIENT_ID else ErrorCode.INVALID_TOPIC_EXCEPTION
            )
        partition = self._replicas.partition(topic.name, index)
        entry = AppendEntry(index, partition, records, error)
        entry.error_message = message
        header = self._header
        if header is not None and error is _NONE:
            if partition is None:
                entry.error = ErrorCode.NOT_LEADER_OR_FOLLOWER
            elif header.producer_id >= 0:
                self.transactional.append((entry, header))
        return entry

    def _shape(self, records: Buffer) -> ErrorCode:
        """ProduceRequest.validateRecords: exactly one whole batch of magic 2.

        Bytes behind it that may begin another are tolerated, and trimmed by the log. The header
        of a transactional batch is noted, since it needs an open transaction.
        """
        self._header = None
        try:
            size = whole_batch_size(records, 0)
        except ProtocolError as error:
            if not self.has_transactional and self.corrupt is None:
                self.corrupt = str(error)
            return ErrorCode.CORRUPT_MESSAGE
        if size == 0 or records[MAGIC_OFFSET] != _MAGIC:
            return ErrorCode.INVALID_RECORD
        attributes = records[ATTRIBUTES_OFFSET + 1]
        is_transactional = attributes & _TRANSACTIONAL_BIT != 0
        self.has_transactional = self.has_transactional or is_transactional
        self.weight += ENTRY_BYTES + (size if attributes & _CODEC_MASK else size >> PLAIN_SHIFT)
        if attributes & _CODEC_MASK == _ZSTD and self._version < PRODUCE_ZSTD:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        try:
            if len(records) > size and whole_batch_size(records, size):
                return ErrorCode.INVALID_RECORD
        except ProtocolError:
            return ErrorCode.CORRUPT_MESSAGE
        if is_transactional and size >= RECORD_BATCH_OVERHEAD:
            self._header = read_batch_header(records)
        return _NONE


def _contiguous(asked: ProduceRequestPartition) -> Buffer:
    records = asked.records
    if records is None:
        return _NO_RECORDS
    return b"".join(records) if isinstance(records, list) else records


def _is_batch(records: Buffer) -> bool:
    """Whether they begin with a batch, which Kafka took from old producers as well."""
    return records[MAGIC_OFFSET : MAGIC_OFFSET + 1] == _MAGIC_BYTE


def _up_converted(records: Buffer) -> tuple[Buffer, ErrorCode, str | None]:
    from mockbroker_protocol.records.conversion import up_convert

    converted = up_convert(records)
    if converted.error is _NONE and not converted.records:
        return _NO_RECORDS, ErrorCode.INVALID_RECORD, None
    return converted.records, converted.error, converted.message


def _response(
    services: Services, ctx: RequestContext, request: ProduceRequest, entries: list[AppendEntry]
) -> ProduceResponse:
    topics: list[ProduceResponseTopic] = []
    position = 0
    wrong_leader = False
    for topic in request.topic_data:
        partitions: list[ProduceResponsePartition] = []
        for entry in entries[position : position + len(topic.partition_data)]:
            partitions.append(_answer(entry, ctx.api_version))
            wrong_leader = wrong_leader or entry.error is _NOT_LEADER
        position += len(partitions)
        topics.append(ProduceResponseTopic(topic.name, topic.topic_id, partitions))
    response = ProduceResponse(topics, ctx.throttle_time_ms)
    if wrong_leader and ctx.api_version >= PRODUCE_LEADERS:
        _tell_leaders(services, ctx, response)
    return response


def _answer(entry: AppendEntry, version: int) -> ProduceResponsePartition:
    error = entry.error
    if error is _NONE:
        return ProduceResponsePartition(
            entry.index, 0, entry.base_offset, entry.log_append_time_ms, entry.log_start_offset
        )
    told = ProduceResponsePartition(
        entry.index,
        error,
        entry.base_offset,
        entry.log_append_time_ms,
        entry.log_start_offset,
        error_message=entry.error_message,
    )
    if version >= PRODUCE_RECORD_ERRORS and len(entry.record_errors):
        # Each is made when it is encoded, as of a list.
        told.record_errors = _Told(entry.record_errors)  # type: ignore[assignment]
    return told


class _Told:
    """The records that made a batch fail, as the answer tells them."""

    __slots__ = ("_errors",)

    def __init__(self, errors: RecordErrors) -> None:
        self._errors = errors

    def __len__(self) -> int:
        return len(self._errors)

    def __iter__(self) -> Iterator[BatchIndexAndErrorMessage]:
        return starmap(BatchIndexAndErrorMessage, self._errors)


def _tell_leaders(services: Services, ctx: RequestContext, response: ProduceResponse) -> None:
    """Name the leaders of the partitions that answered 6."""
    metadata = services.metadata
    told: dict[int, NodeEndpoint] = {}
    for topic in response.responses:
        known = metadata.topics_by_id.get(topic.topic_id) or metadata.topics.get(topic.name)
        if known is None:
            continue
        for data in topic.partition_responses:
            if data.error_code != ErrorCode.NOT_LEADER_OR_FOLLOWER:
                continue
            state = known.partitions[data.index]
            data.current_leader = LeaderIdAndEpoch(state.leader, state.leader_epoch)
            leader = metadata.brokers.get(state.leader)
            if leader is not None and state.leader not in told:
                host, port = broker_endpoint(ctx, leader)
                told[state.leader] = NodeEndpoint(state.leader, host, port, leader.rack)
    response.node_endpoints = list(told.values())


def guard(auth: AuthHelper, request: ProduceRequest) -> object | None:
    """WRITE on the transactional id if there is a transactional batch, then on each topic."""
    transactional_id = request.transactional_id
    if transactional_id is not None and _has_transactional(request):
        refused = auth.require_transactional_id(AclOperation.WRITE, transactional_id)
        if refused is not None:
            return refused
    return auth.filter_topics(AclOperation.WRITE)


def _has_transactional(request: ProduceRequest) -> bool:
    for topic in request.topic_data:
        for partition in topic.partition_data:
            records = partition.records
            data = b"".join(records) if isinstance(records, list) else records
            if (
                data
                and len(data) > ATTRIBUTES_OFFSET + 1
                and data[MAGIC_OFFSET] == _MAGIC
                and data[ATTRIBUTES_OFFSET + 1] & _TRANSACTIONAL_BIT
            ):
                return True
    return False
