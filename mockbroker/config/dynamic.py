"""What may change on a running broker, and how far (Kafka: DynamicBrokerConfig.validate).

The controller asks before it changes the configs of one broker or of all. The texts of the errors
are Apache Kafka's, and so is the order of the checks, because the first that fails is told.
Keys that no definition knows are kept for plug-ins, unchecked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.errors import ConfigError
from mockbroker.config.listeners import security_protocol
from mockbroker.config.registry import BROKER
from mockbroker.config.security_protocol import PROTOCOL_MAP, parse_protocol_map

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from mockbroker.config.definition import ConfigDefinition

_LISTENER_PREFIX: Final = "listener.name."

# Kafka: SslConfigs.RECONFIGURABLE_CONFIGS, which must name a listener.
STORES: Final = frozenset(
    {
        "ssl.key.password",
        "ssl.keystore.certificate.chain",
        "ssl.keystore.key",
        "ssl.keystore.location",
        "ssl.keystore.password",
        "ssl.keystore.type",
        "ssl.truststore.certificates",
        "ssl.truststore.location",
        "ssl.truststore.password",
        "ssl.truststore.type",
    }
)
_PER_BROKER: Final = frozenset(
    {"listeners", "listener.security.protocol.map", "principal.builder.class"}
)
# Configs of a listener that may be set for all brokers.
_CLUSTER_LEVEL: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)
_THREADS: Final = (
    "background.threads",
    "num.io.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
_CLEANER_THREADS: Final = "log.cleaner.threads"
_LEAST_MS: Final = (("log.roll.ms", 1), ("log.roll.jitter.ms", 0), ("log.flush.interval.ms", 0))


def find_definition(name: str, config: BrokerConfig | None = None) -> ConfigDefinition | None:
    """The definition behind a broker's key, None for a key of a plug-in.

    To the clients of a broker without the extension, its keys are a plug-in's too.
    """
    try:
        found = BrokerConfig.definition(name)
    except ConfigError:
        return None
    return None if config is not None and config.hides(found) else found


def check_dynamic(config: BrokerConfig, texts: Mapping[str, str], *, cluster_default: bool) -> None:
    """Raise ConfigError unless `texts` may become the dynamic configs of that level."""
    _refuse(
        (
            name
            for name in texts
            if (known := BROKER.get(name)) is not None
            and not known.dynamic
            and not config.hides(known)
        ),
        "Cannot update these configs dynamically",
    )
    _refuse(
        (name for name in texts if name in STORES),
        "These security configs can be dynamically updated only per-listener using the listener "
        "prefix",
    )
    for name, text in texts.items():
        definition = find_definition(name, config)
        if definition is not None:
            definition.parse(text)
    if cluster_default:
        _refuse(
            filter(_is_per_broker, texts),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    _check_times(texts)
    _check_threads(config, texts, cluster_default=cluster_default)
    if PROTOCOL_MAP in texts:
        _check_protocols(config, texts[PROTOCOL_MAP])
    if config.reconfigurables:
        changed = config.with_dynamic(texts, cluster_default=cluster_default)
        for each in config.reconfigurables:
            each.validate(changed)


def invalid(problem: str) -> ConfigError:
    """What is told of configs that do not go together (Kafka: DynamicBrokerConfig.validate)."""
    return ConfigError(
        f"Invalid value org.apache.kafka.common.config.ConfigException: {problem}"
        " for configuration Invalid dynamic configuration"
    )


def _check_protocols(config: BrokerConfig, text: str) -> None:
    """A listener that is open keeps its protocol (Kafka: DynamicListenerConfig)."""
    protocols = parse_protocol_map(text)
    for entry in config.list("listeners"):
        name = entry.partition("://")[0]
        if protocols.get(name) != security_protocol(config, name):
            raise invalid(
                f"Security protocol cannot be updated for existing listener ListenerName({name})"
            )


def _refuse(names: Iterable[str], why: str) -> None:
    refused = sorted(names)
    if refused:
        raise ConfigError(f"{why}: [{', '.join(refused)}]")


def _is_per_broker(name: str) -> bool:
    if name.startswith(_LISTENER_PREFIX) and name.count(".") > 2:
        return name.split(".", 3)[3] not in _CLUSTER_LEVEL
    known = BROKER.get(name)
    if known is None or not known.dynamic:
        return False
    return name in _PER_BROKER or name.startswith(("ssl.", "sasl."))


def _check_times(texts: Mapping[str, str]) -> None:
    # Kafka: KafkaConfig.validateValues, of what may change at run time.
    # A negative log.flush.interval.ms passes there; topics could not inherit it here.
    for name, least in _LEAST_MS:
        if name in texts and int(texts[name]) < least:
            raise ConfigError(
                f"requirement failed: {name} must be greater than or equal to {least}"
            )
    if "log.retention.ms" in texts and int(texts["log.retention.ms"]) == 0:
        raise ConfigError(
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or "
            "equal to 1"
        )


def _check_threads(
    config: BrokerConfig, texts: Mapping[str, str], *, cluster_default: bool
) -> None:
    """Threads may be doubled or halved at once (Kafka: DynamicThreadPool, LogCleaner)."""
    own, default, static = config.levels()
    layers = (own, texts, static) if cluster_default else (texts, default, static)
    for name in (*_THREADS, _CLEANER_THREADS):
        text = next((layer[name] for layer in layers if name in layer), None)
        new = BROKER.require(name).parse(text) if text is not None else None
        if not isinstance(new, int):
            continue
        old = config.int(name)
        if name == _CLEANER_THREADS:
            problem = _cleaner_problem(old, new)
        else:
            problem = _pool_problem(name, old, new)
        if problem is not None:
            raise invalid(problem)


def _pool_problem(name: str, old: int, new: int) -> str | None:
    failed = f"Dynamic thread count update validation failed for {name}={new}, value should "
    if new < old // 2:
        return f"{failed}be at least half the current value {old}"
    if new > old * 2:
        return f"{failed}not be greater than double the current value {old}"
    return None


def _cleaner_problem(old: int, new: int) -> str | None:
    if new < 1:
        return "Log cleaner threads should be at least 1"
    if new < old // 2:
        return f"Log cleaner threads cannot be reduced to less than half the current value {old}"
    if new > old * 2:
        return (
            f"Log cleaner threads cannot be increased to more than double the current value {old}"
        )
    return None
