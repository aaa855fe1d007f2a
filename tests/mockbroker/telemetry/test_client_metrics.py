"""Who is asked for which metrics, when it may send them, and what is kept."""

from __future__ import annotations

import gzip
from random import Random

import pytest

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.store import MetadataStore
from mockbroker.telemetry import client_metrics
from mockbroker.telemetry.client_metrics import (
    Client,
    ClientMetrics,
    TelemetrySubscription,
)
from mockbroker_protocol.errors import ErrorCode

OK = ErrorCode.NONE
CLIENT = Client(1, "app-1", "apache-kafka-java", "4.4.0", "127.0.0.1")
NEW = bytes(16)
INTERVAL_MS = 300_000


class World:
    def __init__(self) -> None:
        self.clock = Clock(1_700_000_000_000)
        config = BrokerConfig({"telemetry.max.bytes": "100"})
        self.metadata = MetadataStore("cluster", config)
        self.room = ClientMetrics(self.clock, config, self.metadata, Random(0))

    def subscribe(self, name: str, **configs: str) -> None:
        texts = {key.replace("_", "."): text for key, text in configs.items()}
        self.metadata.apply(ConfigsChanged(16, name, texts))

    def ask(self, instance_id: bytes = NEW, client: Client = CLIENT) -> TelemetrySubscription:
        asked = self.room.ask(instance_id, client)
        assert isinstance(asked, TelemetrySubscription), asked
        return asked

    def push(
        self,
        asked: TelemetrySubscription,
        metrics: bytes = b"m",
        *,
        compression: int = 0,
        terminating: bool = False,
        subscription_id: int | None = None,
    ) -> ErrorCode:
        number = asked.subscription_id if subscription_id is None else subscription_id
        return self.room.push(
            asked.client_instance_id, CLIENT, number, compression, metrics, terminating=terminating
        )


@pytest.fixture
def world() -> World:
    return World()


def test_a_client_without_subscription_sends_nothing(world: World) -> None:
    asked = world.ask()
    assert any(asked.client_instance_id)
    assert (asked.interval_ms, asked.metrics) == (INTERVAL_MS, [])


def test_matching_subscriptions_add_up(world: World) -> None:
    world.subscribe("a", metrics="x.,y.", interval_ms="2000", match="client_id=app-.*")
    world.subscribe("b", metrics="y.,z.", interval_ms="1000", match="client_software_name=.*java")
    world.subscribe("c", metrics="no.", interval_ms="100", match="client_id=app")
    asked = world.ask()
    assert (asked.metrics, asked.interval_ms) == (["x.", "y.", "z."], 1000)
    world.subscribe("d", metrics="*")
    assert world.ask(asked.client_instance_id).metrics == ["*"]


@pytest.mark.parametrize(
    ("pattern", "matches"),
    [
        ("client_software_version=4.*", True),
        ("client_source_address=127.0.0.1", True),
        ("client_source_port=1", False),
        ("client_id=app-1,client_software_name=librdkafka", False),
    ],
)
def test_what_a_client_is_matched_by(world: World, pattern: str, matches: bool) -> None:
    world.subscribe("a", metrics="x.", match=pattern)
    assert world.ask().metrics == (["x."] if matches else [])


def test_asking_again_is_too_early_until_the_interval_is_over(world: World) -> None:
    first = world.ask()
    assert world.room.ask(first.client_instance_id, CLIENT) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    world.clock.now_ms += INTERVAL_MS
    assert world.ask(first.client_instance_id) == first


def test_a_changed_subscription_may_be_asked_for_at_once(world: World) -> None:
    first = world.ask()
    world.subscribe("a", metrics="x.")
    second = world.ask(first.client_instance_id)
    assert second.subscription_id != first.subscription_id
    assert world.push(second, subscription_id=first.subscription_id) is (
        ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    )


def test_one_push_at_once_then_one_an_interval(world: World) -> None:
    asked = world.ask()
    assert world.push(asked) is OK
    assert world.push(asked) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
    world.clock.now_ms += INTERVAL_MS
    assert world.push(asked) is OK
    assert [each.metrics for each in world.room.pushed] == [b"m", b"m"]


@pytest.mark.parametrize(
    ("compression", "metrics", "error"),
    [
        (9, b"m", ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
        (1, b"no gzip", ErrorCode.INVALID_RECORD),
        (0, bytes(101), ErrorCode.TELEMETRY_TOO_LARGE),
        (0, bytes(100), OK),
        (0, b"", OK),
        (1, gzip.compress(b"m", mtime=0), OK),
    ],
)
def test_what_is_pushed_is_looked_at(
    world: World, compression: int, metrics: bytes, error: ErrorCode
) -> None:
    assert world.push(world.ask(), metrics, compression=compression) is error
    assert len(world.room.pushed) == (error is OK and metrics != b"")


def test_compressed_metrics_are_kept_plain(world: World) -> None:
    asked = world.ask()
    world.push(asked, gzip.compress(b"metrics"), compression=1)
    (pushed,) = world.room.pushed
    assert (pushed.metrics, pushed.client_id) == (b"metrics", "app-1")
    assert pushed.client_instance_id == asked.client_instance_id


def test_the_last_push_is_the_last(world: World) -> None:
    asked = world.ask()
    assert world.push(asked, terminating=True) is OK
    assert world.push(asked, terminating=True) is ErrorCode.INVALID_REQUEST
    assert world.push(asked) is ErrorCode.INVALID_REQUEST


def test_an_id_is_needed_to_push(world: World) -> None:
    for reserved in (NEW, bytes(15) + b"\x01"):
        error = world.room.push(reserved, CLIENT, 0, 0, b"m", terminating=False)
        assert error is ErrorCode.INVALID_REQUEST


def test_a_connection_takes_its_client_with_it(world: World) -> None:
    asked = world.ask()
    world.room.disconnected(CLIENT.connection_id)
    assert world.ask(asked.client_instance_id) == asked
    world.room.disconnected(99)


def test_a_silent_client_is_forgotten(world: World) -> None:
    asked = world.ask()
    world.push(asked, terminating=True)
    world.clock.now_ms += 3 * INTERVAL_MS
    assert world.push(asked) is OK


def test_the_longest_silent_goes_first(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_metrics, "MAX_INSTANCES", 30)
    asked = world.ask()
    for number in range(30):
        world.ask((number + 2).to_bytes(16, "big"), CLIENT._replace(connection_id=number + 2))
    assert world.ask(asked.client_instance_id) == asked
