"""A client of the simulated cluster: one connection a broker, one request at a time.

It finds leaders by Metadata from any broker, gives up on an answer after `REQUEST_TIMEOUT_MS`, and
then hangs up, as real clients do. Producers, consumers and committers are built on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mockbroker.cluster.nodes import LISTENER
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.frames import FrameBuffer
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from simulation.clients import METADATA_VERSION, Calls

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from simulation.clients import Call
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld
    from simulation.stage import Wire

T = TypeVar("T")
REQUEST_TIMEOUT_MS = 1_000.0
BACKOFF_MS = 50.0


class NodeChannel(Calls):
    """A connection to one broker; one call at a time, which None answers when no answer comes."""

    def __init__(self, world: ClusterWorld, name: str, node: int, listener: str = LISTENER) -> None:
        super().__init__(world, name)
        self._listener = listener
        self._world = world
        self._node = node
        self._wire: Wire | None = None

    @property
    def wire(self) -> Wire | None:
        """The connection, if there is one."""
        return self._wire

    def call(
        self, request: object, version: int, on_answer: Callable[[object | None], None]
    ) -> None:
        """Send a request, on a new connection if there is none."""
        assert not self._calls
        world = self._world
        if self._wire is None or not self._wire.open:
            self._frames = FrameBuffer()
            self._wire = world.connect_to(self, self._node, self._listener)
        call, data = self.add(request, version, on_answer)
        if self._wire is None:
            world.at(0, lambda: self._fail(call))
            return
        self._wire.send(data)
        world.at(REQUEST_TIMEOUT_MS, lambda: self._time_out(call))

    def connection_lost(self) -> None:
        self._wire = None
        if self._calls:
            self._fail(self._calls[0])

    def _time_out(self, call: Call) -> None:
        if call in self._calls:
            assert self._wire is not None
            self._wire.close()
            self._fail(call)

    def _fail(self, call: Call) -> None:
        if call in self._calls:
            self._calls.clear()
            self._wire = None
            call.on_answer(None)


class ClusterClient:
    """Works step by step: `begin` is asked for the next thing to do until `stop`."""

    reads_on = False
    """Whether it only reads, and goes on with that while writers finish."""
    listener = LISTENER
    """Where it connects."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, topics: dict[str, int]
    ) -> None:
        self.world = world
        self.name = name
        self.rng = rng
        self.truth = truth
        self.parts = [(topic, index) for topic, n in topics.items() for index in range(n)]
        self.topics = topics
        self.leaders: dict[tuple[str, int], tuple[int, int]] = {}
        """Leader and its epoch, as last heard of."""
        self.stopped = False
        self.busy = False
        self._channels: dict[int, NodeChannel] = {}

    def start(self) -> None:
        """Begin."""
        self.world.at(0, self.proceed)

    def stop(self) -> None:
        """Begin nothing new."""
        self.stopped = True

    def finish(self) -> None:
        """The cluster is well: do what must be possible now, then be done."""

    def proceed(self) -> None:
        """Do the next thing, unless it was stopped and has nothing left to do."""
        if self.stopped and not self.has_work():
            self.busy = False
            return
        self.busy = True
        self.begin()

    def has_work(self) -> bool:
        """Whether something must be finished although it was stopped."""
        return False

    def begin(self) -> None:
        """The next thing to do; it ends with `later` or `proceed`."""

    def later(self, delay_ms: float = BACKOFF_MS) -> None:
        """Go on after a while."""
        self.world.at(delay_ms, self.proceed)

    def note(self, what: str) -> None:
        """Keep it in the trace."""
        self.world.note(self.name, what)

    def ask(
        self,
        node: int,
        request: object,
        version: int,
        kind: type[T],
        on_answer: Callable[[T | None], None],
    ) -> None:
        """Ask a broker; None answers when the connection was lost or took too long."""
        channel = self._channels.get(node)
        if channel is None:
            channel = NodeChannel(self.world, self.name, node, self.listener)
            self._channels[node] = channel

        def take(answer: object | None) -> None:
            assert answer is None or isinstance(answer, kind)
            if answer is not None and channel.wire is not None:
                for judge in self.world.on_answer:
                    judge(self.name, channel.wire, request, answer)
            on_answer(answer)

        channel.call(request, version, take)

    def wire_to(self, node: int) -> Wire | None:
        """The connection to a broker, if there is one."""
        channel = self._channels.get(node)
        return None if channel is None else channel.wire

    def any_node(self) -> int:
        """Some broker, up or down."""
        return self.rng.choice(self.world.nodes)

    def learn(self) -> None:
        """Ask any broker who leads, then go on."""
        wanted = [MetadataRequestTopic(name=name) for name in self.topics]

        def learnt(answer: MetadataResponse | None) -> None:
            if answer is None:
                self.later()
                return
            for topic in answer.topics:
                for partition in topic.partitions:
                    if topic.error_code == ErrorCode.NONE and partition.leader_id >= 0:
                        assert topic.name is not None
                        self.leaders[topic.name, partition.partition_index] = (
                            partition.leader_id,
                            partition.leader_epoch,
                        )
            self.later(1.0)

        request = MetadataRequest(wanted, allow_auto_topic_creation=False)
        self.ask(self.any_node(), request, METADATA_VERSION, MetadataResponse, learnt)

    def forget(self, part: tuple[str, int]) -> None:
        """Its leader was not who it was taken for."""
        self.leaders.pop(part, None)

    def leadership(self, part: tuple[str, int]) -> tuple[int, int]:
        """Leader and epoch that the controller has by now."""
        truth = self.truth.find(*part)
        return (-1, -1) if truth is None else (truth.state.leader, truth.state.leader_epoch)
