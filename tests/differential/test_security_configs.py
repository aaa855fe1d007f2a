"""Each security setting of docs/security.md, altered by request, is taken or refused as there.

A table of changes is made of the page: each setting as it is, for one listener, and for one
mechanism of it; of one broker and of all; with a value that does and one that does not; only
validated or carried out, and then deleted again. Both brokers answer alike, error and text.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

import pytest

from mockbroker.config.definition import ConfigType
from mockbroker.config.registry import BROKER
from mockbroker_protocol.messages.configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
)
from tests.clients.server import serving
from tests.differential.config_steps import DELETE, SET, change
from tests.differential.conftest import CONFIGS, OURS, kafka
from tests.differential.fit import fitted
from tests.differential.topic_steps import BROKER_RESOURCE
from tests.differential.wire import Wire
from tests.docs.test_security import of_the_table

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(900)]

SCOPES = ("1", "")
"""One broker, and all of them."""
LISTENER = "listener.name.plaintext."
OTHER_LISTENER = "listener.name.else."
MECHANISM = "plain."
BUILDER = "org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder"
GOOD = {
    ConfigType.BOOLEAN: "true",
    ConfigType.STRING: "x",
    ConfigType.INT: "7",
    ConfigType.SHORT: "7",
    ConfigType.LONG: "7",
    ConfigType.DOUBLE: "0.7",
    ConfigType.LIST: "x,y",
    ConfigType.CLASS: BUILDER,
    ConfigType.PASSWORD: "secret",
}
BAD = {
    ConfigType.BOOLEAN: "perhaps",
    ConfigType.INT: "soon",
    ConfigType.SHORT: "70000",
    ConfigType.LONG: "1.5",
    ConfigType.DOUBLE: "much",
    ConfigType.CLASS: "com.example.Ours",
}
OWN = {
    "listener.security.protocol.map": (
        "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,ELSE:SASL_SSL",
        "PLAINTEXT:SSL,CONTROLLER:PLAINTEXT",
        "CONTROLLER:PLAINTEXT",
        "PLAINTEXT",
        "PLAINTEXT:NOTHING",
    ),
    "principal.builder.class": (BUILDER, "com.example.Ours", "java.lang.String", ""),
    "sasl.enabled.mechanisms": ("PLAIN,SCRAM-SHA-512", "NOTHING", ""),
    "sasl.mechanism.inter.broker.protocol": ("PLAIN", "NOTHING"),
    "sasl.jaas.config": ("x required;", "nonsense"),
    "security.inter.broker.protocol": ("SSL", "NOTHING"),
    "ssl.cipher.suites": ("TLS_AES_128_GCM_SHA256", "NOTHING"),
    "ssl.client.auth": ("required", "perhaps"),
    "ssl.enabled.protocols": ("TLSv1.3", "NOTHING"),
    "ssl.keystore.location": ("/nowhere/at/all",),
    "ssl.keystore.type": ("PEM", "NOTHING"),
    "ssl.principal.mapping.rules": ("DEFAULT", "RULE:nonsense"),
    "ssl.truststore.type": ("PEM", "NOTHING"),
    "super.users": ("User:alice", "alice"),
}


class Case(NamedTuple):
    """One change: of all brokers where the name is empty."""

    key: str
    value: str
    broker: str
    validate_only: bool

    @property
    def title(self) -> str:
        verb = "validate" if self.validate_only else "set"
        return f"{verb} {self.key}={self.value} of {self.broker or 'all brokers'}"


def settings() -> list[str]:
    """Those of the page, in order."""
    return sorted(set.union(*of_the_table().values()))


def values(key: str) -> tuple[str, ...]:
    kind = BROKER.require(key).type
    return OWN.get(key) or (GOOD[kind], *([BAD[kind]] if kind in BAD else []))


def cases() -> Iterator[Case]:
    for key in settings():
        for prefix in ("", LISTENER, OTHER_LISTENER, MECHANISM, LISTENER + MECHANISM):
            for value in values(key):
                for broker in SCOPES:
                    for validate_only in (True, False):
                        yield Case(prefix + key, value, broker, validate_only)


def together() -> list[list[tuple[str, str]]]:
    """Keys of a listener that is there, with one that makes a broker look at its listeners."""
    seen = ("max.connections", "100")
    return [
        [(f"{LISTENER}{key}", value), seen]
        for key, value in (
            ("principal.builder.class", BUILDER),
            ("sasl.enabled.mechanisms", "PLAIN"),
            ("plain.sasl.jaas.config", "x required;"),
            ("connections.max.reauth.ms", "7"),
            ("ssl.client.auth", "required"),
            ("ssl.keystore.type", "PEM"),
            ("max.connections", "7"),
            ("num.network.threads", "4"),
            ("no.such.key", "x"),
        )
    ]


class Altering:
    """One broker's side."""

    def __init__(self, bootstrap: str) -> None:
        host, port = bootstrap.rsplit(":", 1)
        self._wire = Wire(host, int(port), "")

    def close(self) -> None:
        self._wire.close()

    def answer(self, case: Case) -> tuple[int, str | None]:
        """Error and text; what was carried out is taken back."""
        return self.change([(case.key, case.value)], case.broker, validate_only=case.validate_only)

    def change(
        self, pairs: list[tuple[str, str]], broker: str, *, validate_only: bool = False
    ) -> tuple[int, str | None]:
        told = self._alter([(key, SET, value) for key, value in pairs], broker, validate_only)
        if told[0] == 0 and not validate_only:
            self._await(pairs, broker, there=True)
            gone = self._alter([(key, DELETE, None) for key, _ in pairs], broker, False)
            assert gone[0] == 0, (pairs, gone)
            self._await(pairs, broker, there=False)
        return told

    def _alter(
        self, ops: list[tuple[str, int, str | None]], broker: str, validate_only: bool
    ) -> tuple[int, str | None]:
        message = change(*ops, kind=BROKER_RESOURCE, name=broker, validate_only=validate_only)
        answer = self._wire.ask(fitted(message, 1), 1)
        (one,) = answer.responses
        text = one.error_message
        return one.error_code, text and re.sub(r"'\[PLAINTEXT://.*?\]'", "<listeners>", text)

    def _await(self, pairs: list[tuple[str, str]], broker: str, *, there: bool) -> None:
        """Apache Kafka applies a change a moment later."""
        keys = {key for key, _ in pairs}
        asked = DescribeConfigsRequest(
            [DescribeConfigsResource(BROKER_RESOURCE, broker, sorted(keys))], False, False
        )
        deadline = time.monotonic() + 20
        sources = {3 if not broker else 2}
        while True:
            answer = self._wire.ask(fitted(asked, 4), 4)
            configs = answer.results[0].configs
            found = {one.name for one in configs if one.config_source in sources}
            if found == (keys if there else set()):
                return
            assert time.monotonic() < deadline, (pairs, broker, there, found)


def answers(bootstrap: str) -> dict[str, tuple[int, str | None]]:
    side = Altering(bootstrap)
    try:
        told = {case.title: side.answer(case) for case in cases()}
        for pairs in together():
            for broker in SCOPES:
                title = f"set {' and '.join(key for key, _ in pairs)} of {broker or 'all brokers'}"
                told[title] = side.change(pairs, broker)
        return told
    finally:
        side.close()


def test_each_security_setting_is_altered_as_apache_kafka_lets_it(tmp_path: Path) -> None:
    with kafka(*CONFIGS) as bootstrap:
        expected = answers(bootstrap)
    with serving(tmp_path, *[f"--set={one}" for one in (*CONFIGS, *OURS)]) as ours:
        found = answers(ours)
    assert len(expected) > 1000
    assert sum(error == 0 for error, _ in expected.values()) > 100
    differing = {title for title, told in expected.items() if found[title] != told}
    assert {title: (expected[title], found[title]) for title in sorted(differing)} == {}
