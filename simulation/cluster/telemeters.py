"""Clients of the simulated cluster that send metrics, and settings that brokers must refuse.

A telemeter asks a broker what to send (KIP-714) and sends it, as it should and otherwise: what is
taken must lie there, the rest is refused for its reason. Between that it asks for configs that
mean nothing, of brokers, topics, groups and subscriptions; none may be set.
"""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata.changes import ConfigsChanged
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.headers import decode_response_header
from mockbroker_protocol.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementalAlterConfigsResponse,
)
from mockbroker_protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from mockbroker_protocol.plan import decode
from simulation.clients import frame_of
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew

if TYPE_CHECKING:
    from random import Random

    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

INTERVAL_MS = 200
METRICS: Final = ["org.apache.kafka."]
SUBSCRIPTIONS: Final = {
    "watched": {
        "interval.ms": str(INTERVAL_MS),
        "metrics": METRICS[0],
        "match": "client_id=telemeter[0-9]+,client_software_name=(unknown|x)",
    },
    "unwatched": {"metrics": "*", "match": "client_id=(some|no)body"},
}
TOPIC, BROKER, SUBSCRIPTION, GROUP = 2, 4, 16, 32
GZIP, NO_CODEC = 1, 9
NONE: Final = 0
RESERVED: Final = bytes(16)
_CONFIG: Final = ErrorCode.INVALID_CONFIG
_REQUEST: Final = ErrorCode.INVALID_REQUEST
SET: Final = 0
RENEWED: Final = (
    NONE,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    ErrorCode.UNKNOWN_SUBSCRIPTION_ID,
)
UNANSWERED: Final = (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_CONTROLLER)

BAD_SETTINGS: Final[tuple[tuple[int, str, str, str, int], ...]] = (
    (TOPIC, "t0", "preallocate", "maybe", _CONFIG),
    (TOPIC, "t0", "min.cleanable.dirty.ratio", "much", _CONFIG),
    (TOPIC, "t0", "min.cleanable.dirty.ratio", "1.5", _CONFIG),
    (TOPIC, "t0", "min.insync.replicas", "0", _CONFIG),
    (TOPIC, "t0", "cleanup.policy", "burn", _CONFIG),
    (TOPIC, "t0", "compression.type", "rar", _CONFIG),
    (TOPIC, "t0", "message.timestamp.type", "never", _CONFIG),
    (TOPIC, "t0", "leader.replication.throttled.replicas", "0-1", _CONFIG),
    (TOPIC, "t0", "retention.ms", "-2", _CONFIG),
    (TOPIC, "t0", "nothing.at.all", "1", _CONFIG),
    (BROKER, "", "num.io.threads", "99999", _REQUEST),
    (BROKER, "", "num.io.threads", "0", _REQUEST),
    (BROKER, "", "log.cleaner.threads", "77", _REQUEST),
    (BROKER, "", "log.cleaner.threads", "-1", _REQUEST),
    (BROKER, "", "log.retention.ms", "long", _REQUEST),
    (GROUP, "of-telemeters", "share.auto.offset.reset", "somewhere", _CONFIG),
    (GROUP, "of-telemeters", "share.auto.offset.reset", "by_duration:P", _CONFIG),
    (GROUP, "of-telemeters", "consumer.session.timeout.ms", "1", _CONFIG),
    (GROUP, "of-telemeters", "consumer.heartbeat.interval.ms", "999999", _CONFIG),
    (GROUP, "of-telemeters", "streams.num.standby.replicas", "99", _CONFIG),
    (GROUP, "of-telemeters", "nothing.at.all", "1", _CONFIG),
    (SUBSCRIPTION, "of-telemeters", "interval.ms", "7", _REQUEST),
    (SUBSCRIPTION, "of-telemeters", "interval.ms", "soon", _CONFIG),
    (SUBSCRIPTION, "of-telemeters", "match", "client_id=(", _CONFIG),
    (SUBSCRIPTION, "of-telemeters", "match", "colour=red", _CONFIG),
    (SUBSCRIPTION, "of-telemeters", "match", "client_id", _CONFIG),
    (SUBSCRIPTION, "of-telemeters", "nothing.at.all", "1", _REQUEST),
)
"""Type, name, key and value of what must be refused, and the error."""


class Push(NamedTuple):
    """What is sent after an interval, and its error; `other`: under another subscription."""

    error: int
    codec: int = 0
    size: int = 10
    other: bool = False
    terminating: bool = False


PUSHES: Final = (
    Push(ErrorCode.UNKNOWN_SUBSCRIPTION_ID, other=True),
    Push(NONE),
    Push(NONE, GZIP),
    Push(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, NO_CODEC),
    Push(ErrorCode.TELEMETRY_TOO_LARGE, size=2_000),
    Push(NONE, terminating=True),
    Push(ErrorCode.INVALID_REQUEST),
)
"""One after another; whoever said that it ends may send no more."""


class Telemeter(ClusterClient):
    """Goes through what it sends, at one broker and then at another."""

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self.pushes = self.refused = 0
        self._may_renew = any(plan.on[kind] for kind in ("admin", "skew", "scope"))
        """Whether a client may be known anew: clocks are moved, or subscriptions are others."""
        self._node = 0
        self._wire: object = None
        """By which it asked what to send: with a connection its client is forgotten."""
        self._asked: GetTelemetrySubscriptionsResponse | None = None
        self._step = 0

    def begin(self) -> None:
        self._set_badly()
        if self._asked is None:
            self._node = self.any_node()
            self._get()
        else:
            self._push(self._asked, PUSHES[self._step])

    def _get(self) -> None:
        node = self._node

        def answered(answer: GetTelemetrySubscriptionsResponse | None) -> None:
            if answer is not None and not answer.error_code and answer.requested_metrics:
                told = answer.push_interval_ms, answer.requested_metrics
                self.expect("the subscription", told, (INTERVAL_MS, METRICS))
                self.expect("an id", any(answer.client_instance_id), True)
                self._asked, self._step, self._wire = answer, 0, self.wire_to(node)
            self.note(f"asks {node} what to send")
            self.later()

        request = GetTelemetrySubscriptionsRequest(RESERVED)
        self.ask(node, request, 0, GetTelemetrySubscriptionsResponse, answered)

    def _push(self, asked: GetTelemetrySubscriptionsResponse, push: Push) -> None:
        node, metrics = self._node, f"{self.name} {self._step}".encode().ljust(push.size)
        sent = gzip.compress(metrics, mtime=0) if push.codec == GZIP else metrics
        broker = self.world.cluster.broker(node)

        def answered(answer: PushTelemetryResponse | None) -> None:
            if answer is None or broker is None or self.wire_to(node) is not self._wire:
                self._asked = None
                self.later()
                return
            error = answer.error_code
            self.note(f"pushes to {node}: {error}")
            if error != push.error and self._may_renew and error in RENEWED:
                self._asked = None
                self.later()
                return
            self.expect("the error", error, push.error)
            if not error:
                kept = broker.services.client_metrics().pushed
                mine = [one.metrics for one in kept if one.client_id == self.name]
                self.expect("what lies there", mine[-1:], [metrics])
                self.pushes += 1
            self._step += 1
            if self._step == len(PUSHES):
                self._asked = None
            self.later(INTERVAL_MS + 10.0)

        request = PushTelemetryRequest(
            asked.client_instance_id,
            asked.subscription_id + push.other,
            push.terminating,
            push.codec,
            sent,
        )
        self.ask(node, request, 0, PushTelemetryResponse, answered)

    def expect(self, what: str, told: object, wanted: object) -> None:
        """It is a violation if they differ."""
        if told != wanted:
            self.world.violate(f"{self.name}: broker {self._node}: {what} is {told}, not {wanted}")

    def _set_badly(self) -> None:
        """Something that cannot be set, at a broker that can ask its controller now."""
        kind, name, key, value, error = self.rng.choice(BAD_SETTINGS)
        broker = self.world.cluster.broker(self.any_node())
        one = IncrementalAlterableConfig(key, SET, value)
        request = IncrementalAlterConfigsRequest(
            [IncrementalAlterConfigsResource(kind, name, [one])]
        )
        frame = frame_of(request, 1, 1, self.name)
        answers = [] if broker is None else self.world.probe(frame, broker)
        if answers:
            _, pos = decode_response_header(answers[0], ApiKey.INCREMENTAL_ALTER_CONFIGS, 1)
            answer, _ = decode(IncrementalAlterConfigsResponse, 1, answers[0], pos)
            told = answer.responses[0].error_code
            if told not in UNANSWERED:
                self.expect(f"{key}={value} of {kind}", told, error)
                self.refused += 1


class TelemetryCrew(Crew):
    """Two of them, where a seed draws "telemetry"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self.telemeters = setting.hire(Telemeter, "telemeter", 2 * int(self.plan.on["telemetry"]))
        self.clients = [*self.telemeters]

    def start(self) -> None:
        if self.telemeters:
            store = self.world.cluster.metadata
            for name, configs in SUBSCRIPTIONS.items():
                change = ConfigsChanged(SUBSCRIPTION, name, configs)
                self.world.operate(lambda change=change: store.apply(change))  # type: ignore[misc]
        super().start()

    def counts(self) -> dict[str, int]:
        return {
            "pushes": sum(each.pushes for each in self.telemeters),
            "bad settings": sum(each.refused for each in self.telemeters),
        }

    def check(self) -> None:
        """None of the bad settings was made."""
        store = self.world.cluster.metadata
        made = [of for of in (SUBSCRIPTION, GROUP) if "of-telemeters" in store.resource_configs[of]]
        if made:
            self.world.violate(f"bad settings were made: {made}")
