"""What the admin API is given is what `launch` makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker import MockBroker
from mockbroker.server.launch import RunningBroker

if TYPE_CHECKING:
    from mockbroker.admin.host import Host


def test_a_running_broker_is_a_host() -> None:
    with MockBroker(topics=["t"]) as broker:
        bridge = broker._bridged()
        running: Host = bridge.running
        assert isinstance(running, RunningBroker)
        steps: list[int] = []
        unwatch = bridge.call(lambda _: running.watch_steps(lambda: steps.append(1)))
        bridge.call(lambda _: None)
        assert steps
        bridge.call(lambda _: unwatch())
        steps.clear()
        bridge.call(lambda _: unwatch())
        assert steps == []
