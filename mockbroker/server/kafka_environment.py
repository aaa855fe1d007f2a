"""The variables of Apache Kafka's image, for who swaps that image for ours.

`cli.serve` asks `translate` when --kafka-env is given or MOCKBROKER_KAFKA_ENV is true, as in our
image; else no KAFKA_ variable is looked at, so what a developer's shell holds surprises nobody. Any
KAFKA_<BROKER_CONFIG> is a broker config: `_` stands for a dot, `__` for `_`, `___` for `-` (Kafka:
KafkaDockerWrapper.getServerConfigsFromEnv).

A value that cannot be used raises SettingsError with the variable's name; a variable that names
nothing is listed in `ignored`, to be warned of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.server.values import SettingsError

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIX: Final = "KAFKA_"
CLUSTER_ID: Final = "CLUSTER_ID"
_PROCESS_ROLES: Final = "KAFKA_PROCESS_ROLES"

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

    `configs` are broker configs as (variable, key, text); `ignored` names of variables.
    """

    __slots__ = ("cluster_id", "configs", "ignored")

    def __init__(self) -> None:
        self.configs: list[tuple[str, str, str]] = []
        self.cluster_id: str | None = None
        self.ignored: list[str] = []


def translate(environment: Mapping[str, str]) -> KafkaEnvironment:
    """Read Kafka's variables; an empty one is as none. Raises SettingsError."""
    given = {name: text for name, text in environment.items() if text.strip()}
    found = KafkaEnvironment()
    found.cluster_id = given.get(CLUSTER_ID)
    _check_roles(given)
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.config.errors import ConfigError

    for variable in sorted(given):
        if not variable.startswith(PREFIX) or variable in _OF_THE_IMAGE:
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
    roles = [role.strip() for role in given.get(_PROCESS_ROLES, "broker").split(",")]
    if "broker" not in roles:
        problem = f"{','.join(roles)}: a controller alone has no clients to serve"
        raise SettingsError(_PROCESS_ROLES, problem, "broker or broker,controller")
