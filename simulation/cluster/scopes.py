"""A scope in the cluster's simulation: whatever happens in it, all is as before when it ends.

At rest one begins. Producers write on, brokers, links and replicas are disturbed, topics and
metadata change; then it ends. Every log must hold what it held, on every replica, and the metadata
be what they were.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.client_quotas import QuotaAlteration
from mockbroker.metadata.features import FEATURES, FeatureUpdate
from mockbroker.state import snapshot
from mockbroker.state.scope import Scope, Scopes
from simulation.cluster.crews import Crew
from simulation.cluster.metadata_history import image_of
from simulation.cluster.steps import Step
from simulation.cluster.storage import difference_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.cluster.cluster import Cluster
    from simulation.cluster.crews import CrewSetting

    Image = tuple[snapshot.Snapshot, dict[str, object]]

ACTS = 4
LASTS_MS = 200.0
COMES_BACK_MS = 60_000.0
OF_METADATA = ("quotas", "ACLs", "features", "configs")


class WallTime:
    """Nobody moves it here."""

    def mark(self) -> None:
        """Nothing to know."""

    def back_to(self, _: None) -> None:
        """Nothing to do."""


class ScopeCrew(Crew):
    """Has no clients: `live_through` is called when all is at rest, where a seed draws "scope"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._verbs = setting.operator.verbs
        self._rng = setting.stream("scope")
        self.ended = 0

    def counts(self) -> dict[str, int]:
        return {"scopes": self.ended}

    def live_through(self, write: Callable[[], None], look_away: Callable[[], None]) -> None:
        """`write` lets producers write on; after `look_away` nobody holds replicas to any rule.

        Scopes lie in each other: one ends in it, and another is open when it ends.
        """
        before = self._image()
        scopes: list[Scopes[None]] = []
        self.world.operate(lambda: scopes.append(Scopes(self.world.cluster, WallTime())))
        outer = self._begin(scopes[0])
        write()
        if self._rng.random() < 0.5:
            between = self._image()
            inner = self._begin(scopes[0])
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
        return snapshot.take(cluster), image_of(cluster.metadata)

    def _begin(self, scopes: Scopes[None]) -> Scope[None]:
        opened: list[Scope[None]] = []
        self.world.operate(lambda: opened.append(scopes.begin()))
        return opened[0]

    def _end(self, scopes: Scopes[None], scope: Scope[None], before: Image) -> None:
        world = self.world
        world.operate(lambda: scopes.end(scope))
        self.ended += 1
        if not world.run_until(lambda: not self._differs(world.cluster, *before), COMES_BACK_MS):
            world.violate(f"after the scope: {self._differs(world.cluster, *before)}")

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
                None,
            )
        )
        if step is not None:
            world.note("scope", step.told())
            self._verbs.perform(step)
            return
        controller = world.cluster.controller
        quota = QuotaAlteration((("user", "of-the-scope"),), [("producer_byte_rate", 9.0)])
        controller.alter_client_quotas([quota], validate_only=False)
        update = FeatureUpdate("group.version", 0, 2)
        controller.update_features([update], FEATURES, 1, validate_only=False)

    def _differs(
        self, cluster: Cluster, image: snapshot.Snapshot, metadata: dict[str, object]
    ) -> str:
        """What is not as before; empty: all is."""
        now = image_of(cluster.metadata)
        for what in OF_METADATA:
            if now[what] != metadata[what]:
                return f"{what} are {now[what]}, were {metadata[what]}"
        for node in cluster.nodes:
            if node.broker is None:
                return f"broker {node.node_id} is down"
        return difference_of(self.world, self.plan, image)
