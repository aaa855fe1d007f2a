"""Metadata by hand, from version 9 on: every client asks it first, and of all topics at once.

    request = decode_metadata_request(frame, header.body_pos, header.api_version)
    chunks = encode_metadata_response(response, header.api_version)

The connection boundary calls these two. What clients send and are answered, without tagged fields,
is read and written here; all else, and what is malformed, is left to the plans of the same classes,
with which these two agree byte for byte. Layouts: MetadataRequest.json, MetadataResponse.json.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct, error
from typing import Final

from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from mockbroker_protocol.plan import decode, encode
from mockbroker_protocol.primitives import ZERO_UUID, Buffer, read_uvarint_tail, write_uvarint

FLEXIBLE: Final = 9
TOPIC_IDS: Final = 10
LAST_CLUSTER_OPERATIONS: Final = 10
TOP_LEVEL_ERROR: Final = 13
NOT_ASKED: Final = -(2**31)
TOPICS_AT_ONCE: Final = 2048
"""Of a request that has more the plan reads slices."""
NULLABLE_NAME: Final = 12
SHORT: Final = 126
"""Of as many bytes, or elements, the length takes one byte."""
MOST_TEXT_BYTES: Final = 0x7FFF
"""The plan says so of a longer one."""

_BYTE: Final = tuple(bytes((n,)) for n in range(128))
_int16: Final = Struct(">h").pack
_int32: Final = Struct(">i").pack
_head: Final = Struct(">iB").pack  # throttle time, the count of brokers
_broker: Final = Struct(">iB").pack  # id, and the length of the host
_port: Final = Struct(">iBB").pack  # no rack, no tags
_topic: Final = Struct(">hB").pack  # error, and the length of the name
_internal: Final = Struct(">?B").pack  # and the count of partitions
_many: Final = Struct(">?").pack
_one_replica: Final = Struct(">hiiiBiBiBB").pack
"""A partition of one replica, which is in sync and online, without tags."""
_partition: Final = Struct(">hiii").pack
_operations: Final = Struct(">iB").pack  # of a topic, no tags
_nodes_of: dict[int, Callable[..., bytes]] = {}
"""Of lists of so many nodes."""


def decode_metadata_request(buf: Buffer, pos: int, version: int) -> MetadataRequest:
    """The request whose body begins at `pos`; ProtocolError when the bytes are none."""
    return decode_plain_request(buf, pos, version) or decode(MetadataRequest, version, buf, pos)[0]


def decode_plain_request(buf: Buffer, pos: int, version: int) -> MetadataRequest | None:
    """The same of a request of few topics without tagged fields; None for any other bytes."""
    if version < FLEXIBLE or isinstance(buf, memoryview):
        return None
    try:
        return _decode(buf, pos, version)
    except (IndexError, UnicodeDecodeError):
        return None  # its plan says what is wrong


def _decode(data: bytes | bytearray, pos: int, version: int) -> MetadataRequest | None:
    count = data[pos]
    pos += 1
    if count >= 128:
        count, pos = read_uvarint_tail(data, pos, count)
    if count > TOPICS_AT_ONCE:
        return None
    topics: list[MetadataRequestTopic] | None = None
    if count:
        topics = []
        for _ in range(count - 1):
            topic_id = ZERO_UUID
            if version >= TOPIC_IDS:
                topic_id = bytes(data[pos : pos + 16])
                pos += 16
            size = data[pos]
            pos += 1
            if size >= 128 or (not size and version < TOPIC_IDS):
                return None
            name: str | None = None
            if size:
                stop = pos + size - 1
                name = str(data[pos:stop], "utf-8")
                pos = stop
            if data[pos]:
                return None
            pos += 1
            topics.append(MetadataRequestTopic(topic_id, name))
    creates = data[pos] != 0
    pos += 1
    of_cluster = False
    if version <= LAST_CLUSTER_OPERATIONS:
        of_cluster = data[pos] != 0
        pos += 1
    of_topics = data[pos] != 0
    return None if data[pos + 1] else MetadataRequest(topics, creates, of_cluster, of_topics)


def encode_metadata_response(response: MetadataResponse, version: int) -> list[Buffer]:
    """The body of a response; what the version has no field for is left out."""
    plain = None if version < FLEXIBLE else _encode(response, version)
    return encode(response, version) if plain is None else [plain]


def _encode(response: MetadataResponse, version: int) -> bytes | None:
    """None for an answer that the plan has to write, or to refuse."""
    has_operations = version <= LAST_CLUSTER_OPERATIONS
    cluster_operations = response.cluster_authorized_operations
    if response.unknown_tags or not (has_operations or cluster_operations == NOT_ASKED):
        return None
    brokers, topics = response.brokers, response.topics
    try:
        cluster_id = response.cluster_id
        cluster = b"" if cluster_id is None else cluster_id.encode()
        if len(brokers) > SHORT or len(cluster) > SHORT:
            return None
        pieces = [_head(response.throttle_time_ms, len(brokers) + 1)]
        for broker in brokers:
            host = broker.host.encode()
            if broker.unknown_tags or len(host) > SHORT:
                return None
            pieces += (_broker(broker.node_id, len(host) + 1), host)
            if broker.rack is None:
                pieces.append(_port(broker.port, 0, 0))
            else:
                rack = broker.rack.encode()
                if len(rack) > SHORT:
                    return None
                pieces += (_int32(broker.port), _BYTE[len(rack) + 1], rack, b"\0")
        pieces += (
            b"\0" if cluster_id is None else _BYTE[len(cluster) + 1],
            cluster,
            _int32(response.controller_id),
            _BYTE[len(topics) + 1] if len(topics) <= SHORT else write_uvarint(len(topics) + 1),
        )
        for topic in topics:
            if not _add_topic(topic, version, pieces):
                return None
        if has_operations:
            pieces.append(_int32(cluster_operations))
        if version >= TOP_LEVEL_ERROR:
            pieces.append(_int16(response.error_code))
    except (error, TypeError, AttributeError):
        return None  # no such value can be told: its plan says which
    pieces.append(b"\0")
    return b"".join(pieces)


def _add_topic(topic: MetadataResponseTopic, version: int, pieces: list[bytes]) -> bool:
    """False where the plan has to write it."""
    name, topic_id, partitions = topic.name, topic.topic_id, topic.partitions
    if topic.unknown_tags or len(topic_id) != 16:
        return False
    if name is None:
        if version < NULLABLE_NAME:
            return False
        pieces.append(_topic(topic.error_code, 0))
    else:
        told = name.encode()
        size = len(told)
        if size <= SHORT:
            pieces += (_topic(topic.error_code, size + 1), told)
        elif size <= MOST_TEXT_BYTES:
            pieces += (_int16(topic.error_code), write_uvarint(size + 1), told)
        else:
            return False
    if version >= TOPIC_IDS:
        pieces.append(topic_id)
    count = len(partitions)
    if count <= SHORT:
        pieces.append(_internal(topic.is_internal, count + 1))
    else:
        pieces += (_many(topic.is_internal), write_uvarint(count + 1))
    for partition in partitions:
        if partition.unknown_tags:
            return False
        replicas, in_sync = partition.replica_nodes, partition.isr_nodes
        offline = partition.offline_replicas
        if len(replicas) == 1 and len(in_sync) == 1 and not offline:
            pieces.append(
                _one_replica(
                    partition.error_code,
                    partition.partition_index,
                    partition.leader_id,
                    partition.leader_epoch,
                    2,
                    replicas[0],
                    2,
                    in_sync[0],
                    1,
                    0,
                )
            )
        elif not _add_replicated(partition, (replicas, in_sync, offline), pieces):
            return False
    pieces.append(_operations(topic.topic_authorized_operations, 0))
    return True


def _add_replicated(
    partition: MetadataResponsePartition, lists: tuple[list[int], ...], pieces: list[bytes]
) -> bool:
    pieces.append(
        _partition(
            partition.error_code,
            partition.partition_index,
            partition.leader_id,
            partition.leader_epoch,
        )
    )
    for nodes in lists:
        count = len(nodes)
        if count > SHORT:
            return False
        pack = _nodes_of.get(count)
        if pack is None:
            pack = _nodes_of[count] = Struct(f">B{count}i").pack
        pieces.append(pack(count + 1, *nodes))
    pieces.append(b"\0")
    return True
