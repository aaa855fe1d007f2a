"""A client of the simulated broker without a socket: requests out, answers in, over one wire.

`Client` is what consumers, producers and admins are built on: it connects, calls, and learns the
topics. Each call goes through the real bytes; its answer must come in the order of the calls and
carry their correlation ids, or the world is told of a violation.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.fetch_codec import decode_fetch_response, encode_fetch_request
from mockbroker_protocol.frames import FrameBuffer
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable
    from random import Random

    from mockbroker.node.broker import Broker
    from simulation.checkers import AnswerChecker
    from simulation.faults import SwarmPlan
    from simulation.ledger import Ledger
    from simulation.stage import Stage, Wire
    from simulation.world import World

T = TypeVar("T")
METADATA_VERSION = 12
RECONNECT_MS = 2.0


def frame_of(request: object, version: int, correlation_id: int, client_id: str) -> bytes:
    """A whole request frame with its length."""
    api_key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
    header = encode_request_header(api_key, version, correlation_id, client_id)
    if isinstance(request, FetchRequest):
        frame = header + encode_fetch_request(request, version)
    else:
        frame = header + b"".join(encode(request, version))
    return len(frame).to_bytes(4, "big") + frame


def fetch_at_once(
    world: World, request: FetchRequest, version: int, broker: Broker | None = None
) -> FetchResponse:
    """Ask the broker between two events, past the network: it must answer in the same step."""
    frame = world.exchange(frame_of(request, version, 1, "probe"), broker)
    return decode_fetch_response(
        frame, decode_response_header(frame, ApiKey.FETCH, version)[1], version
    )


def ask_at_once(world: World, broker: Broker, request: object, version: int) -> object:
    """Any request between two events, past the network: it must be answered in the same step."""
    api_key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
    if isinstance(request, FetchRequest):
        return fetch_at_once(world, request, version, broker)
    frame = world.exchange(frame_of(request, version, 1, "probe"), broker)
    pos = decode_response_header(frame, api_key, version)[1]
    answer_class: type[object] = response_class(api_key)
    return decode(answer_class, version, frame, pos)[0]


@dataclass(slots=True, eq=False)
class Call:
    """A request that was sent: how to read its answer and whom to tell."""

    api_key: int
    version: int
    correlation_id: int
    on_answer: Callable[[object], None]


class Calls:
    """The requests of one connection and their answers, which must come in their order."""

    def __init__(self, world: Stage, name: str) -> None:
        self._stage = world
        self._name = name
        self._frames = FrameBuffer()
        self._calls: deque[Call] = deque()
        self._correlation_id = 0

    @property
    def open(self) -> bool:
        """Whether answers are still taken."""
        return True

    def add(
        self, request: object, version: int, on_answer: Callable[[object], None]
    ) -> tuple[Call, bytes]:
        """One more request: the call, and the bytes to send."""
        self._correlation_id += 1
        api_key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
        call = Call(api_key, version, self._correlation_id, on_answer)
        self._calls.append(call)
        return call, frame_of(request, version, self._correlation_id, self._name)

    def data_received(self, data: bytes) -> None:
        """Bytes of the broker: whole answers are given to their calls."""
        for frame in self._frames.feed(data):
            if not self.open:
                return
            if not self._calls:
                self._stage.violate(f"{self._name} got an answer to nothing")
                return
            self._take(frame, self._calls.popleft())

    def _take(self, frame: bytes | bytearray, call: Call) -> None:
        correlation_id, pos = decode_response_header(frame, call.api_key, call.version)
        if correlation_id != call.correlation_id:
            self._stage.violate(
                f"{self._name} got answer {correlation_id} for call {call.correlation_id}"
            )
        if call.api_key == ApiKey.FETCH:
            call.on_answer(decode_fetch_response(frame, pos, call.version))
            return
        answer_class: type[object] = response_class(call.api_key)
        message, end = decode(answer_class, call.version, frame, pos)
        if end != len(frame):
            self._stage.violate(f"{self._name} got {len(frame) - end} bytes after an answer")
        call.on_answer(message)


class Channel(Calls):
    """One connection of a client; `on_lost` is called when it breaks, and not when it is closed.

    `elapsed_ms` says of the answer that is being handled how long the broker took for it, `fresh`
    whether the broker has not been entered since it made it.
    """

    def __init__(
        self, world: World, name: str, answers: AnswerChecker, on_lost: Callable[[], None]
    ) -> None:
        super().__init__(world, name)
        self._answers = answers
        self._on_lost = on_lost
        self.wire: Wire = world.connect(self)
        self.elapsed_ms = 0.0

    @property
    def open(self) -> bool:
        return self.wire.open

    @property
    def waiting(self) -> int:
        """How many calls have no answer yet."""
        return len(self._calls)

    @property
    def fresh(self) -> bool:
        wire = self.wire
        return self._stage.steps == wire.emission_step and wire.read_bytes == wire.emitted_bytes

    def call(
        self,
        request: object,
        version: int,
        on_answer: Callable[[object], None],
        max_wait_ms: float = 0.0,
    ) -> None:
        """Send a request; the broker may keep it for `max_wait_ms`."""
        call, data = self.add(request, version, on_answer)
        self._answers.expect(self.wire, call.correlation_id, len(data), max_wait_ms)
        self.wire.send(data)

    def close(self) -> None:
        self.wire.close()

    def _take(self, frame: bytes | bytearray, call: Call) -> None:
        self.elapsed_ms = self._answers.elapsed_ms(self.wire)
        super()._take(frame, call)

    def connection_lost(self) -> None:
        self._on_lost()


class KnownTopic(NamedTuple):
    """A topic as a client last heard of it."""

    topic_id: bytes
    leader_epochs: list[int]


@dataclass(slots=True)
class Setting:
    """What the actors of a run share."""

    world: World
    answers: AnswerChecker
    ledger: Ledger
    plan: SwarmPlan


class Client:
    """An actor with at most one current connection. Subclasses say what `ready` does.

    `start` connects; after a loss it connects again, unless it has left.
    """

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        self.world = setting.world
        self.answers = setting.answers
        self.ledger = setting.ledger
        self.plan = setting.plan
        self.names = list(setting.plan.topics)
        self.name = name
        self.rng = rng
        self.channel: Channel | None = None
        self.topics: dict[str, KnownTopic] = {}
        self.left = False
        self.stopped = False
        self._turn = 0

    def stop(self) -> None:
        """Begin nothing new."""
        self.stopped = True

    def go_on(self) -> None:
        """Begin again after `stop`; what was still scheduled before is forgotten."""
        self.stopped = False
        self._turn += 1
        if self.channel is not None:
            self.ready()

    def start(self) -> None:
        """Connect and begin."""
        if self.left:
            return
        self.open_channel()
        self.ready()

    def open_channel(self) -> Channel:
        """Make a new connection the current one."""
        self.channel = channel = self.side_channel(self.lost)
        return channel

    def side_channel(self, on_lost: Callable[[], None]) -> Channel:
        """One more connection beside the current one."""
        return Channel(self.world, self.name, self.answers, on_lost)

    def ready(self) -> None:
        """The connection is there."""

    def lost(self) -> None:
        """The connection broke."""
        self.channel = None
        self.world.at(RECONNECT_MS, self.start)

    def leave(self) -> None:
        """Hang up for good."""
        self.left = True
        if self.channel is not None:
            self.channel.close()
            self.channel = None

    def after(self, delay_ms: float, action: Callable[[], None]) -> None:
        """Do it later, if connection and turn are still those of now."""
        channel, turn = self.channel, self._turn

        def run() -> None:
            if self.channel is channel and self._turn == turn and not self.left:
                action()

        self.world.at(delay_ms, run)

    def call(
        self,
        request: object,
        version: int,
        answer_class: type[T],
        on_answer: Callable[[T], None],
        max_wait_ms: float = 0.0,
    ) -> None:
        """Call on the current connection; an answer that outlives it, or the turn, is not told."""
        channel, turn = self.channel, self._turn
        assert channel is not None

        def take(answer: object) -> None:
            assert isinstance(answer, answer_class)
            if self.channel is channel and self._turn == turn:
                on_answer(answer)

        channel.call(request, version, take, max_wait_ms)

    def learn_topics(self, then: Callable[[], None]) -> None:
        """Ask for metadata of the `names`; those that do not exist are unknown afterwards."""
        wanted = [MetadataRequestTopic(name=name) for name in self.names]

        def learnt(answer: MetadataResponse) -> None:
            for topic in answer.topics:
                assert topic.name is not None
                if topic.error_code == ErrorCode.NONE:
                    epochs = [0] * len(topic.partitions)
                    for partition in topic.partitions:
                        epochs[partition.partition_index] = partition.leader_epoch
                    self.topics[topic.name] = KnownTopic(topic.topic_id, epochs)
                else:
                    self.topics.pop(topic.name, None)
            then()

        self.call(
            MetadataRequest(wanted, allow_auto_topic_creation=False),
            METADATA_VERSION,
            MetadataResponse,
            learnt,
        )
