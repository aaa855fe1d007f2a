"""A client of the core without a socket: messages in, messages out, on virtual time.

`Core` owns a one-node cluster and its clock; `Core.client()` connects. A request goes through the
same bytes and verbs as over TCP, so a test sees what a client would see, and time only passes when
the test says so.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, TypeVar, cast

from mockbroker.cluster.cluster import Cluster
from mockbroker_protocol.frames import FrameBuffer
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.journal import Event
    from mockbroker.node.broker import Broker
    from mockbroker_protocol.primitives import Buffer

EPOCH_MS = 1_700_000_000_000
T = TypeVar("T")


class Core:
    """A one-node cluster that is driven by hand."""

    def __init__(
        self,
        *,
        topics: Mapping[str, int | None] | None = None,
        config: Mapping[str, str] | None = None,
        seed: int = 0,
        outsiders: bool = False,
    ) -> None:
        self.cluster = Cluster(
            config or {},
            topics or {},
            substream=lambda purpose: Random(f"{seed}/{purpose}"),
            epoch_ms=EPOCH_MS,
            outsiders=outsiders,
        )
        self.broker = self.cluster.brokers[0]
        self.now_ms = 0.0
        self.events: list[Event] = []
        self.cluster.journal.listen(self.events.append, requests=True)
        self._clients: dict[int, CoreClient] = {}

    def client(self, client_id: str | None = "test", *, listener: str = "PLAINTEXT") -> CoreClient:
        """Connect one more client."""
        client = CoreClient(self, self.next_id, client_id, listener)
        self.connect(client)
        return client

    @property
    def next_id(self) -> int:
        """The id of the next connection."""
        return len(self._clients) + 1

    def connect(self, client: CoreClient) -> None:
        """Let in a client that has the next id."""
        self._clients[client.connection_id] = client
        self.listening(client.listener).connect(
            client.connection_id,
            "/127.0.0.1",
            self.now_ms,
            local_address=("127.0.0.1", 9092),
            listener=client.listener,
        )

    def listening(self, _listener: str) -> Broker:
        """The core that serves a listener."""
        return self.broker

    def advance(self, milliseconds: float) -> None:
        """Let time pass, stopping at each deadline on the way as the shell would."""
        end_ms = self.now_ms + milliseconds
        while True:
            deadline = self.cluster.next_deadline()
            if deadline is None or deadline > end_ms:
                break
            self.now_ms = max(self.now_ms, deadline)
            self.cluster.tick(self.now_ms)
        self.now_ms = end_ms
        self.cluster.tick(end_ms)
        self.deliver()

    def act(self, action: Callable[[], T]) -> T:
        """Look at the cluster or act on it, as a server does for someone in its process."""
        self.cluster.set_time(self.now_ms)
        try:
            return action()
        finally:
            self.cluster.drain(self.now_ms)

    def deliver(self) -> None:
        """Hand the outbox to the clients, as the shell writes it."""
        while True:
            self.cluster.drain(self.now_ms)
            outbox = [each for broker in self.cluster.cores for each in broker.take_outbox()]
            if not outbox:
                return
            for outgoing in outbox:
                client = self._clients[outgoing.connection_id]
                client.take(b"".join(outgoing.chunks), closed=outgoing.close)
                client.reading = outgoing.read
                if outgoing.more:
                    self.listening(client.listener).resume(client.connection_id, self.now_ms)


class CoreClient:
    """One connection. `call` for what answers at once, `send` and `receive` for what may park."""

    def __init__(
        self,
        core: Core,
        connection_id: int,
        client_id: str | None,
        listener: str = "PLAINTEXT",
    ) -> None:
        self.core = core
        self.listener = listener
        self.connection_id = connection_id
        self.client_id = client_id
        self.closed = False
        self.reading = True
        self._frames = FrameBuffer()
        self._answers: list[bytes | bytearray] = []
        self._expected: list[tuple[int, int, int]] = []
        self._correlation_id = 0

    def send(self, request: object, version: int) -> None:
        """Send a request message."""
        api_key = cast("int", request.API_KEY)  # type: ignore[attr-defined]
        self._correlation_id += 1
        header = encode_request_header(api_key, version, self._correlation_id, self.client_id)
        frame = header + b"".join(encode(request, version))
        self._expected.append((api_key, version, self._correlation_id))
        self.send_bytes(len(frame).to_bytes(4, "big") + frame)

    def send_bytes(self, data: Buffer) -> None:
        """Send raw bytes."""
        self.core.listening(self.listener).receive(self.connection_id, data, self.core.now_ms)
        self.core.deliver()

    def disconnect(self) -> None:
        """Drop the connection."""
        self.core.listening(self.listener).disconnect(self.connection_id, self.core.now_ms)
        self.core.deliver()

    def take(self, data: bytes, *, closed: bool) -> None:
        """The core's bytes for this client."""
        self._answers += self._frames.feed(data)
        self.closed = self.closed or closed

    @property
    def answered(self) -> int:
        """Answers that arrived and were not received yet."""
        return len(self._answers)

    def receive_bytes(self) -> bytes | bytearray:
        """The next answer's frame."""
        assert self._answers, "no answer has arrived"
        return self._answers.pop(0)

    def receive(self, kind: type[T]) -> T:
        """The next answer, which must be of `kind` and in the order of the requests."""
        frame = self.receive_bytes()
        api_key, version, correlation_id = self._expected.pop(0)
        answered, pos = decode_response_header(frame, api_key, version)
        assert answered == correlation_id
        answer_class: type[object] = response_class(api_key)
        message, end = decode(answer_class, version, frame, pos)
        assert end == len(frame)
        assert isinstance(message, kind)
        return message

    def call(self, request: object, version: int, kind: type[T]) -> T:
        """Send a request and receive its answer, which must come in the same step."""
        self.send(request, version)
        return self.receive(kind)
