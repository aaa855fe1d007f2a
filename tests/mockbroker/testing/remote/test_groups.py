"""A group over the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import GroupError, MockBroker, WaitTimeoutError
from mockbroker.coop import tags
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Cooperative, Identity
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.mockbroker.coop.test_fetch import asking
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from mockbroker.testing.remote.broker import RemoteBroker


def test_a_group_is_committed_for_seen_and_forgotten(
    broker: MockBroker, remote: RemoteBroker
) -> None:
    remote.topic("orders").put_all(["a", "b", "c"])
    group = remote.group("billing")
    assert (group.state, group.members(), group.committed(), group.lag()) == ("Dead", [], {}, {})
    assert group.commit({("orders", 0): 1}) == {("orders", 0): 1}
    assert group.describe() == broker.group("billing").describe()
    assert group.lag() == broker.group("billing").lag() == {("orders", 0): 1}
    assert group.wait_committed({("orders", 0): 1}) == {("orders", 0): 1}
    assert group.wait_empty().state == "Empty"
    assert remote.groups() == ["billing"]
    group.delete()
    group.delete()
    assert remote.groups() == []


def test_what_is_refused_is_a_group_error(remote: RemoteBroker) -> None:
    with pytest.raises(GroupError, match="there is no partition nope-0"):
        remote.group("billing").commit({("nope", 0): 1})
    with pytest.raises(WaitTimeoutError, match="billing to be Stable: it is Dead"):
        remote.group("billing").wait_stable(timeout=0)


def test_how_a_group_shares_partitions_is_told_alike() -> None:
    config = {"coop.extension.enable": True, "coop.fetch.lease.ms": 60_000}
    with (
        MockBroker(topics={"t": 1}, config=config, admin_port=0) as broker,
        BlockingConnection(broker.bootstrap_servers) as client,
    ):
        broker.topic("t").put_all(["a", "b", "c", "d"])
        assert broker.admin_url
        near, far = broker.group("g"), MockBroker.connect(broker.admin_url).group("g")
        assert near.sharing() == far.sharing() == {}
        fields: dict[int, bytes] = {
            Tag.COMMIT_RANGES: b"\x02" + (2).to_bytes(8, "big") + (3).to_bytes(8, "big")
        }
        part = OffsetCommitRequestPartition(0)
        tags.tag(part, fields)
        asked = OffsetCommitRequest("g", topics=[OffsetCommitRequestTopic("t", partitions=[part])])
        client.call(asked, 8, OffsetCommitResponse)
        named: dict[int, bytes] = {
            Tag.COOPERATIVE: tags.write_cooperative(Cooperative(10, 0)),
            Tag.GROUP_IDENTITY: tags.write_identity(Identity("g", "worker", -1, None)),
        }
        client.call(asking(("t", 0, None), own_tags=named), 12, FetchResponse)
        broker.clock.freeze()
        told = far.sharing()
        assert told == near.sharing()
        one = told["t", 0]
        assert (one.stable, one.ranges, one.marker) == (0, [(2, 3)], 4)
        leased = [(each.first, each.last, each.member_id) for each in one.leases]
        assert leased == [(0, 1, "worker")]
        broker.clock.advance(60_001)  # timers tick in whole milliseconds
        assert [tuple(each) for each in near.sharing()["t", 0].free] == [(0, 1, 1)]
        client.call(asking(("t", 0, None), own_tags=named), 12, FetchResponse)
        assert far.expire_leases() == 1
        assert far.sharing() == near.sharing()
        assert near.sharing()["t", 0].leases == []
        assert far.expire_leases() == near.expire_leases() == 0


async def test_coroutines_have_the_same(remote: RemoteBroker) -> None:
    group = remote.aio.group("billing")
    assert await group.commit({("orders", 1): 0}) == {("orders", 1): 0}
    assert await group.state() == "Empty"
