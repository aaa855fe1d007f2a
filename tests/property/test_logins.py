"""Nobody gets in who has not logged in, whatever he sends, in whatever order.

Random sequences of frames over all APIs before, amid and after logins that fail or are not ended:
nothing but ApiVersions and the APIs of the login is answered, but for error 34 in place of a token;
nothing is stored, and no topic is named.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.journal import RequestServed
from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest, SaslHandshakeRequest
from mockbroker_protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from mockbroker_protocol.plan import encode
from tests.support.logins import DELAY_MS, LISTENER, bearer, bearer_token, login_core
from tests.support.scram_client import ScramClient

if TYPE_CHECKING:
    from tests.support.core import Core, CoreClient

STEPS = 4000
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required user_alice="pw";'
CONFIG = {
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "scram-sha-256.sasl.jaas.config": SCRAM,
    "connections.max.reauth.ms": "5000",
    "sasl.server.max.receive.size": "4096",
}
OPEN = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}
SECRET_TOPIC = b"orders"
KEYS = list(ALL_SPECS)
TOKENS = (
    b"",
    b"\x01",
    b"\0alice\0wrong",
    b"\0bob\0alice-secret",
    b"alice\0alice\0",
    bearer(bearer_token("alice", None, 1.0)),
    bearer("abc.def."),
    b"c=biws,r=fyko,p=AAAA",
    ScramClient("SCRAM-SHA-256", "alice", "pw").first(),
    ScramClient("SCRAM-SHA-512", "nobody", "pw").first(extensions=",tokenauth=true"),
)


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(4, "big") + data


def request(message: object, version: int) -> bytes:
    key: int = message.API_KEY  # type: ignore[attr-defined]
    header = encode_request_header(key, version, 1, "intruder")
    return framed(header + b"".join(encode(message, version)))


def some_request(dice: Random) -> bytes:
    """Of any API, with a body that may be one."""
    key = dice.choice(KEYS)
    spec = ALL_SPECS[key]
    version = dice.randint(max(spec.min_version - 1, 0), spec.max_version + 1)
    header = encode_request_header(key, min(version, spec.max_version), 1, "intruder")
    return framed(header + dice.randbytes(dice.choice((0, 1, 4, 12, 40))))


def frame(dice: Random) -> bytes:
    """What the intruder sends next."""
    kind = dice.randrange(9)
    if kind < 3:
        return request(SaslHandshakeRequest(dice.choice(MECHANISMS)), dice.choice((0, 1, 1)))
    if kind < 5:
        return request(SaslAuthenticateRequest(dice.choice(TOKENS)), dice.choice((0, 1, 2)))
    if kind == 5:
        return framed(dice.choice(TOKENS[1:]))
    if kind == 6:
        topic = CreatableTopic(f"t{dice.random()}", 1, 1)
        message = dice.choice((MetadataRequest(None), CreateTopicsRequest([topic])))
        return request(message, 5)
    if kind == 7:
        return some_request(dice)
    return framed(dice.randbytes(dice.randint(1, 60)))


def visit(core: Core, dice: Random) -> int:
    """One connection, until it ends or the intruder leaves; how many frames it took."""
    client = core.client("intruder", listener=LISTENER)
    sent = 0
    while not client.closed and sent < 12:
        data = frame(dice)
        cut = dice.randrange(len(data)) if dice.random() < 0.1 else 0
        for part in (data[:cut], data[cut:]):
            if part and not client.closed:
                core.broker.receive(client.connection_id, part, core.now_ms)
                take(core, client)
        sent += 1
        core.advance(dice.choice((0, 0, 1, DELAY_MS)))
        for conn in core.broker.connections():
            assert conn.principal == "User:ANONYMOUS"
    if dice.random() < 0.5:
        core.advance(DELAY_MS)
    core.broker.disconnect(client.connection_id, core.now_ms)
    return sent


def take(core: Core, client: CoreClient) -> None:
    """What came back; an empty answer to a bare token is no frame that the client's half takes."""
    for outgoing in core.broker.take_outbox():
        data = b"".join(outgoing.chunks)
        assert SECRET_TOPIC not in data
        client.closed = client.closed or outgoing.close
    core.broker.resume(client.connection_id, core.now_ms)


@pytest.mark.parametrize("seed", [1, 2])
def test_nobody_gets_in_without_a_login(seed: int) -> None:
    dice = Random(seed)
    core = login_core(CONFIG)
    store = core.cluster.metadata
    before, topics = store.version, dict(store.topics)
    steps = 0
    while steps < STEPS:
        steps += visit(core, dice)
    assert store.version == before
    assert store.topics == topics
    log = core.broker.services.replicas.partition("orders", 0)
    assert log is not None
    assert log.open_log().log_end_offset == 0
    served = [event for event in core.events if isinstance(event, RequestServed)]
    assert {event.api_key for event in served} > {17, 36}
    for event in served:
        assert event.principal == "User:ANONYMOUS"
        if event.api_key not in OPEN:
            assert set(event.error_codes) <= {34}
            assert "orders" not in repr(event.response)
    assert core.broker.services.logins_done == 0
    assert core.broker.services.logins_failed > 100
