"""What is done to a simulated cluster, as data: a step has a time, an action and its fields.

The operator makes steps and performs them; a run can be told to do given ones instead, which is how
a failing seed shrinks and how it prints as a test. Actions are the cluster's own controls by their
names, and those of `Verbs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.cluster import actions
from mockbroker.cluster.node_controls import ControlError
from mockbroker.metadata.topic_requests import (
    ConfigAlteration,
    NewPartitions,
    NewTopic,
    TopicReference,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.cluster.cluster import Cluster

SET = 0
RESOURCE_TOPIC = 2


class Step:
    """`action` with its `fields` at `at_ms`; its repr makes it again."""

    __slots__ = ("action", "at_ms", "fields")

    def __init__(self, at_ms: float, action: str, **fields: object) -> None:
        self.at_ms = at_ms
        self.action = action
        self.fields = fields

    def __repr__(self) -> str:
        fields = "".join(f", {name}={value!r}" for name, value in self.fields.items())
        return f'Step({self.at_ms!r}, "{self.action}"{fields})'

    def at(self, at_ms: float) -> Step:
        """The same at another time."""
        return Step(at_ms, self.action, **self.fields)

    def told(self) -> str:
        """For the trace."""
        return " ".join((self.action, *map(str, self.fields.values())))


class Verbs:
    """Performs steps. What no control does is done here; crews add theirs with `add`."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._controller = cluster.controller
        self._by_action: dict[str, Callable[..., object]] = {
            "reset_link": self._reset_link,
            "cancel_reassignment": self._cancel_reassignment,
            "set_min_isr": self.set_min_isr,
            "create_topic": self._create_topic,
            "grow_topic": self._grow_topic,
            "delete_topic": self._delete_topic,
        }

    def add(self, action: str, act: Callable[..., object]) -> None:
        """Perform `action` by calling this with its fields. A ControlError refuses."""
        self._by_action[action] = act

    def perform(self, step: Step) -> bool:
        """Do it; False when the cluster refuses."""
        act = self._by_action.get(step.action)
        try:
            if act is None:
                control = {"action": step.action, **step.fields}
                actions.check(control)
                actions.perform(control, self._cluster)
            else:
                act(**step.fields)
        except ControlError:
            return False
        return True

    def set_min_isr(self, topic: str, count: int) -> None:
        """Alter min.insync.replicas of a topic."""
        change = ConfigAlteration(RESOURCE_TOPIC, topic, [("min.insync.replicas", SET, str(count))])
        self._controller.alter_configs([change])

    def _reset_link(self, source: int, target: int) -> None:
        """Connections between two brokers break; what was on its way is lost."""
        controls = self._cluster.controls
        controls.cut_link(source, target)
        controls.restore_link(source, target)

    def _cancel_reassignment(self, topic: str, partition: int) -> None:
        self._controller.reassign(topic, partition, None, may_change_factor=True)

    def _create_topic(self, topic: str) -> None:
        self._controller.create_topics([NewTopic(topic, 1)])

    def _grow_topic(self, topic: str, count: int) -> None:
        self._controller.create_partitions([NewPartitions(topic, count)])

    def _delete_topic(self, topic: str) -> None:
        self._controller.delete_topics([TopicReference(topic)])
