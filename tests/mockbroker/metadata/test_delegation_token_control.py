"""How long tokens live, and who may change that."""

from __future__ import annotations

import pytest

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.delegation_token_control import (
    Wanted,
    create_token,
    expire_token,
    renew_token,
    replace_delegation_tokens,
)
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.metadata.store import MetadataStore
from mockbroker_protocol.errors import ErrorCode

DAY_MS = 86_400_000
ALICE, BOB, EVE = "User:alice", "User:bob", "User:eve"


class World:
    def __init__(self, **configs: str) -> None:
        config = BrokerConfig({"delegation.token.secret.key": "key", **configs})
        self.clock = Clock(1_000)
        self.store = MetadataStore("cluster", config)

    def create(self, token_id: str = "id", lifetime_ms: int = -1) -> DelegationToken:
        wanted = Wanted(token_id, ALICE, ALICE, [BOB], lifetime_ms)
        error, token = create_token(self.store, self.clock, wanted)
        assert error is ErrorCode.NONE
        assert token is not None
        return token

    def renew(self, who: str, hmac: bytes, period_ms: int = -1) -> tuple[ErrorCode, int]:
        return renew_token(self.store, self.clock, who, hmac, period_ms)

    def expire(self, who: str, hmac: bytes, period_ms: int = -1) -> tuple[ErrorCode, int]:
        return expire_token(self.store, self.clock, who, hmac, period_ms)


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    ("asked", "latest", "expiry"),
    [(-1, 7 * DAY_MS, DAY_MS), (0, 7 * DAY_MS, DAY_MS), (5, 5, 5), (1 << 62, 7 * DAY_MS, DAY_MS)],
)
def test_a_token_lives_as_long_as_asked_within_limits(
    world: World, asked: int, latest: int, expiry: int
) -> None:
    token = world.create(lifetime_ms=asked)
    assert (token.issue_wall_ms, token.max_wall_ms) == (1_000, 1_000 + latest)
    assert token.expiry_wall_ms == 1_000 + expiry
    assert world.store.delegation_tokens == {"id": token}


def test_a_life_without_end_ends_with_the_numbers() -> None:
    ages = str((1 << 63) - 1)
    configs = {"delegation.token.max.lifetime.ms": ages, "delegation.token.expiry.time.ms": ages}
    assert World(**configs).create().expiry_wall_ms == (1 << 63) - 1


def test_owner_and_renewers_renew_it_up_to_its_longest_life(world: World) -> None:
    hmac = world.create(lifetime_ms=2 * DAY_MS).hmac
    world.clock.now_ms = DAY_MS / 2
    assert world.renew(ALICE, hmac) == (0, 1_000 + DAY_MS * 3 // 2)
    assert world.renew(BOB, hmac, 50) == (0, 1_050 + DAY_MS // 2)
    assert world.renew(BOB, hmac, 5 * DAY_MS) == (0, 1_000 + DAY_MS * 3 // 2)
    world.clock.now_ms = DAY_MS * 1.4
    assert world.renew(BOB, hmac) == (0, 1_000 + 2 * DAY_MS)


def test_strangers_change_nothing(world: World) -> None:
    token = world.create()
    for change in (world.renew, world.expire):
        assert change(EVE, token.hmac) == (ErrorCode.DELEGATION_TOKEN_OWNER_MISMATCH, 0)
        assert change(ALICE, b"other") == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    assert world.store.delegation_tokens == {"id": token}


def test_a_token_that_expired_is_known_for_a_while(world: World) -> None:
    hmac = world.create(lifetime_ms=10).hmac
    world.clock.now_ms = 11.0
    expired = (ErrorCode.DELEGATION_TOKEN_EXPIRED, 0)
    assert world.renew(EVE, hmac) == expired
    assert world.renew(ALICE, hmac) == expired
    assert world.expire(ALICE, hmac, 5) == expired
    world.clock.now_ms = 3_600_000.0
    assert world.renew(ALICE, hmac) == (ErrorCode.DELEGATION_TOKEN_NOT_FOUND, 0)
    world.create("other")
    assert list(world.store.delegation_tokens) == ["other"]


def test_a_token_is_ended_later_or_at_once(world: World) -> None:
    hmac = world.create().hmac
    assert world.expire(BOB, hmac, 500) == (0, 1_500)
    assert world.expire(BOB, hmac, 1 << 62) == (0, 1_000 + 7 * DAY_MS)
    assert world.expire(BOB, hmac) == (0, 1_000)
    assert not world.store.delegation_tokens


def test_without_a_secret_key_there_are_no_tokens() -> None:
    disabled = ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
    world = World(**{"delegation.token.secret.key": ""})
    wanted = Wanted("id", ALICE, ALICE, [], -1)
    assert create_token(world.store, world.clock, wanted) == (disabled, None)
    assert world.renew(ALICE, b"") == world.expire(ALICE, b"") == (disabled, 0)


def test_what_comes_back_is_proved_by_the_secret_of_here(world: World) -> None:
    token = world.create()
    other = World(**{"delegation.token.secret.key": "other"})
    replace_delegation_tokens(other.store, {"id": token})
    found = other.store.delegation_tokens["id"]
    assert found.hmac != token.hmac
    assert found._replace(hmac=token.hmac) == token
    version = other.store.version
    replace_delegation_tokens(other.store, {"id": token})
    assert other.store.version == version
    replace_delegation_tokens(other.store, {"id": None})
    assert not other.store.delegation_tokens
