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
from mockbroker_protocol.messages.metadata_records import RegisterBrokerRecord
from tests.support.metadata_logs import QuorumCore, records_in
from tests.support.outside_brokers import NODE_ID, start

FOLLOWER: Final = 3
OURS: Final = 1


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


@pytest.mark.parametrize("off_by", [-1, 1])
def test_a_broker_in_another_registration_is_not_eligible(off_by: int) -> None:
    core, epoch = with_topic()
    known = core.cluster.metadata.brokers[FOLLOWER].epoch
    request = proposal(core, epoch, [(NODE_ID, epoch), (FOLLOWER, known + off_by)])
    (data,) = core.observer().call(request, 3, AlterPartitionResponse).topics[0].partitions
    assert data.error_code == 107


def test_who_is_stale_is_refused_as_a_whole() -> None:
    core, epoch = with_topic()
    answer = core.observer().call(proposal(core, epoch - 1, []), 3, AlterPartitionResponse)
    assert (answer.error_code, answer.topics) == (77, [])


def test_one_epoch_of_a_broker_is_told_everywhere() -> None:
    """What a leader outside reads in the log of a broker here is what that names in its fetches.

    A broker outside has the offset of its record, one of this process the number of its start: each
    is held against its own registration, also after a start.
    """
    core = QuorumCore()
    epoch = start(core, core.observer())
    topic = NewTopic("a", -1, -1, [(0, [NODE_ID, OURS])])
    core.act(lambda: core.cluster.controller.create_topics([topic]))
    before = core.cluster.nodes[0].epoch
    core.act(lambda: core.cluster.controls.kill(OURS))
    core.act(lambda: core.cluster.controls.revive(OURS))
    node = core.cluster.nodes[0]
    logged = [
        record
        for record in records_in(core.quorum.log)
        if isinstance(record, RegisterBrokerRecord) and record.broker_id == OURS
    ][-1]
    assert logged.broker_epoch == node.epoch == core.cluster.metadata.brokers[OURS].epoch > before
    state = core.cluster.metadata.topics["a"].partitions[0]
    for named, error in ((before, 107), (node.epoch, 0)):
        request = proposal(core, epoch, [(NODE_ID, epoch), (OURS, named)])
        asked = request.topics[0].partitions[0]
        asked.leader_epoch, asked.partition_epoch = state.leader_epoch, state.partition_epoch
        (data,) = core.observer().call(request, 3, AlterPartitionResponse).topics[0].partitions
        assert (data.error_code, data.isr) == (error, [] if error else [NODE_ID, OURS])
