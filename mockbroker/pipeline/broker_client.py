"""Four questions to a broker over a socket: topics, partitions, offsets, and one topic more.

Jobs ask it before Spark starts, so that an unreachable broker or an unknown topic is one line and
not a minute of retries, and to know where a topic ended. It speaks Metadata v4, ListOffsets v2 and
CreateTopics v4, which Kafka 2.0 to 4.4 and this project's broker serve. It never creates a topic by
asking for it. Connections have TLS and log in as `login` says.
"""

from __future__ import annotations

import socket
import threading
import time
from struct import Struct
from typing import TYPE_CHECKING, Final, Self, TypeVar, cast

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.login import Login
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.headers import decode_response_header, encode_request_header
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
from mockbroker_protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from types import TracebackType

LATEST: Final = -1
EARLIEST: Final = -2
TIMEOUT_SECONDS: Final = 10.0
RETRY_SECONDS: Final = 0.1
_METADATA_VERSION: Final = 4
_OFFSETS_VERSION: Final = 2
_CREATE_VERSION: Final = 4
_SASL_VERSION: Final = 1
_LENGTH: Final = Struct(">i")
_MAX_ANSWER_BYTES: Final = 100_000_000
_PASSING_ERRORS: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.LEADER_NOT_AVAILABLE)

T = TypeVar("T")
Address = tuple[str, int]


class _NotYetError(PipelineError):
    """What a broker says while a leader is being made known: asked again, it may know."""


class BrokerClient:
    """Blocking, for the driver. `bootstrap` is HOST:PORT, several with commas.

    `conf` are settings of Kafka's Java client, of which those of security count. Every method
    raises PipelineError: nobody answers, a login fails, or a topic is unknown.
    """

    def __init__(
        self,
        bootstrap: str,
        conf: Mapping[str, str] | None = None,
        timeout_seconds: float = TIMEOUT_SECONDS,
    ) -> None:
        self._bootstrap = parse_bootstrap(bootstrap)
        self._login = Login(conf or {})
        self._timeout_seconds = timeout_seconds
        self._connections: dict[Address, socket.socket] = {}
        self._correlation_id = 0
        self._nodes: dict[int, Address] = {}
        self._created: set[str] = set()
        self._pause = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for connection in self._connections.values():
            connection.close()
        self._connections.clear()

    def topics(self) -> list[str]:
        """All topics that are not internal."""
        answer = self._metadata(None)
        return sorted(t.name for t in answer.topics if t.name and not t.is_internal)

    def partitions(self, topic: str) -> list[int]:
        """The partitions of a topic that must exist."""
        return sorted(self._leaders(topic))

    def replicas(self) -> list[tuple[str, int, list[int]]]:
        """Topic, partition and replicas, leader first, of each partition that has a leader."""
        return [
            (
                topic.name or "",
                each.partition_index,
                [each.leader_id, *(node for node in each.replica_nodes if node != each.leader_id)],
            )
            for topic in sorted(self._metadata(None).topics, key=lambda topic: topic.name or "")
            for each in sorted(topic.partitions, key=lambda each: each.partition_index)
            if each.leader_id >= 0
        ]

    def create_topic(
        self, topic: str, partitions: int, configs: Mapping[str, str] | None = None
    ) -> bool:
        """Create it with so many partitions; False when it exists already."""
        wanted = CreatableTopic(
            name=topic,
            num_partitions=partitions,
            replication_factor=-1,
            configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
        )
        request = CreateTopicsRequest(topics=[wanted], timeout_ms=int(self._timeout_seconds * 1000))
        controller = self._nodes.get(self._metadata([]).controller_id)
        answer = self._call(
            [controller] if controller else self._bootstrap,
            request,
            _CREATE_VERSION,
            CreateTopicsResponse,
        )
        code = answer.topics[0].error_code
        if code == ErrorCode.TOPIC_ALREADY_EXISTS:
            return False
        if code:
            message = answer.topics[0].error_message or ErrorCode(code).name
            raise PipelineError(f"topic {topic} cannot be created: {message}")
        self._created.add(topic)
        return True

    def offsets(self, topic: str, at: int = LATEST) -> dict[int, int]:
        """Partition → offset: LATEST is the high watermark, EARLIEST the log's start.

        A leader that is not one yet, as after the creation of a topic, is asked again for a while.
        """
        deadline = time.monotonic() + self._timeout_seconds
        while True:
            try:
                return self._offsets_now(topic, at)
            except _NotYetError:
                if time.monotonic() > deadline:
                    raise
            self._pause.wait(RETRY_SECONDS)

    def _offsets_now(self, topic: str, at: int) -> dict[int, int]:
        by_leader: dict[int, list[int]] = {}
        for partition, leader in self._leaders(topic).items():
            by_leader.setdefault(leader, []).append(partition)
        found: dict[int, int] = {}
        for leader, partitions in by_leader.items():
            asked = [ListOffsetsPartition(partition_index=p, timestamp=at) for p in partitions]
            request = ListOffsetsRequest(
                replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)]
            )
            address = self._nodes.get(leader)
            if address is None:
                raise _NotYetError(f"topic {topic}: partition {partitions[0]} has no leader")
            answer = self._call([address], request, _OFFSETS_VERSION, ListOffsetsResponse)
            for row in answer.topics[0].partitions:
                if row.error_code:
                    where = f"topic {topic}, partition {row.partition_index}"
                    raise self._refusal(topic, where, row.error_code)
                found[row.partition_index] = row.offset
        return found

    def _leaders(self, topic: str) -> dict[int, int]:
        answer = self._metadata([topic])
        (found,) = answer.topics
        unknown = found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if unknown and topic not in self._created:
            raise PipelineError(f"unknown topic {topic}")
        if found.error_code:
            raise self._refusal(topic, f"topic {topic}", found.error_code)
        return {p.partition_index: p.leader_id for p in found.partitions}

    def _refusal(self, topic: str, where: str, code: int) -> PipelineError:
        passes = code in _PASSING_ERRORS or (
            code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and topic in self._created
        )
        return (_NotYetError if passes else PipelineError)(f"{where}: {ErrorCode(code).name}")

    def _metadata(self, topics: Iterable[str] | None) -> MetadataResponse:
        asked = None if topics is None else [MetadataRequestTopic(name=name) for name in topics]
        request = MetadataRequest(topics=asked, allow_auto_topic_creation=False)
        answer = self._call(self._bootstrap, request, _METADATA_VERSION, MetadataResponse)
        self._nodes = {broker.node_id: (broker.host, broker.port) for broker in answer.brokers}
        return answer

    def _call(
        self, addresses: Iterable[Address], request: object, version: int, kind: type[T]
    ) -> T:
        problems = []
        for address in addresses:
            try:
                return self._ask(address, request, version, kind)
            except (OSError, ProtocolError) as error:
                stale = self._connections.pop(address, None)
                if stale is not None:
                    stale.close()
                reason = error.strerror if isinstance(error, OSError) else None
                problems.append(f"{address[0]}:{address[1]}: {reason or error}")
        raise PipelineError(f"no broker answers: {'; '.join(problems)}")

    def _ask(self, address: Address, request: object, version: int, kind: type[T]) -> T:
        connection = self._connections.get(address)
        if connection is None:
            plain = socket.create_connection(address, self._timeout_seconds)
            connection = self._connections[address] = self._login.secure(plain, address[0])
            if self._login.mechanism is not None:
                self._log_in(connection, self._login.mechanism)
        return self._exchange(connection, request, version, kind)

    def _log_in(self, connection: socket.socket, mechanism: str) -> None:
        chosen = self._exchange(
            connection, SaslHandshakeRequest(mechanism), _SASL_VERSION, SaslHandshakeResponse
        )
        if chosen.error_code:
            enabled = ", ".join(chosen.mechanisms)
            raise PipelineError(f"sasl.mechanism={mechanism}: the broker has {enabled}")

        def send(token: bytes) -> bytes:
            request = SaslAuthenticateRequest(token)
            told = self._exchange(connection, request, _SASL_VERSION, SaslAuthenticateResponse)
            if told.error_code:
                raise PipelineError(told.error_message or ErrorCode(told.error_code).name)
            return told.auth_bytes

        self._login.prove(send)

    def _exchange(
        self, connection: socket.socket, request: object, version: int, kind: type[T]
    ) -> T:
        api_key = cast("int", kind.API_KEY)  # type: ignore[attr-defined]
        self._correlation_id += 1
        frame = encode_request_header(api_key, version, self._correlation_id, "mockbroker-pipeline")
        frame += b"".join(encode(request, version))
        connection.sendall(_LENGTH.pack(len(frame)) + frame)
        answer = _read_frame(connection)
        correlation_id, pos = decode_response_header(answer, api_key, version)
        if correlation_id != self._correlation_id:
            raise ProtocolError(f"answer {correlation_id} to request {self._correlation_id}")
        return decode(kind, version, answer, pos)[0]


def parse_bootstrap(text: str) -> list[Address]:
    """HOST:PORT[,HOST:PORT…] as addresses. Raises PipelineError."""
    addresses = []
    for entry in text.split(","):
        host, colon, port = entry.strip().rpartition(":")
        if not colon or not host or not port.isdigit() or not 0 < int(port) < 65536:
            raise PipelineError(f"--bootstrap: {entry.strip()!r} is not HOST:PORT")
        addresses.append((host.strip("[]"), int(port)))
    return addresses


def _read_frame(connection: socket.socket) -> bytes:
    (size,) = _LENGTH.unpack(_read_exactly(connection, _LENGTH.size))
    if not 0 < size <= _MAX_ANSWER_BYTES:
        raise ProtocolError("what answers is no Kafka broker")
    return _read_exactly(connection, size)


def _read_exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise ProtocolError("the connection was closed without an answer")
        parts += part
    return bytes(parts)
