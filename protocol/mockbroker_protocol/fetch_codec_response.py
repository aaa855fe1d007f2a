"""FetchResponse between objects and bytes; see `fetch_codec`, which is what to import.

An encoded response is a list of chunks: record chunks of PASS_THROUGH_BYTES or more stand in it
as they are, everything between them is joined.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
    LeaderIdAndEpoch,
    NodeEndpoint,
    SnapshotId,
)
from mockbroker_protocol.primitives import (
    ZERO_UUID,
    Buffer,
    read_compact_nullable_string,
    read_compact_string,
    read_tags,
    read_uvarint,
    take,
    write_compact_string,
    write_string,
    write_tags,
    write_uvarint,
)

PASS_THROUGH_BYTES: Final = 4096
"""Copying less than this costs less than one more chunk on its way to the socket."""

_HEAD: Final = Struct(">ihi")  # throttle time, error, session id
_HEAD_EMPTY: Final = Struct(">ihiBB")  # and a short topic count and an empty tag section
_HEAD_SHORT: Final = Struct(">ihiB")
_HEAD_V7: Final = Struct(">ihii")  # and the topic count as int32
_TOPIC: Final = Struct(">16sB")
_UUID: Final = Struct(">16s")
_INT32: Final = Struct(">i")
_INT64_PAIR: Final = Struct(">qq")
_EPOCH_OFFSET: Final = Struct(">iq")
_OFFSET_EPOCH: Final = Struct(">qi")
_INT32_PAIR: Final = Struct(">ii")
# index, error, high watermark (, last stable offset (, log start offset))
_PARTITION_V5: Final = Struct(">ihqqq")
_PARTITION_V4: Final = Struct(">ihqq")
_PARTITION_V3: Final = Struct(">ihq")
# and the aborted count, the preferred replica and the length of records in one byte each way
_PARTITION_SHORT: Final = Struct(">ihqqqBiB")
# From the head to the preferred replica, when there is one partition of one topic.
_ONE_PARTITION: Final = Struct(">ihiB16sBihqqqBi")
_pack_empty: Final = _HEAD_EMPTY.pack
_pack_head: Final = _HEAD_SHORT.pack
_pack_topic: Final = _TOPIC.pack
_pack_short: Final = _PARTITION_SHORT.pack
_NO_TAGS: Final = b"\0\0\0"
"""Of the partition, of its topic, of the response."""
_LEAST_PARTITION: Final = _PARTITION_V5.size + 7
"""Aborted count, preferred replica, records and tag count follow the fixed part."""


def encode_fetch_response(response: FetchResponse, version: int) -> list[Buffer]:
    """The body of a response; what the version has no field for is left out."""
    if version < 12:
        return _encode_fixed(response, version)
    topics = response.responses
    endpoints = version >= 16 and response.node_endpoints
    if not topics and not endpoints and not response.unknown_tags:
        throttle_time_ms = response.throttle_time_ms
        return [_pack_empty(throttle_time_ms, response.error_code, response.session_id, 1, 0)]
    if version >= 13 and len(topics) == 1 and not endpoints and not response.unknown_tags:
        topic = topics[0]
        if len(topic.partitions) == 1 and not topic.unknown_tags:
            one = _encode_one(response, topic, topic.partitions[0])
            if one is not None:
                return one
    return _encode_flexible(response, version)


def _encode_flexible(response: FetchResponse, version: int) -> list[Buffer]:
    chunks: list[Buffer] = []
    topics = response.responses
    count = len(topics) + 1
    pieces: list[Buffer] = [
        _pack_head(
            response.throttle_time_ms,
            response.error_code,
            response.session_id,
            count if count < 128 else count & 0x7F | 0x80,
        )
    ]
    if count >= 128:
        pieces.append(write_uvarint(count >> 7))
    by_id = version >= 13
    for topic in topics:
        partitions = topic.partitions
        count = len(partitions) + 1
        if by_id and count < 128:
            pieces.append(_pack_topic(topic.topic_id, count))
        else:
            pieces.append(topic.topic_id if by_id else write_compact_string(topic.topic))
            pieces.append(write_uvarint(count))
        for partition in partitions:
            pieces = _encode_partition(partition, pieces, chunks)
        pieces.append(write_tags(topic.unknown_tags) if topic.unknown_tags else b"\0")
    pieces.append(_write_response_tags(response, version))
    chunks.append(b"".join(pieces))
    return chunks


def _encode_one(
    response: FetchResponse, topic: FetchResponseTopic, partition: FetchResponsePartition
) -> list[Buffer] | None:
    """A response about one partition that has no aborted transactions and no tags; else None."""
    aborted = partition.aborted_transactions
    if (
        aborted
        or partition.diverging_epoch is not None
        or partition.current_leader is not None
        or partition.snapshot_id is not None
        or partition.unknown_tags
    ):
        return None
    head = _ONE_PARTITION.pack(
        response.throttle_time_ms,
        response.error_code,
        response.session_id,
        2,
        topic.topic_id,
        2,
        partition.partition_index,
        partition.error_code,
        partition.high_watermark,
        partition.last_stable_offset,
        partition.log_start_offset,
        0 if aborted is None else 1,
        partition.preferred_read_replica,
    )
    records = partition.records
    if not records:
        return [head + (b"\0\0\0\0" if records is None else b"\1\0\0\0")]
    size = sum(map(len, records)) if isinstance(records, list) else len(records)
    chunks: list[Buffer] = []
    pieces: list[Buffer] = [head, write_uvarint(size + 1)]
    pieces = _add_records(records, size, pieces, chunks)
    pieces.append(_NO_TAGS)
    chunks.append(b"".join(pieces))
    return chunks


def _encode_partition(
    partition: FetchResponsePartition, pieces: list[Buffer], chunks: list[Buffer]
) -> list[Buffer]:
    """Add one partition to the pieces; the list to go on with, new after a large chunk."""
    records = partition.records
    if records is None:
        size = 0
    elif isinstance(records, list):
        size = 1
        for chunk in records:
            size += len(chunk)
    else:
        size = len(records) + 1
    aborted = partition.aborted_transactions
    if not aborted:
        pieces.append(
            _pack_short(
                partition.partition_index,
                partition.error_code,
                partition.high_watermark,
                partition.last_stable_offset,
                partition.log_start_offset,
                0 if aborted is None else 1,
                partition.preferred_read_replica,
                size if size < 128 else size & 0x7F | 0x80,
            )
        )
        if size >= 128:
            pieces.append(write_uvarint(size >> 7))
    else:
        pieces += _long_partition(partition, aborted, size)
    if size > 1 and records is not None:
        pieces = _add_records(records, size - 1, pieces, chunks)
    if (
        partition.diverging_epoch is None
        and partition.current_leader is None
        and partition.snapshot_id is None
        and not partition.unknown_tags
    ):
        pieces.append(b"\0")
    else:
        pieces.append(_write_partition_tags(partition))
    return pieces


def _add_records(
    records: Buffer | list[Buffer], size: int, pieces: list[Buffer], chunks: list[Buffer]
) -> list[Buffer]:
    """Add the records: large chunks as they are, small ones to the pieces that get joined."""
    if size < PASS_THROUGH_BYTES:
        if isinstance(records, list):
            pieces += records
        else:
            pieces.append(records)
        return pieces
    for chunk in records if isinstance(records, list) else (records,):
        if len(chunk) < PASS_THROUGH_BYTES:
            pieces.append(chunk)
            continue
        if pieces:
            chunks.append(b"".join(pieces))
            pieces = []
        chunks.append(chunk)
    return pieces


def _long_partition(
    partition: FetchResponsePartition, aborted: list[AbortedTransaction], size: int
) -> list[Buffer]:
    """The fields before the records, with aborted transactions among them."""
    out: list[Buffer] = [
        _PARTITION_V5.pack(
            partition.partition_index,
            partition.error_code,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log_start_offset,
        ),
        write_uvarint(len(aborted) + 1),
    ]
    for transaction in aborted:
        out.append(_INT64_PAIR.pack(transaction.producer_id, transaction.first_offset))
        out.append(write_tags(transaction.unknown_tags))
    out.append(_INT32.pack(partition.preferred_read_replica))
    out.append(write_uvarint(size))
    return out


def _write_partition_tags(partition: FetchResponsePartition) -> bytes:
    tags = dict(partition.unknown_tags or ())
    epoch, leader = partition.diverging_epoch, partition.current_leader
    snapshot = partition.snapshot_id
    if epoch is not None:
        fields = _EPOCH_OFFSET.pack(epoch.epoch, epoch.end_offset)
        tags[0] = fields + write_tags(epoch.unknown_tags)
    if leader is not None:
        fields = _INT32_PAIR.pack(leader.leader_id, leader.leader_epoch)
        tags[1] = fields + write_tags(leader.unknown_tags)
    if snapshot is not None:
        fields = _OFFSET_EPOCH.pack(snapshot.end_offset, snapshot.epoch)
        tags[2] = fields + write_tags(snapshot.unknown_tags)
    return write_tags(tags)


def _write_response_tags(response: FetchResponse, version: int) -> bytes:
    endpoints = response.node_endpoints if version >= 16 else []
    if not endpoints:
        return write_tags(response.unknown_tags)
    out = [write_uvarint(len(endpoints) + 1)]
    for endpoint in endpoints:
        out += (
            _INT32.pack(endpoint.node_id),
            write_compact_string(endpoint.host),
            _INT32.pack(endpoint.port),
            write_compact_string(endpoint.rack),
            write_tags(endpoint.unknown_tags),
        )
    return write_tags({**(response.unknown_tags or {}), 0: b"".join(out)})


def _encode_fixed(response: FetchResponse, version: int) -> list[Buffer]:
    """Versions 3 to 11, before KIP-482."""
    chunks: list[Buffer] = []
    topics = response.responses
    pieces: list[Buffer] = [
        _HEAD_V7.pack(
            response.throttle_time_ms, response.error_code, response.session_id, len(topics)
        )
        if version >= 7
        else _INT32_PAIR.pack(response.throttle_time_ms, len(topics))
    ]
    for topic in topics:
        pieces.append(write_string(topic.topic))
        pieces.append(_INT32.pack(len(topic.partitions)))
        for partition in topic.partitions:
            pieces = _encode_fixed_partition(partition, version, pieces, chunks)
    if pieces:
        chunks.append(b"".join(pieces))
    return chunks


def _encode_fixed_partition(
    partition: FetchResponsePartition, version: int, pieces: list[Buffer], chunks: list[Buffer]
) -> list[Buffer]:
    index, error_code = partition.partition_index, partition.error_code
    high_watermark, last_stable = partition.high_watermark, partition.last_stable_offset
    if version >= 5:
        start = partition.log_start_offset
        pieces.append(_PARTITION_V5.pack(index, error_code, high_watermark, last_stable, start))
    elif version == 4:
        pieces.append(_PARTITION_V4.pack(index, error_code, high_watermark, last_stable))
    else:
        pieces.append(_PARTITION_V3.pack(index, error_code, high_watermark))
    if version >= 4:
        aborted = partition.aborted_transactions
        pieces.append(_INT32.pack(-1 if aborted is None else len(aborted)))
        pieces += [_INT64_PAIR.pack(each.producer_id, each.first_offset) for each in aborted or ()]
    if version >= 11:
        pieces.append(_INT32.pack(partition.preferred_read_replica))
    records = partition.records
    if records is None:
        pieces.append(_INT32.pack(-1))
        return pieces
    size = sum(map(len, records)) if isinstance(records, list) else len(records)
    pieces.append(_INT32.pack(size))
    return _add_records(records, size, pieces, chunks) if size else pieces


def decode_fetch_response(buf: Buffer, pos: int, version: int) -> FetchResponse:
    """The response whose body begins at `pos`; records are views into `buf`.

    Versions before 12, which no broker asks for, go through their plan.
    """
    if version < 12:
        from mockbroker_protocol.plan import decode

        return decode(FetchResponse, version, buf, pos)[0]
    try:
        return _decode_flexible(buf, pos, version)
    except (error, IndexError):
        raise ProtocolError("truncated Fetch response") from None


def _decode_flexible(buf: Buffer, pos: int, version: int) -> FetchResponse:
    if version >= 13 and len(buf) - pos > _ONE_PARTITION.size:
        one = _decode_one(buf, pos)
        if one is not None:
            return one
    throttle_time_ms, error_code, session_id = _HEAD.unpack_from(buf, pos)
    topics: list[FetchResponseTopic] = []
    response = FetchResponse(throttle_time_ms, error_code, session_id, topics)
    by_id = version >= 13
    view = memoryview(buf)
    count, pos = _count(buf, pos + 10, 18 if by_id else 3)
    for _ in range(count):
        name, topic_id = "", ZERO_UUID
        if by_id:
            (topic_id,) = _UUID.unpack_from(buf, pos)
            pos += 16
        else:
            name, pos = read_compact_string(buf, pos)
        partitions: list[FetchResponsePartition] = []
        topic = FetchResponseTopic(name, topic_id, partitions)
        partition_count, pos = _count(buf, pos, _LEAST_PARTITION)
        for _ in range(partition_count):
            partition, pos = _decode_partition(view, pos)
            partitions.append(partition)
        topic.unknown_tags, pos = read_tags(buf, pos)
        topics.append(topic)
    _response_tags(response, buf, pos, version)
    return response


def _decode_one(buf: Buffer, pos: int) -> FetchResponse | None:
    """A response about one partition that has no aborted transactions and no tags; else None."""
    (
        throttle_time_ms,
        error_code,
        session_id,
        topics,
        topic_id,
        partitions,
        index,
        partition_error,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        aborted,
        preferred,
    ) = _ONE_PARTITION.unpack_from(buf, pos)
    if topics != 2 or partitions != 2 or aborted > 1:
        return None
    size, pos = read_uvarint(buf, pos + _ONE_PARTITION.size)
    stop = pos + size - 1 if size else pos
    if buf[stop : stop + 3] != _NO_TAGS:
        return None
    partition = FetchResponsePartition(
        index,
        partition_error,
        high_watermark,
        last_stable_offset,
        log_start_offset,
        [] if aborted else None,
        preferred,
        memoryview(buf)[pos:stop] if size else None,
    )
    topic = FetchResponseTopic("", topic_id, [partition])
    return FetchResponse(throttle_time_ms, error_code, session_id, [topic])


def _decode_partition(view: memoryview, pos: int) -> tuple[FetchResponsePartition, int]:
    index, error_code, high_watermark, last_stable_offset, start = _PARTITION_V5.unpack_from(
        view, pos
    )
    pos += 30
    aborted: list[AbortedTransaction] | None = None
    if view[pos] == 0:
        pos += 1
    else:
        aborted, pos = _aborted(view, pos)
    (preferred,) = _INT32.unpack_from(view, pos)
    size, pos = read_uvarint(view, pos + 4)
    records: memoryview | None = None
    if size:
        stop = pos + size - 1
        if stop > len(view):
            raise ProtocolError(f"{size - 1} bytes of records in {len(view) - pos} bytes")
        records = view[pos:stop]
        pos = stop
    partition = FetchResponsePartition(
        index, error_code, high_watermark, last_stable_offset, start, aborted, preferred, records
    )
    if view[pos] == 0:
        return partition, pos + 1
    return partition, _partition_tags(partition, view, pos)


def _partition_tags(partition: FetchResponsePartition, view: memoryview, pos: int) -> int:
    unknown: dict[int, bytes] = {}
    count, pos = read_uvarint(view, pos)
    for _ in range(count):
        tag, pos = read_uvarint(view, pos)
        size, pos = read_uvarint(view, pos)
        if tag == 0:
            epoch, end_offset = _EPOCH_OFFSET.unpack_from(view, pos)
            tags, pos = read_tags(view, pos + 12)
            partition.diverging_epoch = EpochEndOffset(epoch, end_offset, tags)
        elif tag == 1:
            leader_id, epoch = _INT32_PAIR.unpack_from(view, pos)
            tags, pos = read_tags(view, pos + 8)
            partition.current_leader = LeaderIdAndEpoch(leader_id, epoch, tags)
        elif tag == 2:
            end_offset, epoch = _OFFSET_EPOCH.unpack_from(view, pos)
            tags, pos = read_tags(view, pos + 12)
            partition.snapshot_id = SnapshotId(end_offset, epoch, tags)
        else:
            unknown[tag] = take(view, pos, size)
            pos += size
    partition.unknown_tags = unknown or None
    return pos


def _response_tags(response: FetchResponse, buf: Buffer, pos: int, version: int) -> None:
    unknown: dict[int, bytes] = {}
    count, pos = read_uvarint(buf, pos)
    for _ in range(count):
        tag, pos = read_uvarint(buf, pos)
        size, pos = read_uvarint(buf, pos)
        if tag == 0 and version >= 16:
            response.node_endpoints, pos = _endpoints(buf, pos)
        elif tag == 0:
            raise ProtocolError(f"tag 0 is not valid in a Fetch response v{version}")
        else:
            unknown[tag] = take(buf, pos, size)
            pos += size
    response.unknown_tags = unknown or None


def _aborted(view: memoryview, pos: int) -> tuple[list[AbortedTransaction], int]:
    count, pos = _count(view, pos, 17)
    aborted = []
    for _ in range(count):
        producer_id, first_offset = _INT64_PAIR.unpack_from(view, pos)
        unknown, pos = read_tags(view, pos + 16)
        aborted.append(AbortedTransaction(producer_id, first_offset, unknown))
    return aborted, pos


def _endpoints(buf: Buffer, pos: int) -> tuple[list[NodeEndpoint], int]:
    count, pos = _count(buf, pos, 11)
    endpoints = []
    for _ in range(count):
        (node_id,) = _INT32.unpack_from(buf, pos)
        host, pos = read_compact_string(buf, pos + 4)
        (port,) = _INT32.unpack_from(buf, pos)
        rack, pos = read_compact_nullable_string(buf, pos + 4)
        unknown, pos = read_tags(buf, pos)
        endpoints.append(NodeEndpoint(node_id, host, port, rack, unknown))
    return endpoints, pos


def _count(buf: Buffer, pos: int, least: int) -> tuple[int, int]:
    """A compact array's count, of elements that take `least` bytes each or more."""
    count, pos = read_uvarint(buf, pos)
    if count == 0:
        raise ProtocolError("null array where null is not allowed")
    count -= 1
    if count * least > len(buf) - pos:
        raise ProtocolError(f"array of {count} in {len(buf) - pos} bytes")
    return count, pos
