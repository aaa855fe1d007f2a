"""The operator of the cluster's simulation: what befalls brokers, links and partitions.

Each act that disturbs undoes itself after a while, through the cluster's own controls; `heal`
undoes all that is left. What a control refuses is no fault: the operator knows the cluster's state
no better than a test does.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.cluster.node_controls import ControlError
from mockbroker.metadata.elections import Election
from mockbroker.metadata.topic_requests import (
    ConfigAlteration,
    NewPartitions,
    NewTopic,
    TopicReference,
)
from simulation.cluster.plan import DELAYS_MS

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.world import ClusterWorld

SET = 0
RESOURCE_TOPIC = 2
FOCUS = 0.7
"""How often a focused operator acts on what it picks on."""


class ClusterOperator:
    """Acts now and then; `plan.on` says what it may do."""

    def __init__(self, world: ClusterWorld, rng: Random, plan: ClusterPlan) -> None:
        self.world = world
        self.rng = rng
        self.plan = plan
        self.stopped = False
        self._focus: tuple[str, int] | None = None
        acts: dict[str, Callable[[], None]] = {
            "crash": self._crash,
            "stop": partial(self._disturb_node, "stopped", "stop", "revive", 400.0),
            "fence": partial(self._disturb_node, "fenced", "fence", "unfence", 400.0),
            "cut": partial(self._spoil_link, "cut_link", controller=False),
            "cut_controller": partial(self._spoil_link, "cut_link", controller=True),
            "hold": partial(self._spoil_link, "hold_link", controller=False),
            "hold_controller": partial(self._spoil_link, "hold_link", controller=True),
            "slow": partial(self._slow_link, controller=False),
            "slow_controller": partial(self._slow_link, controller=True),
            "isolate": partial(
                self._disturb_node, "isolated", "isolate", "reconnect", 200.0, 1_200.0
            ),
            "reset": self._reset,
            "hold_follower": self._hold_follower,
            "hold_high_watermark": self._hold_high_watermark,
            "deaf_leader": self._deafen_leader,
            "move_leader": self._move_leader,
            "shrink_isr": self._shrink_isr,
            "elect_preferred": partial(self._elect, Election.PREFERRED),
            "elect_unclean": partial(self._elect, Election.UNCLEAN),
            "reassign": self._reassign,
            "min_isr": self._alter_min_isr,
            "topics": self._change_topics,
            "skew": self._skew,
            "versions": self._change_version,
        }
        self._acts = [act for kind, act in acts.items() if plan.on[kind]]

    def start(self) -> None:
        """Begin, if there is anything to do."""
        if self._acts:
            if self.plan.focused and self._focus is None:
                self._focus = self._part()
            self.world.at(self.rng.expovariate(1 / self.plan.every_ms), self._act)

    def _act(self) -> None:
        if not self.stopped:
            self.rng.choice(self._acts)()
            self.start()

    def heal(self) -> None:
        """Stop, and undo all."""
        self.stopped = True
        self._do("heal", self._heal)

    def _heal(self) -> None:
        world, controls = self.world, self.world.controls
        ends = [CONTROLLER, *world.nodes]
        for source in ends:
            for target in ends:
                if source != target:
                    controls.restore_link(source, target)
        for node_id in world.nodes:
            if node_id not in world.peers.running:
                controls.revive(node_id)
            controls.unfence(node_id)
            incarnation = world.peers.running[node_id]
            replicas = incarnation.broker.services.replicas
            for each in replicas.all_partitions():
                incarnation.fetchers.release(each)
                replicas.release_high_watermark(each)
        for topic in self.plan.topics:
            self._set_min_isr(topic, self.plan.min_isr)

    # -- doing -----------------------------------------------------------------------------

    def _do(self, what: str, act: Callable[[], object]) -> bool:
        """Carry it out as a step; False when the cluster refuses."""
        world = self.world
        world.note("operator", what)
        refused: list[ControlError] = []

        def carry_out() -> None:
            try:
                act()
            except ControlError as error:
                refused.append(error)

        world.operate(carry_out)
        return not refused

    def _do_unless_stopped(self, what: str, act: Callable[[], object]) -> None:
        if not self.stopped:
            self._do(what, act)

    def _for_a_while(
        self, what: str, act: Callable[[], object], undo: Callable[[], object], *means_ms: float
    ) -> None:
        """Carry it out, and undo it after a while whose mean is one of `means_ms`."""
        mean_ms = self.rng.choice(means_ms) if len(means_ms) > 1 else means_ms[0]
        if self._do(what, act):
            undoing = partial(self._do_unless_stopped, f"no longer {what}", undo)
            self.world.at(self.rng.expovariate(1 / mean_ms), undoing)

    def _disturb(
        self, what: str, act: str, undo: str, ends: tuple[object, ...], *means: float
    ) -> None:
        """The same by the names of controls, which both take `ends`."""
        controls = self.world.controls
        doing, undoing = getattr(controls, act), getattr(controls, undo)
        self._for_a_while(what, partial(doing, *ends), partial(undoing, *ends), *means)

    def _disturb_node(self, what: str, act: str, undo: str, *means: float) -> None:
        node = self._node()
        self._disturb(f"{what} {node}", act, undo, (node,), *means)

    def _node(self, *but: int) -> int:
        """Some broker; when focused mostly the partition's leader or its first follower."""
        nodes = self.world.nodes
        if self._focus is not None and self.rng.random() < FOCUS:
            name, index = self._focus
            state = self.world.cluster.metadata.topics[name].partitions[index]
            followers = [node for node in state.replicas if node != state.leader]
            nodes = [node for node in (state.leader, *followers[:1]) if node > 0] or nodes
        nodes = [node for node in nodes if node not in but] or self.world.nodes
        return self.rng.choice([node for node in nodes if node not in but])

    def _part(self) -> tuple[str, int]:
        if self._focus is not None and self.rng.random() < FOCUS:
            return self._focus
        topics = self.world.cluster.metadata.topics
        name = self.rng.choice(sorted(topics))
        return name, self.rng.randrange(len(topics[name].partitions))

    # -- brokers ---------------------------------------------------------------------------

    def _crash(self) -> None:
        node, fence = self._node(), self.rng.random() < 0.5
        controls = self.world.controls
        self._for_a_while(
            f"killed {node}{'' if fence else ' unnoticed'}",
            partial(controls.kill, node, fence=fence),
            partial(controls.revive, node),
            20.0,
            400.0,
            1_200.0,
        )

    def _skew(self) -> None:
        node, by_ms = self._node(), self.rng.randint(-100_000, 100_000)
        self._do(f"skew {node} by {by_ms}", partial(self.world.controls.skew_clock, node, by_ms))

    def _change_version(self) -> None:
        tell = self.rng.random() < 0.5
        self._do(
            f"followers fetch v{18 if tell else 17}",
            partial(self.world.controls.tell_high_watermark, tell),
        )

    # -- links -----------------------------------------------------------------------------

    def _ends(self, *, controller: bool) -> tuple[int, int]:
        node = self._node()
        if not controller:
            return node, self._node(node)
        return (node, CONTROLLER) if self.rng.random() < 0.5 else (CONTROLLER, node)

    def _spoil_link(self, how: str, *, controller: bool) -> None:
        ends = self._ends(controller=controller)
        self._disturb(f"{how} {ends}", how, "restore_link", ends, 80.0, 600.0, 1_600.0)

    def _slow_link(self, *, controller: bool) -> None:
        ends, controls = self._ends(controller=controller), self.world.controls
        delay_ms = self.rng.choice(DELAYS_MS)
        self._for_a_while(
            f"slow {ends} by {delay_ms}",
            partial(controls.slow_link, *ends, delay_ms),
            partial(controls.restore_link, *ends),
            800.0,
        )

    def _reset(self) -> None:
        """Connections between two brokers break; what was on its way is lost."""
        ends, controls = self._ends(controller=False), self.world.controls

        def reset() -> None:
            controls.cut_link(*ends)
            controls.restore_link(*ends)

        self._do(f"reset {ends}", reset)

    # -- partitions ------------------------------------------------------------------------

    def _hold_follower(self) -> None:
        part, node = self._part(), self._node()
        held, ends = f"hold {part} at {node}", (*part, node)
        self._disturb(held, "hold_follower", "release_follower", ends, 120.0, 1_200.0)

    def _hold_high_watermark(self) -> None:
        part = self._part()
        held = f"hold high watermark of {part}"
        self._disturb(held, "hold_high_watermark", "release_high_watermark", part, 200.0)

    def _deafen_leader(self) -> None:
        """A follower comes back in sync and lags again, and its leader hears of neither.

        What was committed meanwhile must be on that follower: the controller lets it lead.
        """
        part, controls = self._part(), self.world.controls
        state = self.world.cluster.metadata.topics[part[0]].partitions[part[1]]
        leader = state.leader
        followers = [node for node in state.replicas if node != leader]
        if leader < 0 or not followers:
            return
        node = self.rng.choice(followers)
        hold = partial(controls.hold_follower, *part, node)
        release = partial(controls.release_follower, *part, node)

        def fall_out() -> None:
            hold()
            controls.shrink_isr(*part, node)

        def return_unheard() -> None:
            controls.hold_link(CONTROLLER, leader)
            release()

        def hear_again() -> None:
            controls.restore_link(CONTROLLER, leader)
            release()

        acts: dict[str, tuple[Callable[[], None], float]] = {
            "falls out": (fall_out, 0.0),
            "returns unheard": (return_unheard, 60.0),
            "lags": (hold, 60.0),
            "is heard of": (hear_again, 1_500.0),
        }
        time_ms = 0.0
        for what, (act, mean_ms) in acts.items():
            time_ms += self.rng.random() * 2 * mean_ms
            told = f"{part} of {leader}: {node} {what}"
            self.world.at(time_ms, partial(self._do_unless_stopped, told, act))

    def _move_leader(self) -> None:
        part, node = self._part(), self._node()
        self._do(f"lead {part} to {node}", partial(self.world.controls.move_leader, *part, node))

    def _shrink_isr(self) -> None:
        part, node = self._part(), self._node()
        self._do(f"shrink {part} by {node}", partial(self.world.controls.shrink_isr, *part, node))

    def _elect(self, election: Election) -> None:
        part = self._part()
        if election is Election.UNCLEAN and part[0] not in self.plan.topics:
            return
        elect = partial(self.world.cluster.controller.elect_leader, *part, election)
        self._do(f"elect {election.name.lower()} for {part}", elect)

    def _reassign(self) -> None:
        part, nodes = self._part(), self.world.nodes
        target: list[int] | None = self.rng.sample(nodes, self.rng.randint(1, len(nodes)))
        if self.rng.random() < 0.2:
            target = None
        reassign = self.world.cluster.controller.reassign
        self._do(
            f"reassign {part} to {target}",
            partial(reassign, *part, target, may_change_factor=True),
        )

    # -- metadata --------------------------------------------------------------------------

    def _alter_min_isr(self) -> None:
        topic, count = self.rng.choice(sorted(self.plan.topics)), self.rng.randint(1, 3)
        self._do(f"min ISR of {topic} is {count}", partial(self._set_min_isr, topic, count))

    def _set_min_isr(self, topic: str, count: int) -> None:
        change = ConfigAlteration(RESOURCE_TOPIC, topic, [("min.insync.replicas", SET, str(count))])
        self.world.cluster.controller.alter_configs([change])

    def _change_topics(self) -> None:
        controller, topics = self.world.cluster.controller, self.world.cluster.metadata.topics
        extra = sorted(name for name in topics if name.startswith("x"))
        if extra and self.rng.random() < 0.5:
            name = self.rng.choice(extra)
            if self.rng.random() < 0.5:
                count = len(topics[name].partitions) + 1
                grow = partial(controller.create_partitions, [NewPartitions(name, count)])
                self._do(f"grow {name} to {count}", grow)
            else:
                delete = partial(controller.delete_topics, [TopicReference(name)])
                self._do(f"delete {name}", delete)
            return
        name = f"x{self.rng.randint(0, 2)}"
        self._do(f"create {name}", partial(controller.create_topics, [NewTopic(name, 1)]))
