"""The metadata log in a test's hands, from any thread; there with a `controller_port`.

`MockBroker.metadata_log` gives one. While commits are held the log grows and its high watermark
stands still, as when the other voters have stopped replicating; each verb is a step of the broker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.testing.bridge import Bridge

__tracebackhide__ = True

OBSERVER_TIMEOUT_SECONDS = 30.0


class MetadataLogView:
    """RuntimeError from each verb when the broker has no controller's listener."""

    __slots__ = ("_bridge",)

    def __init__(self, bridge: Bridge) -> None:
        self._bridge = bridge

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self._bridge!r}>"

    @property
    def end_offset(self) -> int:
        """The offset of the next record."""
        return self._bridge.call(lambda cluster: cluster.quorum().log.log_end_offset)

    @property
    def high_watermark(self) -> int | None:
        """Below it all is committed; None before an epoch's first commit."""
        return self._bridge.call(lambda cluster: cluster.quorum().high_watermark)

    def append_no_op(self) -> int:
        """Write a record that says nothing; returns its offset."""
        return self._bridge.call(lambda cluster: cluster.quorum().append_no_op())

    def hold_commits(self) -> None:
        """Let the high watermark stand still."""
        return self._bridge.call(lambda cluster: cluster.quorum().hold())

    def release_commits(self) -> None:
        """Let it go up to the log's end, and follow it again."""
        return self._bridge.call(lambda cluster: cluster.quorum().release())

    def begin_epoch(self) -> None:
        """Let the controller resign and be elected again, in the next epoch."""
        return self._bridge.call(lambda cluster: cluster.quorum().begin_epoch())

    def wait_for_observer(self, timeout_seconds: float = OBSERVER_TIMEOUT_SECONDS) -> int:
        """Block until some replica has all there is and waits for more; returns the end offset.

        Raises WaitTimeoutError, an AssertionError, when none does in time.
        """

        def waiting(cluster: Cluster) -> int | None:
            quorum = cluster.quorum()
            return quorum.log.log_end_offset if quorum.has_waiting_observer else None

        return self._bridge.wait(
            waiting,
            timeout_seconds,
            lambda cluster: (
                f"no observer waits at offset {cluster.quorum().log.log_end_offset} of the "
                "metadata log"
            ),
        )
