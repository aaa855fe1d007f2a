"""What may change on a running broker, and how far (Kafka: DynamicBrokerConfig.validate).

The controller asks before it changes the configs of one broker or of all. The texts of the errors
are Apache Kafka's, and so is the order of the checks, because the first that fails is told.
Keys that no definition knows are kept for plug-ins, unchecked.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.broker import AUTHORIZERS, BrokerConfig
from mockbroker.config.definition import ConfigType
from mockbroker.config.errors import ConfigError
from mockbroker.config.listeners import security_protocol
from mockbroker.config.registry import BROKER
from mockbroker.config.security_protocol import PROTOCOL_MAP, SecurityProtocol, parse_protocol_map

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
# Configs of a listener that may be set for all brokers, and those that one that is open follows.
_CLUSTER_LEVEL: Final = frozenset(
    {"max.connections", "max.connection.creation.rate", "num.network.threads"}
)
_MAP: Final = f"configuration property '{PROTOCOL_MAP}'"
_BUILDER: Final = "principal.builder.class"
_BUILDERS: Final = ("org.apache.kafka.common.security.authenticator.DefaultKafkaPrincipalBuilder",)
_KNOWN_PACKAGES: Final = ("java.", "javax.", "org.apache.kafka.")
"""Where a broker would find a class; what else one has on its path is not known here."""
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
            if name not in AUTHORIZERS
            and (known := BROKER.get(name)) is not None
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
        definition = BROKER.get(_without_listener(name))
        if definition is not None and definition.dynamic and not config.hides(definition):
            _check_value(definition, text)
    if cluster_default:
        _refuse(
            filter(_is_per_broker, texts),
            "Cannot update these configs at default cluster level, broker id must be specified",
        )
    _check_times(texts)
    if PROTOCOL_MAP in texts:
        _check_protocol_map(config, texts[PROTOCOL_MAP])
    if _BUILDER in texts and texts[_BUILDER].strip() not in _BUILDERS:
        raise ConfigError(f"requirement failed: {_BUILDER} must implement KafkaPrincipalSerde")
    listeners = [entry.partition("://")[0] for entry in config.list("listeners")]
    for name, text in texts.items():
        _check_open_listener(listeners, name, text)
    changed = config.with_dynamic(texts, cluster_default=cluster_default)
    for each in config.reconfigurables:
        each.validate(changed)
    _check_threads(config, texts, cluster_default=cluster_default)
    if any(
        config.configured(name) != changed.configured(name)
        for name in {*config.dynamic(cluster_default=cluster_default), *texts}
        if _is_of_listeners(name)
    ):
        for listener in listeners:
            _check_unchanged(config, changed, listener)


def invalid(problem: str) -> ConfigError:
    """What is told of configs that do not go together (Kafka: DynamicBrokerConfig.validate)."""
    return ConfigError(
        f"Invalid value org.apache.kafka.common.config.ConfigException: {problem}"
        " for configuration Invalid dynamic configuration"
    )


def _without_listener(name: str) -> str:
    """A key without the listener that it is for."""
    if name.startswith(_LISTENER_PREFIX) and name.count(".") > 2:
        return name.split(".", 3)[3]
    return name


def _check_value(definition: ConfigDefinition, text: str) -> None:
    """Raise ConfigError unless the key may have this value."""
    definition.parse(text)
    if definition.type is ConfigType.CLASS and not text.strip().startswith(_KNOWN_PACKAGES):
        raise ConfigError(
            f"Invalid value {text} for configuration {definition.name}: Class {text.strip()} could "
            "not be found."
        )


def _check_protocol_map(config: BrokerConfig, text: str) -> None:
    """Each listener has a protocol (Kafka: AbstractKafkaConfig.listeners)."""
    for entry in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = entry.rpartition(":")
        if not colon:
            raise ConfigError(f"Error parsing {_MAP}: begin 0, end -1, length {len(entry)}")
        if protocol.strip().upper() not in SecurityProtocol.__members__:
            raise ConfigError(
                f"Invalid security protocol `{protocol.strip()}` defined in {PROTOCOL_MAP}"
            )
    protocols = parse_protocol_map(text)
    listeners = config.list("listeners")
    for entry in listeners:
        name = entry.partition("://")[0]
        if name not in protocols:
            raise ConfigError(
                f"Error creating broker listeners from '[{', '.join(listeners)}]': No security "
                f"protocol defined for listener {name}"
            )


def _check_open_listener(listeners: Iterable[str], name: str, text: str) -> None:
    """A key of a listener that is open has a value that does, also of one of its mechanisms.

    Kafka: DynamicBrokerConfig.processListenerReconfigurable, by
    AbstractConfig.valuesWithPrefixOverride. Keys of others are looked at when they are opened.
    """
    if not any(name.startswith(f"{_LISTENER_PREFIX}{each.lower()}.") for each in listeners):
        return
    key = _without_listener(name)
    definition = BROKER.get(key) or BROKER.get(key.partition(".")[2])
    if definition is not None and definition.name not in AUTHORIZERS:
        try:
            _check_value(definition, text)
        except ConfigError as error:
            raise invalid(str(error)) from None


def _is_of_listeners(name: str) -> bool:
    """Whether a change of the key has a broker look at its listeners.

    Kafka: DynamicListenerConfig.ReconfigurableConfigs, of which a listener's own are none.
    """
    known = BROKER.get(name)
    if known is None or not known.dynamic:
        return False
    return name in _CLUSTER_LEVEL or name in _PER_BROKER or name.startswith(("ssl.", "sasl."))


def _check_unchanged(config: BrokerConfig, changed: BrokerConfig, listener: str) -> None:
    """A listener that is open stays as it is (Kafka: DynamicListenerConfig)."""
    prefix = f"{_LISTENER_PREFIX}{listener.lower()}."
    names = {name for each in (config, changed) for level in each.levels() for name in level}
    if any(
        config.configured(name) != changed.configured(name)
        for name in names
        if name.startswith(prefix)
        and name.removeprefix(prefix) not in STORES
        and name.removeprefix(prefix) not in _CLUSTER_LEVEL
    ):
        raise invalid(
            f"Configs cannot be updated dynamically for existing listener ListenerName({listener}),"
            " restart broker or create a new listener for update"
        )
    if security_protocol(changed, listener) != security_protocol(config, listener):
        raise invalid(
            f"Security protocol cannot be updated for existing listener ListenerName({listener})"
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
