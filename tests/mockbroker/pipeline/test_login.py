"""The driver's own connections: TLS and logins, against this project's broker."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.command import run
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.login import Login
from mockbroker.pipeline.topic_range import Broker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

pytest.importorskip("cryptography", reason="the extra tls is not installed")

SECURITY = "org.apache.kafka.common.security"
LOGIN = ("alice", 'a"\\= ,b')
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")


def jaas(mechanism: str, options: str) -> str:
    kind = "plain.Plain" if mechanism == "PLAIN" else "scram.Scram"
    return f"{SECURITY}.{kind}LoginModule required {options};"


ENDPOINT = "sasl.oauthbearer.token.endpoint.url"
TOKEN = {"sasl.mechanism": "OAUTHBEARER"}
HANDLER = f"{SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
SIGNED = {
    "oauthbearer.sasl.server.callback.handler.class": HANDLER,
    "sasl.oauthbearer.jwks.endpoint.url": "auto",
    "sasl.oauthbearer.expected.issuer": "https://idp.example",
    "sasl.oauthbearer.expected.audience": "kafka",
}

CONFIG = {
    "listener.security.protocol.map": "OUT:SASL_SSL,TLS:SSL",
    "listener.name.tls.ssl.client.auth": "required",
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    **{
        f"{each.lower()}.sasl.jaas.config": jaas(each, r'user_alice="a\"\\= ,b"')
        for each in MECHANISMS
    },
}


@pytest.fixture(scope="module")
def secured() -> Iterator[MockBroker]:
    with MockBroker(
        tls="auto", listeners=["OUT://:0", "TLS://:0"], config=CONFIG, topics={"orders": 2}
    ) as broker:
        yield broker


def conf_of(broker: MockBroker, mechanism: str) -> dict[str, str]:
    conf = broker.client_config("java", login=LOGIN, mechanism=mechanism)
    del conf["bootstrap.servers"]
    return conf


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_it_logs_in(secured: MockBroker, mechanism: str) -> None:
    with BrokerClient(secured.bootstrap_servers, conf_of(secured, mechanism)) as client:
        assert client.offsets("orders") == {0: 0, 1: 0}
    told = secured.journal.requests(api="ListOffsets")[-1]
    assert told.principal == "User:alice"


def test_it_shows_a_certificate(secured: MockBroker) -> None:
    conf = secured.client_config("java", listener="TLS", certificate="carol")
    bootstrap = conf.pop("bootstrap.servers")
    text = Path(conf.pop("ssl.keystore.location")).read_text()
    at = text.index("-----BEGIN CERTIFICATE")
    texts = {"ssl.keystore.key": text[:at], "ssl.keystore.certificate.chain": text[at:]}
    file = {"ssl.keystore.location": secured.client_file("carol")}
    for shown in (texts, file):
        with BrokerClient(bootstrap, conf | shown) as client:
            assert client.partitions("orders") == [0, 1]
        assert secured.journal.requests(api="Metadata")[-1].principal == "User:CN=carol"


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"sasl.jaas.config": jaas("SCRAM", "username=alice password=x")}, "Authentication failed"),
        ({"ssl.truststore.location": None, "ssl.truststore.type": None}, "certificate"),
        ({"sasl.mechanism": "OAUTHBEARER"}, "has no unsecuredLoginStringClaim_sub, and sasl"),
        ({**TOKEN, ENDPOINT: "https://a/token"}, "is not asked: put a token in a file"),
        ({**TOKEN, ENDPOINT: "file:/nowhere"}, f"{ENDPOINT} cannot be read"),
        (
            {**TOKEN, "sasl.login.callback.handler.class": "org.own.Handler"},
            "sasl.login.callback.handler.class Handler is not there: name a file",
        ),
        ({"ssl.truststore.type": "PKCS12"}, "ssl.truststore.location cannot be used"),
        ({"sasl.mechanism": None}, "sasl.mechanism=GSSAPI is not spoken; allowed: PLAIN"),
        ({"sasl.jaas.config": jaas("PLAIN", "username=alice")}, "has no username and password"),
        (
            {"ssl.truststore.type": "JKS"},
            "ssl.truststore.type=JKS is not spoken; allowed: PEM, PKCS12; keytool",
        ),
        ({"ssl.truststore.location": "/nowhere.pem"}, "ssl.truststore.location cannot be used"),
        ({"ssl.keystore.key": "x"}, "ssl.keystore.key cannot be used"),
        ({"security.protocol": "TLS"}, "allowed: PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
    ],
)
def test_what_is_wrong_is_one_line(
    secured: MockBroker, change: dict[str, str | None], told: str
) -> None:
    changed = conf_of(secured, "SCRAM-SHA-256") | change
    conf = {key: value for key, value in changed.items() if value is not None}
    with (
        pytest.raises(PipelineError, match=told) as raised,
        BrokerClient(secured.bootstrap_servers, conf) as client,
    ):
        client.topics()
    assert "\n" not in str(raised.value)
    assert "password=x" not in str(raised.value)


@pytest.mark.parametrize("signed", [False, True])
def test_it_shows_a_token(signed: bool) -> None:
    """Unsecured, and one of a file that the broker's own keys have signed."""
    config = {
        "listener.security.protocol.map": "OUT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        **(SIGNED if signed else {}),
    }
    with MockBroker(listeners=["OUT://:0"], config=config, topics={"orders": 1}) as broker:
        conf = broker.client_config("java", token=broker.token("alice"))
        servers = conf.pop("bootstrap.servers")
        assert (ENDPOINT in conf) is signed
        with BrokerClient(servers, conf) as client:
            assert client.partitions("orders") == [0]
        assert broker.journal.requests(api="Metadata")[-1].principal == "User:alice"
        late = {"unsecuredLoginStringClaim_sub": "alice", "unsecuredLoginLifetimeSeconds": "-9"}
        options = " ".join(f'{name}="{text}"' for name, text in late.items())
        refused = "^the token of OAUTHBEARER was refused: .*invalid_token"
        module = f"{SECURITY}.oauthbearer.OAuthBearerLoginModule"
        bad = {**TOKEN, "security.protocol": "SASL_PLAINTEXT"}
        bad["sasl.jaas.config"] = f"{module} required {options};"
        with BrokerClient(servers, bad) as client, pytest.raises(PipelineError, match=refused):
            client.topics()


def test_stores_of_pkcs12(secured: MockBroker, tmp_path: Path) -> None:
    from cryptography import x509
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.serialization import pkcs12

    conf = secured.client_config("java", listener="TLS", certificate="carol")
    bootstrap = conf.pop("bootstrap.servers")
    text = Path(conf["ssl.keystore.location"]).read_bytes()
    own, *others = x509.load_pem_x509_certificates(text)
    key = serialization.load_pem_private_key(text, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    closed = serialization.BestAvailableEncryption(b"secret")
    store, trust = tmp_path / "store.p12", tmp_path / "trust.p12"
    store.write_bytes(
        pkcs12.serialize_key_and_certificates(b"carol", key, own, others or None, closed)
    )
    trusted = x509.load_pem_x509_certificates(Path(conf["ssl.truststore.location"]).read_bytes())
    trust.write_bytes(
        pkcs12.serialize_java_truststore(
            [pkcs12.PKCS12Certificate(each, None) for each in trusted], closed
        )
    )
    for name, file in (("keystore", store), ("truststore", trust)):
        conf |= {
            f"ssl.{name}.type": "PKCS12",
            f"ssl.{name}.location": str(file),
            f"ssl.{name}.password": "secret",
        }
    with BrokerClient(bootstrap, conf) as client:
        assert client.partitions("orders") == [0, 1]
    assert secured.journal.requests(api="Metadata")[-1].principal == "User:CN=carol"
    for name in ("keystore", "truststore"):
        with pytest.raises(PipelineError, match=f"ssl.{name}.location cannot be used") as raised:
            Login({**conf, f"ssl.{name}.password": "other"})
        assert "other" not in str(raised.value)


def test_a_mechanism_that_the_broker_has_not() -> None:
    config = {
        "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
    }
    conf = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": jaas("PLAIN", "username=alice password=right"),
    }
    with (
        MockBroker(config=config) as broker,
        BrokerClient(broker.bootstrap_servers, conf) as client,
        pytest.raises(PipelineError, match=r"sasl\.mechanism=PLAIN: the broker has SCRAM-SHA-256"),
    ):
        client.topics()
    assert "right" not in repr(Broker("a:1", conf))


@pytest.mark.parametrize(
    "second", [b"nonsense", b"r=other,s=AAAA,i=4096", b"r=other,s=AAAA", b"i=x,s=,r="]
)
def test_a_broker_that_talks_nonsense_is_not_told_a_proof(second: bytes) -> None:
    login = Login(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": jaas("SCRAM", "username=alice password=right"),
        }
    )
    sent = []

    def send(token: bytes) -> bytes:
        sent.append(token)
        return second

    with pytest.raises(PipelineError, match="first message of SCRAM cannot be read"):
        login.prove(send)
    assert len(sent) == 1


def test_a_broker_that_does_not_know_the_password_is_no_broker() -> None:
    login = Login(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
            "sasl.jaas.config": jaas("SCRAM", "username=alice password=right"),
        }
    )

    def send(token: bytes) -> bytes:
        if b"p=" in token:
            return b"v=AAAA"
        return token.partition(b"r=")[1] + token.partition(b"r=")[2] + b"x,s=AAAA,i=4096"

    with pytest.raises(PipelineError, match="does not know the password"):
        login.prove(send)


def test_the_name_of_the_broker_is_checked_unless_nobody_wants_it() -> None:
    unchecked = {"ssl.endpoint.identification.algorithm": ""}
    with MockBroker(tls="auto", host="0.0.0.0") as broker:
        conf = broker.client_config("java")
        servers = f"127.0.0.2:{broker.port}"
        with BrokerClient(servers, conf | unchecked) as client:
            assert client.topics() == []
        with BrokerClient(servers, conf) as client, pytest.raises(PipelineError, match="mismatch"):
            client.topics()


@pytest.mark.spark
def test_load_and_dump_over_sasl_ssl(
    spark: SparkSession, secured: MockBroker, tmp_path: Path
) -> None:
    (tmp_path / "in.csv").write_text("id\n" + "\n".join(map(str, range(100))) + "\n")
    words = ["--topic", "loaded", "--bootstrap", secured.bootstrap_servers]
    for key, value in conf_of(secured, "SCRAM-SHA-512").items():
        words += ["--conf", f"kafka.{key}={value}"]
    source = str(tmp_path / "in.csv")
    assert run(["load", source, "--option", "header=true", "--create", "3", *words], spark) == 0
    assert sum(secured.topic("loaded").end_offsets().values()) == 100
    out = str(tmp_path / "out")
    assert run(["dump", out, "--value-format", "string", *words], spark) == 0
    assert spark.read.parquet(out).count() == 100
    for api in ("Produce", "Fetch"):
        assert {one.principal for one in secured.journal.requests(api=api)} == {"User:alice"}
