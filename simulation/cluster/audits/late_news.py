"""Late news in the cluster's simulation, where a seed draws "late_news".

A follower comes back in sync while its leader hears nothing of the controller: the leader proposes
that, the controller takes it, and the leader proposes the same again, as nobody tells it so.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.links.isr_proposals import RETRY_MS
from mockbroker.cluster.links.link import CONTROLLER

if TYPE_CHECKING:
    from simulation.cluster.operators import ClusterOperator

OUT_FOR_MS = 20.0
TOLD_AFTER_MS = RETRY_MS + 200.0


class LateNews:
    """One more act of the operator."""

    def __init__(self, operator: ClusterOperator) -> None:
        self._operator = operator
        operator.acts["late_news"] = self._hold

    def _hold(self) -> None:
        operator = self._operator
        name, index = operator.part()
        state = operator.world.cluster.metadata.topics[name].partitions[index]
        followers = [node for node in state.replicas if node != state.leader]
        if state.leader < 0 or not followers:
            return
        node, part = operator.rng.choice(followers), {"topic": name, "partition": index}
        news = {"source": CONTROLLER, "target": state.leader}
        operator.do("hold_follower", **part, node_id=node)
        operator.do("shrink_isr", **part, without=node)
        operator.do_later(OUT_FOR_MS, "hold_link", **news)
        operator.do_later(OUT_FOR_MS, "release_follower", **part, node_id=node)
        late_ms = TOLD_AFTER_MS + operator.rng.expovariate(1 / OUT_FOR_MS)
        operator.do_later(late_ms, "restore_link", **news)
