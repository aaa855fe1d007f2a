"""A cluster whose time is moved far, with the idle rounds among its brokers left out or played."""

from __future__ import annotations

from tests.support.cluster_core import ClusterCore
from tests.support.cluster_picture import picture


class MovedCore(ClusterCore):
    """A cluster whose time is moved far: idle rounds are skipped, or played to compare."""

    def __init__(
        self,
        *,
        skips: bool,
        config: dict[str, str] | None = None,
        seed: int = 0,
        topics: dict[str, int | None] | None = None,
    ) -> None:
        super().__init__(topics={"t": 3} if topics is None else topics, config=config, seed=seed)
        self.skips_idle = skips
        self.changes: list[tuple[float, str]] = []
        """When the controller decided what."""
        self.cluster.metadata.subscribe(
            lambda change: self.changes.append((self.cluster.clock.now_ms, type(change).__name__))
        )

    @property
    def skipped(self) -> dict[str, int]:
        return self.peers.idle_rounds.skipped

    def picture(self) -> dict[str, object]:
        """All that a later step could depend on, with what clients were answered."""
        seen = picture(self.cluster)
        seen["changes"] = self.changes
        seen["answers"] = [client._answers for client in self._clients.values()]
        seen["closed"] = [client.closed for client in self._clients.values()]
        return seen
