"""A broker's effective configs: dynamic ones over static ones over defaults.

Every room reads its limits here, under Kafka's names: `config.int("fetch.max.bytes")`. A value is
parsed at its first look-up and is a plain dict entry from then on, so a look-up is fit for the hot
path and a default broker parses nothing when it starts. `MetadataStore` alone changes the dynamic
configs, through `replace_dynamic`.

Invariant: each entry of the parsed values equals the parse of the text in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

from mockbroker.config.registry import BROKER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.config.definition import ConfigDefinition, ConfigValue

# Where this broker starts differently from Apache Kafka: (key, value, why). They act like lines of
# a properties file, so a client that asks sees them as static values over Kafka's default.
DIFFERENCES: Final[tuple[tuple[str, str, str], ...]] = (
    ("group.initial.rebalance.delay.ms", "0", "a test's group should start at once"),
    ("offsets.topic.replication.factor", "1", "one node must be able to hold the topic"),
    ("transaction.state.log.replication.factor", "1", "one node must be able to hold the topic"),
    ("transaction.state.log.min.isr", "1", "one node must be able to write the topic"),
    ("share.coordinator.state.topic.replication.factor", "1", "one node must hold the topic"),
    ("share.coordinator.state.topic.min.isr", "1", "one node must be able to write the topic"),
    ("process.roles", "broker,controller", "Apache Kafka has no default; each node is both"),
    ("controller.listener.names", "CONTROLLER", "Apache Kafka has no default"),
    ("node.id", "1", "Apache Kafka has no default"),
)

# Configs that fall back on one another, first one first
# (Kafka: DynamicBrokerConfig.brokerConfigSynonyms).
_FAMILIES: Final[tuple[tuple[str, ...], ...]] = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
_FAMILY_OF: Final = {name: family for family in _FAMILIES for name in family}

_LISTENER_PREFIX: Final = "listener.name."
_PER_CLUSTER_AT_FORMAT: Final = "min.insync.replicas"


# Inside the class below, `int`, `str`, `bool`, `float` and `list` are its look-ups.
_Int: TypeAlias = int
_Bool: TypeAlias = bool
_Float: TypeAlias = float
_Str: TypeAlias = str
_Strs: TypeAlias = tuple[str, ...]
_Texts: TypeAlias = dict[str, str]


class _Parsed(dict[str, Any]):
    """Parsed values; a missing one is parsed from the text in force when it is first read."""

    __slots__ = ("_config",)

    def __init__(self, config: BrokerConfig) -> None:
        super().__init__()
        self._config = config

    def __missing__(self, name: str) -> ConfigValue:
        value = self[name] = self._config.definition(name).parse(self._config.text(name))
        return value


class BrokerConfig:
    """The configs of one broker. `values` are its static ones: unknown keys and bad values raise.

    `node.id` and `broker.id` follow each other, as in KafkaConfig.
    """

    __slots__ = ("_dynamic", "_dynamic_default", "_static", "_values")

    def __init__(self, values: Mapping[_Str, _Str] | None = None) -> None:
        given = dict(values or {})
        for name, text in given.items():
            self.definition(name).parse(text)
        self._static: _Texts = {name: text for name, text, _ in DIFFERENCES}
        self._static.update(given)
        if "node.id" not in given and "broker.id" in given:
            self._static["node.id"] = given["broker.id"]
        self._static["broker.id"] = self._static["node.id"]
        self._dynamic: _Texts = {}
        # Formatting a 4.4 cluster moves this config to the cluster's defaults, because eligible
        # leader replicas need it there (KIP-966, Kafka: ConfigurationControlManager).
        self._dynamic_default: _Texts = {
            _PER_CLUSTER_AT_FORMAT: given.get(_PER_CLUSTER_AT_FORMAT, "1")
        }
        self._values = _Parsed(self)

    def int(self, name: _Str) -> _Int:
        """An INT, SHORT or LONG."""
        value: _Int = self._values[name]
        return value

    def bool(self, name: _Str) -> _Bool:
        """A BOOLEAN."""
        value: _Bool = self._values[name]
        return value

    def float(self, name: _Str) -> _Float:
        """A DOUBLE."""
        value: _Float = self._values[name]
        return value

    def str(self, name: _Str) -> _Str:
        """A STRING or CLASS that has a value; `value` is for those that may be null."""
        value: _Str = self._values[name]
        return value

    def list(self, name: _Str) -> _Strs:
        """A LIST that has a value."""
        value: _Strs = self._values[name]
        return value

    def value(self, name: _Str) -> ConfigValue:
        """Any config; null is None."""
        value: ConfigValue = self._values[name]
        return value

    @property
    def node_id(self) -> _Int:
        """The broker's id."""
        return self.int("node.id")

    @staticmethod
    def definition(name: _Str) -> ConfigDefinition:
        """The definition behind a key, also for `listener.name.NAME.KEY`; ConfigError if none."""
        return BROKER.get(name) or BROKER.require(_base_name(name))

    def configured(self, name: _Str) -> _Str | None:
        """The text that was set for this key at any level, None when its default is in force."""
        text = self._dynamic.get(name)
        if text is None:
            text = self._dynamic_default.get(name)
        return self._static.get(name) if text is None else text

    def text(self, name: _Str) -> _Str | None:
        """The text in force."""
        text = self.configured(name)
        return self.definition(name).default if text is None else text

    def levels(self) -> tuple[Mapping[_Str, _Str], ...]:
        """What was set, by precedence: on this broker, on all brokers, when it started."""
        return self._dynamic, self._dynamic_default, self._static

    def dynamic(self, *, cluster_default: _Bool) -> Mapping[_Str, _Str]:
        """The dynamic configs of this broker, or those of all brokers."""
        return self._dynamic_default if cluster_default else self._dynamic

    def replace_dynamic(self, texts: Mapping[_Str, _Str], *, cluster_default: _Bool) -> None:
        """Make `texts` the dynamic configs; `MetadataStore` calls this when it applies a change.

        They were validated when the change was decided.
        """
        if cluster_default:
            self._dynamic_default = dict(texts)
        else:
            self._dynamic = dict(texts)
        self._values.clear()


def _base_name(name: str) -> str:
    # Kafka: a key may be set for one listener, as listener.name.NAME.KEY.
    return (
        name.split(".", 3)[3] if name.startswith(_LISTENER_PREFIX) and name.count(".") > 2 else name
    )


def synonym_names(name: str) -> tuple[str, ...]:
    """The keys that may stand for this one, itself among them, the first in force first."""
    base = _base_name(name)
    return (name, base) if base != name else _FAMILY_OF.get(name, (name,))
