"""Which quota is in force, and how long a client is throttled for what it took."""

from __future__ import annotations

import pytest

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.changes import ClientQuotasChanged
from mockbroker.metadata.store import MetadataStore
from mockbroker.security.quotas import FETCH, PRODUCE, REQUEST, UNLIMITED, QuotaManager

ME = "User:me"


class World:
    def __init__(self) -> None:
        self.clock = Clock()
        config = BrokerConfig()
        self.metadata = MetadataStore("cluster", config)
        self.quotas = QuotaManager(self.clock, config, self.metadata)

    def set(self, quota: str, value: float, **entity: str | None) -> None:
        named = tuple(sorted((kind.replace("_", "-"), name) for kind, name in entity.items()))
        self.metadata.apply(ClientQuotasChanged(named, {quota: value}))


@pytest.fixture
def world() -> World:
    return World()


def test_without_a_quota_nothing_is_throttled(world: World) -> None:
    assert world.quotas.charge(PRODUCE, ME, "c", 1e12) == 0
    assert world.quotas.max_fetch_bytes(ME, "c") == UNLIMITED
    world.set(PRODUCE, 1, user="other")
    assert world.quotas.charge(PRODUCE, ME, "c", 1e12) == 0


def test_the_time_is_what_brings_the_rate_back(world: World) -> None:
    world.set(PRODUCE, 500, client_id="c")
    assert world.quotas.charge(PRODUCE, ME, "c", 5000) == 0
    assert world.quotas.charge(PRODUCE, ME, "c", 5000) == 10_000
    world.clock.now_ms = 20_000
    assert world.quotas.charge(PRODUCE, ME, "c", 1000) == 0


def test_a_fetch_may_take_ten_seconds_worth(world: World) -> None:
    world.set(FETCH, 500, client_id=None)
    assert world.quotas.max_fetch_bytes(ME, "c") == 5000


def test_what_is_taken_back_is_free(world: World) -> None:
    world.set(FETCH, 500, user="me")
    for _ in range(3):
        assert world.quotas.charge(FETCH, ME, "c", 5000) == 0
        world.quotas.take_back(FETCH, ME, "c", 5000)


def test_requests_are_throttled_a_window_at_most(world: World) -> None:
    world.set(REQUEST, 0.001, user=None)
    throttled = [world.quotas.charge_request(ME, "c") for _ in range(200)]
    assert throttled[0] == 0
    assert max(throttled) == 1000


def test_the_most_special_quota_is_in_force(world: World) -> None:
    levels: list[dict[str, str | None]] = [
        {"client_id": None},
        {"client_id": "c"},
        {"user": None},
        {"user": None, "client_id": None},
        {"user": None, "client_id": "c"},
        {"user": "me"},
        {"user": "me", "client_id": None},
        {"user": "me", "client_id": "c"},
    ]
    for rate, entity in enumerate(levels, 1):
        world.set(FETCH, rate, **entity)
        assert world.quotas.max_fetch_bytes(ME, "c") == rate * 10


def test_clients_of_a_user_share_its_rate(world: World) -> None:
    world.set(PRODUCE, 500, user="me")
    assert world.quotas.charge(PRODUCE, ME, "a", 5000) == 0
    assert world.quotas.charge(PRODUCE, ME, "b", 5000) > 0
    assert world.quotas.charge(PRODUCE, "User:other", "b", 5000) == 0


@pytest.mark.parametrize(
    ("entity", "sharers"),
    [
        ({"user": "me", "client_id": "c"}, {(ME, "c")}),
        ({"user": "me", "client_id": None}, {(ME, "c")}),
        ({"user": "me"}, {(ME, "c"), (ME, "d")}),
        ({"user": None, "client_id": "c"}, {(ME, "c")}),
        ({"user": None, "client_id": None}, {(ME, "c")}),
        ({"user": None}, {(ME, "c"), (ME, "d")}),
        ({"client_id": "c"}, {(ME, "c"), ("User:other", "c")}),
        ({"client_id": None}, {(ME, "c"), ("User:other", "c")}),
    ],
)
def test_who_shares_a_rate(
    world: World, entity: dict[str, str | None], sharers: set[tuple[str, str]]
) -> None:
    """Kafka: ClientQuotaManager's quotaMetricTags, a sensor for each of them."""
    world.set(PRODUCE, 500, **entity)
    assert world.quotas.charge(PRODUCE, ME, "c", 5000) == 0
    clients = [(ME, "c"), (ME, "d"), ("User:other", "c"), ("User:other", "d")]
    throttled = set()
    for client in clients:
        if world.quotas.charge(PRODUCE, *client, 1000) > 0:
            throttled.add(client)
        world.quotas.take_back(PRODUCE, *client, 1000)
    assert throttled == sharers


def test_of_two_kinds_of_quota_each_has_its_own_level(world: World) -> None:
    world.set(FETCH, 7, user="me", client_id="c")
    world.set(PRODUCE, 500, client_id=None)
    assert world.quotas.charge(PRODUCE, ME, "c", 5000) == 0
    assert world.quotas.charge(PRODUCE, "User:other", "c", 5000) > 0
    assert world.quotas.max_fetch_bytes(ME, "c") == 70
    assert world.quotas.max_fetch_bytes(ME, "d") == UNLIMITED
