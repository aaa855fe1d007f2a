"""The brokers and their time over the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker import ControlError, MockBroker, WaitTimeoutError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.testing.remote.broker import RemoteBroker


@pytest.fixture
def own() -> Iterator[MockBroker]:
    with MockBroker(brokers=3, topics={"orders": 1}, admin_port=0) as broker:
        yield broker


def test_brokers_are_killed_led_elsewhere_and_revived(own: MockBroker) -> None:
    assert own.admin_url
    cluster = MockBroker.connect(own.admin_url).cluster
    leader, follower, third = cluster.replicas("orders", 0)
    assert (cluster.leader("orders", 0), cluster.brokers) == (leader, [1, 2, 3])
    own.topic("orders").put("one")
    assert len(cluster.wait_in_sync("orders", 0)) == 3
    cluster.move_leader("orders", 0, to=follower)
    cluster.elect_preferred("orders", 0)
    assert cluster.leader("orders", 0) == leader
    cluster.move_leader("orders", 0, to=follower)
    cluster.kill(leader, fence=False, lose="unflushed")
    cluster.slow_link(follower, third, seconds=0.001)
    cluster.skew_clock(third, seconds=1)
    assert cluster.brokers == sorted([follower, third])
    assert cluster.records("orders", 0, leader) == []
    cluster.revive(leader)
    cluster.reassign("orders", 0, (leader, third))
    cluster.wait_in_sync("orders", 0, [leader, third])
    assert cluster.isr("orders", 0)
    assert cluster.coordinator("billing") == own.cluster.coordinator("billing")


def test_what_cannot_be_done_is_a_control_error(remote: RemoteBroker) -> None:
    with pytest.raises(ControlError, match="there is no broker 9"):
        remote.cluster.kill(9)
    with pytest.raises(ControlError, match="there is no partition orders-7"):
        remote.cluster.leader("orders", 7)
    with pytest.raises(ControlError, match="there is no broker 9"):
        remote.cluster.records("orders", 0, 9)
    assert remote.cluster.records("nope", 0, 1) == []
    with pytest.raises(AttributeError):
        remote.cluster._controls(remote._caller.source).explode()  # type: ignore[attr-defined]
    with pytest.raises(WaitTimeoutError, match=r"in sync on \[1\]"):
        remote.cluster.wait_in_sync("orders", 0, [1], timeout=0)


def test_time_is_frozen_advanced_and_let_run(broker: MockBroker, remote: RemoteBroker) -> None:
    clock = remote.clock
    clock.freeze()
    before, wall = clock.now_ms, clock.wall_ms
    clock.advance(1000)
    clock.jump(-500)
    assert (clock.now_ms, clock.wall_ms) == (before + 1000, wall + 500)
    assert (clock.frozen, broker.clock.frozen) == (True, True)
    clock.unfreeze()
    clock.rate = 2
    assert (clock.rate, clock.frozen) == (2, False)
    with pytest.raises(ValueError, match="rate"):
        clock.rate = 0


async def test_coroutines_have_the_same(remote: RemoteBroker) -> None:
    assert await remote.aio.cluster.brokers() == [1, 2, 3]
    await remote.aio.clock.set_rate(3)
    assert await remote.aio.clock.rate() == 3
