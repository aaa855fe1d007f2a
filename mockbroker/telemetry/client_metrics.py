"""Which clients are asked for which metrics, and what they sent (Kafka: ClientMetricsManager).

GetTelemetrySubscriptions and PushTelemetry call this; tests look at `pushed`, which a broker of
Apache Kafka would hand to a plug-in. Made by the first such request. What a client is asked for
follows the CLIENT_METRICS resources that match it.

Invariants: at most `MAX_INSTANCES` clients are known, the longest silent goes first; a connection
that ends takes its client with it.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.config.client_metrics import Subscription
from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.names import RESERVED_IDS, random_uuid
from mockbroker.metadata.store import RESOURCE_CLIENT_METRICS
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.records.batch import GZIP, LZ4, NONE, SNAPPY, ZSTD
from mockbroker_protocol.records.compression import decompress
from mockbroker_protocol.records.crc import crc32c

if TYPE_CHECKING:
    from random import Random

    from mockbroker.clock import Clock
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.store import MetadataStore

ACCEPTED_COMPRESSION: Final = (ZSTD, LZ4, GZIP, SNAPPY)
MAX_INSTANCES: Final = 16_384
MAX_PUSHES: Final = 1_000
_DEFAULT_INTERVAL_MS: Final = 300_000
_EXPIRY_MS: Final = 300_000
_ALL_METRICS: Final = "*"
_NEVER: Final = float("-inf")


class Client(NamedTuple):
    """What subscriptions are matched against; an id is 16 raw bytes."""

    connection_id: int
    client_id: str
    software_name: str
    software_version: str
    source_address: str


class PushedMetrics(NamedTuple):
    """One push: `metrics` are OTLP bytes, decompressed; `pushed_ms` is wall time."""

    client_instance_id: bytes
    client_id: str
    subscription_id: int
    terminating: bool
    metrics: bytes
    pushed_ms: int


class _Instance:
    """A client as it was last asked (Kafka: ClientMetricsInstance)."""

    __slots__ = (
        "client",
        "interval_ms",
        "last_get_ms",
        "last_push_ms",
        "metrics",
        "seen_ms",
        "subscription_id",
        "terminating",
        "version",
    )

    def __init__(self, client: Client) -> None:
        self.client = client
        self.version = -1
        self.interval_ms = _DEFAULT_INTERVAL_MS
        self.metrics: list[str] = []
        self.subscription_id = 0
        self.seen_ms = 0.0
        self.begin()

    def begin(self) -> None:
        """Nothing was asked or sent since the subscriptions changed."""
        self.last_get_ms = self.last_push_ms = _NEVER
        self.terminating = False


class TelemetrySubscription(NamedTuple):
    """The answer to a client that asks what to send."""

    client_instance_id: bytes
    subscription_id: int
    interval_ms: int
    metrics: list[str]


class ClientMetrics:
    """The clients of one node. `pushed` holds the last pushes, oldest first."""

    __slots__ = (
        "_by_connection",
        "_clock",
        "_config",
        "_instances",
        "_metadata",
        "_rng",
        "_subscriptions",
        "_version",
        "pushed",
    )

    def __init__(
        self, clock: Clock, config: BrokerConfig, metadata: MetadataStore, rng: Random
    ) -> None:
        self._clock = clock
        self._config = config
        self._metadata = metadata
        self._rng = rng
        self._instances: dict[bytes, _Instance] = {}
        self._by_connection: dict[int, bytes] = {}
        self._version = 0
        self._subscriptions = self._read_subscriptions()
        self.pushed: deque[PushedMetrics] = deque(maxlen=MAX_PUSHES)
        metadata.subscribe(self._on_change)

    def ask(self, client_instance_id: bytes, client: Client) -> TelemetrySubscription | ErrorCode:
        """What this client shall send; 89 when it asks again before its interval is over."""
        if not any(client_instance_id):
            # KIP-714: a client that has none yet sends zeros, and keeps what it is told.
            client_instance_id = random_uuid(self._rng)
        instance = self._instance(client_instance_id, client)
        now_ms = self._clock.now_ms
        since_ms = now_ms - max(instance.last_get_ms, instance.last_push_ms)
        if since_ms < instance.interval_ms:
            # ClientMetricsInstance.maybeUpdateGetRequestTimestamp; a push counts too.
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        instance.last_get_ms = now_ms
        return TelemetrySubscription(
            client_instance_id, instance.subscription_id, instance.interval_ms, instance.metrics
        )

    def push(
        self,
        client_instance_id: bytes,
        client: Client,
        subscription_id: int,
        compression: int,
        metrics: bytes,
        *,
        terminating: bool,
    ) -> ErrorCode:
        """Take metrics; 42, 89, 117, 76, 118 and 87 as ClientMetricsManager, in its order."""
        if client_instance_id in RESERVED_IDS:
            return ErrorCode.INVALID_REQUEST
        instance = self._instance(client_instance_id, client)
        error = self._refusal(instance, subscription_id, compression, metrics, terminating)
        instance.terminating = terminating
        if error is not ErrorCode.NONE or not metrics:
            return error
        limit = self.max_bytes
        try:
            plain = metrics if compression == NONE else decompress(
                compression, metrics, max_bytes=max(limit * 10, limit)
            )  # fmt: skip
        except ProtocolError:
            return ErrorCode.INVALID_RECORD
        self.pushed.append(
            PushedMetrics(
                client_instance_id,
                client.client_id,
                subscription_id,
                terminating,
                bytes(plain),
                self._clock.wall_ms(),
            )
        )
        return ErrorCode.NONE

    @property
    def max_bytes(self) -> int:
        """How much a client may send at once, as it sends it."""
        return self._config.int("telemetry.max.bytes")

    def disconnected(self, connection_id: int) -> None:
        """The connection has gone, and with it the client that spoke on it last."""
        gone = self._by_connection.pop(connection_id, None)
        if gone is not None:
            self._instances.pop(gone, None)

    def _refusal(
        self,
        instance: _Instance,
        subscription_id: int,
        compression: int,
        metrics: bytes,
        terminating: bool,
    ) -> ErrorCode:
        if instance.terminating:
            return ErrorCode.INVALID_REQUEST
        now_ms = self._clock.now_ms
        # The first push after an answer may come early: clients wait for half an interval or more.
        may_push = (
            instance.last_get_ms > instance.last_push_ms
            or now_ms - instance.last_push_ms >= instance.interval_ms
        )
        if may_push:
            instance.last_push_ms = now_ms
        elif not terminating:
            return ErrorCode.THROTTLING_QUOTA_EXCEEDED
        if subscription_id != instance.subscription_id:
            return ErrorCode.UNKNOWN_SUBSCRIPTION_ID
        if compression != NONE and compression not in ACCEPTED_COMPRESSION:
            return ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        if len(metrics) > self.max_bytes:
            return ErrorCode.TELEMETRY_TOO_LARGE
        return ErrorCode.NONE

    def _instance(self, client_instance_id: bytes, client: Client) -> _Instance:
        """The client as it is known, asked anew if the subscriptions have changed."""
        now_ms = self._clock.now_ms
        instance = self._instances.pop(client_instance_id, None)
        if instance is not None and now_ms - instance.seen_ms >= max(
            _EXPIRY_MS, 3 * instance.interval_ms
        ):
            instance = None
        if instance is None:
            instance = _Instance(client)
            if len(self._instances) >= MAX_INSTANCES:
                del self._instances[next(iter(self._instances))]
        self._instances[client_instance_id] = instance
        self._by_connection[client.connection_id] = client_instance_id
        instance.seen_ms = now_ms
        if instance.version < self._version:
            instance.version = self._version
            instance.begin()
            self._subscribe(client_instance_id, instance)
        return instance

    def _subscribe(self, client_instance_id: bytes, instance: _Instance) -> None:
        matching = [
            each
            for each in self._subscriptions
            if _matches(each, client_instance_id, instance.client)
        ]
        metrics = dict.fromkeys(name for each in matching for name in each.metrics)
        instance.metrics = [_ALL_METRICS] if _ALL_METRICS in metrics else list(metrics)
        instance.interval_ms = min(
            (each.interval_ms for each in matching), default=_DEFAULT_INTERVAL_MS
        )
        instance.interval_ms = min(instance.interval_ms, _DEFAULT_INTERVAL_MS)
        text = f"[{', '.join(instance.metrics)}]{instance.interval_ms}"
        high = int.from_bytes(client_instance_id[:8], "big")
        mixed = high ^ int.from_bytes(client_instance_id[8:], "big")
        number = crc32c(text.encode()) ^ ((mixed ^ mixed >> 32) & 0xFFFFFFFF)
        instance.subscription_id = number - (1 << 32) if number >> 31 else number

    def _on_change(self, change: Change) -> None:
        if isinstance(change, ConfigsChanged) and change.resource_type == RESOURCE_CLIENT_METRICS:
            self._subscriptions = self._read_subscriptions()
            self._version += 1

    def _read_subscriptions(self) -> list[Subscription]:
        configs = self._metadata.resource_configs[RESOURCE_CLIENT_METRICS]
        return [Subscription(name, texts) for name, texts in configs.items()]


def _matches(subscription: Subscription, client_instance_id: bytes, client: Client) -> bool:
    values = {
        "client_instance_id": uuid_text(client_instance_id),
        "client_id": client.client_id,
        "client_software_name": client.software_name,
        "client_software_version": client.software_version,
        "client_source_address": client.source_address,
    }
    return all(
        name in values and pattern.fullmatch(values[name])
        for name, pattern in subscription.patterns.items()
    )
