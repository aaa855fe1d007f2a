"""Produce by hand, from version 9 on: what each of a request's partitions costs is here.

    request = decode_produce_request(frame, header.body_pos, header.api_version)
    chunks = encode_produce_response(response, header.api_version)

The connection boundary calls these two. What producers send and are mostly answered, without
tagged fields and errors of records, is read and written here; all else, and what is malformed, is
left to the plans of the same classes, with which these two agree byte for byte. Layouts:
ProduceRequest.json, ProduceResponse.json.
"""

from __future__ import annotations

from struct import Struct, error
from typing import Final

from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.primitives import ZERO_UUID, Buffer, read_uvarint_tail, write_uvarint

FLEXIBLE: Final = 9
TOPIC_IDS: Final = 13
PARTITIONS_AT_ONCE: Final = 2048
"""Of a request that has more the plan reads slices."""
SMALL_BYTES: Final = 1024
"""No more of a partition is copied out of the frame: a view of it takes longer."""

_HEAD: Final = Struct(">hiB").unpack_from  # acks, time-out, the count of topics
_INDEX: Final = Struct(">iB").unpack_from  # of a partition, and the length of its records
_ANSWER: Final = Struct(
    ">ihqqqBBB"
).pack  # of a partition that has no errors of records and no tags
_END: Final = Struct(">iB").pack  # throttle time, no tags


def decode_produce_request(buf: Buffer, pos: int, version: int) -> ProduceRequest:
    """The request whose body begins at `pos`; ProtocolError when the bytes are none."""
    return decode_plain_request(buf, pos, version) or decode(ProduceRequest, version, buf, pos)[0]


def decode_plain_request(buf: Buffer, pos: int, version: int) -> ProduceRequest | None:
    """The same of a request of few partitions without tagged fields; None for any other bytes."""
    if version < FLEXIBLE or type(buf) is memoryview:
        return None
    try:
        return _decode(buf, pos, version)
    except (error, IndexError, UnicodeDecodeError):
        return None  # its plan says what is wrong


def _decode(data: Buffer, pos: int, version: int) -> ProduceRequest | None:
    size = data[pos]
    pos += 1
    if size >= 128:
        return None
    transactional_id: str | None = None
    if size:
        stop = pos + size - 1
        transactional_id = str(data[pos:stop], "utf-8")
        pos = stop
    acks, timeout_ms, count = _HEAD(data, pos)
    pos += 7
    if not 0 < count < 128:
        return None
    by_id = version >= TOPIC_IDS
    left = PARTITIONS_AT_ONCE
    topics: list[ProduceRequestTopic] = []
    for _ in range(count - 1):
        name, topic_id = "", ZERO_UUID
        if by_id:
            stop = pos + 16
            topic_id = bytes(data[pos:stop])
        else:
            size = data[pos]
            pos += 1
            stop = pos + size - 1
            if not 0 < size < 128:
                return None
            name = str(data[pos:stop], "utf-8")
        count = data[stop]
        pos = stop + 1
        if count >= 128:
            count, pos = read_uvarint_tail(data, pos, count)
        left -= count
        if not count or left < 0:
            return None
        partitions: list[ProduceRequestPartition] = []
        if not isinstance(data, bytes) and len(data) < count * SMALL_BYTES:
            data = bytes(data)  # each of many is small
        pos = _partitions(data, pos, partitions, count - 1)
        if pos < 0 or data[pos]:
            return None
        pos += 1
        topics.append(ProduceRequestTopic(name, topic_id, partitions))
    return None if data[pos] else ProduceRequest(transactional_id, acks, timeout_ms, topics)


def _partitions(
    data: Buffer, pos: int, partitions: list[ProduceRequestPartition], count: int
) -> int:
    """Read so many partitions of a topic; the position after them, -1 where one is not plain."""
    if isinstance(data, bytes):
        return _partitions_of_bytes(data, pos, partitions, count)
    view = memoryview(data)
    end = len(data)
    index: int
    size: int
    for _ in range(count):
        index, size = _INDEX(data, pos)
        pos += 5
        if size >= 128:
            size, pos = read_uvarint_tail(data, pos, size)
        stop = pos + size - 1
        if not size or stop >= end or data[stop]:
            return -1
        partitions.append(ProduceRequestPartition(index, view[pos:stop]))
        pos = stop + 1
    return pos


def _partitions_of_bytes(
    data: bytes, pos: int, partitions: list[ProduceRequestPartition], count: int
) -> int:
    """The same where a byte is looked at, and a small piece copied, without a call."""
    end = len(data)
    for _ in range(count):
        index = data[pos] << 24 | data[pos + 1] << 16 | data[pos + 2] << 8 | data[pos + 3]
        size = data[pos + 4]
        pos += 5
        if size >= 128:
            more = data[pos]
            if more < 128:
                size = size & 0x7F | more << 7
                pos += 1
            else:
                size, pos = read_uvarint_tail(data, pos, size)
        stop = pos + size - 1
        if not size or stop >= end or data[stop] or index >= 1 << 31:
            return -1
        records: Buffer
        if size <= SMALL_BYTES:
            records = data[pos:stop]
        else:
            records = memoryview(data)[pos:stop]
        partitions.append(ProduceRequestPartition(index, records))
        pos = stop + 1
    return pos


def encode_produce_response(response: ProduceResponse, version: int) -> list[Buffer]:
    """The body of a response; what the version has no field for is left out."""
    plain = None if version < FLEXIBLE else _encode(response, version)
    return encode(response, version) if plain is None else [plain]


def _encode(response: ProduceResponse, version: int) -> bytes | None:
    """None for an answer with errors of records, or tagged fields."""
    if response.node_endpoints or response.unknown_tags:
        return None
    by_id = version >= TOPIC_IDS
    pieces = [write_uvarint(len(response.responses) + 1)]
    for topic in response.responses:
        if topic.unknown_tags:
            return None
        name = topic.topic_id if by_id else topic.name.encode()
        partitions = topic.partition_responses
        if not by_id:
            if len(name) > 127:
                return None
            pieces.append(write_uvarint(len(name) + 1))
        pieces.append(name)
        pieces.append(write_uvarint(len(partitions) + 1))
        for told in partitions:
            if (
                told.error_message is not None
                or told.current_leader is not None
                or told.unknown_tags
                or len(told.record_errors)
            ):
                return None
            pieces.append(
                _ANSWER(
                    told.index,
                    told.error_code,
                    told.base_offset,
                    told.log_append_time_ms,
                    told.log_start_offset,
                    1,
                    0,
                    0,
                )
            )
        pieces.append(b"\0")
    pieces.append(_END(response.throttle_time_ms, 0))
    return b"".join(pieces)
