"""Puts a broker together and on the network: settings in, a running broker out.

Called by `app` (a process of its own) and by `api` (inside the caller's process). This is where
the core meets what it may not know itself: the wall clock, real randomness, the event loop.
"""

from __future__ import annotations

import asyncio
import os
import time
from random import Random
from typing import TYPE_CHECKING, TypeVar

from mockbroker.cluster import Cluster
from mockbroker.network.server import BrokerServer
from mockbroker.network.timekeeper import TimeKeeper

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.journal import Journal
    from mockbroker.settings import Settings


T = TypeVar("T")


class RunningBroker:
    """A broker that accepts connections at `host`:`port`; it runs in `loop`."""

    __slots__ = ("_server", "cluster", "host", "loop", "port", "timekeeper")

    def __init__(
        self,
        cluster: Cluster,
        server: BrokerServer,
        timekeeper: TimeKeeper,
        host: str,
        port: int,
    ) -> None:
        self.cluster = cluster
        self._server = server
        self.timekeeper = timekeeper
        self.host = host
        self.port = port
        self.loop = asyncio.get_running_loop()

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT for a client's `bootstrap.servers`."""
        host = _WILDCARDS.get(self.host, self.host)
        return f"[{host}]:{self.port}" if ":" in host else f"{host}:{self.port}"

    @property
    def broker_id(self) -> int:
        """The node's id."""
        return self.cluster.brokers[0].services.broker_id

    @property
    def cluster_id(self) -> str:
        """The cluster's id, 22 characters as Kafka's."""
        return self.cluster.metadata.cluster_id

    @property
    def journal(self) -> Journal:
        """What happens, as values."""
        return self.cluster.journal

    def metrics(self) -> dict[str, float]:
        """The node's metrics, value by name; to be called in `loop`."""
        return self.cluster.brokers[0].metrics()

    def act(self, action: Callable[[Cluster], T]) -> T:
        """Look at the cluster, or act on it, as one step; to be called in `loop`."""
        return self._server.act(lambda: action(self.cluster))

    @property
    def after_step(self) -> Callable[[], None] | None:
        """What is called in `loop` after each step of the cluster, while someone waits."""
        return self._server.after_step

    @after_step.setter
    def after_step(self, callback: Callable[[], None] | None) -> None:
        self._server.after_step = callback

    async def stop(self) -> None:
        """Stop accepting, answer what is parked, close."""
        await self._server.stop()


_WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 -- looked up, not bound


def new_event_loop() -> asyncio.AbstractEventLoop:
    """A uvloop loop where it is installed, else asyncio's own."""
    try:
        import uvloop
    except ImportError:
        return asyncio.new_event_loop()
    return uvloop.new_event_loop()


async def launch(settings: Settings) -> RunningBroker:
    """Start a broker in the running loop. Raises OSError (address) or ConfigError."""
    seed = int.from_bytes(os.urandom(8), "big") if settings.seed is None else settings.seed
    cluster = Cluster(
        settings.config,
        settings.topics,
        substream=lambda purpose: Random(f"{seed}/{purpose}"),
        epoch_ms=time.time_ns() // 1_000_000,
    )
    timekeeper = TimeKeeper(cluster, frozen=settings.freeze_clock)
    server = BrokerServer(cluster.brokers[0], timekeeper)
    host, port = await server.start(settings.host, settings.port)
    cluster.advertise(0, settings.advertised_host)
    return RunningBroker(cluster, server, timekeeper, host, port)
