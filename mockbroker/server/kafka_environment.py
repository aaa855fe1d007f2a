"""The variables of Apache Kafka's image, for who swaps that image for ours.

`cli.serve` asks `translate` when --kafka-env is given or MOCKBROKER_KAFKA_ENV is true, as in our
image; else no KAFKA_ variable is looked at, so what a developer's shell holds surprises nobody. Any
KAFKA_<BROKER_CONFIG> is a broker config: `_` stands for a dot, `__` for `_`, `___` for `-` (Kafka:
KafkaDockerWrapper.getServerConfigsFromEnv). Listeners are plain text only.

A value that cannot be used raises SettingsError with the variable's name; a variable that names
nothing is listed in `ignored`, to be warned of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "KAFKA_"
LISTENERS: Final = "KAFKA_LISTENERS"
ADVERTISED_LISTENERS: Final = "KAFKA_ADVERTISED_LISTENERS"
PROTOCOL_MAP: Final = "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"
CONTROLLER_LISTENER_NAMES: Final = "KAFKA_CONTROLLER_LISTENER_NAMES"
CLUSTER_ID: Final = "CLUSTER_ID"
_PROCESS_ROLES: Final = "KAFKA_PROCESS_ROLES"
_ARE_LISTENERS: Final = (LISTENERS, ADVERTISED_LISTENERS)
_PROTOCOLS: Final = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")

# For the JVM and the scripts of Kafka's image (Kafka: KafkaDockerWrapper.ExcludeServerPropsEnv):
# they say nothing that a broker could do, so nobody needs a warning.
_OF_THE_IMAGE: Final = frozenset(
    PREFIX + name
    for name in (
        "VERSION",
        "HEAP_OPTS",
        "LOG4J_OPTS",
        "OPTS",
        "JMX_OPTS",
        "JMX_HOSTNAME",
        "JMX_PORT",
        "JVM_PERFORMANCE_OPTS",
        "GC_LOG_OPTS",
        "LOG4J_ROOT_LOGLEVEL",
        "LOG4J_LOGGERS",
        "TOOLS_LOG4J_LOGLEVEL",
    )
)


class KafkaEnvironment:
    """What the variables say.

    `configs` are broker configs as (variable, key, text); `listeners` and `advertised_listeners`
    entries NAME://HOST:PORT without those of controllers; `ignored` names of variables.
    """

    __slots__ = ("advertised_listeners", "cluster_id", "configs", "ignored", "listeners")

    def __init__(self) -> None:
        self.configs: list[tuple[str, str, str]] = []
        self.listeners: list[str] = []
        self.advertised_listeners: list[str] = []
        self.cluster_id: str | None = None
        self.ignored: list[str] = []


def translate(environment: Mapping[str, str]) -> KafkaEnvironment:
    """Read Kafka's variables; an empty one is as none. Raises SettingsError."""
    given = {name: text for name, text in environment.items() if text.strip()}
    found = KafkaEnvironment()
    found.cluster_id = given.get(CLUSTER_ID)
    _check_roles(given)
    controllers = _controller_names(given)
    _check_protocols(given, controllers)
    found.listeners = _entries(given, LISTENERS, controllers)
    found.advertised_listeners = _entries(given, ADVERTISED_LISTENERS, controllers)
    if given.get(LISTENERS) and not found.listeners:
        problem = "all of them are listeners of a controller"
        raise SettingsError(LISTENERS, problem, "a listener for clients beside it")
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.errors import ConfigError

    for variable in sorted(given):
        if not variable.startswith(PREFIX) or variable in (*_OF_THE_IMAGE, *_ARE_LISTENERS):
            continue
        key = config_key(variable)
        try:
            BrokerConfig.definition(key)
        except ConfigError:
            found.ignored.append(variable)
        else:
            found.configs.append((variable, key, given[variable].strip()))
    return found


def config_key(variable: str) -> str:
    """The broker config that a variable stands for: KAFKA_NUM_PARTITIONS is num.partitions."""
    name = variable.removeprefix(PREFIX).lower()
    return name.replace("_", ".").replace("...", "-").replace("..", "_")


def _check_roles(given: Mapping[str, str]) -> None:
    roles = _split(given.get(_PROCESS_ROLES, "broker"))
    if "broker" not in roles:
        problem = f"{','.join(roles)}: a controller alone has no clients to serve"
        raise SettingsError(_PROCESS_ROLES, problem, "broker or broker,controller")


def _controller_names(given: Mapping[str, str]) -> set[str]:
    return {name.upper() for name in _split(given.get(CONTROLLER_LISTENER_NAMES, "CONTROLLER"))}


def _check_protocols(given: Mapping[str, str], controllers: set[str]) -> None:
    """Every listener is plain text: say so now, not when the first client hangs."""
    mapped: dict[str, str] = {}
    for entry in _split(given.get(PROTOCOL_MAP, "")):
        name, colon, protocol = (part.strip().upper() for part in entry.partition(":"))
        if not colon or protocol not in _PROTOCOLS:
            raise SettingsError(PROTOCOL_MAP, f"{entry!r} is no entry", "NAME:PLAINTEXT,...")
        mapped[name] = protocol
    names = {_name_of(entry) for entry in _split(given.get(LISTENERS, ""))} - controllers
    for name in sorted(names):
        # Kafka's own default: a listener named as a protocol speaks that protocol.
        protocol = mapped.get(name, name if name in _PROTOCOLS else "PLAINTEXT")
        if protocol != "PLAINTEXT":
            option = PROTOCOL_MAP if name in mapped else LISTENERS
            problem = f"{name} is {protocol}, and this broker speaks neither TLS nor SASL"
            raise SettingsError(option, problem, f"{name}:PLAINTEXT")


def _entries(given: Mapping[str, str], variable: str, controllers: set[str]) -> list[str]:
    return [
        entry for entry in _split(given.get(variable, "")) if _name_of(entry) not in controllers
    ]


def _name_of(entry: str) -> str:
    return entry.partition("://")[0].strip().upper()


def _split(text: str) -> list[str]:
    return [entry.strip() for entry in text.split(",") if entry.strip()]
