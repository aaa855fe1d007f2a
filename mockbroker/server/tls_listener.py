"""TLS of one listener of one broker, as its configs have it now.

`launch` makes one for each listener with TLS, `network` asks it at each connection. A config for
the listener, `listener.name.NAME.ssl.…`, goes before the one for all (Kafka: SslFactory,
DefaultSslEngineFactory).

Invariant: what was read is used until all of what takes its place could be read; connections that
are there keep what they began with.
"""

from __future__ import annotations

import ssl
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.config.dynamic import STORES, invalid
from mockbroker.config.errors import ConfigError
from mockbroker.config.listeners import listener_text
from mockbroker.config.principal_rules import PrincipalRules
from mockbroker.network.cipher_suites import TLS12, TLS13
from mockbroker.network.tls_transport import CIPHERTEXT_BYTES, UnknownPrincipalError
from mockbroker.server.distinguished_name import alternatives_of, subject_of
from mockbroker.server.key_stores import StoreError, load_key_store, load_trust_store

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.server.other_certificates import OtherCertificates

_VERSIONS: Final = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_TOO_OLD: Final = ("TLSv1", "TLSv1.1")
"""Java refuses them too, whoever asks for them."""
_OF_KEY_STORE: Final = ("ssl.key.", "ssl.keystore.")
_FACTORY: Final = "ssl.engine.factory.class"
_RULES: Final = "ssl.principal.mapping.rules"
_CLIENT_AUTH: Final = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class Stores:
    """What was read of one listener's stores: a context, and whose certificate it shows."""

    def __init__(self, context: ssl.SSLContext, certificate: bytes) -> None:
        self.context = context
        self.certificate = certificate
        self.subject = subject_of(certificate)
        self.alternatives = alternatives_of(certificate)


class TlsListener:
    """What connections of a listener begin with. Raises StoreError for what cannot be used.

    Its stores follow the dynamic configs of its broker; the rest stays as it was at the start
    (Kafka: SslConfigs.RECONFIGURABLE_CONFIGS).
    """

    def __init__(
        self,
        config: BrokerConfig,
        listener: str,
        *,
        logs_in: bool,
        others: OtherCertificates | None = None,
    ) -> None:
        """`logs_in`: its clients say by SASL who they are, and not by a certificate.

        `others` are what fault rules may have it show.
        """
        self._others = others
        self._shown: dict[str, ssl.SSLContext] = {}
        """The contexts with another certificate, by its kind."""
        self.read_area = memoryview(bytearray(CIPHERTEXT_BYTES))
        self._config = config
        self._listener = listener
        self._logs_in = logs_in
        if self._text(config, _FACTORY) is not None:
            raise StoreError(_FACTORY, "it is a class of Java", "none")
        self._versions = self._text(config, "ssl.enabled.protocols") or ""
        self._ciphers = self._text(config, "ssl.cipher.suites") or ""
        self._auth = self._client_auth(config)
        try:
            self._rules = PrincipalRules(self._text(config, _RULES) or "")
        except ConfigError as error:
            allowed = "RULE:pattern/replacement/[LU], ..., DEFAULT"
            raise StoreError(_RULES, str(error), allowed) from None
        self._facts = self._facts_of(config)
        self._stores = self._read(config)
        config.reconfigurables.append(self)
        config.certificate_principals[listener] = self._own_principal

    # -- certificates that change ----------------------------------------------------------

    def validate(self, changed: BrokerConfig) -> None:
        """Raise ConfigError unless its stores could be as `changed` says."""
        if self._facts_of(changed) == self._facts:
            return
        failed = "Validation of dynamic config update of SSLFactory failed: org.apache.kafka.common"
        try:
            stores = self._read(changed)
        except StoreError as error:
            raise invalid(f"{failed}.errors.InvalidConfigurationException: {error.said}") from None
        problem = self._difference(changed, stores)
        if problem is not None:
            raise invalid(f"{failed}.config.ConfigException: {problem}")

    def reconfigure(self) -> None:
        """Read the stores anew if they are others; what cannot be read any more stays."""
        facts = self._facts_of(self._config)
        if facts == self._facts:
            return
        with suppress(StoreError):
            self._stores = self._read(self._config)
            self._facts = facts
            self._shown.clear()

    def _difference(self, changed: BrokerConfig, stores: Stores) -> str | None:
        """Another server's certificate (Kafka: SslFactory.CertificateEntries.ensureCompatible)."""
        old = self._stores
        if old.subject != stores.subject and not self._allows(changed, "ssl.allow.dn.changes"):
            return (
                f"Keystore DistinguishedName does not match:  existing={{alias=kafka, DN="
                f"{old.subject}}}, new={{alias=kafka, DN={stores.subject}}}"
            )
        gone = set(old.alternatives) - set(stores.alternatives)
        if gone and not self._allows(changed, "ssl.allow.san.changes"):
            before, after = ", ".join(old.alternatives), ", ".join(stores.alternatives)
            return (
                f"Keystore SubjectAltNames do not match:  existing={{alias=kafka, SAN=[{before}]}},"
                f" new={{alias=kafka, SAN=[{after}]}}"
            )
        return None

    def _allows(self, config: BrokerConfig, key: str) -> bool:
        return (self._text(config, key) or "").strip().lower() == "true"

    def _facts_of(self, config: BrokerConfig) -> list[object]:
        """What the stores are read from, and when the files among it were last written."""
        texts = {key: self._text(config, key) for key in sorted(STORES)}
        files = (texts["ssl.keystore.location"], texts["ssl.truststore.location"])
        return [texts, *(_written_at(file) for file in files if file is not None)]

    @property
    def context(self) -> ssl.SSLContext:
        """That of its stores as they are now."""
        return self._stores.context

    def lasting_context(self) -> ssl.SSLContext:
        """For a server that takes one for good: each connection has that of the stores of then."""
        lasting = self._stores.context

        def begin(connection: ssl.SSLObject, _name: str | None, _began: ssl.SSLContext) -> None:
            connection.context = self._stores.context

        lasting.sni_callback = begin
        return lasting

    # -- connections -----------------------------------------------------------------------

    def wrap(
        self, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO, shown: str | None = None
    ) -> ssl.SSLObject:
        """The server's end of a new connection; `shown`: with another certificate, by its kind."""
        context = self._stores.context if shown is None else self._context_of(shown)
        return context.wrap_bio(incoming, outgoing, server_side=True)

    def _context_of(self, kind: str) -> ssl.SSLContext:
        """That of its stores, but for the certificate."""
        found = self._shown.get(kind)
        if found is None:
            assert self._others is not None
            made = self._others.make(kind, self._stores.certificate)
            store = {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": made.key,
                "ssl.keystore.certificate.chain": made.certificate,
            }
            found = self._shown[kind] = self._read(self._config, store).context
        return found

    def principal(self, connection: ssl.SSLObject) -> str | None:
        """Who the client is whose handshake is done; None without a certificate that tells.

        Raises UnknownPrincipalError.
        """
        certificate = None if self._logs_in else connection.getpeercert(binary_form=True)
        if certificate is None:
            return None
        subject = subject_of(certificate)
        name = self._rules.name_of(subject)
        if name is None:
            raise UnknownPrincipalError(f"no rule of {_RULES} is for {subject}")
        return f"User:{name}"

    def _own_principal(self) -> str | None:
        """Who another broker is that shows the certificate of this listener at this listener."""
        if self._logs_in or self._auth is ssl.CERT_NONE:
            return None
        name = self._rules.name_of(self._stores.subject)
        return None if name is None else f"User:{name}"

    def _text(self, config: BrokerConfig, key: str) -> str | None:
        return listener_text(config, self._listener, key)

    def _read(self, config: BrokerConfig, key_store: Mapping[str, str] | None = None) -> Stores:
        """What its configs name; `key_store` stands in place of those of its own certificate."""

        def text(key: str) -> str | None:
            if key_store is not None and key.startswith(_OF_KEY_STORE):
                return key_store.get(key)
            return self._text(config, key)

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Each connection shows its certificate anew, and none asks for new keys in between.
        context.options |= ssl.OP_NO_TICKET | ssl.OP_NO_RENEGOTIATION
        context.num_tickets = 0
        _set_versions(context, self._versions)
        _set_ciphers(context, self._ciphers)
        certificate = load_key_store(context, text)
        trusts = text("ssl.truststore.location") or text("ssl.truststore.certificates")
        if trusts or self._auth is not ssl.CERT_NONE:
            # Java trusts each certificate of the store, whoever signed it.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            load_trust_store(context, text)
        context.verify_mode = self._auth
        return Stores(context, certificate)

    def _client_auth(self, config: BrokerConfig) -> ssl.VerifyMode:
        key = "ssl.client.auth"
        own = f"listener.name.{self._listener.lower()}.{key}"
        # Kafka: where clients log in, the config for all listeners does not count (KIP-684).
        text = config.configured(own) if self._logs_in else None
        if not self._logs_in:
            text = listener_text(config, self._listener, key)
        return _CLIENT_AUTH[(text or "none").strip()]


def _written_at(file: str) -> int:
    try:
        return Path(file).stat().st_mtime_ns
    except OSError:
        return 0


def _set_versions(context: ssl.SSLContext, text: str) -> None:
    key = "ssl.enabled.protocols"
    names = _split(text)
    for name in names:
        if name not in (*_VERSIONS, *_TOO_OLD):
            raise StoreError(key, f"{name} is unknown", ", ".join(_VERSIONS))
    versions = sorted(_VERSIONS[name] for name in names if name in _VERSIONS)
    if not versions:
        raise StoreError(key, f"{text or 'nothing'} is too little", ", ".join(_VERSIONS))
    context.minimum_version, context.maximum_version = versions[0], versions[-1]


def _set_ciphers(context: ssl.SSLContext, text: str) -> None:
    """TLS 1.3 has three suites, which the library offers all of, or none."""
    names = _split(text)
    if not names:
        return
    key = "ssl.cipher.suites"
    for name in names:
        if name not in TLS13 and name not in TLS12:
            raise StoreError(key, f"{name} is unknown", f"suites such as {next(iter(TLS12))}")
    older = [TLS12[name] for name in names if name in TLS12]
    newest = ssl.TLSVersion.TLSv1_3
    if not older:
        context.minimum_version = newest
    elif len(older) == len(names) and context.maximum_version is newest:
        context.maximum_version = ssl.TLSVersion.TLSv1_2
    if context.minimum_version > context.maximum_version:
        raise StoreError(key, "no version of ssl.enabled.protocols has these", "suites of one")
    if older:
        context.set_ciphers(":".join(older))


def _split(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]
