"""What travels between the nodes of the simulated cluster, held against the state of its links.

- While its link from the controller is cut or held, a broker hears of nothing; when that carries
  again, and a change is due, it hears of it at once.
- What a broker asks another one is answered, or given up when replica.socket.timeout.ms is over.
- What the controller has as in sync is no more than a leader of that epoch reckons with: the set
  that it knows, and the one that it has proposed without hearing what became of it (KIP-497).
- Such a proposal is sent again: its leader has a timer for it (AlterPartitionManager).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.replica.partition import Partition
from simulation.checkers import TOLERANCE_MS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.cluster.links.broker_client import BrokerClient
    from mockbroker.cluster.links.link import Link
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.node.broker import Broker
    from simulation.cluster.world import ClusterWorld


class LinkAudits:
    """Looks at all links and those who speak over them."""

    def __init__(self, world: ClusterWorld) -> None:
        self._world = world
        self._images: set[MetadataStore] = set()
        """Whose changes are heard."""
        world.on_up.append(self._hear_all)
        self._hear_all()

    def look(self) -> None:
        """What is due, and was not done."""
        world = self._world
        late_ms = TOLERANCE_MS + world.slack_ms + 1
        for node, running in world.peers.running.items():
            pending = running.feed._pending  # noqa: SLF001 -- for the audit alone
            if pending and pending[0][0] + late_ms < world.now_ms and self._from(node).open:
                world.violate(f"broker {node} does not hear what is due since {pending[0][0]:.3f}")
        for client in world.peers.interconnect._clients.values():  # noqa: SLF001
            waits_ms = _waits_ms(client)
            if waits_ms > late_ms:
                world.violate(
                    f"{client.client_id} waits for broker {client.target}, {waits_ms:.3f} ms for "
                    "too long"
                )

    def _from(self, node: int) -> Link:
        """The link over which a broker hears of the controller."""
        return self._world.peers.links.get(CONTROLLER, node)

    def _hear_all(self) -> None:
        for broker in self._world.cluster.brokers:
            image = broker.services.metadata
            if image not in self._images:
                self._images.add(image)
                image.subscribe(partial(self._on_change, broker.broker_id))

    def _on_change(self, node: int, change: Change) -> None:
        link = self._from(node)
        if not link.open:
            self._world.violate(
                f"broker {node} hears of {type(change).__name__}, and its link is "
                f"{'cut' if link.cut else 'held'}"
            )


def _waits_ms(client: BrokerClient) -> float:
    """For how long its first request is overdue."""
    asked = client._pending  # noqa: SLF001 -- for the audit alone
    now_ms, timeout_ms = client._clock.now_ms, client._timeout_ms  # noqa: SLF001
    return now_ms - asked[0][2] - timeout_ms if asked else 0.0


def wrong_proposals(broker: Broker, controllers: MetadataStore) -> Iterator[str]:
    """Leaders that do not reckon with what the controller may have decided."""
    services = broker.services
    proposing: list[tuple[Partition, list[int]]] = []
    for partition in services.replicas.led_partitions():
        followers = partition.followers
        assert followers is not None
        if followers.proposed is not None and not partition.deleted:
            proposing.append((partition, followers.proposed))
        known = controllers.topics_by_id.get(partition.topic_id)
        if known is None or partition.index >= len(known.partitions):
            continue
        state = known.partitions[partition.index]
        if state.leader != broker.broker_id or state.leader_epoch != partition.leader_epoch:
            continue
        reckoned = {*partition.state.isr, *(followers.proposed or ())}
        if state.partition_epoch > partition.state.partition_epoch and set(state.isr) - reckoned:
            yield f"{partition} reckons with {sorted(reckoned)}, and {state.isr} are in sync"
    if not proposing:
        return
    sent_again = [
        action.args[:2]
        for bucket in services.timer._buckets.values()  # noqa: SLF001 -- for the audit alone
        for task in bucket
        if isinstance(action := task._action, partial)  # noqa: SLF001
        and isinstance(action.args[0] if action.args else None, Partition)
    ]
    for partition, isr in proposing:
        if not any(of is partition and one is isr for of, one in sent_again):
            yield f"{partition} has proposed {isr}, and does not do so again"
