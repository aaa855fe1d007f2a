"""Which question goes to whom before a transactional batch is appended."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.verification import (
    Operation,
    produce_operation,
    txn_offset_commit_operation,
)
from mockbroker.metadata.changes import LeaderChanged, PartitionState
from mockbroker_protocol.errors import ErrorCode
from tests.support.core import Core
from tests.support.transactions import Transactional

BACKOFF_MS = 20
BACKOFF_MAX_MS = 100


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 2})


class Asking:
    """One producer's questions about partitions of "t"."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.producer = Transactional.begin(core)
        self.answers: list[dict[int, int]] = []

    def ask(
        self, *indexes: int, operation: Operation = Operation.ADD, patient: bool = True
    ) -> dict[int, int] | None:
        services = self.core.broker.services
        partitions = [services.replicas.partition("t", index) for index in indexes]
        services.transactions.verifier.check(
            self.producer.transactional_id,
            self.producer.producer_id,
            self.producer.epoch,
            [partition for partition in partitions if partition is not None],
            operation,
            lambda refused: self.answers.append(
                {partition.index: int(error) for partition, error in refused.items()}
            ),
            patient=patient,
        )
        return self.answers.pop() if self.answers else None


@pytest.mark.parametrize(
    ("version", "operation"),
    [
        (3, Operation.VERIFY),
        (10, Operation.VERIFY),
        (11, Operation.VERIFY_ABORTABLE),
        (12, Operation.ADD),
        (13, Operation.ADD),
    ],
)
def test_what_a_version_of_produce_allows(version: int, operation: Operation) -> None:
    assert produce_operation(version) is operation


@pytest.mark.parametrize(
    ("version", "operation"),
    [
        (0, Operation.VERIFY),
        (3, Operation.VERIFY),
        (4, Operation.VERIFY_ABORTABLE),
        (5, Operation.ADD),
        (6, Operation.ADD),
    ],
)
def test_what_a_version_of_txn_offset_commit_allows(version: int, operation: Operation) -> None:
    assert txn_offset_commit_operation(version) is operation


def test_the_log_is_told_which_transactions_are_spoken() -> None:
    assert [one.transaction_version for one in Operation] == [0, 0, 2]


def test_adding_and_verifying(core: Core) -> None:
    asking = Asking(core)
    assert asking.ask(0, operation=Operation.VERIFY) == {0: 48}
    assert asking.ask(0, operation=Operation.VERIFY_ABORTABLE) == {0: 120}
    assert asking.ask(0) == {}
    assert asking.ask(0, 1, operation=Operation.VERIFY) == {1: 48}
    asking.producer.epoch = 3
    assert asking.ask(0, 1) == {0: 47, 1: 47}
    asking.producer.transactional_id = "nope"
    assert asking.ask(0) == {0: 49}


def test_what_the_log_knows_is_not_asked(core: Core) -> None:
    asking = Asking(core)
    asking.producer.write("t", 0, "a")
    asking.producer.transactional_id = "nope"
    assert asking.ask(0, 1) == {1: 49}
    asking.producer.epoch = -1
    assert asking.ask(0) == {0: 47}


def test_a_partition_that_is_led_elsewhere(core: Core) -> None:
    asking = Asking(core)
    lead(core, 9, 1)
    assert asking.ask(0, 1) == {0: 6}


def lead(core: Core, node: int, epoch: int) -> None:
    metadata = core.cluster.metadata
    here = core.broker.services.broker_id
    state = PartitionState(node, [here, 9], [node], epoch)
    metadata.apply(LeaderChanged("t", metadata.topics["t"].id, 0, state))


def preparing(core: Core) -> Asking:
    """Its last transaction still needs a marker in t-0."""
    asking = Asking(core)
    asking.producer.write("t", 0, "a")
    lead(core, 9, 1)
    asking.producer.finish(commit=True)
    return asking


def test_a_transaction_that_still_ends_is_waited_for(core: Core) -> None:
    asking = preparing(core)
    assert asking.ask(1) is None
    core.advance(BACKOFF_MAX_MS - 1)
    assert asking.answers == []
    lead(core, core.broker.services.broker_id, 2)
    core.advance(1)
    assert asking.answers == [{}]


def test_but_not_for_long(core: Core) -> None:
    asking = preparing(core)
    assert asking.ask(1) is None
    core.advance(BACKOFF_MAX_MS - 1)
    assert asking.answers == []
    core.advance(BACKOFF_MS)
    assert asking.answers == [{1: 51}]


@pytest.mark.parametrize(
    ("operation", "patient"), [(Operation.ADD, False), (Operation.VERIFY, True)]
)
def test_who_does_not_wait(core: Core, operation: Operation, patient: bool) -> None:
    asking = preparing(core)
    assert asking.ask(1, operation=operation, patient=patient) == {1: 51}


def test_a_node_that_shuts_down_answers_who_waits(core: Core) -> None:
    asking = preparing(core)
    assert asking.ask(1) is None
    core.broker.release_parked(core.now_ms)
    assert asking.answers == [{1: 51}]
    core.advance(BACKOFF_MAX_MS)
    assert asking.answers == [{1: 51}]


def test_verification_is_off_where_the_config_says_so() -> None:
    core = Core(topics={"t": 2}, config={"transaction.partition.verification.enable": "false"})
    asking = Asking(core)
    assert asking.ask(0, operation=Operation.VERIFY) == {}
    asking.producer.epoch = 3
    assert asking.ask(0) == {0: int(ErrorCode.INVALID_PRODUCER_EPOCH)}
