"""What coordinators must refuse is listed by what they know at that instant."""

from __future__ import annotations

from mockbroker.coordinator.group.classic_group import ClassicGroup
from mockbroker.coordinator.group.consumer.group import ConsumerGroup
from mockbroker.coordinator.group.consumer.member import ConsumerMember
from mockbroker.coordinator.group.states import GroupState
from mockbroker.coordinator.txn.metadata import TransactionMetadata
from mockbroker.coordinator.txn.states import TransactionState
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.coordinator_refusals import (
    of_classic_group,
    of_consumer_group,
    of_full_group,
    of_transaction,
)
from tests.support.simulated_groups import SimulatedGroup


def test_a_group_without_members_refuses_strangers() -> None:
    told = {one.what: one.wanted for one in of_classic_group(ClassicGroup("g"), "t0")}
    assert told["a heartbeat of a stranger"] == ErrorCode.UNKNOWN_MEMBER_ID
    assert told["a commit of a stranger"] == ErrorCode.UNKNOWN_MEMBER_ID
    assert "the deletion of a group with members" not in told
    told = {one.what: one.wanted for one in of_consumer_group(ConsumerGroup("g"), "t0")}
    assert told["a heartbeat of a stranger"] == ErrorCode.UNKNOWN_MEMBER_ID


def test_what_a_transaction_refuses_goes_by_its_state() -> None:
    known = TransactionMetadata("x", producer_id=7, producer_epoch=5)
    at_rest = {one.what: one.wanted for one in of_transaction(known, "t0")}
    assert at_rest["EndTxn v4 of an older epoch"] == ErrorCode.PRODUCER_FENCED
    assert at_rest["EndTxn v5 of who has begun nothing"] == ErrorCode.INVALID_TXN_STATE
    assert "EndTxn v5 of a retry" not in at_rest
    known.state = TransactionState.COMPLETE_COMMIT
    ended = {one.what: one.wanted for one in of_transaction(known, "t0")}
    assert ended["EndTxn v5 of a retry"] == ErrorCode.NONE
    assert ended["EndTxn v5 of a contrary"] == ErrorCode.INVALID_TXN_STATE
    known.pending_state = TransactionState.ONGOING
    pending = {one.what: one.wanted for one in of_transaction(known, "t0")}
    assert pending["InitProducerId of who must wait"] == ErrorCode.CONCURRENT_TRANSACTIONS
    assert "EndTxn v5 of a retry" not in pending
    assert "the verification of who must wait" not in pending
    known.state, known.pending_state = TransactionState.PREPARE_ABORT, None
    prepared = {one.what: one.wanted for one in of_transaction(known, "t0")}
    assert prepared["the verification of who must wait"] == ErrorCode.CONCURRENT_TRANSACTIONS
    assert not list(of_transaction(TransactionMetadata("new"), "t0"))


def test_members_are_told_to_join_again() -> None:
    """A coordinator asks for them by its answer to a heartbeat."""
    group = SimulatedGroup("eager", 2)
    group.world.run_for(500)
    found = set()
    for broker in group.world.cluster.brokers:
        for shard in broker.services.groups.service.runtime.shards():
            for classic in shard.groups.values():
                classic.state = GroupState.PREPARING_REBALANCE
                found |= {(one.what, one.wanted) for one in of_classic_group(classic, "t0")}
    assert ("a heartbeat of who must join", ErrorCode.REBALANCE_IN_PROGRESS) in found


def test_the_id_before_may_go_on_only_if_its_epochs_were_used_up() -> None:
    known = TransactionMetadata("x", producer_id=7, producer_epoch=5)
    told = {one.what: one.wanted for one in of_transaction(known, "t0")}
    assert "InitProducerId of the id before with epochs left" not in told
    known.previous_producer_id = 3
    told = {one.what: one.wanted for one in of_transaction(known, "t0")}
    assert told["InitProducerId of the id before with epochs left"] == ErrorCode.PRODUCER_FENCED


def test_a_full_group_refuses_who_comes() -> None:
    group = SimulatedGroup("eager", 2)
    group.settle()
    for broker in group.world.cluster.brokers:
        for shard in broker.services.groups.service.runtime.shards():
            for classic in shard.groups.values():
                refusals = {one.what: one.wanted for one in of_full_group(classic, 2)}
                full = refusals["a join to a full group"]
                assert full == ErrorCode.GROUP_MAX_SIZE_REACHED
                assert not [*of_full_group(classic, 3)]


def test_who_lost_an_answer_is_told_once_more() -> None:
    consumers = ConsumerGroup("g", epoch=3)
    consumers.members["m"] = ConsumerMember("m", epoch=3, previous_epoch=2, client_id="c")
    found = {one.what: one for one in of_consumer_group(consumers, "t0")}
    lost = found["a heartbeat of who lost an answer"]
    assert (lost.wanted, lost.client_id, lost.may_wait) == (ErrorCode.NONE, "c", True)
    consumers.epoch = 4
    assert "a heartbeat of who lost an answer" not in {
        one.what for one in of_consumer_group(consumers, "t0")
    }
