"""The operator of the cluster's simulation: what befalls brokers, links and partitions.

Each act draws steps (`steps.Step`) and carries them out when their time has come. One that disturbs
undoes itself after a while, through the cluster's own controls; `heal` undoes all that is left.
What a control refuses is no fault: the operator knows the cluster's state no better than a test
does. The steps are kept: `play` carries out given ones in the place of drawn ones.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from simulation.cluster.page_caches import PageCaches
from simulation.cluster.plan import DELAYS_MS, MAX_SKEW_MS
from simulation.cluster.steps import Step, Verbs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.world import ClusterWorld

FOCUS = 0.7
"""How often a focused operator acts on what it picks on."""


class ClusterOperator:
    """Acts now and then; `plan.on` says what it may do.

    `acts` draws by kind, `verbs` carries out by name: crews add theirs to both before `start`.
    """

    def __init__(self, world: ClusterWorld, rng: Random, plan: ClusterPlan) -> None:
        self.world = world
        self.rng = rng
        self.plan = plan
        self.stopped = False
        self.verbs = Verbs(world.cluster)
        caches = PageCaches(world.cluster)
        self.verbs.add("kill", caches.kill)
        self.verbs.add("reassign", caches.reassign)
        self.steps: list[Step] = []
        """What was done so far, refused or not."""
        self._focus: tuple[str, int] | None = None
        self.acts: dict[str, Callable[[], object]] = {
            "crash": self._crash,
            "lose_tail": self._lose_tail,
            "stop": partial(self._disturb_node, "stop", "revive", 400.0),
            "fence": partial(self._disturb_node, "fence", "unfence", 400.0),
            "cut": partial(self._spoil_link, "cut_link", controller=False),
            "cut_controller": partial(self._spoil_link, "cut_link", controller=True),
            "hold": partial(self._spoil_link, "hold_link", controller=False),
            "hold_controller": partial(self._spoil_link, "hold_link", controller=True),
            "slow": partial(self._slow_link, controller=False),
            "slow_controller": partial(self._slow_link, controller=True),
            "isolate": partial(self._disturb_node, "isolate", "reconnect", 200.0, 1_200.0),
            "reset": lambda: self.do("reset_link", **self._ends(controller=False)),
            "hold_follower": self._hold_follower,
            "hold_high_watermark": self._hold_high_watermark,
            "deaf_leader": self._deafen_leader,
            "move_leader": lambda: self.do("move_leader", **self._part(), to=self.node()),
            "shrink_isr": lambda: self.do("shrink_isr", **self._part(), without=self.node()),
            "elect_preferred": partial(self._elect, "elect_preferred"),
            "elect_unclean": partial(self._elect, "elect_unclean"),
            "reassign": self._reassign,
            "min_isr": self._alter_min_isr,
            "topics": self._change_topics,
            "skew": self._skew,
            "versions": lambda: self.do("tell_high_watermark", tell=self.rng.random() < 0.5),
        }
        self._chosen: list[Callable[[], object]] = []

    def start(self) -> None:
        """Begin, if there is anything to do."""
        self._chosen = [act for kind, act in self.acts.items() if self.plan.on[kind]]
        if self._chosen:
            if self.plan.focused:
                internal = GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
                picks = self.plan.focuses_coordinators
                self._focus = (self.rng.choice(internal), 0) if picks else self.part()
                if self.plan.focuses_offsets:
                    self._focus = GROUP_METADATA_TOPIC, 0
            self._act_later()

    def play(self, steps: Sequence[Step]) -> None:
        """Do these and nothing else, each at its time."""
        for step in steps:
            self.world.at_time(step.at_ms, partial(self._do, step))

    def _act_later(self) -> None:
        self.world.at(self.rng.expovariate(1 / self.plan.every_ms), self._act)

    def _act(self) -> None:
        if not self.stopped:
            self.rng.choice(self._chosen)()
            self._act_later()

    def heal(self) -> None:
        """Stop, and undo all."""
        self.stopped = True
        self.world.note("operator", "heal")
        self.world.operate(self._heal)

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
            self.verbs.set_min_isr(topic, self.plan.min_isr)

    # -- doing -----------------------------------------------------------------------------

    def do(self, action: str, **fields: object) -> bool:
        """Carry an action out as a step of the world; False when the cluster refuses, or healed."""
        return self._do(Step(self.world.now_ms, action, **fields))

    def do_later(self, delay_ms: float, action: str, **fields: object) -> None:
        """The same after a while, unless all is healed by then."""
        step = Step(self.world.now_ms + delay_ms, action, **fields)
        self.world.at_time(step.at_ms, partial(self._do, step))

    def _do(self, step: Step) -> bool:
        world = self.world
        if self.stopped:
            return False
        self.steps.append(step)
        world.note("operator", step.told())
        done: list[bool] = []
        world.operate(lambda: done.append(self.verbs.perform(step)))
        return done[0]

    def disturb(self, action: str, undo: str, *means_ms: float, **fields: object) -> None:
        """Carry it out, and undo it after a while whose mean is one of `means_ms`."""
        mean_ms = self.rng.choice(means_ms) if len(means_ms) > 1 else means_ms[0]
        if self.do(action, **fields):
            self.do_later(self.rng.expovariate(1 / mean_ms), undo, **fields)

    def _disturb_node(self, action: str, undo: str, *means_ms: float) -> None:
        self.disturb(action, undo, *means_ms, node_id=self.node())

    def node(self, *but: int) -> int:
        """Some broker; when focused mostly the partition's leader or its first follower."""
        nodes = self.world.nodes
        focus = self._focused_part()
        if focus is not None:
            name, index = focus
            state = self.world.cluster.metadata.topics[name].partitions[index]
            followers = [node for node in state.replicas if node != state.leader]
            nodes = [node for node in (state.leader, *followers[:1]) if node > 0] or nodes
        nodes = [node for node in nodes if node not in but] or self.world.nodes
        return self.rng.choice([node for node in nodes if node not in but])

    def part(self) -> tuple[str, int]:
        """Some partition; when focused mostly the one that is picked on."""
        focus = self._focused_part()
        if focus is not None:
            return focus
        topics = self.world.cluster.metadata.topics
        name = self.rng.choice(sorted(topics))
        return name, self.rng.randrange(len(topics[name].partitions))

    def _focused_part(self) -> tuple[str, int] | None:
        """What is picked on, if it is this time; a coordinator's topic may not be there yet."""
        focus, topics = self._focus, self.world.cluster.metadata.topics
        if focus is not None and focus[0] in topics and self.rng.random() < FOCUS:
            return focus
        return None

    # -- brokers ---------------------------------------------------------------------------

    def _crash(self) -> None:
        node, fence = self.node(), self.rng.random() < 0.5
        self._kill(node, fence=fence)

    def _lose_tail(self) -> None:
        """A machine goes down: only while no other is, and all replicas are in sync."""
        node, fence = self.node(), self.rng.random() < 0.5
        self._kill(node, fence=fence, lose="unflushed")

    def _kill(self, node: int, **how: object) -> None:
        mean_ms = self.rng.choice((20.0, 400.0, 1_200.0))
        if self.do("kill", node_id=node, **how):
            self.do_later(self.rng.expovariate(1 / mean_ms), "revive", node_id=node)

    def _skew(self) -> None:
        self.do(
            "skew_clock", node_id=self.node(), by_ms=self.rng.randint(-MAX_SKEW_MS, MAX_SKEW_MS)
        )

    # -- links -----------------------------------------------------------------------------

    def _ends(self, *, controller: bool) -> dict[str, int]:
        node = self.node()
        other = CONTROLLER if controller else self.node(node)
        if controller and self.rng.random() >= 0.5:
            node, other = other, node
        return {"source": node, "target": other}

    def _spoil_link(self, action: str, *, controller: bool) -> None:
        ends = self._ends(controller=controller)
        self.disturb(action, "restore_link", 80.0, 600.0, 1_600.0, **ends)

    def _slow_link(self, *, controller: bool) -> None:
        ends = self._ends(controller=controller)
        if self.do("slow_link", **ends, delay_ms=self.rng.choice(DELAYS_MS)):
            self.do_later(self.rng.expovariate(1 / 800.0), "restore_link", **ends)

    # -- partitions ------------------------------------------------------------------------

    def _hold_follower(self) -> None:
        replica = {**self._part(), "node_id": self.node()}
        self.disturb("hold_follower", "release_follower", 120.0, 1_200.0, **replica)

    def _hold_high_watermark(self) -> None:
        self.disturb("hold_high_watermark", "release_high_watermark", 200.0, **self._part())

    def _part(self) -> dict[str, object]:
        topic, index = self.part()
        return {"topic": topic, "partition": index}

    def _deafen_leader(self) -> None:
        """A follower comes back in sync and lags again, and its leader hears of neither.

        What was committed meanwhile must be on that follower: the controller lets it lead.
        """
        name, index = self.part()
        state = self.world.cluster.metadata.topics[name].partitions[index]
        leader = state.leader
        followers = [node for node in state.replicas if node != leader]
        if leader < 0 or not followers:
            return
        node = self.rng.choice(followers)
        part = {"topic": name, "partition": index}
        replica = {**part, "node_id": node}
        to_leader = {"source": CONTROLLER, "target": leader}
        time_ms = 0.0
        for mean_ms, acts in (
            (0.0, (("hold_follower", replica), ("shrink_isr", {**part, "without": node}))),
            (60.0, (("hold_link", to_leader), ("release_follower", replica))),
            (60.0, (("hold_follower", replica),)),
            (1_500.0, (("restore_link", to_leader), ("release_follower", replica))),
        ):
            time_ms += self.rng.random() * 2 * mean_ms
            for action, fields in acts:
                self.do_later(time_ms, action, **fields)

    def _elect(self, action: str) -> None:
        part = self._part()
        if action == "elect_preferred" or part["topic"] in self.plan.topics:
            self.do(action, **part)

    def _reassign(self) -> None:
        part, nodes = self._part(), self.world.nodes
        target = self.rng.sample(nodes, self.rng.randint(1, len(nodes)))
        if self.rng.random() < 0.2:
            self.do("cancel_reassignment", **part)
        else:
            self.do("reassign", **part, replicas=target)

    # -- metadata --------------------------------------------------------------------------

    def _alter_min_isr(self) -> None:
        topic, count = self.rng.choice(sorted(self.plan.topics)), self.rng.randint(1, 3)
        self.do("set_min_isr", topic=topic, count=count)

    def _change_topics(self) -> None:
        topics = self.world.cluster.metadata.topics
        extra = sorted(name for name in topics if name.startswith("x"))
        if extra and self.rng.random() < 0.5:
            name = self.rng.choice(extra)
            if self.rng.random() < 0.5:
                self.do("grow_topic", topic=name, count=len(topics[name].partitions) + 1)
            else:
                self.do("delete_topic", topic=name)
            return
        self.do("create_topic", topic=f"x{self.rng.randint(0, 2)}")
