"""Commits of clients without tagged fields: as text, and of members that know nothing."""

from __future__ import annotations

from mockbroker.coop import tags
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
)
from tests.support.core import Core, CoreClient
from tests.support.plain_members import PlainGroup, put
from tests.support.range_group import ON, RangeGroup, fill

CARRIER = {**ON, "coop.metadata.carrier": "true"}


def commit(client: CoreClient, metadata: str, *, version: int = 5) -> int:
    """The error code of a plain commit of position 43 with this metadata."""
    part = OffsetCommitRequestPartition(0, 43, -1, metadata)
    request = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=[part])])
    answer = client.call(request, version, OffsetCommitResponse)
    assert not tags.tagged_fields(answer.topics[0].partitions[0])
    return answer.topics[0].partitions[0].error_code


def stored(client: CoreClient) -> OffsetFetchResponsePartition:
    request = OffsetFetchRequest("g", topics=[OffsetFetchRequestTopic("t", [0])])
    answer = client.call(request, 5, OffsetFetchResponse)
    return answer.topics[0].partitions[0]


def filled(config: dict[str, str]) -> CoreClient:
    client = Core(topics={"t": 1}, config=config).client()
    fill(client, 100)
    return client


def test_metadata_commits_ranges_cm_01() -> None:
    client = filled(CARRIER)
    for version in (5, 9):
        assert commit(client, "ic1;45-47,50;b=43", version=version) == 0
        told = stored(client)
        assert (told.committed_offset, told.metadata) == (43, "ic1;45-47,50;n=2")
    group = RangeGroup(client)
    assert group.fetch(1) == (43, [(45, 47), (50, 50)], [], 0)
    assert commit(client, "ic1;43-44") == 0
    assert stored(client).metadata == "ic1;50;n=1"
    assert commit(client, "ic1;10") == ErrorCode.INVALID_COMMIT_OFFSET_SIZE
    assert commit(client, "ic1;nonsense") == ErrorCode.INVALID_REQUEST
    assert commit(client, "a note") == 0
    assert (stored(client).committed_offset, stored(client).metadata) == (43, "a note")


def test_without_the_carrier_it_is_metadata_cm_02() -> None:
    client = filled(ON)
    assert commit(client, "ic1;45-47,50;b=43") == 0
    told = stored(client)
    assert (told.committed_offset, told.metadata) == (43, "ic1;45-47,50;b=43")


def test_a_long_text_is_too_large_cm_03() -> None:
    client = filled(CARRIER)
    text = "ic1;45-47;x=" + "y" * 4085
    assert len(text) == 4097
    assert commit(client, text) == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert commit(client, text[:-1]) == 0
    assert stored(client).metadata == "ic1;45-47;n=1"


def test_a_long_text_is_measured_in_characters_as_metadata_is() -> None:
    client = filled(CARRIER)
    assert commit(client, "ic1;45-47;x=" + "é" * 4084) == 0
    told = stored(client)
    assert (told.committed_offset, told.metadata) == (0, "ic1;45-47;n=1")
    assert commit(client, "ic1;45-47;x=" + "é" * 4085) == ErrorCode.OFFSET_METADATA_TOO_LARGE


def test_a_members_position_stands_for_its_own_records() -> None:
    core = Core(topics={"t": 1}, config={**ON, "coop.transparent.groups": "g"})
    group = PlainGroup(core, "one", "two")
    for _ in range(3):
        put(group.clients[0], "a", "foobar")
    for at in (0, 1):
        group.fetch(at, 0)
    low = 0 if b"a" in bytes_of(group.fetch(0, 0)) else 1
    assert group.commit(1 - low, 6).error_code == 0
    standing = RangeGroup(group.clients[0]).fetch(2)
    assert (standing.stable, standing.ranges) == (0, [(1, 1), (3, 3), (5, 5)])
    assert group.commit(low, 3).error_code == 0
    assert RangeGroup(group.clients[0]).fetch(2).stable == 4
    assert group.commit(low, 6).error_code == 0
    assert RangeGroup(group.clients[0]).fetch(2) == (6, [], [], 0)


def test_a_members_position_does_not_stand_for_the_record_at_it() -> None:
    core = Core(topics={"t": 1}, config={**ON, "coop.transparent.groups": "g"})
    group = PlainGroup(core, "one", "two")
    put(group.clients[0], *["a", "foobar"] * 3)
    low = 0 if b"foobar" not in bytes_of(group.fetch(0, 0)) else 1
    group.fetch(1 - low, 0)
    assert group.commit(low, 2).error_code == 0
    standing = RangeGroup(group.clients[0]).fetch(2)
    assert (standing.stable, standing.ranges) == (1, [])
    assert group.commit(low, 3).error_code == 0
    standing = RangeGroup(group.clients[0]).fetch(2)
    assert (standing.stable, standing.ranges) == (1, [(2, 2)])


def test_a_group_begins_where_its_members_do() -> None:
    core = Core(topics={"t": 1}, config={**ON, "coop.transparent.groups": "g"})
    fill(core.client(), 20)
    group = PlainGroup(core, "one", "two")
    for at in (0, 1):
        group.fetch(at, 10)
    for at in (0, 1):
        assert group.commit(at, 20).error_code == 0
    assert RangeGroup(group.clients[0]).fetch(2) == (20, [], [], 0)
    group.rejoin()
    assert group.commit(0, 5).error_code == 0  # behind what is done: nothing to say
    assert RangeGroup(group.clients[0]).fetch(2).stable == 20


def bytes_of(part: object) -> bytes:
    records = getattr(part, "records", b"") or b""
    return b"".join(records) if isinstance(records, list) else bytes(records)
