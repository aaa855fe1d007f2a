"""Shortages in the cluster's simulation, where a seed draws "shortages".

While something is leased, a topic of those who coordinate groups that share wants all of its
replicas in sync, and one of them is not: its log refuses what is written, and whoever had decided
on that takes it back.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.coop.extension import extension_of
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC

if TYPE_CHECKING:
    from simulation.cluster.operators import ClusterOperator

LOOKS, LOOK_EVERY_MS = 10, 40.0
LASTS_MS = 150.0
TOPICS = (GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC)


class Shortages:
    """One more act of the operator."""

    def __init__(self, operator: ClusterOperator) -> None:
        self._operator = operator
        operator.acts["shortages"] = partial(self._look, LOOKS)

    def _look(self, looks: int) -> None:
        """Wait until something is leased."""
        operator = self._operator
        topic = operator.world.cluster.metadata.topics.get(INDIVIDUAL_COMMITS_TOPIC)
        if operator.stopped or not looks:
            return
        # The topic of ranges is made with what that of groups wants then.
        if topic is not None and self._is_leased():
            self._begin()
        else:
            operator.world.at(LOOK_EVERY_MS, partial(self._look, looks - 1))

    def _is_leased(self) -> bool:
        return any(
            leases.leased
            for broker in self._operator.world.cluster.brokers
            for leases in extension_of(broker.services).handouts.tables().values()
        )

    def _begin(self) -> None:
        operator, topic = self._operator, self._operator.rng.choice(TOPICS)
        state = operator.world.cluster.metadata.topics[topic].partitions[0]
        followers = [node for node in state.replicas if node != state.leader]
        if not followers:
            return
        node, part = operator.rng.choice(followers), {"topic": topic, "partition": 0}
        operator.do("hold_follower", **part, node_id=node)
        operator.do("shrink_isr", **part, without=node)
        operator.do("set_min_isr", topic=topic, count=operator.plan.brokers)
        over_ms = LASTS_MS * (0.5 + operator.rng.random())
        operator.do_later(over_ms, "set_min_isr", topic=topic, count=operator.plan.min_isr)
        operator.do_later(over_ms, "release_follower", **part, node_id=node)

    def end(self) -> None:
        """All is healed: what lasts ends."""
        operator, topics = self._operator, self._operator.world.cluster.metadata.topics
        for topic in TOPICS:
            known = topics.get(topic)
            if known and known.config.int("min.insync.replicas") > operator.plan.min_isr:
                operator.do("set_min_isr", topic=topic, count=operator.plan.min_isr)
