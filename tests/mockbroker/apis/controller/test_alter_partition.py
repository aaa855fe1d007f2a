from __future__ import annotations

from typing import Final

import pytest

from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.messages.controller_apis import (
    AlterPartitionRequest,
    AlterPartitionRequestBrokerState,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
)
from tests.support.metadata_logs import QuorumCore
from tests.support.outside_brokers import NODE_ID, start

FOLLOWER: Final = 3


def with_topic() -> tuple[QuorumCore, int]:
    """Two brokers outside have a partition; and the epoch of the one that leads."""
    core = QuorumCore()
    epoch = start(core, core.observer())
    start(core, core.observer(), FOLLOWER)
    topic = NewTopic("a", -1, -1, [(0, [NODE_ID, FOLLOWER])])
    core.act(lambda: core.cluster.controller.create_topics([topic]))
    return core, epoch


def proposal(core: QuorumCore, epoch: int, isr: list[tuple[int, int]]) -> AlterPartitionRequest:
    asked = AlterPartitionRequestPartitionData(0, 0, partition_epoch=0)
    asked.new_isr_with_epochs = [AlterPartitionRequestBrokerState(*one) for one in isr]
    topic = AlterPartitionRequestTopicData(core.cluster.metadata.topics["a"].id, [asked])
    return AlterPartitionRequest(NODE_ID, epoch, [topic])


def test_a_smaller_in_sync_set_is_taken_over() -> None:
    core, epoch = with_topic()
    answer = core.observer().call(
        proposal(core, epoch, [(NODE_ID, epoch)]), 3, AlterPartitionResponse
    )
    (data,) = answer.topics[0].partitions
    assert (data.error_code, data.leader_id, data.isr) == (0, NODE_ID, [NODE_ID])
    assert (data.leader_epoch, data.partition_epoch) == (0, 1)


def test_version_2_names_brokers_without_epochs() -> None:
    core, epoch = with_topic()
    request = proposal(core, epoch, [])
    request.topics[0].partitions[0].new_isr = [NODE_ID]
    (data,) = core.observer().call(request, 2, AlterPartitionResponse).topics[0].partitions
    assert (data.error_code, data.isr) == (0, [NODE_ID])


@pytest.mark.parametrize("stale", [0, 1])
def test_a_stale_broker_is_not_eligible(stale: int) -> None:
    core, epoch = with_topic()
    request = proposal(core, epoch, [(NODE_ID, epoch), (FOLLOWER, stale)])
    (data,) = core.observer().call(request, 3, AlterPartitionResponse).topics[0].partitions
    assert data.error_code == 107


def test_who_is_stale_is_refused_as_a_whole() -> None:
    core, epoch = with_topic()
    answer = core.observer().call(proposal(core, epoch - 1, []), 3, AlterPartitionResponse)
    assert (answer.error_code, answer.topics) == (77, [])
