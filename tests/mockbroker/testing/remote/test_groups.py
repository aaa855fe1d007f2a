"""A group over the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import GroupError, WaitTimeoutError

if TYPE_CHECKING:
    from mockbroker import MockBroker
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


async def test_coroutines_have_the_same(remote: RemoteBroker) -> None:
    group = remote.aio.group("billing")
    assert await group.commit({("orders", 1): 0}) == {("orders", 1): 0}
    assert await group.state() == "Empty"
