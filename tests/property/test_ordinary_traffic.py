"""Ordinary clients are answered the same, byte for byte, with the extension of `coop` on and off.

Played are the requests that Apache Kafka wrote for the golden bytes, every API and version of them,
and the calls of a consumer of each group protocol.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from mockbroker_protocol.api_keys import ALL_SPECS
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.consumer_group import ConsumerGroupHeartbeatRequest
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from mockbroker_protocol.messages.metadata import MetadataRequest
from tests.mockbroker.coop.test_fetch import put
from tests.support.core import Core
from tests.support.groups import subscription

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.core import CoreClient

GOLDEN = Path(__file__).parents[1] / "golden" / "messages.txt"
NAMES = {f"{spec.name}Request": key for key, spec in ALL_SPECS.items()}


def golden_requests() -> Iterator[tuple[int, int, bytes]]:
    for line in GOLDEN.read_text("utf-8").splitlines():
        name, _, rest = line.partition(" ")
        if name in NAMES:
            version, body, *_ = rest.split(" ")
            yield int(NAMES[name]), int(version), bytes.fromhex(body.strip("-"))


class Played:
    """One broker and the answers that it gave."""

    def __init__(self, *, extended: bool) -> None:
        config = {"coop.extension.enable": "true"} if extended else {}
        self.core = Core(topics={"t": 2}, config=config)
        self.seen: list[bytes] = []

    def frame(self, key: int, version: int, body: bytes) -> None:
        """Play it on a connection of its own; what parks is waited for."""
        client = self.core.client("ordinary")
        frame = encode_request_header(key, version, 7, "ordinary") + body
        client.send_bytes(len(frame).to_bytes(4, "big") + frame)
        if not client.answered and not client.closed:
            self.core.advance(1_000)
        self.seen += [bytes(client.receive_bytes()) for _ in range(client.answered)]
        self.seen.append(b"closed" if client.closed else b"")
        client.disconnect()

    def call(self, client: CoreClient, request: object, version: int) -> None:
        """One call of a client that goes on."""
        client.send(request, version)
        if not client.answered:
            self.core.advance(5_000)
        self.seen.append(bytes(client.receive_bytes()))
        client._expected.pop(0)


def test_what_kafka_wrote_is_answered_alike() -> None:
    """EC-01."""
    plain, extended = Played(extended=False), Played(extended=True)
    answered = 0
    for key, version, body in golden_requests():
        for each in (plain, extended):
            each.frame(key, version, body)
        answered += plain.seen[-1] != b"closed"
        assert plain.seen == extended.seen, (NAMES, key, version)
        plain.seen.clear()
        extended.seen.clear()
    assert answered > 100


def fetching(offset: int, session: tuple[int, int] = (0, -1)) -> FetchRequest:
    part = FetchRequestPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return FetchRequest(
        max_wait_ms=100,
        min_bytes=1,
        max_bytes=1 << 20,
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchRequestTopic("t", partitions=[part])],
    )


def classic(played: Played, member: int) -> None:
    """A consumer of the classic protocol: it joins, reads, commits and asks for its position."""
    client = played.core.client(f"classic {member}")
    played.call(client, ApiVersionsRequest("library", "1"), 3)
    played.call(client, MetadataRequest(topics=None), 12)
    join = JoinGroupRequest(
        group_id=f"g{member}",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", subscription("t"))],
    )
    join.member_id = client.call(join, 9, JoinGroupResponse).member_id
    played.call(client, join, 9)
    given = [SyncGroupRequestAssignment(join.member_id, b"what it reads")]
    sync = SyncGroupRequest(
        group_id=join.group_id,
        generation_id=1,
        member_id=join.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=given,
    )
    played.call(client, sync, 5)
    for version in range(4, 13):
        played.call(client, fetching(0), version)
    played.call(client, fetching(0, (0, 0)), 12)
    for version in range(2, 10):
        part = OffsetCommitRequestPartition(0, version, -1, "note")
        topic = OffsetCommitRequestTopic("t", partitions=[part])
        commit = OffsetCommitRequest(
            group_id=join.group_id,
            generation_id_or_member_epoch=1,
            member_id=join.member_id,
            topics=[topic],
        )
        played.call(client, commit, version)
    for version in range(1, 8):
        asked = OffsetFetchRequest(
            group_id=join.group_id, topics=[OffsetFetchRequestTopic("t", [0])]
        )
        played.call(client, asked, version)


def modern(played: Played, member: int) -> None:
    """A consumer of KIP-848."""
    client = played.core.client(f"modern {member}")
    for epoch, assignor in ((0, None), (0, "krange"), (0, "range"), (1, None), (99, None)):
        request = ConsumerGroupHeartbeatRequest(
            group_id="modern",
            member_id=f"m{member}",
            member_epoch=epoch,
            rebalance_timeout_ms=60_000 if epoch == 0 else -1,
            subscribed_topic_names=["t"] if epoch == 0 else None,
            server_assignor=assignor,
            topic_partitions=[],
        )
        played.call(client, request, 1)


def test_consumers_are_answered_alike() -> None:
    plain, extended = Played(extended=False), Played(extended=True)
    for each in (plain, extended):
        writer = each.core.client()
        put(writer, "a", None, "foobar")
        put(writer, "b")
        for member in range(2):
            classic(each, member)
            modern(each, member)
    assert len(plain.seen) > 60
    assert plain.seen == extended.seen
