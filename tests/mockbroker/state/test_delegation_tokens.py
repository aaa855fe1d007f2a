"""Tokens that a test makes are those that clients describe and log in with."""

from __future__ import annotations

import pytest

from mockbroker.state.delegation_tokens import NewToken, expire, find, listed, make
from mockbroker_protocol.errors import ErrorCode
from tests.support.core import Core
from tests.support.delegation_tokens import DAY_MS, described, token_core, token_login
from tests.support.logins import logged_in


def test_a_client_logs_in_with_it_and_its_owner_sees_it() -> None:
    core = token_core()
    made = make(core.cluster, NewToken("alice", ["bob", "User:carol"], 5_000))
    assert made.owner == made.requester == "User:alice"
    assert made.renewers == ("User:bob", "User:carol")
    client, login = token_login(core, made.token_id, made.hmac)
    assert (login.error_code, login.session_lifetime_ms) == (0, 5_000)
    (seen,) = described(logged_in(core))
    assert (seen.token_id, seen.hmac) == (made.token_id, made.hmac)
    assert not client.closed


def test_without_a_lifetime_it_lives_as_configured() -> None:
    made = make(token_core().cluster, NewToken("alice"))
    assert made.expiry_wall_ms - made.issue_wall_ms == DAY_MS


def test_what_is_listed_has_no_secret() -> None:
    cluster = token_core().cluster
    made = [make(cluster, NewToken(owner)) for owner in ("alice", "bob")]
    assert listed(cluster) == sorted(token._replace(hmac=b"") for token in made)
    assert [token.owner for token in listed(cluster, "bob")] == ["User:bob"]
    assert listed(cluster, "User:eve") == []


def test_it_ends_now_or_later() -> None:
    core = token_core(**{"delegation.token.expiry.check.interval.ms": "1000"})
    cluster = core.cluster
    made = make(cluster, NewToken("alice"))
    expire(cluster, made.token_id, 500)
    assert find(cluster, made.token_id) == made._replace(expiry_wall_ms=made.issue_wall_ms + 500)
    core.advance(501)
    with pytest.raises(ValueError, match="has expired"):
        expire(cluster, made.token_id, 500)
    core.advance(1_000)
    assert find(cluster, made.token_id) is None
    _, login = token_login(core, made.token_id, made.hmac)
    assert login.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    gone = make(cluster, NewToken("alice"))
    expire(cluster, gone.token_id, None)
    assert listed(cluster) == []


@pytest.mark.parametrize("after_ms", [None, 5])
def test_one_that_is_not_there_cannot_end(after_ms: int | None) -> None:
    with pytest.raises(ValueError, match="there is no delegation token 'x'"):
        expire(token_core().cluster, "x", after_ms)


def test_what_is_asked_has_to_make_sense() -> None:
    cluster = token_core().cluster
    with pytest.raises(ValueError, match="lifetime_ms 0: allowed: 1 or more"):
        make(cluster, NewToken("alice", lifetime_ms=0))
    made = make(cluster, NewToken("alice"))
    with pytest.raises(ValueError, match="after_ms -1: allowed: 0 or more"):
        expire(cluster, made.token_id, -1)
    with pytest.raises(ValueError, match=r"start it with delegation\.token\.secret\.key"):
        make(Core().cluster, NewToken("alice"))
