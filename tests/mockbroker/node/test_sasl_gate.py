"""Nothing but the login is served before it, in Kafka's order; sessions end as Kafka's do."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from mockbroker.faults import Fault
from mockbroker.journal import (
    ConnectionClosed,
    ConnectionOpened,
    Login,
    RequestRefused,
    RequestServed,
)
from mockbroker.node.tls_session import TlsSession
from mockbroker.state.verdict import verdict
from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.produce import ProduceRequest
from mockbroker_protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from tests.support.delegation_tokens import create, described, token_core, token_login
from tests.support.logins import (
    ADMIN,
    ALICE,
    DELAY_MS,
    LISTENER,
    bearer,
    bearer_token,
    handshake,
    logged_in,
    login_core,
    scram_login,
    token,
)
from tests.support.scoped import Scoped

if TYPE_CHECKING:
    from mockbroker.faults.armed_fault import ArmedFault
    from tests.support.core import Core, CoreClient

SESSION_MS = 6000
SCRAM_USER = {
    "listener.name.sasl.scram-sha-256.sasl.jaas.config": (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'user_alice="alice-secret";'
    )
}
SESSIONS = {"connections.max.reauth.ms": str(SESSION_MS)}


def connect(core: Core) -> CoreClient:
    return core.client(listener=LISTENER)


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def bare(api_key: int, version: int, body: bytes = b"") -> bytes:
    return framed(encode_request_header(api_key, version, 1, "test") + body)


def versions(client: CoreClient) -> ApiVersionsResponse:
    return client.call(ApiVersionsRequest("test", "1.0"), 3, ApiVersionsResponse)


def is_served(client: CoreClient) -> bool:
    answer = client.call(MetadataRequest(None), 5, MetadataResponse)
    return [topic.name for topic in answer.topics] == ["orders"]


def logins_of(core: Core) -> list[Login]:
    return [event for event in core.events if isinstance(event, Login)]


def test_after_a_login_everything_is_served_to_its_principal() -> None:
    core = login_core()
    client = logged_in(core)
    assert is_served(client)
    (conn,) = core.broker.connections()
    assert conn.principal == "User:alice"
    assert conn.gate is None
    served = [event for event in core.events if isinstance(event, RequestServed)]
    assert [event.principal for event in served] == ["User:ANONYMOUS"] * 2 + ["User:alice"]


def test_a_plain_listener_beside_it_wants_no_login() -> None:
    core = login_core()
    client = core.client()
    assert is_served(client)
    (conn,) = core.broker.connections()
    assert (conn.gate, conn.principal) == (None, "User:ANONYMOUS")


def test_a_certificate_names_nobody_where_a_login_does() -> None:
    core = login_core({"listener.security.protocol.map": "PLAINTEXT:SSL,SASL:SASL_SSL"})
    tls = TlsSession("TLSv1.3", "TLS_AES_256_GCM_SHA384", "User:CN=app")
    for number, listener in enumerate(("PLAINTEXT", "SASL"), 1):
        core.broker.connect(
            number, "/127.0.0.1", 0.0, local_address=("127.0.0.1", 1), listener=listener, tls=tls
        )
    shown = [conn.principal for conn in core.broker.connections()]
    told = [event.principal for event in core.events if isinstance(event, ConnectionOpened)]
    assert shown == told == ["User:CN=app", "User:ANONYMOUS"]


@pytest.mark.parametrize("key", [key for key in ALL_SPECS if key not in (17, 18)])
def test_another_api_before_the_handshake_ends_the_connection(key: ApiKey) -> None:
    for told in (False, True):
        core = login_core()
        client = connect(core)
        if told:
            versions(client)
        client.send_bytes(bare(key, ALL_SPECS[key].min_version))
        assert (client.closed, client.answered) == (True, 0)
        assert core.broker.metrics()["mockbroker:type=RequestMetrics,name=RequestsRefused"] == 1


def test_versions_may_be_asked_for_once() -> None:
    core = login_core()
    client = connect(core)
    refused = client.call(ApiVersionsRequest("", ""), 3, ApiVersionsResponse)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    assert versions(client).error_code == 0
    client.send(ApiVersionsRequest("test", "1.0"), 3)
    assert (client.closed, client.answered) == (True, 0)


def test_versions_from_the_future_are_answered_before_the_handshake() -> None:
    client = connect(login_core())
    client.send_bytes(bare(18, 9, b"\0"))
    assert client.receive_bytes()[4:6] == b"\0\x23"
    handshake(client)
    assert token(client).error_code == 0


@pytest.mark.parametrize(
    "frame",
    [b"\x60\x01\x02", b"\0", (999).to_bytes(2, "big") + bytes(10), b"\0\x11\0\x09" + bytes(8)],
)
def test_what_is_no_handshake_ends_the_connection(frame: bytes) -> None:
    core = login_core()
    client = connect(core)
    client.send_bytes(framed(frame))
    assert (client.closed, client.answered) == (True, 0)


@pytest.mark.parametrize(
    "request_", [MetadataRequest(None), ApiVersionsRequest(), SaslHandshakeRequest("PLAIN")]
)
def test_another_request_instead_of_a_token_is_answered_late_with_error_34(
    request_: object,
) -> None:
    core = login_core()
    client = connect(core)
    handshake(client)
    client.send(request_, 1)
    answered = []
    for wait_ms in (DELAY_MS - 1, 1):
        core.advance(wait_ms)
        answered.append(client.answered)
    assert (answered, client.closed) == ([0, 1], True)
    told = [event.api_name for event in core.events if isinstance(event, RequestServed)]
    counted = "mockbroker:type=RequestMetrics,name=Requests,request=" + told[-1]
    assert core.broker.metrics()[counted] == told.count(told[-1])
    if isinstance(request_, SaslHandshakeRequest):
        answer = client.receive(SaslHandshakeResponse)
        assert answer == SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE)
    served = [event for event in core.events if isinstance(event, RequestServed)]
    assert served[-1].request == request_
    assert served[-1].line()["version"] == 1


@pytest.mark.parametrize("version", [3, 9])
def test_a_token_that_cannot_be_read_ends_the_connection(version: int) -> None:
    core = login_core()
    client = connect(core)
    handshake(client)
    client.send_bytes(bare(36, version, b"\0\0\0\5a"))
    assert (client.closed, client.answered) == (True, 0)


def test_a_request_that_is_large_is_not_read_before_the_login() -> None:
    client = connect(login_core())
    handshake(client)
    client.send_bytes(bare(3, 1, (1 << 30).to_bytes(4, "big") + bytes(70_000)))
    assert (client.closed, client.answered) == (True, 0)


def test_tokens_are_bare_after_a_handshake_of_version_0() -> None:
    core = login_core()
    client = connect(core)
    handshake(client, version=0)
    core.broker.receive(client.connection_id, framed(ALICE), core.now_ms)
    (answered,) = core.broker.take_outbox()
    assert b"".join(answered.chunks) == bytes(4)
    assert is_served(client)
    wrong = connect(core)
    handshake(wrong, version=0)
    wrong.send_bytes(framed(b"\0alice\0wrong"))
    core.advance(DELAY_MS)
    assert (wrong.closed, wrong.answered) == (True, 0)


def test_a_produce_that_wants_no_answer_ends_the_connection_in_place_of_a_token() -> None:
    core = login_core()
    client = connect(core)
    handshake(client)
    client.send(ProduceRequest(acks=0), 9)
    assert (client.closed, client.answered) == (True, 0)


@pytest.mark.parametrize("version", [0, 1])
def test_what_breaks_a_login_off_is_not_answered(version: int) -> None:
    core = login_core({"sasl.enabled.mechanisms": "OAUTHBEARER"})
    client = connect(core)
    handshake(client, "OAUTHBEARER", version)
    data = b"n,,\x01auth=Basic x\x01\x01"
    if version:
        client.send(SaslAuthenticateRequest(data), 2)
    else:
        client.send_bytes(len(data).to_bytes(4, "big") + data)
    assert (client.closed, client.answered) == (True, 0)


def test_what_is_larger_than_allowed_ends_the_connection_before_the_login_alone() -> None:
    core = login_core({"sasl.server.max.receive.size": "1000"})
    client = connect(core)
    client.send_bytes(framed(bytes(1001)))
    client.send_bytes(framed(bytes(10)))
    core.advance(DELAY_MS - 1)
    assert not client.closed
    core.advance(1)
    assert (client.closed, client.answered) == (True, 0)
    (failed,) = logins_of(core)
    assert "1001 bytes" in (failed.reason or "")
    client = logged_in(core)
    client.send_bytes(bare(3, 1, (500).to_bytes(4, "big") + b"\0\1x" * 500))
    assert client.answered == 1


def test_what_comes_behind_a_failed_login_is_not_served() -> None:
    core = login_core()
    client = connect(core)
    handshake(client)
    client.send(SaslAuthenticateRequest(b"\0alice\0wrong"), 2)
    client.send(SaslAuthenticateRequest(ALICE), 2)
    client.send(MetadataRequest(None), 5)
    core.advance(DELAY_MS)
    assert (client.closed, client.answered) == (True, 1)


def test_a_client_that_leaves_before_it_is_told_is_forgotten() -> None:
    core = login_core()
    client = connect(core)
    handshake(client)
    client.send(SaslAuthenticateRequest(b"\0alice\0wrong"), 2)
    client.disconnect()
    core.advance(DELAY_MS)
    assert not core.broker.services.logins
    assert not core.broker.connections()


def test_a_session_is_renewed_in_time_or_ends_at_the_next_request() -> None:
    core = login_core(SESSIONS)
    client, late = logged_in(core), logged_in(core)
    core.advance(SESSION_MS)
    handshake(client)
    assert token(client).session_lifetime_ms == SESSION_MS
    core.advance(1)
    assert is_served(client)
    late.send(MetadataRequest(None), 5)
    assert (late.closed, late.answered) == (True, 0)


def test_a_session_that_is_over_may_be_renewed_as_long_as_nothing_else_was_asked() -> None:
    core = login_core(SESSIONS)
    client = logged_in(core)
    core.advance(SESSION_MS + 500)
    handshake(client)
    assert token(client).error_code == 0
    assert is_served(client)


def test_a_session_is_not_renewed_twice_in_a_second() -> None:
    core = login_core(SESSIONS)
    client = logged_in(core)
    handshake(client)
    assert token(client).error_code == 0
    answer = client.call(SaslHandshakeRequest("PLAIN"), 1, SaslHandshakeResponse)
    assert answer == SaslHandshakeResponse(ErrorCode.ILLEGAL_SASL_STATE)
    assert is_served(client)


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (ADMIN, "Cannot change principals during re-authentication from User.alice: User.admin"),
        (b"\0alice\0wrong", "Authentication failed: Invalid username or password"),
    ],
)
def test_a_renewal_that_fails_ends_the_connection(data: bytes, told: str) -> None:
    core = login_core(SESSIONS)
    client = logged_in(core)
    handshake(client)
    answer = token(client, data)
    assert (answer.error_code, answer.error_message) == (58, told)
    assert client.closed
    assert [(event.principal, event.renewed) for event in logins_of(core)] == [
        ("User:alice", False),
        ("User:alice", True),
    ]


def test_a_renewal_with_another_mechanism_is_told_with_its_next_frame() -> None:
    core = login_core({**SESSIONS, "sasl.enabled.mechanisms": "PLAIN,OTHER"})
    client = logged_in(core)
    handshake(client, "OTHER")
    client.send(SaslAuthenticateRequest(ALICE), 2)
    core.advance(DELAY_MS - 1)
    assert core.broker.connections()
    core.advance(1)
    assert (client.closed, client.answered) == (True, 0)


def test_a_renewal_with_an_unknown_mechanism_ends_the_connection_at_once() -> None:
    core = login_core(SESSIONS)
    client = logged_in(core)
    client.send(SaslHandshakeRequest("OTHER"), 1)
    assert (client.closed, client.answered) == (True, 0)


def test_other_requests_amid_a_renewal_end_the_connection() -> None:
    core = login_core(SESSIONS)
    client = logged_in(core)
    handshake(client)
    client.send(MetadataRequest(None), 1)
    core.advance(DELAY_MS)
    answer = client.receive(MetadataResponse)
    assert answer.topics == []
    assert client.closed


def test_a_session_ends_with_its_token() -> None:
    core = login_core({**SESSIONS, "sasl.enabled.mechanisms": "OAUTHBEARER"})
    now = core.cluster.clock.wall_ms() / 1000
    client = connect(core)
    handshake(client, "OAUTHBEARER")
    answer = token(client, bearer(bearer_token("alice", now, now + 2)))
    assert (answer.error_code, answer.session_lifetime_ms) == (0, 2000)
    core.advance(1_900)
    handshake(client, "OAUTHBEARER")
    now += 1.9
    assert token(client, bearer(bearer_token("alice", now, now + 60))).session_lifetime_ms == 6000
    core.advance(200)
    assert is_served(client)
    refused = connect(core)
    handshake(refused, "OAUTHBEARER")
    told = token(refused, bearer(bearer_token("alice", now - 9, now - 8)))
    assert (told.error_code, told.auth_bytes) == (0, b'{"status":"invalid_token"}')
    told = token(refused, b"\x01")
    assert (told.error_code, told.error_message) == (58, '{"status":"invalid_token"}')
    assert refused.closed


def test_logins_are_told_and_counted() -> None:
    core = login_core()
    logged_in(core)
    client = connect(core)
    handshake(client)
    token(client, b"\0bob\0hush")
    ours, others = logins_of(core)
    assert (ours.principal, ours.mechanism, ours.reason) == ("User:alice", "PLAIN", None)
    assert (others.principal, others.reason) == (
        None,
        "Authentication failed: Invalid username or password",
    )
    metrics = core.broker.metrics()
    name, labels = "mockbroker:type=ConnectionMetrics,name=Logins", "listener=SASL,mechanism=PLAIN"
    assert (metrics[f"{name},{labels}"], metrics[f"{name}Failed,{labels}"]) == (1, 1)


def test_nothing_that_is_told_has_a_secret_in_it() -> None:
    core = login_core({"authorizer.class.name": ""})
    client = connect(core)
    handshake(client)
    token(client, b"\0bob\0hush-hush")
    logged_in(core)
    client = connect(core)
    client.send_bytes(framed(b"\0hush-hush"))
    topic_name = core.cluster.journal.topic_name
    for event in core.events:
        texts = [repr(event)]
        if isinstance(event, RequestServed):
            texts += [repr(event.request), repr(event.response), json.dumps(event.line(topic_name))]
        for text in texts:
            assert "hush" not in text
            assert "secret" not in text
    assert any(isinstance(event, RequestRefused) for event in core.events)


def test_a_rule_lets_a_login_fail_and_the_next_succeed() -> None:
    core = login_core()
    rule = {"api": "SaslAuthenticate", "nth": 1, "error": "SASL_AUTHENTICATION_FAILED"}
    core.act(lambda: core.cluster.faults.add(rule))
    client = connect(core)
    handshake(client)
    assert token(client).error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert core.broker.connections()[0].principal == "User:ANONYMOUS"
    client.send(MetadataRequest(None), 5)
    core.advance(DELAY_MS)
    assert client.closed
    assert is_served(logged_in(core))


def arm(core: Core, **fields: object) -> ArmedFault:
    """One rule that is in force."""
    (rule_id,) = core.act(lambda: core.cluster.faults.add(Fault.from_dict(fields)))
    return next(one for one in core.cluster.faults.list() if one.id == rule_id)


def test_the_nth_login_fails_whatever_way_its_tokens_come() -> None:
    core = login_core({"sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,OAUTHBEARER"} | SCRAM_USER)
    rule = arm(core, fail_login=True, nth=3, principal="User:al*", id="third")
    assert is_served(logged_in(core))
    assert is_served(logged_in(core, ADMIN))
    client = connect(core)
    handshake(client, "SCRAM-SHA-256")
    assert scram_login(client, "SCRAM-SHA-256", "alice", "alice-secret").error_code == 0
    client = connect(core)
    handshake(client, version=0)
    client.send_bytes(framed(ALICE))
    core.advance(DELAY_MS)
    assert (client.closed, client.answered) == (True, 0)
    assert (rule.hits, rule.matched) == (1, 3)
    assert logins_of(core)[-1].reason == (
        "Authentication failed: Invalid username or password: broken off by third"
    )
    assert core.broker.services.admission.rules is not None
    assert is_served(logged_in(core))
    core.act(core.cluster.faults.clear)
    assert core.broker.services.admission.rules is None


@pytest.mark.parametrize(
    ("mechanism", "told"),
    [
        ("PLAIN", "Authentication failed: Invalid username or password"),
        ("OAUTHBEARER", '{"status":"invalid_token"}'),
        (
            "SCRAM-SHA-256",
            (
                "Authentication failed during authentication due to invalid credentials with SASL "
                "mechanism SCRAM-SHA-256"
            ),
        ),
    ],
)
def test_who_fails_by_a_rule_is_told_what_a_wrong_password_is_told(
    mechanism: str, told: str
) -> None:
    core = login_core({"sasl.enabled.mechanisms": mechanism} | SCRAM_USER)
    arm(core, fail_login=True, count=1, client="te*")
    for error in (ErrorCode.SASL_AUTHENTICATION_FAILED, ErrorCode.NONE):
        client = connect(core)
        handshake(client, mechanism)
        if mechanism.startswith("SCRAM"):
            answer = scram_login(client, mechanism, "alice", "alice-secret")
        else:
            now = core.cluster.clock.wall_ms() / 1000
            good = ALICE if mechanism == "PLAIN" else bearer(bearer_token("alice", now, now + 60))
            answer = token(client, good)
        assert answer.error_code == error
        assert answer.error_message == (told if error else "")


def bearer_login(core: Core, shown: str) -> tuple[CoreClient, SaslAuthenticateResponse]:
    client = connect(core)
    handshake(client, "OAUTHBEARER")
    return client, token(client, bearer(shown))


def test_a_token_expires_by_a_rule_for_all_who_showed_it_and_is_good_again_without_it() -> None:
    core = login_core({"sasl.enabled.mechanisms": "OAUTHBEARER"})
    now = core.cluster.clock.wall_ms() / 1000
    mine, other = (bearer_token(user, now, now + 600) for user in ("alice", "bob"))
    first, second, bob = (bearer_login(core, one)[0] for one in (mine, mine, other))
    rule = arm(core, expire_token=True, api="Metadata", principal="User:alice", count=1, id="now")
    assert is_served(bob)
    first.send(MetadataRequest(None), 5)
    assert (first.closed, first.answered, rule.hits) == (True, 0, 1)
    second.send(MetadataRequest(None), 5)
    assert (second.closed, second.answered) == (True, 0)
    assert is_served(bob)
    first.disconnect()
    second.disconnect()
    reasons = [event.reason for event in core.events if isinstance(event, ConnectionClosed)]
    assert reasons == ["the session of its login has expired, by now"] * 2
    served = [event for event in core.events if isinstance(event, RequestServed)]
    assert [event.fault for event in served if event.fault] == ["now"]
    again, answer = bearer_login(core, mine)
    assert answer.auth_bytes == b'{"status":"invalid_token"}'
    assert token(again, b"\x01").error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert logins_of(core)[-1].reason == '{"status":"invalid_token"}: It expired by now'
    assert is_served(bearer_login(core, bearer_token("alice", now, now + 601))[0])
    core.act(lambda: core.cluster.faults.remove("now"))
    assert is_served(bearer_login(core, mine)[0])


def test_a_token_that_expires_after_a_request_ends_the_session_at_the_next() -> None:
    core = login_core({"sasl.enabled.mechanisms": "OAUTHBEARER"})
    now = core.cluster.clock.wall_ms() / 1000
    client, _ = bearer_login(core, bearer_token("alice", now, now + 600))
    rule = arm(core, expire_token=True, stage="after", count=1)
    assert is_served(client)
    assert rule.hits == 1
    client.send(MetadataRequest(None), 5)
    assert (client.closed, client.answered) == (True, 0)


def test_an_expired_token_is_forgotten_at_the_end_of_a_scope() -> None:
    core = login_core({"sasl.enabled.mechanisms": "OAUTHBEARER"})
    scoped = Scoped(core)
    now = core.cluster.clock.wall_ms() / 1000
    shown = bearer_token("alice", now, now + 600)
    rule = arm(core, expire_token=True, api="Metadata", client="*", maybe=True)
    end = scoped.begin()
    client, _ = bearer_login(core, shown)
    client.send(MetadataRequest(None), 5)
    assert client.closed
    assert rule.hits == 1
    end()
    assert (rule.hits, rule.spent) == (0, set())
    assert bearer_login(core, shown)[1].auth_bytes == b""


def test_a_delegation_token_expires_by_a_rule() -> None:
    core = token_core()
    owner = logged_in(core)
    made = create(owner)
    client, _ = token_login(core, made.token_id, made.hmac)
    scoped = Scoped(core)
    end = scoped.begin()
    arm(core, expire_token=True, count=1)
    assert is_served(owner)  # who logged in with a password has no token
    client.send(MetadataRequest(None), 5)
    assert client.closed
    (told,) = described(owner)
    assert told.expiry_timestamp == core.cluster.clock.wall_ms()
    assert token_login(core, made.token_id, made.hmac)[1].error_code == 58
    end()
    (told,) = described(owner)
    assert told.expiry_timestamp == made.expiry_timestamp_ms
    assert token_login(core, made.token_id, made.hmac)[1].error_code == 0


def test_a_rule_that_met_no_login_is_told() -> None:
    core = login_core()
    arm(core, fail_login=True)
    arm(core, fail_login=True, nth=5, id="fifth")
    arm(core, expire_token=True, api="Metadata", id="token")
    core.act(lambda: core.cluster.faults.remove("fault-1"))
    assert is_served(logged_in(core))
    found = {one.id: one.reason for one in verdict(core.cluster, since=0, strict=False).unfired}
    assert found == {
        "fault-1": "no login that fits would have succeeded while it was armed",
        "fifth": "1 request(s) fitted, but with nth=5 it fired 0 time(s)",
        "token": "none of 3 request(s) fitted",
    }
