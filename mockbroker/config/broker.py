"""A broker's effective configs: dynamic ones over static ones over defaults.

Every room reads its limits here, under Kafka's names: `config.int("fetch.max.bytes")`. A value is
parsed at its first look-up and is a plain dict entry from then on, so a look-up is fit for the hot
path and a default broker parses nothing when it starts. `MetadataStore` alone changes the dynamic
configs, through `replace_dynamic`.

Invariant: each entry of the parsed values equals the parse of the text in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol

from mockbroker.config.errors import ConfigError
from mockbroker.config.lookups import ParsedValues, TypedLookups
from mockbroker.config.registry import BROKER

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.config.definition import ConfigDefinition, ConfigValue

# Where this broker's defaults differ from Apache Kafka's: (key, value, why). A client that asks is
# told each as the default.
DIFFERENCES: Final[tuple[tuple[str, str, str], ...]] = (
    ("group.initial.rebalance.delay.ms", "0", "a test's group should start at once"),
    ("group.consumer.assignment.interval.ms", "0", "a test's group should move at once"),
    ("offsets.topic.replication.factor", "1", "one node must be able to hold the topic"),
    ("transaction.state.log.replication.factor", "1", "one node must be able to hold the topic"),
    ("transaction.state.log.min.isr", "1", "one node must be able to write the topic"),
    ("share.coordinator.state.topic.replication.factor", "1", "one node must hold the topic"),
    ("share.coordinator.state.topic.min.isr", "1", "one node must be able to write the topic"),
)
_DEFAULTS: Final = {name: text for name, text, _ in DIFFERENCES}
# What each properties file of Apache Kafka says, as there is no default.
_ALWAYS_SET: Final = {
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "node.id": "1",
}

# Configs that fall back on one another, first one first
# (Kafka: DynamicBrokerConfig.brokerConfigSynonyms).
_FAMILIES: Final[tuple[tuple[str, ...], ...]] = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FAMILY_OF: Final = {name: family for family in _FAMILIES for name in family}

AUTHORIZERS: Final = frozenset(("allow.everyone.if.no.acl.found", "super.users"))
"""Keys of StandardAuthorizer, which reads them when a broker starts: to KafkaConfig they are
somebody's own, which a request may set to anything."""
_LISTENER_PREFIX: Final = "listener.name."
_MECHANISMS: Final = ("plain", "scram-sha-256", "scram-sha-512", "oauthbearer", "gssapi")
_PER_MECHANISM: Final = (
    "connections.max.reauth.ms",
    "sasl.jaas.config",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
    "sasl.oauthbearer.allow.unverified.audience",
    "sasl.oauthbearer.allow.unverified.issuer",
    "sasl.oauthbearer.clock.skew.seconds",
    "sasl.oauthbearer.expected.audience",
    "sasl.oauthbearer.expected.issuer",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms",
    "sasl.oauthbearer.jwks.endpoint.url",
    "sasl.oauthbearer.jwt.validator.class",
    "sasl.oauthbearer.scope.claim.name",
    "sasl.oauthbearer.sub.claim.name",
    "sasl.server.callback.handler.class",
    "sasl.server.max.receive.size",
)
_QUEUED: Final = "queued.max.request.bytes"
_LARGEST_REQUEST: Final = "socket.request.max.bytes"
_PER_CLUSTER_AT_FORMAT: Final = "min.insync.replicas"


class Reconfigurable(Protocol):
    """What follows dynamic configs into files, such as a listener's certificates (Kafka's name)."""

    def validate(self, changed: BrokerConfig) -> None:
        """Raise ConfigError unless it could be as `changed` says."""

    def reconfigure(self) -> None:
        """The configs are others now."""


class TokenKeys(Protocol):
    """The keys that sign tokens for a listener, which the shell reads from where configs say."""

    def text(self) -> str | None:
        """A JSON Web Key Set, as it is now; None: it cannot be read."""

    def missing(self) -> None:
        """A key that a token names is not among them."""


class BrokerConfig(TypedLookups):
    """The configs of one broker. `values` are its static ones: unknown keys and bad values raise.

    `node.id` and `broker.id` follow each other, as in KafkaConfig.
    """

    __slots__ = (
        "_dynamic",
        "_dynamic_default",
        "_static",
        "certificate_principals",
        "reconfigurables",
        "token_keys",
    )

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        super().__init__(self._parse)
        given = dict(values or {})
        for name, text in given.items():
            self.definition(name).parse(text)
        self._static: dict[str, str] = {**_ALWAYS_SET, **given}
        if "node.id" not in given and "broker.id" in given:
            self._static["node.id"] = given["broker.id"]
        self._static["broker.id"] = self._static["node.id"]
        self.reconfigurables: list[Reconfigurable] = []
        """What has read more than texts; the shell puts it there."""
        self.token_keys: dict[str, TokenKeys] = {}
        """By listener; the shell puts them there."""
        self.certificate_principals: dict[str, Callable[[], str | None]] = {}
        """Who one would be, by listener, that shows its certificate there; from the shell too."""
        self._dynamic: dict[str, str] = {}
        # Formatting a 4.4 cluster moves this config to the cluster's defaults, because eligible
        # leader replicas need it there (KIP-966, Kafka: ConfigurationControlManager).
        self._dynamic_default: dict[str, str] = {
            _PER_CLUSTER_AT_FORMAT: given.get(_PER_CLUSTER_AT_FORMAT, "1")
        }
        if _QUEUED in given and 0 < self.int(_QUEUED) < self.int(_LARGEST_REQUEST):
            raise ConfigError(  # Kafka: KafkaConfig.validateValues
                f"requirement failed: {_QUEUED} must be larger or equal to {_LARGEST_REQUEST}"
            )

    @property
    def node_id(self) -> int:
        """The broker's id."""
        return self.int("node.id")

    def hides(self, definition: ConfigDefinition) -> bool:
        """Whether clients do not know the key, which is of an extension that is off."""
        return definition.extension and not self.bool("coop.extension.enable")

    @staticmethod
    def definition(name: str) -> ConfigDefinition:
        """The definition behind a key, also for `listener.name.NAME.KEY`; ConfigError if none."""
        return BROKER.get(name) or BROKER.require(_base_name(name))

    def configured(self, name: str) -> str | None:
        """The text that was set for this key at any level, None when its default is in force."""
        if name in AUTHORIZERS:
            return self._static.get(name)
        text = self._dynamic.get(name)
        if text is None:
            text = self._dynamic_default.get(name)
        return self._static.get(name) if text is None else text

    def text(self, name: str) -> str | None:
        """The text in force."""
        definition = self.definition(name)
        text = self.configured(name)
        return _DEFAULTS.get(name, definition.default) if text is None else text

    def _parse(self, name: str) -> ConfigValue:
        text = self.configured(name)
        return _DEFAULT_VALUES[name] if text is None else self.definition(name).parse(text)

    @staticmethod
    def default(name: str) -> str | None:
        """The text in force where nothing is set; a key of one listener has none."""
        definition = BROKER.get(name)
        return _DEFAULTS.get(name, None if definition is None else definition.default)

    def set_static(self, texts: Mapping[str, str]) -> None:
        """Add what is known once the broker listens: its listeners."""
        self._static.update(texts)
        self._values.clear()

    def levels(self) -> tuple[Mapping[str, str], ...]:
        """What was set, by precedence: on this broker, on all brokers, when it started."""
        return self._dynamic, self._dynamic_default, self._static

    def dynamic(self, *, cluster_default: bool) -> Mapping[str, str]:
        """The dynamic configs of this broker, or those of all brokers."""
        return self._dynamic_default if cluster_default else self._dynamic

    def replace_dynamic(self, texts: Mapping[str, str], *, cluster_default: bool) -> None:
        """Make `texts` the dynamic configs; `MetadataStore` calls this when it applies a change.

        They were validated when the change was decided.
        """
        if cluster_default:
            self._dynamic_default = dict(texts)
        else:
            self._dynamic = dict(texts)
        self._values.clear()
        for each in self.reconfigurables:
            each.reconfigure()

    def with_dynamic(self, texts: Mapping[str, str], *, cluster_default: bool) -> BrokerConfig:
        """As this one would be if `texts` became the dynamic configs of that level."""
        changed = BrokerConfig()
        changed._static = self._static
        own, default = self._dynamic, self._dynamic_default
        changed._dynamic = own if cluster_default else dict(texts)
        changed._dynamic_default = dict(texts) if cluster_default else default
        return changed


def _default_value(name: str) -> ConfigValue:
    definition = BrokerConfig.definition(name)
    return definition.parse(_DEFAULTS.get(name, definition.default))


# Of all brokers of the process: a broker that starts beside others parses what was set for it.
_DEFAULT_VALUES: Final = ParsedValues(_default_value)


def _base_name(name: str) -> str:
    # Kafka: a key may be set for one listener, as listener.name.NAME.KEY, and what is about logins
    # for one mechanism, there or for all listeners: MECHANISM.KEY.
    if name.startswith(_LISTENER_PREFIX) and name.count(".") > 2:
        name = name.split(".", 3)[3]
    mechanism, _, key = name.partition(".")
    return key if mechanism in _MECHANISMS and key in _PER_MECHANISM else name


def synonym_names(name: str) -> tuple[str, ...]:
    """The keys that may stand for this one, itself among them, the first in force first."""
    base = _base_name(name)
    return (name, base) if base != name else _FAMILY_OF.get(name, (name,))
