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
    MetadataResponseBroker,
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
MOST_NODES: Final = 126
"""In each list of a partition: its count takes one byte then."""
MOST_TEXT_BYTES: Final = 0x7FFF
"""The plan says so of a longer one."""

_new: Final = object.__new__
_int32: Final = Struct(">i").pack
_error_code: Final = Struct(">h").pack
_nodes_of: dict[int, Callable[..., bytes]] = {}
_one_replica: Final = Struct(">hiiiBiBiBB").pack
"""A partition of one replica, which is in sync and online, without tags."""
_partition_head: Final = Struct(">hiii").pack


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
    request: MetadataRequest = _new(MetadataRequest)
    request.unknown_tags = None
    request.include_cluster_authorized_operations = False
    count = data[pos]
    pos += 1
    if count >= 128:
        count, pos = read_uvarint_tail(data, pos, count)
    if count > TOPICS_AT_ONCE:
        return None
    if count:
        topics: list[MetadataRequestTopic] = []
        for _ in range(count - 1):
            topic: MetadataRequestTopic = _new(MetadataRequestTopic)
            topic.unknown_tags = None
            if version >= TOPIC_IDS:
                topic.topic_id = bytes(data[pos : pos + 16])
                pos += 16
            else:
                topic.topic_id = ZERO_UUID
            size = data[pos]
            pos += 1
            if size >= 128 or (not size and version < TOPIC_IDS):
                return None
            if size:
                stop = pos + size - 1
                topic.name = str(data[pos:stop], "utf-8")
                pos = stop
            else:
                topic.name = None
            if data[pos]:
                return None
            pos += 1
            topics.append(topic)
        request.topics = topics
    else:
        request.topics = None
    request.allow_auto_topic_creation = data[pos] != 0
    pos += 1
    if version <= LAST_CLUSTER_OPERATIONS:
        request.include_cluster_authorized_operations = data[pos] != 0
        pos += 1
    request.include_topic_authorized_operations = data[pos] != 0
    return None if data[pos + 1] else request


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
        pieces = [_int32(response.throttle_time_ms), write_uvarint(len(brokers) + 1)]
        for broker in brokers:
            if not _add_broker(broker, pieces):
                return None
        if not _add_text(response.cluster_id, pieces):
            return None
        pieces.append(_int32(response.controller_id))
        pieces.append(write_uvarint(len(topics) + 1))
        for topic in topics:
            if not _add_topic(topic, version, pieces):
                return None
        if has_operations:
            pieces.append(_int32(cluster_operations))
        if version >= TOP_LEVEL_ERROR:
            pieces.append(_error_code(response.error_code))
    except (error, TypeError, AttributeError):
        return None  # no such value can be told: its plan says which
    pieces.append(b"\0")
    return b"".join(pieces)


def _add_text(text: str | None, pieces: list[bytes]) -> bool:
    """A nullable string; False if it is too long."""
    if text is None:
        pieces.append(b"\0")
        return True
    told = text.encode()
    pieces.append(write_uvarint(len(told) + 1))
    pieces.append(told)
    return len(told) <= MOST_TEXT_BYTES


def _add_broker(broker: MetadataResponseBroker, pieces: list[bytes]) -> bool:
    if broker.unknown_tags:
        return False
    host = broker.host.encode()
    pieces.append(_int32(broker.node_id))
    pieces.append(write_uvarint(len(host) + 1))
    pieces.append(host)
    pieces.append(_int32(broker.port))
    plain = _add_text(broker.rack, pieces)
    pieces.append(b"\0")
    return plain and len(host) <= MOST_TEXT_BYTES


def _add_topic(topic: MetadataResponseTopic, version: int, pieces: list[bytes]) -> bool:
    name, topic_id = topic.name, topic.topic_id
    if topic.unknown_tags or (name is None and version < 12) or len(topic_id) != 16:
        return False
    pieces.append(_error_code(topic.error_code))
    plain = _add_text(name, pieces)
    if version >= TOPIC_IDS:
        pieces.append(topic_id)
    pieces.append(b"\1" if topic.is_internal else b"\0")
    partitions = topic.partitions
    pieces.append(write_uvarint(len(partitions) + 1))
    for partition in partitions:
        if not _add_partition(partition, pieces):
            return False
    pieces.append(_int32(topic.topic_authorized_operations))
    pieces.append(b"\0")
    return plain


def _add_partition(partition: MetadataResponsePartition, pieces: list[bytes]) -> bool:
    if partition.unknown_tags:
        return False
    replicas, in_sync = partition.replica_nodes, partition.isr_nodes
    offline = partition.offline_replicas
    if len(replicas) == 1 and len(in_sync) == 1 and not len(offline):
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
        return True
    pieces.append(
        _partition_head(
            partition.error_code,
            partition.partition_index,
            partition.leader_id,
            partition.leader_epoch,
        )
    )
    for nodes in (replicas, in_sync, offline):
        count = len(nodes)
        if count > MOST_NODES:
            return False
        pack = _nodes_of.get(count)
        if pack is None:
            pack = _nodes_of[count] = Struct(f">B{count}i").pack
        pieces.append(pack(count + 1, *nodes))
    pieces.append(b"\0")
    return True
