"""The script: some hundred requests, the same for the same seed, good arguments and bad ones."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

from tests.differential.config_steps import alter_configs_steps, list_config_resources_steps
from tests.differential.consumer_group_steps import consumer_group_steps
from tests.differential.feature_steps import feature_steps
from tests.differential.group_steps import group_steps
from tests.differential.log_dir_steps import log_dir_steps
from tests.differential.page_steps import delete_records_steps, describe_topic_partitions_steps
from tests.differential.produce_steps import produce_promise_steps
from tests.differential.quorum_steps import last_steps, quorum_steps
from tests.differential.quota_steps import quota_steps
from tests.differential.record_steps import record_steps
from tests.differential.resource_steps import resource_steps
from tests.differential.telemetry_steps import telemetry_steps
from tests.differential.topic_steps import (
    api_versions_steps,
    configs_steps,
    create_partitions_steps,
    create_steps,
    delete_steps,
    metadata_steps,
)
from tests.differential.txn_steps import txn_steps

if TYPE_CHECKING:
    from tests.differential.steps import Awaited, Step

SEED = 20_240


def make_script(seed: int = SEED) -> list[Step | Awaited]:
    random = Random(seed)
    return [
        *api_versions_steps(),
        *create_steps(),
        *metadata_steps(),
        *configs_steps(),
        *create_partitions_steps(),
        *record_steps(random),
        *produce_promise_steps(),
        *group_steps(random),
        *consumer_group_steps(),
        *txn_steps(),
        *alter_configs_steps(),
        *list_config_resources_steps(),
        *resource_steps(),
        *log_dir_steps(),
        *feature_steps(),
        *quorum_steps(),
        *telemetry_steps(),
        *quota_steps(),
        *describe_topic_partitions_steps(),
        *delete_records_steps(),
        *delete_steps(),
        *last_steps(),
    ]
