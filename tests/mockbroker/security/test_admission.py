"""How logins went is counted by listener and mechanism, as Kafka counts them."""

from __future__ import annotations

from random import Random

from mockbroker.clock import Clock
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.store import MetadataStore
from mockbroker.node.tls_session import TlsSession
from mockbroker.security.admission import Admission
from tests.support.logins import CONFIG, LISTENER, handshake, logged_in, login_core, token

KAFKA = "kafka.server:type=socket-server-metrics,name="


def test_who_logs_in_where_nobody_has_to_is_asked_nothing() -> None:
    config = BrokerConfig(CONFIG)
    admission = Admission(config, MetadataStore("c", config), Clock(), lambda: Random(1))
    assert admission.authenticator("PLAINTEXT") is None
    assert admission.authenticator(LISTENER) is not None
    assert admission.spent_by("any") is None
    assert admission.outcomes == {}


def test_logins_renewals_and_handshakes_are_told_apart() -> None:
    core = login_core({"connections.max.reauth.ms": "6000"})
    client = logged_in(core)
    core.advance(2_000)
    handshake(client)
    token(client)
    core.advance(2_000)
    handshake(client)
    token(client, b"\0alice\0wrong")
    wrong = core.client(listener=LISTENER)
    handshake(wrong)
    token(wrong, b"\0bob\0wrong")
    core.broker.connect(
        99,
        "/127.0.0.1",
        core.now_ms,
        local_address=("127.0.0.1", 9092),
        listener="SSL",
        tls=TlsSession("TLSv1.3", "TLS_AES_256_GCM_SHA384"),
    )
    core.broker.handshake_failed("SSL")
    found = {
        name.removeprefix(KAFKA): count
        for name, count in core.broker.metrics().items()
        if name.startswith(KAFKA)
    }
    total = "authentication-total,listener"
    assert found == {
        f"successful-{total}={LISTENER}": 1,
        f"failed-{total}={LISTENER}": 1,
        f"successful-re{total}={LISTENER}": 1,
        f"failed-re{total}={LISTENER}": 1,
        f"successful-{total}=SSL": 1,
        f"failed-{total}=SSL": 1,
        f"successful-re{total}=SSL": 0,
        f"failed-re{total}=SSL": 0,
        "connections,listener=SSL,cipher=TLS_AES_256_GCM_SHA384,protocol=TLSv1.3": 1,
    }
