"""A client of the simulated cluster: one connection a broker, one request at a time.

It finds leaders by Metadata from any broker, gives up on an answer after `REQUEST_TIMEOUT_MS`, and
then hangs up, as real clients do. Producers, consumers and committers are built on it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar, cast

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.fetch_codec import decode_fetch_response
from mockbroker_protocol.frames import FrameBuffer
from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.plan import decode
from simulation.clients import frame_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld, NodeWire

T = TypeVar("T")
METADATA_VERSION = 12
REQUEST_TIMEOUT_MS = 1_000.0
BACKOFF_MS = 50.0


class Call:
    """A request that waits for its answer; None tells that none will come."""

    __slots__ = ("api_key", "correlation_id", "on_answer", "version")

    def __init__(
        self,
        api_key: int,
        version: int,
        correlation_id: int,
        on_answer: Callable[[object | None], None],
    ) -> None:
        self.api_key = api_key
        self.version = version
        self.correlation_id = correlation_id
        self.on_answer = on_answer


class NodeChannel:
    """A connection to one broker; at most one call is under way."""

    def __init__(self, world: ClusterWorld, name: str, node: int) -> None:
        self._world = world
        self._name = name
        self.node = node
        self.wire: NodeWire | None = None
        self._frames = FrameBuffer()
        self._call: Call | None = None
        self._correlation_id = 0

    def call(
        self, request: object, version: int, on_answer: Callable[[object | None], None]
    ) -> None:
        """Send a request, on a new connection if there is none."""
        assert self._call is None
        world = self._world
        if self.wire is None or not self.wire.open:
            self._frames = FrameBuffer()
            self.wire = world.connect(self, self.node)
        self._correlation_id += 1
        api_key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
        call = self._call = Call(api_key, version, self._correlation_id, on_answer)
        if self.wire is None:
            world.at(0, lambda: self._fail(call))
            return
        self.wire.send(frame_of(request, version, self._correlation_id, self._name))
        world.at(REQUEST_TIMEOUT_MS, lambda: self._time_out(call))

    def close(self) -> None:
        """Hang up; what is under way is not told of."""
        self._call = None
        if self.wire is not None:
            self.wire.close()
            self.wire = None

    def _time_out(self, call: Call) -> None:
        if self._call is call:
            assert self.wire is not None
            self.wire.close()
            self._fail(call)

    def _fail(self, call: Call) -> None:
        if self._call is call:
            self._call = self.wire = None
            call.on_answer(None)

    # -- the wire's side -------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        for frame in self._frames.feed(data):
            call, self._call = self._call, None
            if call is None:
                self._world.violate(f"{self._name} got an answer to nothing")
                return
            correlation_id, pos = decode_response_header(frame, call.api_key, call.version)
            if correlation_id != call.correlation_id:
                self._world.violate(
                    f"{self._name} got answer {correlation_id} for call {call.correlation_id}"
                )
            if call.api_key == ApiKey.FETCH:
                call.on_answer(decode_fetch_response(frame, pos, call.version))
                continue
            kind: type[object] = response_class(call.api_key)
            call.on_answer(decode(kind, call.version, frame, pos)[0])

    def connection_lost(self) -> None:
        self.wire = None
        if self._call is not None:
            self._fail(self._call)


class ClusterClient:
    """Works step by step: `begin` is asked for the next thing to do until `stop`."""

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
            channel = self._channels[node] = NodeChannel(self.world, self.name, node)

        def take(answer: object | None) -> None:
            assert answer is None or isinstance(answer, kind)
            on_answer(answer)

        channel.call(request, version, take)

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
