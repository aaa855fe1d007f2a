"""Coordinators that are stopped, and have not heard that others lead, if a seed draws "deaf_stop".

What they have written is not replicated, as their high watermarks stand still: whoever waits for it
is to be answered before they are gone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.metadata.names import GROUP_METADATA_TOPIC

if TYPE_CHECKING:
    from simulation.cluster.operators import ClusterOperator

STOPPED_AFTER_MS = 60.0
BACK_AFTER_MS = 200.0


class DeafStops:
    """One more act of the operator."""

    def __init__(self, operator: ClusterOperator) -> None:
        self._operator = operator
        operator.acts["deaf_stop"] = self._stop

    def _stop(self) -> None:
        operator = self._operator
        topic = operator.world.cluster.metadata.topics.get(GROUP_METADATA_TOPIC)
        node = -1 if topic is None else topic.partitions[0].leader
        if node < 0:
            return
        to_node = {"source": CONTROLLER, "target": node}
        operator.do("hold_link", **to_node)
        operator.do("hold_high_watermark", topic=GROUP_METADATA_TOPIC, partition=0)
        time_ms = operator.rng.expovariate(1 / STOPPED_AFTER_MS)
        operator.do_later(time_ms, "stop", node_id=node)
        time_ms += operator.rng.expovariate(1 / BACK_AFTER_MS)
        operator.do_later(time_ms, "restore_link", **to_node)
        operator.do_later(time_ms, "revive", node_id=node)
