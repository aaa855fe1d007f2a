"""The controller's decisions on leaders, in-sync sets and replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import (
    BrokerChanged,
    ConfigsChanged,
    PartitionState,
    TopicCreated,
)
from mockbroker.metadata.elections import Election
from mockbroker.metadata.replication_control import ReplicationControl
from mockbroker.metadata.store import RESOURCE_TOPIC, MetadataStore
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    pass

TOPIC_ID = b"t".ljust(16, b"\1")


class Controller:
    """Four brokers and one topic `t`."""

    def __init__(self, *states: PartitionState, **configs: str) -> None:
        self.store = MetadataStore("cluster", BrokerConfig({}))
        for node in (1, 2, 3, 4):
            self.store.apply(BrokerChanged(BrokerInfo(node)))
        texts = {name.replace("_", "."): value for name, value in configs.items()}
        self.store.apply(TopicCreated("t", TOPIC_ID, states, texts))
        self.control = ReplicationControl(self.store)

    def state(self, index: int = 0) -> PartitionState:
        return self.store.topics["t"].partitions[index]

    def propose(self, node: int, isr: list[int], epochs: tuple[int, int] | None = None) -> int:
        leader_epoch, partition_epoch = epochs or (
            self.state().leader_epoch,
            self.state().partition_epoch,
        )
        return self.control.alter_partition(node, TOPIC_ID, 0, leader_epoch, partition_epoch, isr)


@pytest.fixture
def controller() -> Controller:
    return Controller(PartitionState(1, [1, 2, 3], [1, 2, 3], 5, 7))


def test_a_fenced_broker_leads_nothing_and_is_nowhere_in_sync(controller: Controller) -> None:
    controller.control.fence(1)
    assert (controller.state().leader, controller.state().isr) == (2, [2, 3])
    controller.control.fence(1)
    assert controller.state().leader_epoch == 6


def test_what_a_change_brought_about_elsewhere_is_what_the_next_one_goes_on_from() -> None:
    """The log beside the groups' goes where that goes, once."""
    store = MetadataStore("cluster", BrokerConfig({"coop.extension.enable": "true"}))
    for node in (1, 2, 3):
        store.apply(BrokerChanged(BrokerInfo(node)))
    names = ("__consumer_offsets", "__individual_commit_offsets")
    for name, replicas in zip(names, ([1, 2, 3], [1, 3, 2]), strict=True):
        state = PartitionState(1, replicas, replicas)
        store.apply(TopicCreated(name, name[-16:].encode(), [state], {}))
    ReplicationControl(store).fence(1)
    groups, beside = (store.topics[name].partitions[0] for name in names)
    assert (groups.leader, groups.leader_epoch) == (2, 1)
    assert (beside.leader, beside.leader_epoch, beside.isr) == (2, 1, [3, 2])


def test_a_broker_that_is_back_leads_what_nobody_could() -> None:
    controller = Controller(PartitionState(1, [1], [1]))
    controller.control.fence(1)
    assert controller.state().leader == -1
    controller.control.unfence(1)
    assert (controller.state().leader, controller.state().leader_epoch) == (1, 2)


def test_a_broker_that_is_forgotten_stays_assigned_and_may_not_join(
    controller: Controller,
) -> None:
    assert controller.control.unregister(1).error == ErrorCode.NONE
    assert (controller.state().leader, controller.state().isr) == (2, [2, 3])
    assert controller.state().replicas == [1, 2, 3]
    assert controller.control.unregister(1).error == ErrorCode.BROKER_ID_NOT_REGISTERED
    assert controller.propose(2, [2, 3, 1]) == ErrorCode.INELIGIBLE_REPLICA
    # Nor does it come back by what it says later.
    for say in (
        controller.control.fence,
        controller.control.unfence,
        controller.control.begin_shutdown,
    ):
        say(1)
        assert 1 not in controller.store.brokers


def test_a_broker_that_shuts_down_is_still_shown(controller: Controller) -> None:
    controller.control.begin_shutdown(1)
    assert (controller.state().leader, controller.state().isr) == (2, [2, 3])
    assert not controller.store.brokers[1].fenced
    assert controller.propose(2, [2, 3, 1]) == ErrorCode.INELIGIBLE_REPLICA


def test_a_leader_alters_its_in_sync_set(controller: Controller) -> None:
    assert controller.propose(1, [1, 3]) == ErrorCode.NONE
    assert (controller.state().isr, controller.state().partition_epoch) == ([1, 3], 8)
    assert controller.state().leader_epoch == 5


@pytest.mark.parametrize(
    ("node", "isr", "epochs", "error"),
    [
        (2, [1, 2], (5, 7), ErrorCode.INVALID_REQUEST),
        (1, [1, 2], (4, 7), ErrorCode.FENCED_LEADER_EPOCH),
        (1, [1, 2], (6, 7), ErrorCode.NOT_CONTROLLER),
        (1, [1, 2], (5, 6), ErrorCode.INVALID_UPDATE_VERSION),
        (1, [2, 3], (5, 7), ErrorCode.INVALID_REQUEST),
        (1, [1, 4], (5, 7), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_no_leader_may_propose(
    controller: Controller, node: int, isr: list[int], epochs: tuple[int, int], error: ErrorCode
) -> None:
    assert controller.propose(node, isr, epochs) == error
    assert controller.state().partition_epoch == 7


def test_unknown_partitions_cannot_be_altered(controller: Controller) -> None:
    alter = controller.control.alter_partition
    assert alter(1, bytes(16), 0, 5, 7, [1]) == ErrorCode.UNKNOWN_TOPIC_ID
    assert alter(1, TOPIC_ID, 1, 5, 7, [1]) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_elections_by_request(controller: Controller) -> None:
    elect = controller.control.elect
    assert elect("t", 0, Election.PREFERRED).error == ErrorCode.ELECTION_NOT_NEEDED
    assert elect("t", 0, Election.UNCLEAN).error == ErrorCode.ELECTION_NOT_NEEDED
    assert elect("t", 9, Election.PREFERRED).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert elect("x", 0, Election.PREFERRED).error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    controller.control.fence(1)
    assert elect("t", 0, Election.PREFERRED).error == ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE
    controller.control.unfence(1)
    assert controller.propose(2, [2, 3, 1]) == ErrorCode.NONE
    assert elect("t", 0, Election.PREFERRED).error == ErrorCode.NONE
    assert controller.state().leader == 1


def test_an_unclean_election_is_carried_out_when_asked_for() -> None:
    controller = Controller(PartitionState(1, [1, 2], [1]))
    controller.control.fence(1)
    controller.control.fence(2)
    refused = controller.control.elect("t", 0, Election.UNCLEAN)
    assert refused.error == ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE
    controller.control.unfence(2)
    assert controller.state().leader == -1
    assert controller.control.elect("t", 0, Election.UNCLEAN).error == ErrorCode.NONE
    assert (controller.state().leader, controller.state().isr) == (2, [2])


def test_a_topic_may_allow_unclean_elections() -> None:
    controller = Controller(PartitionState(1, [1, 2], [1]), unclean_leader_election_enable="true")
    controller.control.fence(1)
    assert (controller.state().leader, controller.state().isr) == (2, [2])


def test_leaders_go_back_to_the_preferred_replicas() -> None:
    controller = Controller(PartitionState(2, [1, 2], [1, 2]), PartitionState(2, [1, 2], [2]))
    controller.control.balance()
    assert [controller.state(0).leader, controller.state(1).leader] == [1, 2]


def test_a_leader_is_moved_to_a_replica_in_sync(controller: Controller) -> None:
    assert controller.control.move_leader("t", 0, 3) is None
    assert (controller.state().leader, controller.state().leader_epoch) == (3, 6)
    assert controller.control.move_leader("t", 0, 3) is None
    assert controller.state().leader_epoch == 6
    assert "cannot lead t-0" in (controller.control.move_leader("t", 0, 4) or "")
    assert "no topic 'x'" in (controller.control.move_leader("x", 0, 1) or "")
    assert "partitions 0 to 0, not 5" in (controller.control.move_leader("t", 5, 1) or "")


def test_a_follower_is_put_out_of_sync(controller: Controller) -> None:
    assert controller.control.shrink_isr("t", 0, 2) is None
    assert controller.state().isr == [1, 3]
    assert "always in sync" in (controller.control.shrink_isr("t", 0, 1) or "")
    assert "not in the in-sync set" in (controller.control.shrink_isr("t", 0, 2) or "")


def test_replicas_are_reassigned_and_the_change_can_be_taken_back(controller: Controller) -> None:
    reassign = controller.control.reassign
    assert reassign("t", 0, None).error == ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert reassign("t", 0, [4, 2, 3]).error == ErrorCode.NONE
    state = controller.state()
    assert (state.replicas, state.adding, state.removing) == ([4, 2, 3, 1], [4], [1])
    assert [(name, index) for name, index, _ in controller.control.reassignments(None)] == [
        ("t", 0)
    ]
    assert controller.control.reassignments([("t", [1])]) == []
    assert reassign("t", 0, None).error == ErrorCode.NONE
    state = controller.state()
    assert (sorted(state.replicas), state.adding, state.removing) == ([1, 2, 3], [], [])
    assert state.leader == 1


def test_a_second_reassignment_waits_for_who_can_take_over_from_the_first() -> None:
    """One that the first was adding may lead by now: it leaves when others are in sync."""
    controller = Controller(
        PartitionState(3, [3, 2, 1], [3], 5, 7, adding=[3, 2])  # 3 leads by an unclean election
    )
    assert controller.control.reassign("t", 0, [1, 2]).error == ErrorCode.NONE
    state = controller.state()
    assert (state.leader, state.isr, state.replicas) == (3, [3], [1, 2, 3])
    assert (state.adding, state.removing) == ([2], [3])
    assert controller.propose(3, [3, 1, 2]) == ErrorCode.NONE
    state = controller.state()
    assert (state.leader, state.isr, state.replicas) == (1, [1, 2], [1, 2])
    assert (state.adding, state.removing) == ([], [])


def test_a_reassignment_ends_when_the_leader_takes_the_new_replica_in(
    controller: Controller,
) -> None:
    controller.control.reassign("t", 0, [4, 2])
    assert controller.propose(1, [1, 2, 3, 4]) == ErrorCode.NONE
    state = controller.state()
    assert (state.replicas, state.leader, sorted(state.isr)) == ([4, 2], 4, [2, 4])


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ([], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 9], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 1, 2], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ([1, 2], ErrorCode.INVALID_REPLICATION_FACTOR),
    ],
)
def test_targets_that_cannot_be(
    controller: Controller, target: list[int], error: ErrorCode
) -> None:
    refusal = controller.control.reassign("t", 0, target, may_change_factor=False)
    assert refusal.error == error
    assert controller.state().partition_epoch == 7
    unknown = controller.control.reassign("x", 0, [1])
    assert unknown.error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_nobody_is_eligible_beside_an_in_sync_set_that_is_large_enough_by_now() -> None:
    """KIP-966: a lower min.insync.replicas lets the leader commit without those that left."""
    controller = Controller(PartitionState(1, [1, 2, 3], [1], elr=[2, 3]), min_insync_replicas="2")
    lowered = ConfigsChanged(RESOURCE_TOPIC, "t", {"min.insync.replicas": "1"})
    controller.control.review_eligible(lowered)
    assert controller.state().elr == [2, 3]
    controller.store.apply(lowered)
    controller.control.review_eligible(lowered)
    assert (controller.state().leader, controller.state().elr) == (1, [])


def test_a_follower_that_is_fenced_is_in_sync_nowhere(controller: Controller) -> None:
    controller.control.fence(3)
    assert (controller.state().leader, controller.state().isr) == (1, [1, 2])


def test_a_broker_that_is_there_again_has_the_epoch_of_its_registration(
    controller: Controller,
) -> None:
    controller.store.apply(BrokerChanged(controller.store.brokers[2]._replace(epoch=7)))
    controller.control.fence(2)
    controller.control.unfence(2)
    assert controller.store.brokers[2].epoch == 7


@pytest.mark.parametrize(("epoch", "error"), [(6, 107), (7, 0), (-1, 0), (None, 0)])
def test_a_broker_that_registered_anew_since_is_not_taken_into_the_in_sync_set(
    epoch: int | None, error: int
) -> None:
    """KIP-903: what it had then may be lost."""
    controller = Controller(PartitionState(1, [1, 2], [1], 5, 7))
    controller.store.apply(BrokerChanged(controller.store.brokers[2]._replace(epoch=7)))
    told = () if epoch is None else (-1, epoch)
    answer = controller.control.alter_partition(1, TOPIC_ID, 0, 5, 7, [1, 2], told)
    assert answer == error
    assert controller.state().isr == ([1] if error else [1, 2])
