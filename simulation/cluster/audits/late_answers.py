"""Late answers in the cluster's simulation, where a seed draws "late_answers".

A follower hears of its leader's next epoch before what that answered in the last: records which it
must not take. The leader stays, as another replica of the partition is taken away for a while.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simulation.cluster.operators import ClusterOperator

TOLD_AFTER_MS = 40.0
LATE_BY_MS = 40.0
AWAY_MS = 200.0


class LateAnswers:
    """One more act of the operator."""

    def __init__(self, operator: ClusterOperator) -> None:
        self._operator = operator
        operator.acts["late_answers"] = self._hold

    def _hold(self) -> None:
        operator = self._operator
        name, index = operator.part()
        state = operator.world.cluster.metadata.topics[name].partitions[index]
        followers = [node for node in state.replicas if node != state.leader]
        if state.leader >= 0 and followers:
            node = operator.rng.choice(followers)
            operator.do("hold_link", source=state.leader, target=node)
            told_ms = operator.rng.expovariate(1 / TOLD_AFTER_MS)
            operator.world.at(told_ms, partial(self._begin_epoch, state.leader, node))

    def _begin_epoch(self, leader: int, follower: int) -> None:
        """Of everything that is on its way."""
        operator = self._operator
        find = operator.world.controls.log
        for name, topic in operator.world.cluster.metadata.topics.items():
            for index, state in enumerate(topic.partitions):
                others = [node for node in state.replicas if node not in (leader, follower)]
                if state.leader != leader or follower not in state.replicas or not others:
                    continue
                led, follows = find(name, index, leader), find(name, index, follower)
                if led is None or follows is None or led.log_end_offset == follows.log_end_offset:
                    continue
                left, part = [leader, follower, *others[1:]], {"topic": name, "partition": index}
                operator.do("reassign", **part, replicas=left)
                operator.do_later(AWAY_MS, "reassign", **part, replicas=[*state.replicas])
        late_ms = operator.rng.expovariate(1 / LATE_BY_MS)
        operator.do_later(late_ms, "restore_link", source=leader, target=follower)
