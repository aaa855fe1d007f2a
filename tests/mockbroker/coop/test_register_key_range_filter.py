"""Filters that a client has another one set, or sets for its connection."""

from __future__ import annotations

import pytest

from mockbroker.coop import registered_filters, tags
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.cooperation import (
    RegisterKeyRangeFilterRequest,
    RegisterKeyRangeFilterRequestPartition,
    RegisterKeyRangeFilterRequestTopic,
    RegisterKeyRangeFilterResponse,
)
from tests.mockbroker.coop.test_carried_filters import LOW_ONLY, given
from tests.support.acls import CLUSTER, deny, guarded_core
from tests.support.core import Core, CoreClient
from tests.support.keyed_log import HIGH, LOW
from tests.support.plain_members import plain_fetch, put
from tests.support.range_group import ON


def register(
    client: CoreClient,
    client_id: str | None,
    *ranges: tuple[int, int],
    keys: tuple[bytes | None, ...] = (),
) -> RegisterKeyRangeFilterResponse:
    """Of partition t-0."""
    part = RegisterKeyRangeFilterRequestPartition(0, tags.pack_ranges(ranges), list(keys))
    request = RegisterKeyRangeFilterRequest(
        client_id, [RegisterKeyRangeFilterRequestTopic("t", [part])]
    )
    return client.call(request, 0, RegisterKeyRangeFilterResponse)


def filled(**config: str) -> Core:
    core = Core(topics={"t": 1}, config={**ON, **config})
    put(core.client("filler"), "a", "foobar", "b", "21")
    return core


def test_a_client_id_is_given_its_part_on_any_connection_and_by_any_version() -> None:
    core = filled()
    assert register(core.client("admin"), "half", LOW).error_code == 0
    for version in (4, 11, 12):
        assert given(plain_fetch(core.client("half"), 0, version=version)) == [0, 2]
    assert given(plain_fetch(core.client("admin"), 0)) == [0, 1, 2, 3]


def test_a_connection_has_its_own_while_it_lasts() -> None:
    core = filled(**{"coop.client.filters": LOW_ONLY})
    client = core.client("half")
    assert given(plain_fetch(client, 0)) == [0, 2]
    assert register(client, None, HIGH).error_code == 0
    assert given(plain_fetch(client, 0)) == [1, 3]
    client.disconnect()
    assert given(plain_fetch(core.client("half"), 0)) == [0, 2]


def test_keys_pass_too() -> None:
    core = filled()
    client = core.client()
    register(client, None, keys=(b"21", b"nobody", None))
    assert given(plain_fetch(client, 0)) == [3]


def test_without_topics_all_is_given_again() -> None:
    core = filled()
    client = core.client("half")
    register(client, "half", LOW)
    request = RegisterKeyRangeFilterRequest("half")
    assert client.call(request, 0, RegisterKeyRangeFilterResponse).error_code == 0
    assert given(plain_fetch(client, 0)) == [0, 1, 2, 3]


def test_what_is_no_range_changes_nothing() -> None:
    core = filled()
    client = core.client("half")
    register(client, "half", LOW)
    answer = register(client, "half", (9, 1))
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert answer.error_message == "[9, 1] is no range of slots"
    assert given(plain_fetch(client, 0)) == [0, 2]


def test_there_is_an_end_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registered_filters, "MOST_PARTITIONS", 10)
    client = filled().client()
    parts = [
        RegisterKeyRangeFilterRequestPartition(index, tags.pack_ranges([LOW]))
        for index in range(10 + 1)
    ]
    request = RegisterKeyRangeFilterRequest("me", [RegisterKeyRangeFilterRequestTopic("t", parts)])
    answer = client.call(request, 0, RegisterKeyRangeFilterResponse)
    assert answer.error_code == ErrorCode.POLICY_VIOLATION
    assert answer.error_message == "more than 10 partitions have a filter"


def test_who_says_what_others_are_given_needs_alter_on_the_cluster() -> None:
    core = guarded_core(**ON)
    deny(core, CLUSTER, "kafka-cluster", AclOperation.ALTER)
    client = core.client()
    refused = register(client, "half", LOW).error_code
    assert refused == ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    assert register(client, None, LOW).error_code == 0
