"""The table of Kafka's settings in docs/security.md is what the broker does with them.

Those that are served are read while a broker starts, lets clients in and changes certificates;
those without effect are not, and those of classes of Java end the start.
"""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import TYPE_CHECKING, Any, Final

import pytest

pytest.importorskip("cryptography", reason="the extra tls is not installed")

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)

from mockbroker import MockBroker
from mockbroker.config.broker import BrokerConfig, synonym_names
from mockbroker.config.errors import ConfigError
from mockbroker.config.lookups import ParsedValues
from mockbroker.config.registry import BROKER
from mockbroker.server.values import SettingsError
from tests.clients.server import ROOT
from tests.support.certificates import authority, configs
from tests.support.signed_tokens import HANDLER, ec_key, jwk, jwks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

OF_SECURITY: Final = re.compile(
    r"(ssl|sasl|security|delegation)\.|.*reauth|.*authentication\.delay|principal\.builder"
    r"|authorizer\.class|super\.users|allow\.everyone|early\.start|inter\.broker\.listener"
    r"|listener\.security"
)
PAGE: Final = (ROOT / "docs" / "security.md").read_text("utf-8")


def of_the_table() -> dict[str, set[str]]:
    """The settings by what the table says of them: `served`, `refused`, `without effect`."""
    table = PAGE.partition("## Which of Kafka's settings count")[2].partition("\n\n##")[0]
    found: dict[str, set[str]] = defaultdict(set)
    for said, keys in re.findall(r"^\| (\w[^|]*) \| (.*) \|$", table, re.MULTILINE):
        kind = next(
            each for each in ("served", "refused", "without effect") if said.startswith(each)
        )
        for key in re.findall(r"`([a-z.…]+)`", keys):
            family = key.removesuffix("…")
            named = {name for name in BROKER.names() if name.startswith(family)}
            found[kind] |= named if family != key else {key}
    return found


def test_each_setting_is_there_once_but_for_classes() -> None:
    table = of_the_table()
    known = {name for name in BROKER.names() if OF_SECURITY.match(name)}
    assert set.union(*table.values()) == known
    assert table["served"] & table["without effect"] == set()
    assert table["refused"] & table["without effect"] == set()
    assert table["refused"] & table["served"] == {"authorizer.class.name"}


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The keys that are looked up, without what is before them for a listener or a mechanism."""
    found: set[str] = set()
    configured, look_up = BrokerConfig.configured, ParsedValues.__getitem__

    def note_text(config: BrokerConfig, name: str) -> str | None:
        found.add(synonym_names(name)[-1])
        return configured(config, name)

    def note_value(values: ParsedValues, name: str) -> Any:
        found.add(synonym_names(name)[-1])
        return look_up(values, name)

    monkeypatch.setattr(BrokerConfig, "configured", note_text)
    monkeypatch.setattr(ParsedValues, "__getitem__", note_value, raising=False)
    return found


STANDARD: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
SECURITY: Final = "org.apache.kafka.common.security"
SERVER: Final = {
    **configs(),
    "ssl.allow.dn.changes": "true",
    "listener.security.protocol.map": "LOGIN:SASL_SSL,TOKEN:SASL_SSL,FAR:SASL_SSL,SHOWN:SSL",
    "inter.broker.listener.name": "LOGIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "sasl.enabled.mechanisms": "OAUTHBEARER",
    "listener.name.login.sasl.enabled.mechanisms": "PLAIN",
    "plain.sasl.jaas.config": f'{SECURITY}.plain.PlainLoginModule required username="admin"'
    ' user_admin="admin-secret";',
    "oauthbearer.sasl.server.callback.handler.class": HANDLER,
    "listener.name.token.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": "auto",
    "sasl.oauthbearer.allow.unverified.issuer": "true",
    "sasl.oauthbearer.allow.unverified.audience": "true",
    "listener.name.shown.ssl.client.auth": "required",
    "authorizer.class.name": STANDARD,
    "super.users": "User:admin",
    "delegation.token.secret.key": "a key",
    "connection.failed.authentication.delay.ms": "0",
}


class Keys(BaseHTTPRequestHandler):
    """An identity provider's."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(jwks(jwk(ec_key("P-256"), kid="one")).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@pytest.fixture
def keys_url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Keys) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def gets_in(config: Mapping[str, Any]) -> bool:
    """Whether a client does, and a record of it too."""
    told: list[object] = []
    note = {"log_level": 0, "error_cb": told.append, "ssl.ca.pem": authority().certificate}
    producer = Producer({**config, **note})
    producer.produce("orders", b"paid", on_delivery=lambda error, _: told.append(error))
    while not told:
        producer.poll(0.1)
    producer.purge()
    return told[0] is None  # to compare a KafkaError breaks it


def show_another_certificate(login: Mapping[str, Any]) -> None:
    """Of other names, which is refused: the old ones are not among them."""
    other = authority().issue("other", ("other",), timedelta(days=1))
    prefix = "listener.name.shown.ssl.keystore"
    texts = {f"{prefix}.key": other.key, f"{prefix}.certificate.chain": other.certificate}
    entries = [
        ConfigEntry(name, text, incremental_operation=AlterConfigOpType.SET)
        for name, text in texts.items()
    ]
    admin = AdminClient({**login, "ssl.ca.pem": authority().certificate})
    wanted = ConfigResource(ResourceType.BROKER, "1", incremental_configs=entries)
    with pytest.raises(KafkaException, match="SubjectAltNames do not match"):
        admin.incremental_alter_configs([wanted])[wanted].result(30)


def replicate(broker: MockBroker) -> None:
    """Let brokers connect to each other, as whoever they are."""
    broker.topic("copied").create(1, replication_factor=2)
    broker.topic("copied").put("paid")
    broker.cluster.wait_in_sync("copied", 0)


def test_what_is_served_is_read_and_what_has_no_effect_is_not(
    read: set[str], keys_url: str
) -> None:
    config = {**SERVER, "sasl.oauthbearer.jwks.endpoint.url": keys_url}
    listeners = [f"{name}://localhost:0" for name in ("LOGIN", "TOKEN", "FAR", "SHOWN")]
    with MockBroker(listeners=listeners, config=config, brokers=2) as broker:
        login = broker.client_config("confluent", login=("admin", "admin-secret"))
        token = broker.client_config("confluent", listener="TOKEN", token=broker.token("admin"))
        assert gets_in(login)
        assert gets_in(token)
        assert not gets_in({**login, "sasl.password": "wrong"})
        show_another_certificate(login)
        broker.delegation_token("alice")
        assert len(broker.delegation_tokens()) == 1
        replicate(broker)
    with MockBroker(brokers=2) as broker:
        replicate(broker)
    table = of_the_table()
    assert table["served"] - read == set()
    assert table["without effect"] & read == set()


@pytest.mark.parametrize("key", sorted(of_the_table()["refused"]))
def test_a_class_of_java_ends_the_start_by_its_name(key: str) -> None:
    config = {**SERVER, "sasl.oauthbearer.jwks.endpoint.url": "auto", key: "com.example.Ours"}
    config = {name: text for name, text in config.items() if not name.endswith(f".{key}")}
    listeners = ["LOGIN://localhost:0", "TOKEN://localhost:0", "SHOWN://localhost:0"]
    with (
        pytest.raises((SettingsError, ConfigError), match=re.escape(key)),
        MockBroker(listeners=listeners, config=config),
    ):
        pass
