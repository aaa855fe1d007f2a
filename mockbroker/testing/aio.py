"""The views for coroutines: `broker.aio`. Called by `mock_broker`.

They work in the loop that the broker runs in (`async with MockBroker(...)`) and in any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.testing.group_view import AsyncGroupView
from mockbroker.testing.journal_view import AsyncJournalView
from mockbroker.testing.topic_view import AsyncTopicView

if TYPE_CHECKING:
    from mockbroker.testing.bridge import Bridge


class AsyncViews:
    """Topics, groups and the journal, whose methods are coroutines where they wait."""

    __slots__ = ("_bridge", "_journal_since")

    def __init__(self, bridge: Bridge, journal_since: int = 0) -> None:
        self._bridge = bridge
        self._journal_since = journal_since

    @property
    def bootstrap_servers(self) -> str:
        """HOST:PORT for a client's `bootstrap_servers`."""
        return self._bridge.running.bootstrap_servers

    @property
    def journal(self) -> AsyncJournalView:
        """The requests that were served; expectations are awaited."""
        return AsyncJournalView(self._bridge, self._journal_since)

    def topic(self, name: str) -> AsyncTopicView:
        """One topic, which need not exist yet."""
        return AsyncTopicView(self._bridge, name)

    def group(self, group_id: str) -> AsyncGroupView:
        """One consumer group, which need not exist yet."""
        return AsyncGroupView(self._bridge, group_id)
