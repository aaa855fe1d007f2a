"""A listener shows another certificate by a fault rule, and its own again."""

from __future__ import annotations

import socket
import ssl
import time
from typing import TYPE_CHECKING, TypeVar

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from mockbroker import MockBroker
from mockbroker.faults import FaultError
from mockbroker.journal import ConnectionOpened, ConnectionRefused
from mockbroker.server.other_certificates import OtherCertificates
from tests.support.certificates import authority, configs, server

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.cluster.cluster import Cluster

LIMIT_SECONDS = 60
T = TypeVar("T")


@pytest.fixture
def broker() -> Iterator[MockBroker]:
    with MockBroker(tls="auto", brokers=2) as broker:
        yield broker


def problem(broker: MockBroker, *, port: int | None = None, ca_file: str | None = None) -> str:
    """What a client has against the certificate that it is shown; "" is nothing."""
    context = ssl.create_default_context(cafile=ca_file or broker.ca_file)
    with socket.create_connection((broker.host, port or broker.port), LIMIT_SECONDS) as sock:
        try:
            with context.wrap_socket(sock, server_hostname="localhost"):
                return ""
        except ssl.SSLCertVerificationError as error:
            return error.verify_message


def told(broker: MockBroker, kind: type[T], count: int) -> list[T]:
    """The events of that kind, once there are so many."""

    def enough(cluster: Cluster) -> list[T] | None:
        found: list[T] = [one for one in cluster.journal.events() if isinstance(one, kind)]
        return found if len(found) >= count else None

    return broker._bridged().wait(enough, LIMIT_SECONDS, lambda _: "no such event")


@pytest.mark.parametrize(
    ("kind", "said", "alert"),
    [
        ("expired", "certificate has expired", "certificate expired"),
        ("foreign", "unable to get local issuer certificate", "unknown ca"),
    ],
)
def test_so_many_handshakes_see_another_certificate(
    broker: MockBroker, kind: str, said: str, alert: str
) -> None:
    assert problem(broker) == ""
    (rule,) = broker.faults.add({"certificate": kind, "count": 2, "id": "shown"})
    assert [problem(broker), problem(broker), problem(broker)] == [said, said, ""]
    assert (rule.hits, rule.status().exhausted) == (2, True)
    assert [one.reason for one in told(broker, ConnectionRefused, 2)] == [
        f"TLS handshake: the client says {alert} (a certificate that is {kind} was shown by shown)"
    ] * 2


def test_a_rule_is_about_the_broker_that_it_names_until_a_scope_ends(broker: MockBroker) -> None:
    other = int(broker.bootstrap_servers.split(",")[1].rpartition(":")[2])
    with broker.scope():
        broker.faults.add({"certificate": "expired", "broker": 2})
        assert problem(broker) == ""
        assert problem(broker, port=other) == "certificate has expired"
    assert problem(broker, port=other) == ""


def test_a_client_that_does_not_look_is_let_in_and_told_of(broker: MockBroker) -> None:
    broker.faults.add({"certificate": "foreign", "count": 1, "id": "unseen"})
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with (
        socket.create_connection((broker.host, broker.port), LIMIT_SECONDS) as sock,
        context.wrap_socket(sock),
    ):
        (opened,) = told(broker, ConnectionOpened, 1)
    assert opened.fault == "unseen"


def test_what_cannot_be_shown_is_refused_when_the_rule_is_made() -> None:
    with (
        MockBroker() as plain,
        pytest.raises(FaultError, match=r'certificate: no .* foreign; allowed: with tls="auto"'),
    ):
        plain.faults.add({"certificate": "foreign"})
    own = {"listener.security.protocol.map": "PLAINTEXT:SSL", **configs()}
    with MockBroker(listeners=["PLAINTEXT://127.0.0.1:0"], config=own) as broker:
        with pytest.raises(FaultError, match=r"certificate: no .* expired; allowed: foreign"):
            broker.faults.add({"certificate": "expired"})
        broker.faults.add({"certificate": "foreign", "maybe": True})


def test_it_is_for_the_same_subject_and_hosts() -> None:
    der = ssl.PEM_cert_to_DER_cert(server().certificate)
    others = OtherCertificates(authority(), time.time)
    assert others.kinds == ("expired", "foreign")
    from mockbroker.server.distinguished_name import alternatives_of, subject_of

    for kind in others.kinds:
        made = ssl.PEM_cert_to_DER_cert(others.make(kind, der).certificate)
        assert made != der
        assert (subject_of(made), alternatives_of(made)) == (subject_of(der), alternatives_of(der))
    assert OtherCertificates(None, time.time).kinds == ("foreign",)
