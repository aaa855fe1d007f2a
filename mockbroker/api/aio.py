"""The views for coroutines: `broker.aio`. Called by `mock_broker`.

They work in the loop that the broker runs in (`async with MockBroker(...)`) and in any other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.api.group_view import AsyncGroupView
from mockbroker.api.topic_view import AsyncTopicView

if TYPE_CHECKING:
    from mockbroker.api.bridge import Bridge


class AsyncViews:
    """Topics and groups whose methods are coroutines."""

    __slots__ = ("_bridge",)

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def topic(self, name: str) -> AsyncTopicView:
        """One topic, which need not exist yet."""
        return AsyncTopicView(self._bridge, name)

    def group(self, group_id: str) -> AsyncGroupView:
        """One consumer group, which need not exist yet."""
        return AsyncGroupView(self._bridge, group_id)
