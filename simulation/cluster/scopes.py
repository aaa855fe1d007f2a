"""A scope in the cluster's simulation: whatever happens in it, all is as before when it ends.

At rest one begins. Producers write on, brokers, links and replicas are disturbed, topics and
metadata change, somebody commits an offset, a rule is armed, the wall clock jumps; then it ends.
Every log must hold what it held, on every replica, in a later leader epoch if it is shorter now;
coordinators know what their logs hold, and metadata, rules and the clock are what they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.metadata.client_quotas import QuotaAlteration
from mockbroker.metadata.features import FEATURES, FeatureUpdate
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from mockbroker.state import snapshot
from mockbroker.state.scope import Scope, Scopes
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from simulation.clients import frame_of
from simulation.cluster.audits.runtime_audits import wrong_groups
from simulation.cluster.crews import Crew
from simulation.cluster.metadata_history import image_of
from simulation.cluster.steps import Step
from simulation.cluster.storage import difference_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.cluster.cluster import Cluster
    from simulation.cluster.crews import CrewSetting

    Stands = dict[tuple[bytes, int], tuple[int, int]]

ACTS = 4
LASTS_MS = 200.0
COMES_BACK_MS = 60_000.0
OF_METADATA = ("quotas", "ACLs", "features", "configs")
COMMIT = 8
MOST_JUMP_MS = 5_000


class WallTime:
    """How far somebody has moved it."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self.moved_ms = 0

    def jump(self, by_ms: int) -> None:
        """Move it."""
        self._cluster.move_wall(by_ms)
        self.moved_ms += by_ms

    def mark(self) -> int:
        """How far it is by now."""
        return self.moved_ms

    def back_to(self, mark: int) -> None:
        """As if nobody had moved it since."""
        self.jump(mark - self.moved_ms)


class Image(NamedTuple):
    """What a cluster is."""

    snapshot: snapshot.Snapshot
    metadata: dict[str, object]
    rules: list[str]
    moved_ms: int


class ScopeCrew(Crew):
    """Has no clients: `live_through` is called when all is at rest, where a seed draws "scope"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._verbs = setting.operator.verbs
        self._rng = setting.stream("scope")
        self._time = WallTime(self.world.cluster)
        self.ended = 0

    def counts(self) -> dict[str, int]:
        return {"scopes": self.ended}

    def live_through(self, write: Callable[[], None], look_away: Callable[[], None]) -> None:
        """`write` lets producers write on; after `look_away` nobody holds replicas to any rule.

        Scopes lie in each other: one ends in it, and another is open when it ends.
        """
        before = self._image()
        scopes: list[Scopes[int]] = []
        self.world.operate(lambda: scopes.append(Scopes(self.world.cluster, self._time)))
        outer = self._begin(scopes[0])
        writes_first, is_nested = self._rng.random() < 0.5, self._rng.random() < 0.5
        if writes_first or not is_nested:
            write()
        if is_nested:
            between = self._image()
            inner = self._begin(scopes[0])
            write()
            self._disturb_some()
            look_away()
            self._end(scopes[0], inner, between)
        self._disturb_some()
        open_inside = self._begin(scopes[0])
        self._disturb_some()
        look_away()
        self._end(scopes[0], outer, before)
        if scopes[0].is_open(open_inside):
            self.world.violate("a scope is open whose outer one has ended")

    def _image(self) -> Image:
        cluster = self.world.cluster
        metadata = image_of(cluster.metadata)
        return Image(snapshot.take(cluster), metadata, _rules(cluster), self._time.moved_ms)

    def _begin(self, scopes: Scopes[int]) -> Scope[int]:
        opened: list[Scope[int]] = []
        self.world.operate(lambda: opened.append(scopes.begin()))
        return opened[0]

    def _end(self, scopes: Scopes[int], scope: Scope[int], before: Image) -> None:
        world = self.world
        stands = self._stands()
        world.operate(lambda: scopes.end(scope))
        self.ended += 1
        for key, (end, epoch) in self._stands().items():
            was = stands.get(key)
            if was is not None and end < was[0] and epoch <= was[1]:
                world.violate(f"a scope has cut partition {key} in epoch {epoch}")
        if not world.run_until(lambda: not self._differs(world.cluster, before), COMES_BACK_MS):
            world.violate(f"after the scope: {self._differs(world.cluster, before)}")
        for broker in world.cluster.brokers:
            for wrong in wrong_groups(broker, self._rng):
                world.violate(f"after the scope: broker {broker.broker_id}: {wrong}")

    def _stands(self) -> Stands:
        """Where the log of each leader ends, and its leader epoch."""
        found: Stands = {}
        for topic in self.world.cluster.metadata.topics.values():
            for index, state in enumerate(topic.partitions):
                leads = state.leader >= 0
                log = self.world.controls.log(topic.name, index, state.leader) if leads else None
                if log is not None:
                    found[topic.id, index] = log.log_end_offset, state.leader_epoch
        return found

    def _disturb_some(self) -> None:
        for _ in range(self._rng.randint(1, ACTS)):
            self.world.operate(self._disturb)
            self.world.run_for(self._rng.random() * LASTS_MS)

    def _disturb(self) -> None:
        rng, world = self._rng, self.world
        topic = rng.choice(sorted(self.plan.topics))
        node, other = rng.sample(world.nodes, 2)
        part = {"topic": topic, "partition": 0}
        step = rng.choice(
            (
                Step(0.0, "kill", node_id=node, fence=rng.random() < 0.5),
                Step(0.0, "stop", node_id=node),
                Step(0.0, "fence", node_id=node),
                Step(0.0, "isolate", node_id=node),
                Step(0.0, "skew_clock", node_id=node, by_ms=rng.randint(-1_000, 1_000)),
                Step(0.0, "hold_link", source=node, target=other),
                Step(0.0, "slow_link", source=node, target=other, delay_ms=40.0),
                Step(0.0, "hold_follower", **part, node_id=node),
                Step(0.0, "hold_high_watermark", **part),
                Step(0.0, "tell_high_watermark", tell=rng.random() < 0.5),
                Step(0.0, "move_leader", **part, to=node),
                Step(0.0, "set_min_isr", topic=topic, count=1),
                Step(0.0, "create_topic", topic="of-the-scope"),
                Step(0.0, "grow_topic", topic=topic, count=5),
                Step(0.0, "delete_topic", topic=topic),
                self._change_metadata,
                self._commit,
                self._arm_a_rule,
                self._jump,
            )
        )
        if isinstance(step, Step):
            world.note("scope", step.told())
            self._verbs.perform(step)
        else:
            step()

    def _change_metadata(self) -> None:
        controller = self.world.cluster.controller
        quota = QuotaAlteration((("user", "of-the-scope"),), [("producer_byte_rate", 9.0)])
        controller.alter_client_quotas([quota], validate_only=False)
        update = FeatureUpdate("group.version", 0, 2)
        controller.update_features([update], FEATURES, 1, validate_only=False)

    def _commit(self) -> None:
        """Somebody who is in no group commits an offset to each broker that may take it."""
        world, topic = self.world, min(self.plan.topics)
        if GROUP_METADATA_TOPIC in world.cluster.metadata.topics:
            of = OffsetCommitRequestTopic(topic, partitions=[OffsetCommitRequestPartition(0, 1)])
            request = OffsetCommitRequest("of-the-scope", topics=[of])
            for broker in world.cluster.brokers:
                world.probe(frame_of(request, COMMIT, 1, "scope"), broker)

    def _arm_a_rule(self) -> None:
        rule = {"api": "Fetch", "client": "nobody", "drop": True, "maybe": True}
        self.world.cluster.faults.add(rule)

    def _jump(self) -> None:
        self._time.jump(self._rng.randint(-MOST_JUMP_MS, MOST_JUMP_MS))

    def _differs(self, cluster: Cluster, before: Image) -> str:
        """What is not as before; empty: all is."""
        now = image_of(cluster.metadata)
        for what in OF_METADATA:
            if now[what] != before.metadata[what]:
                return f"{what} are {now[what]}, were {before.metadata[what]}"
        if _rules(cluster) != before.rules:
            return f"rules are {_rules(cluster)}, were {before.rules}"
        if self._time.moved_ms != before.moved_ms:
            return f"the clock was moved by {self._time.moved_ms - before.moved_ms} ms"
        for node in cluster.nodes:
            if node.broker is None:
                return f"broker {node.node_id} is down"
        return difference_of(self.world, self.plan, before.snapshot)


def _rules(cluster: Cluster) -> list[str]:
    """The rules that are armed."""
    return [armed.id for armed in cluster.faults.list()] if cluster.has_faults else []
