"""A coordinator that is won and lost and won at once, where a seed draws "wavering".

The controller moves the lead of an internal topic's partition to a broker and away again, several
times, while the broker hears nothing; then it hears all of it in one step. It coordinates once it
has loaded the log after the last of these.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC

if TYPE_CHECKING:
    from simulation.cluster.operators import ClusterOperator

MOST_TIMES = 3
MOVES_AFTER_MS = 5.0


class Wavering:
    """One more act of the operator."""

    def __init__(self, operator: ClusterOperator) -> None:
        self._operator = operator
        operator.acts["wavering"] = self._waver

    def _waver(self) -> None:
        operator = self._operator
        topics = operator.world.cluster.metadata.topics
        names = [one for one in (GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC) if one in topics]
        if not names:
            return
        name = operator.rng.choice(names)
        index = operator.rng.randrange(len(topics[name].partitions))
        state = topics[name].partitions[index]
        others = [node for node in state.isr if node != state.leader]
        if state.leader < 0 or not others:
            return
        node, part = operator.rng.choice(others), {"topic": name, "partition": index}
        to_node = {"source": CONTROLLER, "target": node}
        operator.do("hold_link", **to_node)
        time_ms = 0.0
        for to in (node, *(state.leader, node) * operator.rng.randint(1, MOST_TIMES)):
            operator.do_later(time_ms, "move_leader", **part, to=to)
            time_ms += operator.rng.random() * MOVES_AFTER_MS
        operator.do_later(time_ms, "restore_link", **to_node)
