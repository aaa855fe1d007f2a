"""A listener's TLS as its configs have it: versions, suites, clients' certificates."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.network.tls_transport import session_of
from mockbroker.server.key_stores import StoreError
from mockbroker.server.tls_listener import TlsListener
from tests.support.certificates import client, configs, context, server

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.node.tls_session import TlsSession
    from mockbroker.server.certificates import Certificate

OWN = "listener.name.outside."
GCM = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"


def listener(texts: dict[str, str], *, logs_in: bool = False) -> TlsListener:
    return TlsListener(BrokerConfig(texts), "OUTSIDE", logs_in=logs_in)


def shake(tls: TlsListener, client_side: ssl.SSLContext) -> TlsSession:
    """What the listener says of a client that has shaken hands; raises what either end raises."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = tls.wrap(to_server, to_client)
    theirs = client_side.wrap_bio(to_client, to_server, server_hostname="localhost")
    for _ in range(3):
        for end in (theirs, ours):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
    return session_of(ours, tls)


def test_a_handshake_tells_version_suite_and_principal(tmp_path: Path) -> None:
    tls = listener(configs(client_auth="required"))
    found = shake(tls, context(tmp_path, client("alice")))
    assert (found.version, found.principal) == ("TLSv1.3", "User:CN=alice")
    assert found.cipher.startswith("TLS_")


def test_an_older_version_and_its_suites_may_be_asked_for(tmp_path: Path) -> None:
    tls = listener(configs(enabled_protocols="TLSv1.1,TLSv1.2", cipher_suites=GCM))
    found = shake(tls, context(tmp_path))
    assert (found.version, found.cipher) == ("TLSv1.2", GCM)
    assert found.principal == "User:ANONYMOUS"


def test_suites_of_one_version_leave_the_other_out(tmp_path: Path) -> None:
    assert shake(listener(configs(cipher_suites=GCM)), context(tmp_path)).version == "TLSv1.2"
    tls = listener(configs(cipher_suites="TLS_AES_256_GCM_SHA384"))
    older = context(tmp_path)
    older.maximum_version = ssl.TLSVersion.TLSv1_2
    with pytest.raises(ssl.SSLError, match="UNSUPPORTED_PROTOCOL"):
        shake(tls, older)
    tls = listener(configs(cipher_suites=f"TLS_AES_256_GCM_SHA384,{GCM}"))
    assert shake(tls, older).cipher == GCM
    assert shake(tls, context(tmp_path)).version == "TLSv1.3"


def test_a_config_of_the_listener_goes_before_the_one_for_all(tmp_path: Path) -> None:
    texts = configs(enabled_protocols="TLSv1.2", client_auth="required")
    texts[f"{OWN}ssl.enabled.protocols"] = "TLSv1.3"
    texts[f"{OWN}ssl.client.auth"] = "none"
    assert shake(listener(texts), context(tmp_path)).version == "TLSv1.3"


def test_a_client_without_a_certificate_is_refused_where_one_is_required(tmp_path: Path) -> None:
    tls = listener(configs(client_auth="required"))
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        shake(tls, context(tmp_path))
    tls = listener(configs(client_auth="requested"))
    assert shake(tls, context(tmp_path)).principal == "User:ANONYMOUS"


@pytest.mark.parametrize(
    ("shown", "why"),
    [(client("bob", "other"), "unable to get local issuer"), (client("bob", "", -2), "expired")],
)
@pytest.mark.parametrize("auth", ["required", "requested"])
def test_a_certificate_that_is_not_trusted_is_refused(
    tmp_path: Path, shown: Certificate, why: str, auth: str
) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match=why):
        shake(listener(configs(client_auth=auth)), context(tmp_path, shown))


def test_a_certificate_may_be_trusted_without_its_authority(tmp_path: Path) -> None:
    texts = configs(client_auth="required", truststore_certificates=client("alice").certificate)
    assert shake(listener(texts), context(tmp_path, client("alice"))).principal == "User:CN=alice"
    with pytest.raises(ssl.SSLCertVerificationError, match="self-signed"):
        shake(listener(texts), context(tmp_path, client("bob")))


def test_where_clients_log_in_a_certificate_is_asked_for_by_the_listener_alone(
    tmp_path: Path,
) -> None:
    texts = configs(client_auth="required")
    assert shake(listener(texts, logs_in=True), context(tmp_path)).principal == "User:ANONYMOUS"
    texts[f"{OWN}ssl.client.auth"] = "required"
    tls = listener(texts, logs_in=True)
    assert shake(tls, context(tmp_path, client())).principal == "User:ANONYMOUS"
    with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
        shake(tls, context(tmp_path))


@pytest.mark.parametrize(
    ("key", "text", "message"),
    [
        ("enabled.protocols", "TLSv1.4", r"^ssl\.enabled\.protocols: TLSv1\.4 is unknown"),
        ("enabled.protocols", "TLSv1", r"^ssl\.enabled\.protocols: TLSv1 is too little; allowed"),
        ("cipher.suites", "AES", r"^ssl\.cipher\.suites: AES is unknown; allowed: suites such as"),
        ("engine.factory.class", "x.Y", r"^ssl\.engine\.factory\.class: it is a class of Java"),
        ("keystore.key", "x", r"^ssl\.keystore\.certificate\.chain: "),
    ],
)
def test_what_cannot_be_served_names_its_config(key: str, text: str, message: str) -> None:
    with pytest.raises(StoreError, match=message):
        listener(configs() | {f"ssl.{key}": text})


def test_suites_of_a_version_that_is_off_are_told() -> None:
    texts = configs(cipher_suites=GCM, enabled_protocols="TLSv1.3")
    with pytest.raises(StoreError, match=r"no version of ssl\.enabled\.protocols has these"):
        listener(texts)


def test_a_certificate_that_has_expired_is_shown_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shake(listener(configs(server(-2))), context(tmp_path))
