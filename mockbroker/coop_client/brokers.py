"""Requests in this package's own codec, over the connections of aiokafka's client.

aiokafka finds brokers, connects, encrypts and authenticates; its own messages cannot carry tagged
fields, so what is sent and read is `mockbroker_protocol`'s, one fixed version of each API. aiokafka
is imported when a consumer starts.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from mockbroker.coop import tags
from mockbroker.coop.numbers import Tag
from mockbroker.coop_client.errors import ExtensionMissingError, RefusedError, UnreachableError
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
    from io import BytesIO

VERSIONS: Final = {
    ApiKey.FETCH: 12,  # the last one that names topics
    ApiKey.LIST_OFFSETS: 7,
    ApiKey.METADATA: 12,
    ApiKey.OFFSET_COMMIT: 9,
    ApiKey.OFFSET_FETCH: 9,
    ApiKey.FIND_COORDINATOR: 4,
    ApiKey.JOIN_GROUP: 9,
    ApiKey.HEARTBEAT: 4,
    ApiKey.LEAVE_GROUP: 5,
    ApiKey.SYNC_GROUP: 5,
    ApiKey.API_VERSIONS: 3,
    ApiKey.CONSUMER_GROUP_HEARTBEAT: 1,
    ApiKey.ADD_OFFSETS_TO_TXN: 3,
    ApiKey.TXN_OFFSET_COMMIT: 4,  # the last one before which a group is added
}
"""All of them flexible, all of them in Kafka 4.0 too."""
BACKOFF_SECONDS: Final = 0.05
REQUEST_TIMEOUT_MS: Final = 40_000
_MOVED: Final = frozenset(
    (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    )
)
_PASSING: Final = frozenset((ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.LISTENER_NOT_FOUND))
_EXTRA: Final = "a consumer that shares partitions needs aiokafka: pip install 'mockbroker[coop]'"

T = TypeVar("T")


class Topic(NamedTuple):
    """What the brokers say of a topic."""

    id: bytes
    leaders: Mapping[int, int]
    may_be_shared: bool


class _Header(NamedTuple):
    data: bytes

    def encode(self) -> bytes:
        return self.data


class _Answered(NamedTuple):
    correlation_id: int


class _Call:
    """A request and how to read its answer, in the form that aiokafka's connections take."""

    def __init__(self, message: object, answer: type[object], api: ApiKey) -> None:
        self.API_KEY = int(api)
        self.API_VERSION = VERSIONS[api]
        self.RESPONSE_TYPE = self
        self._message = message
        self._answer = answer

    def prepare(self, versions: Mapping[int, tuple[int, int]]) -> _Call:
        """Raises RefusedError where the broker has not this version."""
        low, high = versions.get(self.API_KEY, (0, -1))
        if not low <= self.API_VERSION <= high:
            name = type(self._message).__name__
            raise RefusedError(f"{name} v{self.API_VERSION}", ErrorCode.UNSUPPORTED_VERSION)
        return self

    def build_request_header(self, *, correlation_id: int, client_id: str) -> _Header:
        return _Header(
            encode_request_header(self.API_KEY, self.API_VERSION, correlation_id, client_id)
        )

    def encode(self) -> bytes:
        return b"".join(encode(self._message, self.API_VERSION))

    def parse_response_header(self, frame: BytesIO) -> _Answered:
        correlation_id, pos = decode_response_header(
            frame.getvalue(), self.API_KEY, self.API_VERSION
        )
        frame.seek(pos)
        return _Answered(correlation_id)

    def decode(self, frame: BytesIO) -> object:
        return decode(self._answer, self.API_VERSION, frame.getvalue(), frame.tell())[0]


class Brokers:
    """The brokers of one cluster, the coordinator of one group, and those of transactions."""

    def __init__(
        self,
        bootstrap: str,
        client_id: str,
        group_id: str | None,
        security: Mapping[str, object],
        timeout_ms: int = REQUEST_TIMEOUT_MS,
    ) -> None:
        """Security settings are those of aiokafka. Raises ImportError without it.

        An answer is waited for so long: it is longer than a rebalance, which a JoinGroup waits for.
        """
        try:
            from aiokafka.client import AIOKafkaClient
            from aiokafka.errors import KafkaError
        except ImportError as error:
            raise ImportError(_EXTRA) from error
        self._client: Any = AIOKafkaClient(
            bootstrap_servers=bootstrap,
            client_id=client_id,
            request_timeout_ms=timeout_ms,
            **security,
        )
        self._broken = (KafkaError, OSError, TimeoutError)
        self._group_id = group_id
        self._patience = timeout_ms / 1000
        self._coordinators: dict[str | None, int] = {}
        """By transactional id; None: that of the group."""

    async def start(self, stages: int) -> None:
        """Connect, and see that the brokers have these stages of the extension."""
        try:
            await self._client.bootstrap()
        except self._broken as error:
            raise UnreachableError(str(error)) from error
        request = ApiVersionsRequest("mockbroker", "1")
        tags.tag(request, {Tag.HELLO: tags.hello()})
        response = await self.ask_any(request, ApiVersionsResponse)
        told = tags.tagged_fields(response).get(Tag.HELLO)
        if told is None or tags.read_stages(told) & stages != stages:
            raise ExtensionMissingError(
                "the broker lets nobody share partitions: mockbroker does if it is started with "
                "--set coop.extension.enable=true"
            )

    async def close(self) -> None:
        """End all connections."""
        await self._client.close()

    async def ask(
        self, node: int, message: object, answer: type[T], channel: str = "requests"
    ) -> T:
        """One broker's answer. Each channel is a connection: an answer waits for those before it.

        Raises UnreachableError.
        """
        call = _Call(message, answer, _api_of(message))
        try:
            found: T = await self._client.send(node, call, group=channel)
        except self._broken as error:
            raise UnreachableError(str(error)) from error
        return found

    async def ask_any(self, message: object, answer: type[T]) -> T:
        """The answer of whoever can be reached."""
        async with self._waiting(f"no broker answered {type(message).__name__}"):
            for pause in _pauses():
                try:
                    return await self.ask(self._client.get_random_node(), message, answer)
                except UnreachableError:
                    await asyncio.sleep(pause)
        raise AssertionError("pauses have no end")

    async def ask_coordinator(
        self,
        message: object,
        answer: type[T],
        codes: Callable[[T], Iterable[int]],
        transactional_id: str | None = None,
    ) -> T:
        """The answer of the group's or a transaction's coordinator, wherever it moves to."""
        async with self._waiting(f"no coordinator answered {type(message).__name__}"):
            for pause in _pauses():
                try:
                    node = self._coordinators.get(transactional_id)
                    if node is None:
                        node = await self._find_coordinator(transactional_id)
                        self._coordinators[transactional_id] = node
                    found = await self.ask(node, message, answer, "coordinator")
                    if _MOVED.isdisjoint(codes(found)):
                        return found
                except UnreachableError:
                    self._client.force_metadata_update()
                self._coordinators.pop(transactional_id, None)
                await asyncio.sleep(pause)
        raise AssertionError("pauses have no end")

    @asynccontextmanager
    async def _waiting(self, what: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._patience):
                yield
        except TimeoutError:
            raise UnreachableError(what) from None

    async def _find_coordinator(self, transactional_id: str | None) -> int:
        key = self._group_id if transactional_id is None else transactional_id
        assert key is not None
        kind = int(transactional_id is not None)
        request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        (found,) = (await self.ask_any(request, FindCoordinatorResponse)).coordinators
        if found.error_code in _MOVED:
            raise UnreachableError("no coordinator yet")
        if found.error_code:
            raise RefusedError(f"looking for the coordinator of {key}", found.error_code)
        return found.node_id

    async def topics(self, names: Iterable[str]) -> dict[str, Topic]:
        """What is known of these; who does not exist is not in it."""
        request = MetadataRequest(
            [MetadataRequestTopic(name=name) for name in names], allow_auto_topic_creation=False
        )
        tags.tag(request, {Tag.RANGE_FETCH_ALLOWED: b""})
        response = await self.ask_any(request, MetadataResponse)
        self._client.force_metadata_update()
        found = {}
        for topic in response.topics:
            if topic.error_code in _PASSING or topic.error_code == (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            ):
                continue
            if topic.error_code:
                raise RefusedError(f"topic {topic.name}", topic.error_code)
            allows = tags.tagged_fields(topic).get(Tag.RANGE_FETCH_ALLOWED, b"\x01")
            leaders = {one.partition_index: one.leader_id for one in topic.partitions}
            found[topic.name or ""] = Topic(topic.topic_id, leaders, allows != b"\x00")
        return found


def _pauses() -> Iterator[float]:
    """Seconds between attempts: ever longer ones, up to one."""
    pause = BACKOFF_SECONDS
    while True:
        yield pause
        pause = min(2 * pause, 1.0)


def _api_of(message: object) -> ApiKey:
    return _APIS[type(message).__name__]


_APIS: Final = {
    "".join(part.title() for part in api.name.split("_")) + "Request": api for api in VERSIONS
}
