"""What a client of each kind is given to connect to a listener, under the names it has for it.

`ClientConfigs` are the verbs, of a broker in process, elsewhere, or a Kafka cluster; each has an
`Entrance` that knows listeners and files. How each client wants it said stands below.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from base64 import b64encode
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.testing import token_providers

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mockbroker.testing.token_providers import Token

__tracebackhide__ = True

ClientConfig = dict[str, Any]
_OAUTH_PACKAGE: Final = "org.apache.kafka.common.security.oauthbearer"


class Access:
    """How a client comes in: what it connects to, whom it trusts, and who it is."""

    __slots__ = (
        "bootstrap",
        "ca_file",
        "client_file",
        "delegated",
        "key_file",
        "login",
        "mechanism",
        "protocol",
        "token",
    )

    def __init__(self, bootstrap: str, protocol: str) -> None:
        self.bootstrap = bootstrap
        self.protocol = protocol
        self.ca_file: str | None = None
        self.client_file: str | None = None
        self.key_file: str | None = None
        """That of the client's key, where it is not in `client_file`."""
        self.mechanism = "PLAIN"
        self.login: tuple[str, str] | None = None
        """User and password."""
        self.delegated = False
        """Whether the login is a delegation token: its id, and its HMAC in base64."""
        self.token: Token | None = None
        """A token of OAUTHBEARER, or what makes one each time that the client wants one."""

    @property
    def key(self) -> str | None:
        """The file that has the client's key."""
        return self.key_file or self.client_file


class ClientListener(NamedTuple):
    """One listener, as clients see it."""

    name: str
    protocol: str
    """`PLAINTEXT`, `SSL`, `SASL_PLAINTEXT` or `SASL_SSL`."""
    bootstrap_servers: str
    requires_certificate: bool


class WantedToken(NamedTuple):
    """What a token of OAUTHBEARER is to say."""

    principal: str
    listener: str | None
    lifetime_ms: int
    claims: Mapping[str, object] | None


class Entrance(ABC):
    """Where clients of one broker come in."""

    @abstractmethod
    def listeners(self) -> Sequence[ClientListener]:
        """All of them; the first is the one that a client uses unless it says another."""

    @abstractmethod
    def pem_file(self, name: str) -> str | None:
        """The file of a client of that name, or `ca`; None where no certificates were made."""

    def token(self, wanted: WantedToken) -> str:  # noqa: ARG002 -- of those that can make one
        """A token of OAUTHBEARER for a listener. Raises ValueError where none can be made."""
        message = "who signs tokens for a Kafka cluster is not known: make them there"
        raise ValueError(message)

    def access(self, listener: str | None, certificate: str | None) -> Access:
        """How to come in at a listener. Raises ValueError when there is none of that name."""
        listeners = {each.name: each for each in self.listeners()}
        name = next(iter(listeners)) if listener is None else listener.upper()
        if name not in listeners:
            message = f"there is no listener {name}; allowed: {', '.join(listeners)}"
            raise ValueError(message)
        found = listeners[name]
        access = Access(found.bootstrap_servers, found.protocol)
        if found.protocol.endswith("SSL"):
            access.ca_file = self.pem_file("ca")
            if certificate is None and found.requires_certificate:
                certificate = "client"
            if certificate is not None:
                access.client_file = self.pem_file(certificate)
        return access


class ClientConfigs(ABC):
    """The verbs for who connects clients to a broker, wherever it runs."""

    @abstractmethod
    def _entrance(self) -> Entrance:
        """That of the broker as it is now."""

    @property
    def ca_file(self) -> str:
        """The PEM file of whom clients are to trust; RuntimeError without `tls="auto"`."""
        return _made(self._entrance().pem_file("ca"))

    def client_file(self, name: str = "client") -> str:
        """The PEM file of a client's key and certificate, `CN=name`; made when first asked for."""
        return _made(self._entrance().pem_file(name))

    def client_config(
        self,
        kind: str,
        *,
        listener: str | None = None,
        certificate: str | None = None,
        login: str | tuple[str, str] | None = None,
        mechanism: str | None = None,
        token: Token | None = None,
        delegation_token: DelegationToken | tuple[str, bytes] | None = None,
    ) -> ClientConfig:
        """What a client is given to connect, under its own names: `Producer(**...)`.

        `kind` is confluent, librdkafka, node-rdkafka, kafka-python, aiokafka, java, kafkajs or
        franz-go. `listener` is the first one unless it is named; `certificate` names the client's
        own, for which `client` stands where one is required; `login` is user and password for a
        listener with SASL, or one of the broker's `users`, by `mechanism` (PLAIN); `token` is for
        OAUTHBEARER, or a function that gives one when the client wants it. `delegation_token` is
        one (KIP-48), or its id and HMAC, by SCRAM-SHA-256 unless `mechanism` says another: for
        java and franz-go, others do not have it. Whom a client trusts is known with
        `tls="auto"`. Raises ValueError.
        """
        access = self._entrance().access(listener, certificate)
        access.login = self._with_password(login) if isinstance(login, str) else login
        access.token = token
        access.mechanism = mechanism or ("OAUTHBEARER" if token else access.mechanism)
        if delegation_token is not None:
            _log_in_with(access, delegation_token, kind, mechanism or "SCRAM-SHA-256")
        if (access.mechanism == "OAUTHBEARER") != (token is not None):
            message = f"a token and {access.mechanism}: OAUTHBEARER takes one, and only that does"
            raise ValueError(message)
        return client_config(kind, access)

    def _users(self) -> Mapping[str, str]:
        """The passwords of those that the broker was started with, where that is known."""
        return {}

    def _with_password(self, user: str) -> tuple[str, str]:
        users = self._users()
        if user not in users:
            known = ", ".join(users) or "user and password"
            message = f"the password of {user!r} is not known here; allowed: {known}"
            raise ValueError(message)
        return user, users[user]

    def token(
        self,
        principal: str = "client",
        *,
        listener: str | None = None,
        lifetime_ms: int = 3_600_000,
        claims: Mapping[str, object] | None = None,
    ) -> str:
        """A token of OAUTHBEARER that a listener takes: the first that has it, or the named one.

        It is signed where `sasl.oauthbearer.jwks.endpoint.url` is `auto`, and has the issuer,
        audience and scope that are configured; where no signature is wanted it is unsecured. It
        expires by the broker's clock, with a negative `lifetime_ms` it has. `claims` go before
        all others; one that is None is left out. Raises ValueError.
        """
        return self._entrance().token(WantedToken(principal, listener, lifetime_ms, claims))


def _made(file: str | None) -> str:
    if file is None:
        message = 'there are no certificates: start it with tls="auto"'
        raise RuntimeError(message)
    return file


def _log_in_with(
    access: Access, token: DelegationToken | tuple[str, bytes], kind: str, mechanism: str
) -> None:
    """Let the client show a delegation token. Raises ValueError where that cannot be."""
    if access.login is not None or access.token is not None:
        message = "a client logs in once: by login, token or delegation_token"
        raise ValueError(message)
    if not mechanism.startswith("SCRAM-"):
        message = f"a delegation token and {mechanism}: allowed: SCRAM-SHA-256, SCRAM-SHA-512"
        raise ValueError(message)
    if kind not in _WITH_TOKENAUTH:
        message = (
            f"{kind!r} cannot log in with a delegation token, which is SCRAM's extension"
            f" tokenauth; allowed: {', '.join(_WITH_TOKENAUTH)}"
        )
        raise ValueError(message)
    token_id, hmac = (token.token_id, token.hmac) if isinstance(token, DelegationToken) else token
    if not hmac:
        message = (
            f"the HMAC of the delegation token {token_id!r} is told when it is made, not later"
        )
        raise ValueError(message)
    access.login = token_id, b64encode(hmac).decode()
    access.mechanism = mechanism
    access.delegated = True


def _librdkafka(access: Access) -> ClientConfig:
    config = {
        "bootstrap.servers": access.bootstrap,
        "security.protocol": access.protocol,
        "ssl.ca.location": access.ca_file,
        "ssl.certificate.location": access.client_file,
        "ssl.key.location": access.key,
    }
    if access.login is not None:
        config["sasl.mechanism"] = access.mechanism
        config["sasl.username"], config["sasl.password"] = access.login
    if access.token is not None:
        config["sasl.mechanism"] = access.mechanism
    return config


def _confluent(access: Access) -> ClientConfig:
    config = _librdkafka(access)
    if access.token is not None:
        config["oauth_cb"] = token_providers.for_confluent(access.token)
    return config


def _plain_librdkafka(access: Access) -> ClientConfig:
    """A token is no setting there: the program hands `token` over, unless nobody signed it."""
    config = _librdkafka(access)
    if access.token is not None:
        token = token_providers.made(access.token)
        if token_providers.is_unsecured(token):
            claims = token_providers.claims_of(token)
            config["enable.sasl.oauthbearer.unsecure.jwt"] = "true"
            config["sasl.oauthbearer.config"] = f"principal={claims['sub']}"
        else:
            config["token"] = token
    return config


def _kafka_python(access: Access) -> ClientConfig:
    config = _kafka_python_without_token(access)
    if access.token is not None:
        provider = token_providers.for_kafka_python(access.token)
        config["sasl_oauth_token_provider"] = provider
    return config


def _kafka_python_without_token(access: Access) -> ClientConfig:
    return {
        **_python(access),
        "ssl_cafile": access.ca_file,
        "ssl_certfile": access.client_file,
        "ssl_keyfile": access.key,
    }


def _aiokafka(access: Access) -> ClientConfig:
    config = _python(access)
    if access.protocol.endswith("SSL"):
        import ssl

        context = ssl.create_default_context(cafile=access.ca_file)
        if access.client_file is not None:
            context.load_cert_chain(access.client_file, access.key_file)
        config["ssl_context"] = context
    if access.token is not None:
        config["sasl_oauth_token_provider"] = token_providers.for_aiokafka(access.token)
    return config


def _python(access: Access) -> ClientConfig:
    config: ClientConfig = {
        "bootstrap_servers": access.bootstrap.split(","),
        "security_protocol": access.protocol,
    }
    if access.login is not None:
        config["sasl_mechanism"] = access.mechanism
        config["sasl_plain_username"], config["sasl_plain_password"] = access.login
    if access.token is not None:
        config["sasl_mechanism"] = access.mechanism
    return config


def _java(access: Access) -> ClientConfig:
    config: ClientConfig = {
        "bootstrap.servers": access.bootstrap,
        "security.protocol": access.protocol,
    }
    if access.ca_file is not None:
        config |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": access.ca_file}
    if access.key_file is not None:
        config |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.key": _text(access.key_file),
            "ssl.keystore.certificate.chain": _text(access.client_file),
        }
    elif access.client_file is not None:
        config |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": access.client_file}
    if access.login is not None:
        scram = "scram.Scram" if access.mechanism.startswith("SCRAM") else "plain.Plain"
        user, password = (text.replace("\\", "\\\\").replace('"', '\\"') for text in access.login)
        delegated = ' tokenauth="true"' if access.delegated else ""
        config["sasl.mechanism"] = access.mechanism
        config["sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.{scram}LoginModule required"
            f' username="{user}" password="{password}"{delegated};'
        )
    if access.token is not None:
        config |= _java_token(access.token)
    return config


def _java_token(shown: Token) -> ClientConfig:
    """An unsecured token the client makes itself, a signed one it reads from a file.

    The JVM's property org.apache.kafka.sasl.oauthbearer.allowed.urls has to name that.
    """
    module = f"{_OAUTH_PACKAGE}.OAuthBearerLoginModule required"
    token = token_providers.made(shown)
    if token_providers.is_unsecured(token):
        principal = token_providers.claims_of(token)["sub"]
        return {
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f'{module} unsecuredLoginStringClaim_sub="{principal}";',
        }
    return {
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": f"{module};",
        "sasl.login.callback.handler.class": f"{_OAUTH_PACKAGE}.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": f"file:{token_providers.in_file(token)}",
    }


def _kafkajs(access: Access) -> ClientConfig:
    config: ClientConfig = {"brokers": access.bootstrap.split(",")}
    if access.protocol.endswith("SSL"):
        config["ssl"] = {} if access.ca_file is None else {"ca": [_text(access.ca_file)]}
        if access.client_file is not None:
            config["ssl"] |= {"cert": _text(access.client_file), "key": _text(access.key)}
    if access.login is not None:
        user, password = access.login
        mechanism = access.mechanism.lower()
        config["sasl"] = {"mechanism": mechanism, "username": user, "password": password}
    if access.token is not None:
        token = token_providers.made(access.token)
        config["sasl"] = {"mechanism": "oauthbearer", "token": token}
    return config


def _franz_go(access: Access) -> ClientConfig:
    """As JSON or YAML for the program: franz-go is configured in Go, by `docs/security.md`."""
    config: ClientConfig = {"seed_brokers": access.bootstrap.split(",")}
    if access.protocol.endswith("SSL"):
        files = {
            "ca_cert_path": access.ca_file,
            "client_cert_path": access.client_file,
            "client_key_path": access.key,
        }
        config["tls"] = {key: file for key, file in files.items() if file is not None}
    if access.login is not None:
        user, password = access.login
        config["sasl"] = {"method": access.mechanism, "user": user, "pass": password}
        if access.delegated:
            config["sasl"]["is_token"] = True
    if access.token is not None:
        token = token_providers.made(access.token)
        config["sasl"] = {"method": access.mechanism, "token": token}
    return config


def _text(file: str | None) -> str:
    assert file is not None
    with open(file, encoding="utf-8") as stream:
        return stream.read()


_WITH_TOKENAUTH: Final = ("java", "franz-go")
"""Who can log in with delegation tokens."""

_KINDS: Final[dict[str, Callable[[Access], ClientConfig]]] = {
    "confluent": _confluent,
    "librdkafka": _plain_librdkafka,
    "node-rdkafka": _plain_librdkafka,
    "kafka-python": _kafka_python,
    "aiokafka": _aiokafka,
    "java": _java,
    "kafkajs": _kafkajs,
    "franz-go": _franz_go,
}


def client_config(kind: str, access: Access) -> ClientConfig:
    """What a client of that kind is given. Raises ValueError for one that is not known."""
    make = _KINDS.get(kind)
    if make is None:
        message = f"{kind!r} is no client that is known; allowed: {', '.join(_KINDS)}"
        raise ValueError(message)
    return {key: value for key, value in make(access).items() if value is not None}
