"""Topics by name, and changing one. Called by `admin`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.store import RESOURCE_TOPIC
from mockbroker.metadata.topic_requests import ConfigAlteration, NewPartitions
from mockbroker.state.writing import TopicError
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.topic_requests import Refusal

_SET, _DELETE = 0, 1


def names(cluster: Cluster, *, internal: bool) -> list[str]:
    """Topics by name, those of the coordinators too when `internal`."""
    topics = cluster.metadata.topics
    return sorted(name for name, topic in topics.items() if internal or not topic.internal)


def alter(
    cluster: Cluster, name: str, count: int | None, configs: Mapping[str, str | None]
) -> None:
    """Let a topic grow to `count` partitions, and set its configs; None takes one back.

    All of it or nothing. Raises TopicError.
    """
    controller = cluster.controller
    changes = [
        (key, _DELETE if value is None else _SET, value) for key, value in sorted(configs.items())
    ]
    alterations = [ConfigAlteration(RESOURCE_TOPIC, name, changes)] if changes else []
    growth = [] if count is None else [NewPartitions(name, count)]
    for dry in (True, False):
        refusals: list[Refusal] = controller.alter_configs(alterations, validate_only=dry)
        refusals += [
            refusal for _, refusal in controller.create_partitions(growth, validate_only=dry)
        ]
        for refusal in refusals:
            if refusal.error is not ErrorCode.NONE:
                raise TopicError(f"topic {name}: {refusal.message or refusal.error.name}")
