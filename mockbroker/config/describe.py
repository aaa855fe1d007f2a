"""Configs as clients are shown them: the rows of DescribeConfigs and CreateTopics.

The handlers of those APIs ask; what is in force is `config.broker`'s and `config.topic`'s to say.
Nothing here is needed to start a broker, so it is imported with the first such request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config import client_metrics
from mockbroker.config.broker import synonym_names
from mockbroker.config.definition import ConfigType, format_value
from mockbroker.config.dynamic import find_definition
from mockbroker.config.errors import ConfigError
from mockbroker.config.registry import BROKER, GROUP, TOPIC
from mockbroker.config.rows import ConfigRow, ConfigSource, ConfigSynonym

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.definition import ConfigDefinition
    from mockbroker.config.group import GroupConfig
    from mockbroker.config.topic import TopicConfig

# The sources of `BrokerConfig.levels`.
_LEVEL_SOURCES: Final = (
    ConfigSource.DYNAMIC_BROKER_CONFIG,
    ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG,
    ConfigSource.STATIC_BROKER_CONFIG,
)


def describe_broker(config: BrokerConfig) -> Iterator[ConfigRow]:
    """All rows of a broker; an internal key is left out unless it is set, or the extension's."""
    listed = {
        definition.name
        for definition in BROKER
        if not definition.internal or (definition.extension and not config.hides(definition))
    }
    unlisted = {name: None for level in config.levels() for name in level if name not in listed}
    for name in (*sorted(listed), *unlisted):
        yield broker_row(config, name)


def describe_cluster_default(config: BrokerConfig) -> Iterator[ConfigRow]:
    """The rows of the empty resource name: what is set on all brokers dynamically."""
    source = ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG
    for name in config.dynamic(cluster_default=True):
        row = broker_row(config, name)
        synonyms = tuple(synonym for synonym in row.synonyms if synonym.source is source)
        yield row._replace(source=source, synonyms=synonyms)


def broker_row(config: BrokerConfig, name: str) -> ConfigRow:
    """One row of a broker (Kafka: ConfigHelper.createBrokerConfigEntry)."""
    definition = find_definition(name, config)
    synonyms = broker_synonyms(config, name)
    if definition is None:
        # A plug-in's own key: what it holds is not known, so it is not shown.
        return ConfigRow(name, None, synonyms[0].source, ConfigType.UNKNOWN, True, True, synonyms)
    return ConfigRow(
        name,
        None if definition.sensitive else _shown(config, name),
        synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG,
        definition.type,
        definition.sensitive,
        not definition.dynamic,
        synonyms,
    )


def _shown(config: BrokerConfig, name: str) -> str | None:
    """A value as configs show it; one that a request set and nobody can read, as it was set."""
    try:
        return format_value(config.value(name))
    except ConfigError:
        return config.configured(name)


def broker_synonyms(config: BrokerConfig, name: str) -> tuple[ConfigSynonym, ...]:
    """All that sets a broker's key, by precedence (Kafka: ConfigHelper.configSynonyms).

    What comes before the key's own first entry is dropped, even where it is in force.
    """
    names = synonym_names(name)
    known = find_definition(name, config)
    sensitive = known is None or known.sensitive
    found = [
        ConfigSynonym(each, None if sensitive else text, source)
        for level, source in zip(config.levels(), _LEVEL_SOURCES, strict=True)
        for each in names
        if (text := level.get(each)) is not None
    ]
    for each in names:
        # A key for one listener has no default: it falls back to the key for all.
        default = config.default(each)
        if default is not None:
            text = None if sensitive else default
            found.append(ConfigSynonym(each, text, ConfigSource.DEFAULT_CONFIG))
    for index, synonym in enumerate(found):
        if synonym.name == name:
            return tuple(found[index:])
    return ()


def describe_topic(config: TopicConfig, named: Collection[str] = ()) -> Iterator[ConfigRow]:
    """The rows of a topic (Kafka: ConfigHelper.createTopicConfigEntry).

    Those of the extension are told to who names them: who lists all sees what Apache Kafka lists.
    """
    for name in _listed(config, named):
        synonyms = _topic_synonyms(config, name)
        source = synonyms[0].source if synonyms else ConfigSource.DEFAULT_CONFIG
        yield _topic_row(name, format_value(config.value(name)), source, synonyms)


def describe_group(config: GroupConfig) -> Iterator[ConfigRow]:
    """The rows of a group, known or not (Kafka: ConfigHelper, GroupConfig)."""
    for definition in GROUP:
        name, value = definition.name, config.inherited(definition.name)
        synonyms = _synonyms_behind(config.broker, definition)
        if not synonyms:
            synonyms = (ConfigSynonym(name, value, ConfigSource.DEFAULT_CONFIG),)
        if name in config.overrides:
            value = format_value(config.value(name))
            synonyms = (ConfigSynonym(name, value, ConfigSource.GROUP_CONFIG), *synonyms)
        source = synonyms[0].source
        yield ConfigRow(name, value, source, definition.type, False, False, synonyms)


def describe_client_metrics(configs: Mapping[str, str]) -> Iterator[ConfigRow]:
    """The rows of a subscription to clients' metrics, known or not."""
    for name, definition in client_metrics.DEFINITIONS.items():
        value, source = definition.default, ConfigSource.DEFAULT_CONFIG
        synonyms: tuple[ConfigSynonym, ...] = ()
        if name in configs:
            value, source = configs[name], ConfigSource.CLIENT_METRICS_CONFIG
            synonyms = (ConfigSynonym(name, value, source),)
        yield ConfigRow(name, value, source, definition.type, False, False, synonyms)


def describe_created_topic(config: TopicConfig) -> Iterator[ConfigRow]:
    """The rows of a CreateTopics answer, which look further than those of DescribeConfigs.

    A value that log.retention.hours gives counts as the broker's here, in the topic config's unit
    (Kafka: KafkaConfigSchema.resolveEffectiveTopicConfigs).
    """
    for name in sorted(_listed(config)):
        text = config.overrides.get(name)
        source = ConfigSource.TOPIC_CONFIG
        if text is None:
            text, broker_key = config.inherited(name)
            source = _source(config.broker, broker_key)
        yield _topic_row(name, text, source, ())


def _topic_row(
    name: str, text: str | None, source: ConfigSource, synonyms: tuple[ConfigSynonym, ...]
) -> ConfigRow:
    definition = TOPIC.require(name)
    return ConfigRow(name, text, source, definition.type, definition.sensitive, False, synonyms)


def _listed(config: TopicConfig, named: Collection[str] = ()) -> Iterator[str]:
    for definition in TOPIC:
        name = definition.name
        asked_for = name in named and definition.extension and not config.broker.hides(definition)
        if not definition.internal or name in config.overrides or asked_for:
            yield name


def _topic_synonyms(config: TopicConfig, name: str) -> tuple[ConfigSynonym, ...]:
    found = _synonyms_behind(config.broker, TOPIC.require(name))
    if name in config.overrides:
        own = ConfigSynonym(name, format_value(config.value(name)), ConfigSource.TOPIC_CONFIG)
        return (own, *found)
    return found


def _synonyms_behind(
    broker: BrokerConfig, definition: ConfigDefinition
) -> tuple[ConfigSynonym, ...]:
    return broker_synonyms(broker, definition.behind[0][0]) if definition.behind else ()


def _source(broker: BrokerConfig, key: str | None) -> ConfigSource:
    for level, source in zip(broker.levels(), _LEVEL_SOURCES, strict=True):
        if key in level:
            return source
    return ConfigSource.DEFAULT_CONFIG
