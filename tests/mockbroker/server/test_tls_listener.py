"""A listener's TLS as its configs have it: versions, suites, clients' certificates."""

from __future__ import annotations

import os
import ssl
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.config.broker import BrokerConfig
from mockbroker.config.dynamic import check_dynamic
from mockbroker.config.errors import ConfigError
from mockbroker.config.logins import inter_broker_principal
from mockbroker.network.tls_transport import UnknownPrincipalError, session_of
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker.server.key_stores import StoreError
from mockbroker.server.tls_listener import TlsListener
from tests.support.certificates import authority, client, configs, context, server

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


# -- certificates that change --------------------------------------------------------------

STORE = f"{OWN}ssl.keystore."
REFUSED = (
    "Invalid value org.apache.kafka.common.config.ConfigException: Validation of dynamic config"
    " update of SSLFactory failed: org.apache.kafka.common."
)


def shown(tls: TlsListener, folder: Path) -> bytes | None:
    """The certificate that a client is shown."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ours = tls.wrap(to_server, to_client)
    trusting = context(folder)
    trusting.check_hostname = False
    theirs = trusting.wrap_bio(to_client, to_server)
    for _ in range(3):
        for end in (theirs, ours):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                pass
    return theirs.getpeercert(binary_form=True)


def inline(certificate: Certificate) -> dict[str, str]:
    return {
        f"{STORE}key": certificate.key,
        f"{STORE}certificate.chain": certificate.certificate,
    }


def test_a_listener_shows_what_its_dynamic_configs_say(tmp_path: Path) -> None:
    config = BrokerConfig(configs())
    tls = TlsListener(config, "OUTSIDE", logs_in=False)
    first = shown(tls, tmp_path)
    renewed = inline(server(60))
    check_dynamic(config, renewed, cluster_default=False)
    assert shown(tls, tmp_path) == first
    config.replace_dynamic(renewed, cluster_default=False)
    assert shown(tls, tmp_path) == ssl.PEM_cert_to_DER_cert(server(60).certificate)
    config.replace_dynamic({}, cluster_default=False)
    assert shown(tls, tmp_path) == first


def test_a_file_that_was_written_anew_is_read_when_its_config_is_set_again(tmp_path: Path) -> None:
    file = tmp_path / "server.pem"
    file.write_text(server().key + server().certificate)
    config = BrokerConfig({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(file)})
    tls = TlsListener(config, "OUTSIDE", logs_in=False)
    file.write_text(server(60).key + server(60).certificate)
    os.utime(file, ns=(1, 1))
    again = {f"{STORE}location": str(file)}
    check_dynamic(config, again, cluster_default=False)
    config.replace_dynamic(again, cluster_default=False)
    assert shown(tls, tmp_path) == ssl.PEM_cert_to_DER_cert(server(60).certificate)
    file.unlink()
    config.replace_dynamic({}, cluster_default=False)
    assert shown(tls, tmp_path) == ssl.PEM_cert_to_DER_cert(server(60).certificate)


def other(subject: str, *names: str) -> Certificate:
    return authority().issue(subject, names)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (
            inline(other("other", "localhost", "127.0.0.1")),
            (
                "config.ConfigException: Keystore DistinguishedName does not match:  existing="
                "{alias=kafka, DN=CN=localhost}, new={alias=kafka, DN=CN=other}"
            ),
        ),
        (
            inline(other("localhost", "localhost")),
            (
                "config.ConfigException: Keystore SubjectAltNames do not match:  existing="
                "{alias=kafka, SAN=[[2, localhost], [7, 127.0.0.1]]}, new={alias=kafka,"
                " SAN=[[2, localhost]]}"
            ),
        ),
        (
            {f"{OWN}ssl.truststore.certificates": "none"},
            "errors.InvalidConfigurationException: Failed to load PEM SSL keystore inline",
        ),
        (
            {f"{STORE}location": "/no/file.pem"},
            (
                "errors.InvalidConfigurationException: Both SSL key store location and separate"
                " private key are specified."
            ),
        ),
    ],
)
def test_a_certificate_that_does_not_do_is_refused_as_kafka_does(
    tmp_path: Path, texts: dict[str, str], said: str
) -> None:
    config = BrokerConfig(configs())
    tls = TlsListener(config, "OUTSIDE", logs_in=False)
    before = shown(tls, tmp_path)
    with pytest.raises(ConfigError) as caught:
        check_dynamic(config, texts, cluster_default=False)
    assert str(caught.value) == f"{REFUSED}{said} for configuration Invalid dynamic configuration"
    assert shown(tls, tmp_path) == before


@pytest.mark.parametrize("content", [None, "garbage"])
def test_a_file_that_does_not_do_is_refused_as_kafka_does(
    tmp_path: Path, content: str | None
) -> None:
    file, bad = tmp_path / "server.pem", tmp_path / "bad.pem"
    file.write_text(server().key + server().certificate)
    if content is not None:
        bad.write_text(content)
    config = BrokerConfig({"ssl.keystore.type": "PEM", "ssl.keystore.location": str(file)})
    TlsListener(config, "OUTSIDE", logs_in=False)
    named = (
        f"InvalidConfigurationException: Failed to load PEM SSL keystore {bad} for configuration"
    )
    with pytest.raises(ConfigError, match=named):
        check_dynamic(config, {f"{STORE}location": str(bad)}, cluster_default=False)


def test_other_names_may_be_allowed() -> None:
    config = BrokerConfig(
        configs() | {"ssl.allow.dn.changes": "true", f"{OWN}ssl.allow.san.changes": "true"}
    )
    TlsListener(config, "OUTSIDE", logs_in=False)
    check_dynamic(config, inline(other("other", "kafka.test")), cluster_default=False)


def test_what_is_no_store_stays_as_it_was_at_the_start(tmp_path: Path) -> None:
    config = BrokerConfig(configs())
    tls = TlsListener(config, "OUTSIDE", logs_in=False)
    texts = inline(server(60)) | {f"{OWN}ssl.client.auth": "required"}
    check_dynamic(config, texts, cluster_default=False)
    config.replace_dynamic(texts, cluster_default=False)
    assert shake(tls, context(tmp_path)).principal == "User:ANONYMOUS"


def test_another_listener_is_not_touched(tmp_path: Path) -> None:
    config = BrokerConfig(configs())
    tls = TlsListener(config, "INSIDE", logs_in=False)
    before = shown(tls, tmp_path)
    texts = {f"{STORE}location": "/no/file.pem"}
    check_dynamic(config, texts, cluster_default=False)
    config.replace_dynamic(texts, cluster_default=False)
    assert shown(tls, tmp_path) == before


# -- who a client is -----------------------------------------------------------------------


def test_rules_make_a_name_of_a_subject(tmp_path: Path) -> None:
    rules = "RULE:^CN=([a-z]+)@shop$/$1/U,DEFAULT"
    tls = listener(configs(client_auth="required") | {"ssl.principal.mapping.rules": rules})
    assert shake(tls, context(tmp_path, client("alice@shop"))).principal == "User:ALICE"
    assert shake(tls, context(tmp_path, client("alice"))).principal == "User:CN=alice"


def test_a_client_that_no_rule_names_is_nobody(tmp_path: Path) -> None:
    rules = {f"{OWN}ssl.principal.mapping.rules": "RULE:^CN=x$/x/"}
    tls = listener(configs(client_auth="requested") | rules)
    with pytest.raises(
        UnknownPrincipalError, match=r"^no rule of ssl\.principal.* is for CN=alice$"
    ):
        shake(tls, context(tmp_path, client("alice")))
    assert shake(tls, context(tmp_path)).principal == "User:ANONYMOUS"


def test_rules_that_cannot_be_read_name_their_config() -> None:
    with pytest.raises(StoreError, match=r"^ssl\.principal\.mapping\.rules: Invalid rule: `x`"):
        listener(configs() | {"ssl.principal.mapping.rules": "x"})


@pytest.mark.parametrize(
    ("texts", "logs_in", "principal"),
    [
        ({"client_auth": "required"}, False, "User:CN=localhost"),
        ({"client_auth": "requested"}, False, "User:CN=localhost"),
        ({}, False, None),
        ({"client_auth": "required"}, True, None),
        (
            {"client_auth": "required", "principal_mapping_rules": "RULE:^CN=(.*)$/broker-$1/"},
            False,
            "User:broker-localhost",
        ),
        (
            {"client_auth": "required", "principal_mapping_rules": "RULE:^CN=other$/x/"},
            False,
            None,
        ),
    ],
)
def test_brokers_are_to_each_other_who_their_certificate_says(
    texts: dict[str, str], logs_in: bool, principal: str | None
) -> None:
    protocol = "SASL_SSL" if logs_in else "SSL"
    config = BrokerConfig(
        {
            **configs(None, **texts),
            "listener.security.protocol.map": f"OUTSIDE:{protocol}",
            "inter.broker.listener.name": "OUTSIDE",
        }
    )
    assert inter_broker_principal(config) is None
    TlsListener(config, "OUTSIDE", logs_in=logs_in)
    assert inter_broker_principal(config) == principal


def test_followers_fetch_by_the_certificate_of_their_broker() -> None:
    config = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:CN=localhost",
        "security.inter.broker.protocol": "SSL",
        "ssl.client.auth": "required",
        "default.replication.factor": "3",
    }
    with MockBroker(tls="auto", brokers=3, topics=["t"], config=config) as broker:
        found = broker._bridged().call(
            lambda cluster: {
                conn.principal for node in cluster.brokers for conn in node.connections()
            }
        )
    assert found == {"User:CN=localhost"}
