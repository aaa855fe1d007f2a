"""A broker's effective configs: dynamic ones over static ones over defaults.

Every room reads its limits here, under Kafka's names: `config.int("fetch.max.bytes")`. A value is
parsed at its first look-up and is a plain dict entry from then on, so a look-up is fit for the hot
path and a default broker parses nothing when it starts. `MetadataStore` alone changes the dynamic
configs, through `replace_dynamic`.

Invariant: each entry of the parsed values equals the parse of the text in force.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.lookups import TypedLookups
from mockbroker.config.registry import BROKER

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.config.definition import ConfigDefinition

# Where this broker starts differently from Apache Kafka: (key, value, why). They act like lines of
# a properties file, so a client that asks sees them as static values over Kafka's default.
DIFFERENCES: Final[tuple[tuple[str, str, str], ...]] = (
    ("group.initial.rebalance.delay.ms", "0", "a test's group should start at once"),
    ("group.consumer.assignment.interval.ms", "0", "a test's group should move at once"),
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


class BrokerConfig(TypedLookups):
    """The configs of one broker. `values` are its static ones: unknown keys and bad values raise.

    `node.id` and `broker.id` follow each other, as in KafkaConfig.
    """

    __slots__ = ("_dynamic", "_dynamic_default", "_static")

    def __init__(self, values: Mapping[str, str] | None = None) -> None:
        super().__init__(lambda name: self.definition(name).parse(self.text(name)))
        given = dict(values or {})
        for name, text in given.items():
            self.definition(name).parse(text)
        self._static: dict[str, str] = {name: text for name, text, _ in DIFFERENCES}
        self._static.update(given)
        if "node.id" not in given and "broker.id" in given:
            self._static["node.id"] = given["broker.id"]
        self._static["broker.id"] = self._static["node.id"]
        self._dynamic: dict[str, str] = {}
        # Formatting a 4.4 cluster moves this config to the cluster's defaults, because eligible
        # leader replicas need it there (KIP-966, Kafka: ConfigurationControlManager).
        self._dynamic_default: dict[str, str] = {
            _PER_CLUSTER_AT_FORMAT: given.get(_PER_CLUSTER_AT_FORMAT, "1")
        }

    @property
    def node_id(self) -> int:
        """The broker's id."""
        return self.int("node.id")

    @staticmethod
    def definition(name: str) -> ConfigDefinition:
        """The definition behind a key, also for `listener.name.NAME.KEY`; ConfigError if none."""
        return BROKER.get(name) or BROKER.require(_base_name(name))

    def configured(self, name: str) -> str | None:
        """The text that was set for this key at any level, None when its default is in force."""
        text = self._dynamic.get(name)
        if text is None:
            text = self._dynamic_default.get(name)
        return self._static.get(name) if text is None else text

    def text(self, name: str) -> str | None:
        """The text in force."""
        text = self.configured(name)
        return self.definition(name).default if text is None else text

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


def _base_name(name: str) -> str:
    # Kafka: a key may be set for one listener, as listener.name.NAME.KEY.
    return (
        name.split(".", 3)[3] if name.startswith(_LISTENER_PREFIX) and name.count(".") > 2 else name
    )


def synonym_names(name: str) -> tuple[str, ...]:
    """The keys that may stand for this one, itself among them, the first in force first."""
    base = _base_name(name)
    return (name, base) if base != name else _FAMILY_OF.get(name, (name,))
