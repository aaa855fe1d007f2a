"""How configs of resources change by request (Kafka: ConfigurationControlManager).

`Controller.alter_configs` calls this, for both AlterConfigs and IncrementalAlterConfigs; it is
imported with the first such request. Kafka's broker looks at a request before its controller does
(ConfigAdminManager), so there are two rows of checks, told apart below.

Invariant: a resource is changed whole or not at all, whatever becomes of the others.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum
from typing import TYPE_CHECKING, Final

from mockbroker.config import client_metrics
from mockbroker.config.definition import ConfigType
from mockbroker.config.dynamic import check_dynamic, find_definition
from mockbroker.config.errors import ConfigError, InvalidRequestError
from mockbroker.config.group import GroupConfig
from mockbroker.config.registry import TOPIC
from mockbroker.config.topic import TopicConfig
from mockbroker.metadata.changes import ConfigsChanged
from mockbroker.metadata.names import invalid_topic_name
from mockbroker.metadata.store import (
    RESOURCE_BROKER,
    RESOURCE_BROKER_LOGGER,
    RESOURCE_CLIENT_METRICS,
    RESOURCE_GROUP,
    RESOURCE_TOPIC,
)
from mockbroker.metadata.topic_requests import ACCEPTED, Refusal, invalid_request
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mockbroker.config.definition import ConfigDefinition
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.metadata.topic_requests import ConfigAlteration


class AlterOperation(IntEnum):
    """What to do with one config (Kafka: AlterConfigOp.OpType)."""

    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


_OPERATIONS: Final = frozenset(AlterOperation)
_MIN_IN_SYNC: Final = "min.insync.replicas"
_LOG_LEVELS: Final = ("DEBUG", "ERROR", "FATAL", "INFO", "TRACE", "WARN")
_DECIDED_BY_BROKER: Final = (RESOURCE_BROKER, RESOURCE_BROKER_LOGGER)
_DECIDED_BY_CONTROLLER: Final = (RESOURCE_TOPIC, RESOURCE_CLIENT_METRICS, RESOURCE_GROUP)


def alter_configs(
    store: MetadataStore,
    alterations: Sequence[ConfigAlteration],
    *,
    validate_only: bool,
    controller: MetadataStore | None = None,
) -> list[Refusal]:
    """Carry out each alteration that passes; one answer each, in their order.

    `store` is what the broker that was asked knows; `controller`, if given, is what the controller
    does: that decides (Kafka: ConfigurationControlManager), the broker may have heard of less.
    """
    controller = controller or store
    named = Counter((each.resource_type, each.name) for each in alterations)
    answers: list[Refusal] = []
    for each in alterations:
        if named[each.resource_type, each.name] > 1:
            answers.append(invalid_request("Each resource must appear at most once."))
            continue
        of_broker = each.resource_type in _DECIDED_BY_BROKER
        decided = _preprocess(store, each) or _decide(store if of_broker else controller, each)
        if isinstance(decided, Refusal):
            answers.append(decided)
            continue
        if not validate_only:
            controller.apply(ConfigsChanged(each.resource_type, each.name, decided))
        answers.append(ACCEPTED)
    return answers


# -- what Kafka's broker checks ------------------------------------------------------------


def _preprocess(store: MetadataStore, alteration: ConfigAlteration) -> Refusal | None:
    keys = [key for key, _, _ in alteration.changes]
    if len(set(keys)) < len(keys):
        return invalid_request("Error due to duplicate config keys")
    nulls = [
        key
        for key, operation, value in alteration.changes
        if value is None and operation != AlterOperation.DELETE
    ]
    if nulls:
        return invalid_request(f"Null value not supported for : {', '.join(nulls)}")
    kind = alteration.resource_type
    if kind == RESOURCE_BROKER:
        return _preprocess_broker(store, alteration)
    if kind == RESOURCE_BROKER_LOGGER and not alteration.replace:
        return _preprocess_loggers(store, alteration)
    return (
        None if kind in _DECIDED_BY_CONTROLLER else invalid_request(f"Unknown resource type {kind}")
    )


def _preprocess_loggers(store: MetadataStore, alteration: ConfigAlteration) -> Refusal | None:
    """Kafka: ConfigAdminManager, RuntimeLoggerManager.validateLogLevelConfigs."""
    name = alteration.name
    if not _is_number(name):
        return invalid_request(f"Node id must be an integer, but it is: {name}")
    if int(name) != store.config.node_id:
        return invalid_request(
            f"Unexpected node id. Expected {store.config.node_id}, but received {name}"
        )
    for logger, operation, level in alteration.changes:
        if operation not in (AlterOperation.SET, AlterOperation.DELETE):
            known = operation in _OPERATIONS
            verb = (
                AlterOperation(operation).name if known else f"Unknown operation type {operation}"
            )
            suffix = " operation" if known else ""
            return invalid_request(f"{verb}{suffix} is not allowed for the BROKER_LOGGER resource")
        if logger not in store.log_levels:
            return _bad_config(f"Logger {logger} does not exist!")
        if operation == AlterOperation.DELETE:
            return invalid_request(f"Removing the log level of the {logger} logger is not allowed")
        if level not in _LOG_LEVELS:
            return _bad_config(
                f"Cannot set the log level of {logger} to {level} as it is not a supported log "
                f"level. Valid log levels are {', '.join(_LOG_LEVELS)}"
            )
    return None


def _is_number(name: str) -> bool:
    digits = name.removeprefix("-")
    return digits.isascii() and digits.isdigit()


def _preprocess_broker(store: MetadataStore, alteration: ConfigAlteration) -> Refusal | None:
    name = alteration.name
    if name and not _is_number(name):
        return invalid_request(f"Node id must be an integer, but it is: {name}")
    if name and int(name) != store.config.node_id:
        return invalid_request(
            f"Unexpected broker id, expected {store.config.node_id}, but received {name}"
        )
    for _, operation, _ in alteration.changes:
        if operation not in _OPERATIONS:
            return invalid_request(f"Unknown operations type {operation}")
    for key, operation, _ in alteration.changes:
        if operation in (AlterOperation.APPEND, AlterOperation.SUBTRACT):
            definition = find_definition(key, store.config)
            if definition is None:
                return _bad_config(f"Unknown config name: {key}")
            if definition.type is not ConfigType.LIST:
                verb = AlterOperation(operation).name.lower()
                return _bad_config(f"Config value {verb} is not allowed for config key: {key}")
    current = store.config.dynamic(cluster_default=not name)
    try:
        check_dynamic(store.config, _altered(current, alteration), cluster_default=not name)
    except ConfigError as error:
        return invalid_request(str(error))
    return None


# -- what Kafka's controller decides -------------------------------------------------------


def _decide(store: MetadataStore, alteration: ConfigAlteration) -> Refusal | dict[str, str]:
    """The new configs of the resource."""
    kind = alteration.resource_type
    if kind == RESOURCE_BROKER:
        return _decide_broker(store, alteration)
    if kind == RESOURCE_BROKER_LOGGER:
        return _altered(store.log_levels, alteration)
    for key, operation, _ in alteration.changes:
        if operation not in _OPERATIONS:
            # Kafka: the operation is null there, and its exception has no text.
            return Refusal(ErrorCode.UNKNOWN_SERVER_ERROR)
        if operation in (AlterOperation.APPEND, AlterOperation.SUBTRACT):
            # Kafka's controller knows the types of topics' configs only.
            definition = TOPIC.get(key) if kind == RESOURCE_TOPIC else None
            if definition is None or definition.type is not ConfigType.LIST:
                verb = AlterOperation(operation).name
                return _bad_config(f"Can't {verb} to key {key} because its type is not LIST.")
    if kind != RESOURCE_TOPIC:
        return _decide_named(store, alteration)
    name = alteration.name
    topic = store.topics.get(name)
    configs = _altered({} if topic is None else topic.configs, alteration)
    if not name:
        return invalid_request("Default topic resources are not allowed.")
    invalid = invalid_topic_name(name)
    if invalid is not None:
        return Refusal(ErrorCode.INVALID_TOPIC_EXCEPTION, invalid)
    try:
        TopicConfig(configs, store.config).validate()
    except ConfigError as error:
        return _bad_config(str(error))
    if topic is None:
        message = f"The topic '{name}' does not exist."
        return Refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, message)
    return configs


def _decide_named(store: MetadataStore, alteration: ConfigAlteration) -> Refusal | dict[str, str]:
    """Groups and subscriptions to clients' metrics, which need not exist."""
    kind, name = alteration.resource_type, alteration.name
    configs = _altered(store.resource_configs[kind].get(name, {}), alteration)
    try:
        if kind == RESOURCE_CLIENT_METRICS:
            client_metrics.validate(name, configs)
        elif not name:
            return invalid_request("Default group resources are not allowed.")
        else:
            GroupConfig(configs, store.config).validate()
    except InvalidRequestError as error:
        return invalid_request(str(error))
    except ConfigError as error:
        return _bad_config(str(error))
    return configs


def _decide_broker(store: MetadataStore, alteration: ConfigAlteration) -> Refusal | dict[str, str]:
    current = store.config.dynamic(cluster_default=not alteration.name)
    configs = _altered(current, alteration)
    # KIP-966: eligible leader replicas need one minimum for the whole cluster.
    if alteration.name and any(key == _MIN_IN_SYNC for key, _, _ in alteration.changes):
        return _bad_config(f"Broker-level {_MIN_IN_SYNC} cannot be altered while ELR is enabled.")
    if not alteration.name and _MIN_IN_SYNC not in configs:
        return _bad_config(f"Cluster-level {_MIN_IN_SYNC} cannot be removed while ELR is enabled.")
    return configs


def _altered(current: Mapping[str, str], alteration: ConfigAlteration) -> dict[str, str]:
    """The configs with the changes made; lists start from the definition's default."""
    configs = {} if alteration.replace else dict(current)
    find = find_definition if alteration.resource_type == RESOURCE_BROKER else TOPIC.get
    for key, operation, value in alteration.changes:
        if operation == AlterOperation.DELETE or value is None:
            configs.pop(key, None)
        elif operation == AlterOperation.SET:
            configs[key] = value
        else:
            parts = _old_parts(configs.get(key), find(key))
            for part in _split(value):
                if operation == AlterOperation.APPEND:
                    if part not in parts:
                        parts.append(part)
                elif part in parts:
                    parts.remove(part)
            configs[key] = ",".join(parts)
    return configs


def _old_parts(text: str | None, definition: ConfigDefinition | None) -> list[str]:
    if text is None and definition is not None:
        text = definition.default
    return [part for part in (text or "").split(",") if part]


def _split(text: str) -> list[str]:
    """As Java splits: nothing between commas at the end does not count."""
    trimmed = text.rstrip(",")
    return trimmed.split(",") if trimmed or not text else []


def _bad_config(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_CONFIG, message)
