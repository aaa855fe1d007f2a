"""Clients' metrics: what a client is asked for, and what it may push (KIP-714)."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.telemetry import (
    GetTelemetrySubscriptionsRequest,
    PushTelemetryRequest,
)
from tests.differential.config_steps import CLIENT_METRICS_RESOURCE, SET, change, see
from tests.differential.steps import ask

if TYPE_CHECKING:
    from tests.differential.steps import Known, Step

SUBSCRIPTION = "telemetry"
ONE = bytes(15) + b"\x01"


def learn_as(name: str) -> Any:
    def learn(known: Known, answer: Any) -> None:
        known[name] = answer

    return learn


def again(name: str) -> Any:
    return lambda known: GetTelemetrySubscriptionsRequest(known[name].client_instance_id)


def push(name: str, metrics: bytes = b"m", more: int = 0, **fields: Any) -> Any:
    def request(known: Known) -> PushTelemetryRequest:
        asked = known[name]
        number = asked.subscription_id + more
        return PushTelemetryRequest(asked.client_instance_id, number, metrics=metrics, **fields)

    return request


def one_push(what: str, **push_fields: Any) -> list[Step]:
    """A push of a client of its own, which may send at once."""
    name = f"client that pushes {what}"
    return [
        *ask(f"GetTelemetrySubscriptions of a {name}", 0, GetTelemetrySubscriptionsRequest(),
             connection=name, learn=learn_as(name)),
        *ask(f"PushTelemetry {what}", 0, push(name, **push_fields), connection=name),
    ]  # fmt: skip


def telemetry_steps() -> list[Step]:
    return [
        *ask("GetTelemetrySubscriptions", 0, GetTelemetrySubscriptionsRequest(),
             learn=learn_as("first")),
        *ask("GetTelemetrySubscriptions too early", 0, again("first")),
        *ask("GetTelemetrySubscriptions of a reserved id", 0,
             GetTelemetrySubscriptionsRequest(ONE), connection="reserved"),
        *ask("a subscription to metrics", 1, change(
            ("metrics", SET, "*"), ("match", SET, "client_id=diff.*"),
            kind=CLIENT_METRICS_RESOURCE, name=SUBSCRIPTION)),
        *see("match", "client_id=diff.*", CLIENT_METRICS_RESOURCE, SUBSCRIPTION),
        *ask("a subscription of others", 1, change(
            ("metrics", SET, "no."), ("interval.ms", SET, "100"), ("match", SET, "client_id=x"),
            kind=CLIENT_METRICS_RESOURCE, name=f"{SUBSCRIPTION}-2")),
        *see("match", "client_id=x", CLIENT_METRICS_RESOURCE, f"{SUBSCRIPTION}-2"),
        *ask("GetTelemetrySubscriptions after a change", 0, again("first"),
             learn=learn_as("second")),
        *ask("PushTelemetry", 0, push("second")),
        *ask("PushTelemetry too early", 0, push("second")),
        *ask("PushTelemetry as the last", 0, push("second", terminating=True)),
        *ask("PushTelemetry after the last", 0, push("second", terminating=True)),
        *ask("PushTelemetry without an id", 0, PushTelemetryRequest(metrics=b"m")),
        *ask("PushTelemetry of a reserved id", 0, PushTelemetryRequest(ONE, metrics=b"m")),
        *one_push("nothing", metrics=b""),
        *one_push("for another subscription", more=1),
        *one_push("in an unknown codec", compression_type=9),
        *one_push("in a negative codec", compression_type=-1),
        *one_push("what is no gzip", compression_type=1),
        *one_push("gzip", compression_type=1, metrics=gzip.compress(b"m", mtime=0)),
        *one_push("too much", metrics=bytes(1_048_577)),
        *one_push("as much as it may", metrics=bytes(1_048_576)),
    ]  # fmt: skip
