"""Wait, without polling, for what a broker's clients have under way to reach it or to end.

A client that was closed may have left requests: on the wire, in the broker's hands, or parked. What
the broker counts and tells is final when it has seen the last connection go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker import MockBroker
    from mockbroker.cluster.cluster import Cluster

DEADLINE_SECONDS: Final = 120.0
"""Only a broken broker makes a test wait this long."""


def until(broker: MockBroker, holds: Callable[[Cluster], bool], what: str) -> None:
    """Wait until `holds`, which is asked after each of the broker's steps."""
    wait = broker._bridged().wait
    wait(lambda cluster: holds(cluster) or None, DEADLINE_SECONDS, lambda _: f"never came: {what}")


def until_clients_have_gone(broker: MockBroker) -> None:
    """Wait until no connection is left: all requests have ended, answered or not."""
    until(
        broker,
        lambda cluster: not any(node.connections() for node in cluster.brokers),
        "the end of all connections",
    )


def until_a_fetch_waits(broker: MockBroker) -> None:
    """Wait until one fetch is parked."""
    until(
        broker,
        lambda cluster: any(
            node.services.replicas.fetch_purgatory.num_delayed_operations
            for node in cluster.brokers
        ),
        "a parked fetch",
    )
