"""A broker with the extension, in the test's process, and what a client of it starts with."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from mockbroker import MockBroker
from mockbroker.coop.numbers import STAGES
from mockbroker.coop_client.brokers import Brokers

if TYPE_CHECKING:
    from collections.abc import Iterator

KEYS = ("a", "foobar", "b", "21", "c", "user-1")
"""By turns in the lower and the upper half of the slots."""
ON = {
    "coop.extension.enable": True,
    "group.initial.rebalance.delay.ms": 0,
    "group.consumer.heartbeat.interval.ms": 100,
    "group.consumer.min.heartbeat.interval.ms": 100,
}


@contextmanager
def sharing_broker(**config: str | int | bool) -> Iterator[MockBroker]:
    """Topic t has one partition and 30 records; configs' dots are written as underscores."""
    named = {name.replace("_", "."): value for name, value in config.items()}
    with MockBroker(topics={"t": 1}, config={**ON, **named}) as running:
        for number in range(30):
            running.topic("t").put(f"v{number}", key=KEYS[number % len(KEYS)])
        yield running


class Links:
    """Connections to brokers, which a test need not close."""

    def __init__(self) -> None:
        self._made: list[Brokers] = []

    async def to(self, broker: MockBroker, group: str | None = "g") -> Brokers:
        """Connected, and of a broker with the extension."""
        link = self.unconnected(broker, group)
        await link.start(STAGES)
        return link

    def unconnected(self, broker: MockBroker, group: str | None = "g") -> Brokers:
        """Not connected yet."""
        self._made.append(Brokers(broker.bootstrap_servers, "me", group, {}))
        return self._made[-1]

    async def close(self) -> None:
        """End them all."""
        for link in self._made:
            await link.close()
