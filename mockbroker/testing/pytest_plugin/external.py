"""A server that runs elsewhere, as the fixtures use it: `--mockbroker=HOST:PORT`.

What goes by Kafka's protocol works: topics are made, and what a test made is deleted after it.
What needs the server's inside (records, journal, faults, clock) says that it is not there.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, NoReturn, Self, TypeVar

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

TIMEOUT_SECONDS: Final = 30.0
_TIMEOUT_MS: Final = 30_000
_LENGTH: Final = struct.Struct(">i")


class ExternalError(Exception):
    """The server refused what a fixture asked for, or is not one."""


class ExternalTopic:
    """One topic of the server."""

    def __init__(self, broker: ExternalBroker, name: str) -> None:
        self._broker = broker
        self.name = name

    def create(self, partitions: int | None = None) -> Self:
        """Make the topic. Raises ExternalError."""
        topic = CreatableTopic(self.name, partitions or -1, -1)
        request = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
        (answer,) = self._broker.call(request, 5, CreateTopicsResponse).topics
        if answer.error_code:
            message = f"topic {self.name}: {answer.error_message or answer.error_code}"
            raise ExternalError(message)
        return self

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(f"topic(…).{name}")


class ExternalBroker:
    """The server at HOST:PORT. Raises OSError when nobody listens there."""

    def __init__(self, bootstrap_servers: str) -> None:
        host, colon, port = bootstrap_servers.rpartition(":")
        if not colon or not port.isdigit():
            message = f"--mockbroker: {bootstrap_servers!r}; allowed: HOST:PORT"
            raise ExternalError(message)
        self.bootstrap_servers = bootstrap_servers
        self.host = host.strip("[]")
        self.port = int(port)
        self.call(MetadataRequest(topics=[]), 8, MetadataResponse)

    def topic(self, name: str) -> ExternalTopic:
        """One topic, which need not exist yet."""
        return ExternalTopic(self, name)

    def topics(self) -> list[str]:
        """The names of the topics, without those of the coordinators."""
        answer = self.call(MetadataRequest(topics=None), 8, MetadataResponse)
        return sorted(one.name for one in answer.topics if one.name and not one.is_internal)

    def groups(self) -> list[str]:
        """The ids of the groups."""
        answer = self.call(ListGroupsRequest(), 2, ListGroupsResponse)
        return sorted(one.group_id for one in answer.groups)

    @contextmanager
    def scope(self) -> Iterator[Self]:
        """Delete at the end the topics and the groups that were made inside.

        Not under xdist, where they may be another worker's.
        """
        if "PYTEST_XDIST_WORKER" in os.environ:
            yield self
            return
        topics, groups = set(self.topics()), set(self.groups())
        try:
            yield self
        finally:
            self._delete(set(self.topics()) - topics, set(self.groups()) - groups)

    def _delete(self, topics: set[str], groups: set[str]) -> None:
        if groups:  # one with members stays: its clients may still leave it
            self.call(DeleteGroupsRequest(sorted(groups)), 1, DeleteGroupsResponse)
        if topics:
            request = DeleteTopicsRequest(topic_names=sorted(topics), timeout_ms=_TIMEOUT_MS)
            for answer in self.call(request, 5, DeleteTopicsResponse).responses:
                if answer.error_code not in (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                    message = f"topic {answer.name}: {ErrorCode(answer.error_code).name}"
                    raise ExternalError(message)

    def call(self, request: object, version: int, kind: type[T]) -> T:
        """One request on a connection of its own, and its answer."""
        api_key: int = request.API_KEY  # type: ignore[attr-defined]  # of every request class
        frame = encode_request_header(api_key, version, 1, "mockbroker-pytest")
        frame += b"".join(encode(request, version))
        address = (self.host, self.port)
        with socket.create_connection(address, timeout=TIMEOUT_SECONDS) as connection:
            connection.sendall(_LENGTH.pack(len(frame)) + frame)
            with connection.makefile("rb") as stream:
                head = stream.read(_LENGTH.size)
                size = _LENGTH.unpack(head)[0] if len(head) == _LENGTH.size else -1
                answer = stream.read(size) if size >= 0 else b""
        if size < 0 or len(answer) < size:
            message = f"{self.bootstrap_servers} closed instead of an answer"
            raise ExternalError(message)
        _, position = decode_response_header(answer, api_key, version)
        decoded, _ = decode(kind, version, answer, position)
        return decoded

    def __getattr__(self, name: str) -> NoReturn:
        _refuse(name)


def _refuse(name: str) -> NoReturn:
    message = f"{name} is not there with --mockbroker=HOST:PORT: the server is another process"
    raise AttributeError(message)
