"""FetchRequest between bytes and objects; see `fetch_codec`, which is what to import.

Runs of partitions without tagged fields, which is all that consumers send, have a fixed stride
and are unpacked in one go.
"""

from __future__ import annotations

from struct import Struct, error, pack, unpack_from
from typing import Final

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.fetch_codec_follower import (
    FOLLOWED_BYTES,
    NO_HIGH_WATERMARK,
    decode_followed,
    encode_followed,
)
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    ReplicaState,
)
from mockbroker_protocol.primitives import (
    ZERO_UUID,
    Buffer,
    read_compact_nullable_string,
    read_compact_string,
    read_string,
    read_tags,
    read_uvarint,
    read_uvarint_tail,
    take,
    write_compact_string,
    write_tags,
    write_uvarint,
)

NO_TAIL: Final = 0x01010100
"""No topic, none forgotten, an empty rack id, no tag: four bytes that end an idle poll."""

# max wait, min bytes, max bytes, isolation, session id, session epoch, and four bytes more: the
# shortest tail there is. Up to version 14 the replica id stands before them.
_HEAD_V15: Final = Struct(">iiibiiI").unpack_from
_HEAD_V12: Final = Struct(">iiiibiiI").unpack_from
# Before version 12: replica id, max wait, min bytes, max bytes; isolation, session id and epoch.
_HEAD_V3: Final = Struct(">iiii").unpack_from
_HEAD_V7: Final = Struct(">bii").unpack_from
_TOPIC_ID: Final = Struct(">16sB").unpack_from
_INT8: Final = Struct(">b").unpack_from
_INT16: Final = Struct(">h").unpack_from
_INT32: Final = Struct(">i").unpack_from
_INT64: Final = Struct(">q").unpack_from
_REPLICA_STATE: Final = Struct(">iq").unpack_from
# partition, leader epoch, fetch offset, last fetched epoch, log start, max bytes (, tag count)
_PARTITION_V12: Final = Struct(">iiqiqiB")
_UNTAGGED_PARTITIONS: Final = Struct(">iiqiqix").iter_unpack
_PARTITION_V9: Final = Struct(">iiqqi")
_PARTITION_V5: Final = Struct(">iqqi")
_PARTITION_V3: Final = Struct(">iqi")
_STRIDE: Final = _PARTITION_V12.size
# From the topic count to the end, when there is one partition of one topic and nothing else: what
# an incremental fetch sends after it got records from one partition.
_ONE_PARTITION: Final = Struct(">B16sBiiqiqiIB")


def decode_fetch_request(buf: Buffer, pos: int, version: int) -> FetchRequest:
    """The request whose body begins at `pos`.

    Its `unknown_tags` are there, and empty, where only its partitions have some; None says that
    there are none anywhere. Who decodes a request otherwise keeps to that.
    """
    try:
        if version >= 12:
            return _decode_flexible(buf, pos, version)
        return _decode_fixed(buf, pos, version)
    except (error, IndexError):
        raise ProtocolError("truncated Fetch request") from None
    except UnicodeDecodeError:
        from mockbroker_protocol.plan import decode

        request = decode(FetchRequest, version, buf, pos)[0]  # reads such a name as Kafka does
        if any(part.unknown_tags for topic in request.topics for part in topic.partitions):
            request.unknown_tags = request.unknown_tags or {}
        return request


def _decode_flexible(buf: Buffer, pos: int, version: int) -> FetchRequest:
    replica_id = -1
    if version >= 15:
        wait, least, most, isolation, session_id, epoch, tail = _HEAD_V15(buf, pos)
        pos += 21
    else:
        replica_id, wait, least, most, isolation, session_id, epoch, tail = _HEAD_V12(buf, pos)
        pos += 25
    request = FetchRequest(replica_id, wait, least, most, isolation, session_id, epoch)
    if tail == NO_TAIL:
        return request
    left = len(buf) - pos
    if version >= 18 and left >= FOLLOWED_BYTES and decode_followed(request, buf, pos):
        return request
    if tail >> 24 == 2 and version >= 13 and left >= _ONE_PARTITION.size:
        (
            _,
            topic_id,
            count,
            index,
            epoch,
            offset,
            fetched_epoch,
            start,
            max_bytes,
            no_tags_none_forgotten_no_rack,
            tag_count,
        ) = _ONE_PARTITION.unpack_from(buf, pos)
        if count == 2 and no_tags_none_forgotten_no_rack == 0x00000101 and tag_count == 0:
            asked = FetchRequestPartition(index, epoch, offset, fetched_epoch, start, max_bytes)
            request.topics = [FetchRequestTopic("", topic_id, [asked])]
            return request
    request.topics, pos = _topics(request, buf, pos, version)
    if buf[pos] == 1:
        pos += 1
    else:
        request.forgotten_topics_data, pos = _forgotten(buf, pos, version)
    if buf[pos] == 1:
        pos += 1
    else:
        request.rack_id, pos = read_compact_string(buf, pos)
    if buf[pos] != 0:
        _request_tags(request, buf, pos, version)
    return request


def _count(buf: Buffer, pos: int, least: int) -> tuple[int, int]:
    """A compact array's count, of elements that take `least` bytes each or more."""
    count, pos = read_uvarint(buf, pos)
    if count == 0:
        raise ProtocolError("null array where null is not allowed")
    count -= 1
    if count * least > len(buf) - pos:
        raise ProtocolError(f"array of {count} in {len(buf) - pos} bytes")
    return count, pos


def _topics(
    request: FetchRequest, buf: Buffer, pos: int, version: int
) -> tuple[list[FetchRequestTopic], int]:
    by_id = version >= 13
    count, pos = _count(buf, pos, 18 if by_id else 3)
    end = len(buf)
    topics = []
    for _ in range(count):
        name, topic_id = "", ZERO_UUID
        if by_id:
            topic_id, asked = _TOPIC_ID(buf, pos)
            pos += 17
        else:
            size = buf[pos] - 1
            stop = pos + 1 + size
            if 0 < size < 127 and stop < end:
                name = str(buf[pos + 1 : stop], "utf-8")
            else:
                name, stop = read_compact_string(buf, pos)
            asked = buf[stop]
            pos = stop + 1
        if asked >= 128:
            asked, pos = read_uvarint_tail(buf, pos, asked)
        if asked == 2:
            partition, pos = _one_partition(request, buf, pos, version)
            partitions = [partition]
        else:
            partitions, pos = _partitions(request, buf, pos, asked - 1, version)
        topic = FetchRequestTopic(name, topic_id, partitions)
        if buf[pos] == 0:
            pos += 1
        else:
            topic.unknown_tags, pos = read_tags(buf, pos)
        topics.append(topic)
    return topics, pos


def _partitions(
    request: FetchRequest, buf: Buffer, pos: int, count: int, version: int
) -> tuple[list[FetchRequestPartition], int]:
    stop = pos + count * _STRIDE
    if stop > len(buf) or count < 0:
        raise ProtocolError(f"{count} partitions in {len(buf) - pos} bytes")
    run = bytes(buf[pos:stop])
    if run[_STRIDE - 1 :: _STRIDE].count(0) != count:
        return _tagged_partitions(request, buf, pos, count, version)
    return [
        FetchRequestPartition(index, epoch, offset, fetched_epoch, start, max_bytes)
        for index, epoch, offset, fetched_epoch, start, max_bytes in _UNTAGGED_PARTITIONS(run)
    ], stop


def _tagged_partitions(
    request: FetchRequest, buf: Buffer, pos: int, count: int, version: int
) -> tuple[list[FetchRequestPartition], int]:
    """As above where some partition has tagged fields: one by one."""
    partitions: list[FetchRequestPartition] = []
    for _ in range(count):
        partition, pos = _one_partition(request, buf, pos, version)
        partitions.append(partition)
    return partitions, pos


def _one_partition(
    request: FetchRequest, buf: Buffer, pos: int, version: int
) -> tuple[FetchRequestPartition, int]:
    (
        index,
        epoch,
        offset,
        fetched_epoch,
        start,
        max_bytes,
        tag_count,
    ) = _PARTITION_V12.unpack_from(buf, pos)
    partition = FetchRequestPartition(index, epoch, offset, fetched_epoch, start, max_bytes)
    if tag_count:
        return partition, _partition_tags(request, partition, buf, pos + _STRIDE - 1, version)
    return partition, pos + _STRIDE


def _partition_tags(
    request: FetchRequest, partition: FetchRequestPartition, buf: Buffer, pos: int, version: int
) -> int:
    unknown: dict[int, bytes] = {}
    count, pos = read_uvarint(buf, pos)
    for _ in range(count):
        tag, pos = read_uvarint(buf, pos)
        size, pos = read_uvarint(buf, pos)
        if tag == 0 and version >= 17:
            partition.replica_directory_id = take(buf, pos, 16)
            pos += 16
        elif tag == 1 and version >= 18:
            (partition.high_watermark,) = _INT64(buf, pos)
            pos += 8
        elif tag <= 1:
            raise ProtocolError(f"tag {tag} of a partition is not valid in Fetch v{version}")
        else:
            unknown[tag] = take(buf, pos, size)
            pos += size
    if unknown:
        partition.unknown_tags = unknown
        request.unknown_tags = {}
    return pos


def _request_tags(request: FetchRequest, buf: Buffer, pos: int, version: int) -> None:
    unknown: dict[int, bytes] = {}
    count, pos = read_uvarint(buf, pos)
    for _ in range(count):
        tag, pos = read_uvarint(buf, pos)
        size, pos = read_uvarint(buf, pos)
        if tag == 0:
            request.cluster_id, pos = read_compact_nullable_string(buf, pos)
        elif tag == 1 and version >= 15:
            replica_id, replica_epoch = _REPLICA_STATE(buf, pos)
            tags, pos = read_tags(buf, pos + 12)
            request.replica_state = ReplicaState(replica_id, replica_epoch, tags)
        elif tag == 1:
            raise ProtocolError(f"tag 1 is not valid in Fetch v{version}")
        else:
            unknown[tag] = take(buf, pos, size)
            pos += size
    request.unknown_tags = unknown or request.unknown_tags


def _forgotten(buf: Buffer, pos: int, version: int) -> tuple[list[FetchRequestForgottenTopic], int]:
    by_id = version >= 13
    count, pos = _count(buf, pos, 18 if by_id else 3)
    forgotten = []
    for _ in range(count):
        name, topic_id = "", ZERO_UUID
        if by_id:
            topic_id = take(buf, pos, 16)
            pos += 16
        else:
            name, pos = read_compact_string(buf, pos)
        partitions, pos = _count(buf, pos, 4)
        indexes = list(unpack_from(f">{partitions}i", buf, pos))
        tags, pos = read_tags(buf, pos + 4 * partitions)
        forgotten.append(FetchRequestForgottenTopic(name, topic_id, indexes, tags))
    return forgotten, pos


def _decode_fixed(buf: Buffer, pos: int, version: int) -> FetchRequest:
    """Versions 3 to 11, before KIP-482."""
    request = FetchRequest(*_HEAD_V3(buf, pos))
    pos += 16
    if version >= 7:
        request.isolation_level, request.session_id, request.session_epoch = _HEAD_V7(buf, pos)
        pos += 9
    elif version >= 4:
        (request.isolation_level,) = _INT8(buf, pos)
        pos += 1
    request.topics, pos = _fixed_topics(buf, pos, version)
    if version >= 7:
        (count,) = _INT32(buf, pos)
        pos += 4
        if count:
            request.forgotten_topics_data, pos = _fixed_forgotten(buf, pos, count)
    if version >= 11 and _INT16(buf, pos)[0] != 0:
        request.rack_id = read_string(buf, pos)[0]
    return request


def _check_fixed(buf: Buffer, pos: int, count: int, least: int) -> None:
    if count < 0:
        raise ProtocolError("null array where null is not allowed")
    if count * least > len(buf) - pos:
        raise ProtocolError(f"array of {count} in {len(buf) - pos} bytes")


def _fixed_topics(buf: Buffer, pos: int, version: int) -> tuple[list[FetchRequestTopic], int]:
    (count,) = _INT32(buf, pos)
    pos += 4
    _check_fixed(buf, pos, count, 6)
    end = len(buf)
    topics = []
    for _ in range(count):
        (size,) = _INT16(buf, pos)
        stop = pos + 2 + size
        if size < 0 or stop > end:
            raise ProtocolError(f"topic name of {size} bytes")
        name = str(buf[pos + 2 : stop], "utf-8")
        (size,) = _INT32(buf, stop)
        partitions, pos = _fixed_partitions(buf, stop + 4, size, version)
        topics.append(FetchRequestTopic(name, ZERO_UUID, partitions))
    return topics, pos


def _fixed_partitions(
    buf: Buffer, pos: int, count: int, version: int
) -> tuple[list[FetchRequestPartition], int]:
    layout = _PARTITION_V9 if version >= 9 else _PARTITION_V5 if version >= 5 else _PARTITION_V3
    _check_fixed(buf, pos, count, layout.size)
    stop = pos + count * layout.size
    rows = layout.iter_unpack(buf[pos:stop])
    if version >= 9:
        return [
            FetchRequestPartition(index, epoch, offset, -1, start, max_bytes)
            for index, epoch, offset, start, max_bytes in rows
        ], stop
    return [
        FetchRequestPartition(row[0], -1, row[1], -1, row[2] if version >= 5 else -1, row[-1])
        for row in rows
    ], stop


def _fixed_forgotten(
    buf: Buffer, pos: int, count: int
) -> tuple[list[FetchRequestForgottenTopic], int]:
    _check_fixed(buf, pos, count, 6)
    forgotten = []
    for _ in range(count):
        name, pos = read_string(buf, pos)
        (partitions,) = _INT32(buf, pos)
        pos += 4
        _check_fixed(buf, pos, partitions, 4)
        indexes = list(unpack_from(f">{partitions}i", buf, pos))
        pos += 4 * partitions
        forgotten.append(FetchRequestForgottenTopic(name, ZERO_UUID, indexes))
    return forgotten, pos


def encode_fetch_request(request: FetchRequest, version: int) -> bytes:
    """The body of a request; from version 12 on what it has no field for is left out.

    Older ones, which no broker sends, go through their plan.
    """
    if version < 12:
        from mockbroker_protocol.plan import encode

        return b"".join(encode(request, version))
    if version >= 18 and len(request.topics) == 1:
        whole = encode_followed(request, request.topics[0])
        if whole is not None:
            return whole
    return b"".join(_encode_flexible(request, version))


def _encode_flexible(request: FetchRequest, version: int) -> list[bytes]:
    out = [pack(">i", request.replica_id)] if version < 15 else []
    out += (
        pack(
            ">iiibii",
            request.max_wait_ms,
            request.min_bytes,
            request.max_bytes,
            request.isolation_level,
            request.session_id,
            request.session_epoch,
        ),
        write_uvarint(len(request.topics) + 1),
    )
    by_id = version >= 13
    for topic in request.topics:
        out += (
            topic.topic_id if by_id else write_compact_string(topic.topic),
            write_uvarint(len(topic.partitions) + 1),
        )
        for partition in topic.partitions:
            out += (_partition_fields(partition), _write_partition_tags(partition, version))
        out.append(write_tags(topic.unknown_tags))
    out.append(write_uvarint(len(request.forgotten_topics_data) + 1))
    for forgotten in request.forgotten_topics_data:
        count = len(forgotten.partitions)
        out += (
            forgotten.topic_id if by_id else write_compact_string(forgotten.topic),
            write_uvarint(count + 1),
            pack(f">{count}i", *forgotten.partitions),
            write_tags(forgotten.unknown_tags),
        )
    out += (write_compact_string(request.rack_id), _write_request_tags(request, version))
    return out


def _partition_fields(partition: FetchRequestPartition) -> bytes:
    return pack(
        ">iiqiqi",
        partition.partition,
        partition.current_leader_epoch,
        partition.fetch_offset,
        partition.last_fetched_epoch,
        partition.log_start_offset,
        partition.partition_max_bytes,
    )


def _write_partition_tags(partition: FetchRequestPartition, version: int) -> bytes:
    tags = dict(partition.unknown_tags or ())
    if version >= 17 and partition.replica_directory_id != ZERO_UUID:
        tags[0] = partition.replica_directory_id
    if version >= 18 and partition.high_watermark != NO_HIGH_WATERMARK:
        tags[1] = pack(">q", partition.high_watermark)
    return write_tags(tags)


def _write_request_tags(request: FetchRequest, version: int) -> bytes:
    tags = dict(request.unknown_tags or ())
    if request.cluster_id is not None:
        tags[0] = write_compact_string(request.cluster_id)
    state = request.replica_state
    if version >= 15 and state is not None:
        fields = pack(">iq", state.replica_id, state.replica_epoch)
        tags[1] = fields + write_tags(state.unknown_tags)
    return write_tags(tags)
