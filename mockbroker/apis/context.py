"""What a handler is given: the request's context and the rooms it may call.

`broker` makes one `RequestContext` a request and one `Services` a node. A handler returns its
response, or one of three sentinels: `PARKED` (the answer comes later through `ctx.respond`),
`NO_RESPONSE` (Produce with acks=0) or `CLOSE` (acks=0 failed, so the connection closes).

Invariant: each request is answered at most once; `respond` after an answer or after the
connection has gone has no effect.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

from mockbroker.journal.request import RequestServed
from mockbroker.metadata.changes import ClientQuotasChanged
from mockbroker.security.admission import Admission
from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
    from random import Random

    from mockbroker.clock import Clock, Timer
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.coordinator.group.service import GroupCoordinatorService
    from mockbroker.coordinator.group.shard import Companion
    from mockbroker.coordinator.group.shared import Sharing
    from mockbroker.coordinator.lazy import LazyCoordinator
    from mockbroker.coordinator.producer_ids import ProducerIdManager
    from mockbroker.coordinator.txn.coordinator import TransactionCoordinator
    from mockbroker.fetch.contexts import FetchContext
    from mockbroker.fetch.manager import FetchManager
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.controller import Controller
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker.replica.log_dirs import LogDirsMark
    from mockbroker.replica.manager import ReplicaManager
    from mockbroker.security.authenticator import Authenticator
    from mockbroker.security.authorizer import StandardAuthorizer
    from mockbroker.security.quotas import QuotaManager
    from mockbroker.security.rate import Rate
    from mockbroker.telemetry.client_metrics import Client, ClientMetrics, PushedMetrics
    from mockbroker_protocol.api_keys import ApiKey, VersionRange
    from mockbroker_protocol.frames import Frame
    from mockbroker_protocol.headers import RequestHeader
    from mockbroker_protocol.primitives import Buffer

    Decode = Callable[[Buffer, int, int], object]
    Encode = Callable[[object, int], list[Buffer]]


T = TypeVar("T")
MADE_AT_ONCE: Final = 256
"""Parts of a long answer that are made in one slice."""


class Verdict:
    """A sentinel that a handler returns instead of a response."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


PARKED: Final = Verdict("PARKED")
NO_RESPONSE: Final = Verdict("NO_RESPONSE")
CLOSE: Final = Verdict("CLOSE")


class Responder(Protocol):
    """What a context tells of its answer: the broker."""

    def complete(self, ctx: RequestContext, response: object) -> None:
        """Queue the answer of a parked request."""

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """Make the answer of a parked request inside the request boundary, and queue it."""

    def complete_in_slices(self, ctx: RequestContext, response: object) -> None:
        """Queue the answer of a parked request, encoded in slices: it may be long."""


class Sender(Protocol):
    """Who sent a request: its connection, or the context of the request that it came in.

    `peer` is the host as Kafka prints it ("/127.0.0.1").
    """

    @property
    def id(self) -> int: ...
    @property
    def peer(self) -> str: ...
    @property
    def principal(self) -> str: ...
    @property
    def listener(self) -> str: ...
    @property
    def local_address(self) -> tuple[str, int]: ...


class RequestContext(RequestServed):
    """One request on its way through the broker (Kafka: RequestChannel.Request, RequestContext).

    `arrived_ms` is on the core's clock; `throttle_time_ms` goes into the answer of each API that
    has the field. When the request is over its context is its record in the journal; for that alone
    `fetch` is the context of a Fetch, and `woken_by` what ended its wait.
    """

    __slots__ = ("done", "fetch", "local_address", "on_disconnect", "responder")

    def __init__(
        self,
        responder: Responder,
        header: RequestHeader,
        sender: Sender,
        arrived_ms: float,
        request_bytes: int,
        frame: Frame = b"",
    ) -> None:
        # Not the record's own __init__: this is made for each request.
        self.responder = responder
        self.api_key = header.api_key
        self.api_version = header.api_version
        self.correlation_id = header.correlation_id
        self.client_id = header.client_id or ""
        self.connection_id = sender.id
        self.peer = sender.peer
        self.principal = sender.principal
        self.listener = sender.listener
        self.local_address = sender.local_address
        self.arrived_ms = arrived_ms
        self.request_bytes = request_bytes
        self.frame = frame
        self.chunks = None
        self.response_bytes = 0
        self.throttle_time_ms = 0
        self.done = False
        self.fetch: FetchContext | None = None
        self.fetch_class = None
        self.request_bytes_saved = 0
        self.response_bytes_saved = 0
        self.service_ms = -1.0
        self.woken_by = None
        self.fault = None
        self.on_disconnect: Callable[[], None] | None = None

    @property
    def id(self) -> int:
        """Its connection's, as a `Sender` has it: another request may come of this one."""
        return self.connection_id

    @property
    def broker_id(self) -> int:
        """The node that served it."""
        node: int = getattr(self.responder, "broker_id", -1)
        return node

    @property
    def connected(self) -> bool:
        """Whether its client is still connected."""
        is_connected: Callable[[int], bool] | None
        is_connected = getattr(self.responder, "is_connected", None)
        return is_connected is None or is_connected(self.connection_id)

    def respond(self, response: object) -> None:
        """Answer a parked request; nothing happens when it was answered or its peer has gone.

        `response` is the API's response message, or the sentinel `NO_RESPONSE` or `CLOSE`.
        """
        if not self.done:
            self.responder.complete(self, response)

    def respond_by(self, make: Callable[[], object]) -> None:
        """As `respond`, for an answer made now: if `make` fails, only its client suffers."""
        if not self.done:
            self.responder.complete_by(self, make)

    def respond_in_slices(self, response: object) -> None:
        """As `respond`, for an answer so long that it is encoded in slices."""
        if not self.done:
            self.responder.complete_in_slices(self, response)


class ForwardedRequest(RequestContext):
    """What another broker forwards (KIP-590); `by_token`: its client showed a delegation token."""

    __slots__ = ("by_token",)
    by_token: bool


class Handle(Protocol):
    """A handler: it returns a response message, or one of the sentinels above."""

    def __call__(self, services: Services, ctx: RequestContext, request: object) -> object: ...


class ServedApi:
    """One API of a listener, as handlers see it; `registry.Api` fills it."""

    key: ApiKey
    name: str
    min_version: int
    max_version: int
    large_bytes: int
    requests: int
    request_bytes: int
    response_bytes: int
    decode: Decode
    encode: Encode
    handle: Handle

    def load(self) -> None:
        """Import what it is made of, which its first request does otherwise."""


class ServedApis(Protocol):
    """The APIs of a listener, as handlers see them (`registry.Registry`)."""

    @property
    def get(self) -> Callable[[int], ServedApi | None]:
        """By its key the API, whether or not the version is served; called once a request."""

    def apis(self) -> Iterable[ServedApi]:
        """Those that were asked for."""

    def versions(self) -> Mapping[int, VersionRange]:
        """Those in which each is served, by ascending key."""

    def advertised(self) -> Mapping[int, VersionRange]:
        """What ApiVersions tells clients, by ascending key."""


class LoginGate(Protocol):
    """The login of a connection, as the handlers of SaslHandshake and SaslAuthenticate see it."""

    @property
    def authenticator(self) -> Authenticator:
        """How far it is."""

    def authenticate(self, token: bytes) -> tuple[bytes, int]:
        """The answer to a token, and the life of the session in ms. Raises SaslError."""

    def fail(self, ctx: RequestContext, response: object, reason: str) -> Verdict:
        """Answer what ends the connection, after the delay."""

    def cut(self, reason: str) -> Verdict:
        """End the connection without an answer."""

    def refuse_later(self, reason: str) -> bool:
        """Whether bytes that are no frame are refused after the delay, as a failed login."""


class Environment(NamedTuple):
    """What a node is put into: configs, time, its view of the metadata, who changes them, dice.

    `node_id` is that of a broker, or -1 for a controller, which has no replicas.
    """

    node_id: int
    config: "BrokerConfig"
    clock: "Clock"
    timer: "Timer"
    metadata: "MetadataStore"
    controller: "Controller"
    rng: "Random"


class UseOfExtension(Protocol):
    """What of an extension anybody uses: who uses none of it pays for no more than a look here."""

    @property
    def advertised(self) -> bool:
        """Clients are told of APIs that Apache Kafka does not have."""

    @property
    def fetches(self) -> bool:
        """A fetch without tagged fields may be filtered."""

    @property
    def groups(self) -> bool:
        """What a group commits or asks for without tagged fields may be more than a position."""


class Extension(Protocol):
    """What a room above the APIs adds to a node."""

    @property
    def in_use(self) -> UseOfExtension:
        """Asked by its APIs before all else."""

    @property
    def companion(self) -> Companion:
        """What it knows of groups' offsets."""

    @property
    def coordinators(self) -> Mapping[str, LazyCoordinator[Any]]:
        """Its coordinators, each by its topic."""

    def metrics(self) -> Mapping[str, float]:
        """What it counts, by name."""

    def sharing(self, group_id: str) -> Mapping[tuple[str, int], Sharing]:
        """The partitions that a group shares, and how."""

    def expire_leases(self, group_id: str) -> int:
        """End what members of a group were handed out; how many leases."""

    def disconnected(self, connection_id: int) -> None:
        """A connection has gone: forget what was said for it."""

    def forget(self) -> None:
        """A scope ends: what no log says is gone."""


class RoomsMark(NamedTuple):
    """What rooms of a node held at one moment, for `Services.back_to`."""

    log_dirs: "LogDirsMark"
    rates: "Mapping[tuple[str, str, str], Rate]"
    pushed_metrics: "Sequence[PushedMetrics]"


def _respond(
    ctx: RequestContext, step: object, making: Generator[object, None, object]
) -> Generator[object, None, None]:
    """The rest of what makes an answer, from a step on, and the answer."""
    if step is not None:
        yield step
    response = yield from making
    ctx.respond_in_slices(response)


def in_slices(parts: Iterable[T], at_once: int = 0) -> Generator[None, None, list[T]]:
    """The parts of a long answer, which are made as they are taken.

    Yields after `at_once`, by default `MADE_AT_ONCE`. What they are made of must not be something
    that changes meanwhile.
    """
    at_once = at_once or MADE_AT_ONCE
    making = iter(parts)
    made: list[T] = []
    while True:
        some = list(islice(making, at_once))
        made += some
        if len(some) < at_once:
            return made
        yield


def _at_once(_ctx: RequestContext, steps: Iterator[object]) -> None:
    """Where nobody has turns."""
    for _ in steps:
        pass


class Services:
    """The rooms of one node, as handlers reach them. Made once by `broker`."""

    __slots__ = (
        "_client_metrics",
        "admission",
        "authorizer",
        "broker_id",
        "client_software",
        "clock",
        "config",
        "controller",
        "coordinator_of",
        "deferred",
        "extension",
        "fetch",
        "groups",
        "leader_log",
        "logins",
        "metadata",
        "metadata_progress",
        "producer_ids",
        "quorum",
        "quotas",
        "registries",
        "registry",
        "replicas",
        "rng",
        "shown_topics",
        "substream",
        "tell",
        "timer",
        "transactions",
        "work_in_slices",
    )

    def __init__(
        self,
        environment: Environment,
        *,
        replicas: ReplicaManager,
        fetch: FetchManager,
        groups: LazyCoordinator[GroupCoordinatorService],
        transactions: TransactionCoordinator,
        producer_ids: ProducerIdManager,
        registry: ServedApis,
    ) -> None:
        (
            self.broker_id,
            self.config,
            self.clock,
            self.timer,
            self.metadata,
            self.controller,
            self.rng,
        ) = environment
        self.replicas = replicas
        self.fetch = fetch
        self.groups = groups
        self.transactions = transactions
        self.producer_ids = producer_ids
        self.registry = registry
        self.shown_topics: Callable[[str], bool] | None = None
        """While a request is handled whose sender may not describe all topics: which it may."""
        self.tell: Callable[[int, Callable[[Services], None]], None] = self._tell_here
        """Let a broker, by node id, do something in a step of its own, once word gets there."""
        self.metadata_progress: Callable[[], Mapping[int, int]] = self._own_progress
        """By node id of the brokers that are up, how many changes of the metadata each heard of."""
        self.quorum: MetadataQuorum | None = None
        """There once a controller's listener is wanted (`Cluster.start_quorum`)."""
        self.registries: dict[str, ServedApis] = {}
        """APIs of listeners that serve others than `registry`, by the listener's name."""
        self.leader_log: Callable[[str, int], UnifiedLog | None] = self._own_leader_log
        """The log of a partition at its leader, as far as this broker can ask it."""
        self.coordinator_of: Callable[[str], Services | None] = self._own_group
        """What coordinates a group, as far as this broker can ask it."""
        self.extension: Extension | None = None
        """There if one is configured."""
        self.authorizer: StandardAuthorizer | None = None
        """There if one is configured."""
        self.work_in_slices: Callable[[RequestContext, Iterator[object]], None] = _at_once
        """Do the rest of a request that is parked in slices, which the iterator yields."""
        self.deferred: list[Callable[[], None]] = []
        """What `defer` was given in this step."""
        self.metadata.subscribe(self._on_change)
        self.quotas = self._new_quotas() if self.metadata.client_quotas else None
        """There from the first quota on, which a broker that starts anew may find."""
        self._client_metrics: ClientMetrics | None = None
        self.client_software: dict[int, tuple[str, str]] = {}
        """Name and version of the clients that told them, by connection."""
        self.logins: dict[int, LoginGate] = {}
        """The logins of connections whose listener wants one."""
        self.substream: Callable[[str], Random] = self._own_dice
        """Dice for a purpose, which is named."""
        self.admission = Admission(
            self.config,
            self.metadata,
            self.clock,
            lambda: self.substream(f"logins-{self.broker_id}"),
        )

    def answer_in_slices(
        self, ctx: RequestContext, making: Generator[object, None, object]
    ) -> object:
        """The answer that the generator returns, if it takes but one slice; else PARKED.

        The other slices are made, and the answer is encoded, as turns allow. What they tell may
        have changed since the first.
        """
        try:
            first = next(making)
        except StopIteration as end:
            response: object = end.value
            return response
        self.work_in_slices(ctx, _respond(ctx, first, making))
        return PARKED

    def _on_change(self, change: Change) -> None:
        if self.quotas is None and isinstance(change, ClientQuotasChanged):
            self.quotas = self._new_quotas()

    def _new_quotas(self) -> QuotaManager:
        from mockbroker.security.quotas import QuotaManager

        return QuotaManager(self.clock, self.config, self.metadata)

    def client_metrics(self) -> ClientMetrics:
        """What clients send of their metrics; the room is made at its first use."""
        if self._client_metrics is None:
            from mockbroker.telemetry.client_metrics import ClientMetrics

            self._client_metrics = ClientMetrics(self.clock, self.config, self.metadata, self.rng)
        return self._client_metrics

    def mechanism_of(self, connection_id: int) -> str | None:
        """The mechanism that the client of a connection chose; None: it has yet to, or need not."""
        login = self.logins.get(connection_id)
        return None if login is None else login.authenticator.mechanism

    def may_ask_for_tokens(self, ctx: RequestContext) -> bool:
        """Whether the sender's login lets it ask for delegation tokens.

        Where it logged in elsewhere, the broker there has looked at the rest.
        """
        if isinstance(ctx, ForwardedRequest):
            return not ctx.by_token
        from mockbroker.security.token_requests import may_ask_for_tokens

        login = self.logins.get(ctx.connection_id)
        authenticator = None if login is None else login.authenticator
        return may_ask_for_tokens(self.config, ctx.listener, ctx.principal, authenticator)

    def mark(self) -> RoomsMark:
        """What no log and no metadata say: quotas' use, log directories, clients' metrics."""
        return RoomsMark(
            self.replicas.log_dirs.mark(),
            {} if self.quotas is None else self.quotas.mark(),
            () if self._client_metrics is None else tuple(self._client_metrics.pushed),
        )

    def back_to(self, mark: RoomsMark) -> None:
        """Make that what it was."""
        self.replicas.log_dirs.back_to(mark.log_dirs)
        if self.quotas is not None:
            self.quotas.back_to(mark.rates)
        if self.extension is not None:
            self.extension.forget()
        if self._client_metrics is not None:
            self._client_metrics.pushed.clear()
            self._client_metrics.pushed.extend(mark.pushed_metrics)

    def metrics_client(self, ctx: RequestContext) -> Client:
        """The sender of a request, as subscriptions to metrics know it."""
        from mockbroker.telemetry.client_metrics import Client

        software = self.client_software.get(ctx.connection_id, ("unknown", "unknown"))
        return Client(ctx.connection_id, ctx.client_id, *software, ctx.peer.removeprefix("/"))

    def disconnected(self, connection_id: int) -> None:
        """A connection has gone: forget what is kept of its client."""
        self.client_software.pop(connection_id, None)
        self.logins.pop(connection_id, None)
        if self.extension is not None:
            self.extension.disconnected(connection_id)
        if self._client_metrics is not None:
            self._client_metrics.disconnected(connection_id)

    def registry_of(self, listener: str) -> ServedApis:
        """What is served on a listener."""
        return self.registries.get(listener, self.registry) if self.registries else self.registry

    def release_parked(self) -> None:
        """Answer every parked request as far as it can be (a clean shutdown)."""
        self.transactions.release_parked()
        self.replicas.release_parked()
        if self.groups.in_use:
            self.groups.service.release_parked()

    @property
    def controller_id(self) -> int:
        """The first broker that is up."""
        return min(self.metadata_progress())

    def _own_dice(self, _purpose: str) -> Random:
        return self.rng

    def _tell_here(self, node_id: int, action: Callable[[Services], None]) -> None:
        assert node_id == self.broker_id, "a broker alone coordinates and leads all there is"
        action(self)

    def _own_leader_log(self, topic: str, index: int) -> UnifiedLog | None:
        partition = self.replicas.partition(topic, index)
        return partition.open_log() if partition is not None and partition.is_leader else None

    def _own_group(self, group_id: str) -> Services | None:
        return None if self.groups.service.runtime.shard_for(group_id) is None else self

    def _own_progress(self) -> Mapping[int, int]:
        return {self.broker_id: self.metadata.version}

    def defer(self, action: Callable[[], None]) -> None:
        """Run `action` at the end of this step, after the answers made in it are queued."""
        self.deferred.append(action)

    @property
    def has_deferred(self) -> bool:
        """Whether an action waits for the end of this step."""
        return bool(self.deferred)

    def take_deferred(self) -> list[Callable[[], None]]:
        """Hand over the deferred actions; `broker` runs them at the end of each step."""
        actions = self.deferred
        if actions:
            self.deferred = []
        return actions
