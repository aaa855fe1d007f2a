"""Random producers over a failing cluster: each transaction is visible whole or not at all.

Three transactional producers of either generation, two of one generation sharing an id, write to
three partitions of three brokers. Between their requests logs are not replicated, brokers die, are
cut off and return, leaders and coordinators move. A producer waits for an answer for a moment;
without one it does what a client does: it repeats an end, and aborts what it may have written
twice. The model knows what each transaction was acknowledged, and whether its commit was asked or
promised.

Once everything is healed, within bounded time: no transaction is open or prepared, no last stable
offset stands still, and readers see what was promised. Meanwhile no reader un-reads anything, and
no epoch of an id goes back.
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from mockbroker.cluster.node_controls import ControlError
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.produce import ProduceResponse
from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from mockbroker_protocol.messages.transactions import (
    AddPartitionsToTxnResponse,
    EndTxnResponse,
    InitProducerIdResponse,
)
from tests.support.cluster_core import ClusterCore
from tests.support.cluster_transactions import OnCluster
from tests.support.transactions import Told, fetch_request, values_in

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

IDS = ("shared", "shared", "alone")
NODES = (1, 2, 3)
PARTITIONS = (0, 1, 2)
PATIENCE_MS = 300
TIMEOUT_MS = 4_000
HEALING_MS = 60_000
CONFIG = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "1000"}
RETRIABLE = frozenset({14, 15, 16, 51})

producers = st.integers(0, len(IDS) - 1)
partitions = st.sampled_from(PARTITIONS)
nodes = st.sampled_from(NODES)
subjects = st.integers(0, 5)
faults = st.sampled_from(
    [
        "hold log",
        "hold follower",
        "hold high watermark",
        "move leader",
        "isolate",
        "kill leader",
        "kill unnoticed",
    ]
)


class Transaction:
    """One transaction as its producer knows it."""

    def __init__(self) -> None:
        self.acknowledged: list[tuple[int, str]] = []
        """Partition and value."""
        self.tried = 0
        self.commit: bool | None = None
        """What its end was asked to be; None: it was not asked."""
        self.promised = False
        """Whether that was answered with success."""

    @property
    def is_in_doubt(self) -> bool:
        """Whether a write may have happened that was not acknowledged."""
        return self.tried > len(self.acknowledged)


class Client:
    """A producer and what it is at."""

    def __init__(self, producer: OnCluster) -> None:
        self.producer = producer
        self.ready = False
        self.transaction: Transaction | None = None


class ReplicatedTransactions(RuleBasedStateMachine):
    """The cluster beside the model."""

    @initialize(shared=st.booleans(), alone=st.booleans())
    def start(self, shared: bool, alone: bool) -> None:
        """Who shares an id is of one generation (True: transactions V1).

        The protocol does not keep a fenced producer of V2 from its successor of V1: an abort in the
        epoch before that of a transaction that ended is taken for a retry, and answered with that
        epoch (TransactionCoordinator.endTransaction).
        """
        v1 = shared, shared, alone
        self.core = ClusterCore(topics={"t": len(PARTITIONS)}, config=CONFIG)
        self.clients = [
            Client(OnCluster(self.core, name, v1=old)) for name, old in zip(IDS, v1, strict=True)
        ]
        for client in self.clients:
            assert client.producer.find() == 0
        self.core.advance(100)
        self.transactions: list[Transaction] = []
        self.counter = 0
        self.read: dict[int, list[str]] = {index: [] for index in PARTITIONS}
        self.epochs: dict[tuple[str, int], int] = {}

    # -- requests ----------------------------------------------------------------------------

    def ask(self, node: int, request: object, version: int, kind: type[T]) -> T | None:
        """The answer, if the broker gives one soon. It may act on the request later."""
        if self.core.cluster.broker(node) is None:
            return None
        client = self.core.client(node=node)
        client.send(request, version)
        if not client.answered:
            self.core.advance(PATIENCE_MS)
        return client.receive(kind) if client.answered else None

    def begin_anew(self, client: Client) -> None:
        """What is open under this id is aborted; 51 says so, and to come again."""
        producer = client.producer
        client.ready, client.transaction = False, None
        request = producer.init_request(timeout_ms=TIMEOUT_MS)
        for _ in range(2):
            answer = self.ask(producer.coordinator, request, 5, InitProducerIdResponse)
            if answer is not None and not answer.error_code:
                producer.become(Told(0, answer.producer_id, answer.producer_epoch))
                client.ready = True
                break

    @rule(number=producers)
    def init(self, number: int) -> None:
        self.begin_anew(self.clients[number])

    @rule(
        number=producers,
        indexes=st.lists(partitions, min_size=1, max_size=3),
        during=st.none() | st.tuples(faults, subjects, nodes),
        commit=st.booleans(),
        repeats=st.integers(1, 3),
    )
    def transact(
        self,
        number: int,
        indexes: list[int],
        during: tuple[str, int, int] | None,
        commit: bool,
        repeats: int,
    ) -> None:
        """A whole transaction, with a fault before its end."""
        for index in indexes:
            self.write(number, index)
        if during is not None:
            self.fault(during)
        for _ in range(repeats):
            self.end(number, commit=commit)

    @rule(number=producers, index=partitions)
    def write_one(self, number: int, index: int) -> None:
        self.write(number, index)

    @rule(number=producers, commit=st.booleans())
    def end_one(self, number: int, commit: bool) -> None:
        self.end(number, commit=commit)

    def write(self, number: int, index: int) -> None:
        client = self.clients[number]
        if not client.ready:
            self.begin_anew(client)
        transaction = client.transaction
        if not client.ready or (transaction is not None and transaction.commit is not None):
            return
        if transaction is None:
            transaction = client.transaction = Transaction()
            self.transactions.append(transaction)
        producer = client.producer
        if producer.v1 and not self.add(producer, index):
            return
        self.counter += 1
        value = f"{len(self.transactions)}.{self.counter}"
        transaction.tried += 1
        sequence = producer.sequences.get(("t", index), 0)
        request = producer.produce_request("t", index, producer.batch([value], sequence))
        leader = self.core.state("t", index).leader
        answer = self.ask(leader, request, 11 if producer.v1 else 12, ProduceResponse)
        if answer is not None and not answer.responses[0].partition_responses[0].error_code:
            producer.sequences["t", index] = sequence + 1
            transaction.acknowledged.append((index, value))

    def add(self, producer: OnCluster, index: int) -> bool:
        request = producer.add_request({"t": [index]})
        answer = self.ask(producer.coordinator, request, 3, AddPartitionsToTxnResponse)
        if answer is None:
            return False
        (topic,) = answer.results_by_topic_v3_and_below
        return topic.results_by_partition[0].partition_error_code == 0

    def end(self, number: int, commit: bool) -> None:
        """Commit or abort, or ask for the same once more."""
        client = self.clients[number]
        producer, transaction = client.producer, client.transaction
        if transaction is None:
            return
        if transaction.commit is None:
            transaction.commit = commit and not transaction.is_in_doubt
        request = producer.end_request(commit=transaction.commit)
        version = 4 if producer.v1 else 5
        answer = self.ask(producer.coordinator, request, version, EndTxnResponse)
        if answer is None or answer.error_code in RETRIABLE:
            return
        client.transaction = None
        if answer.error_code:
            client.ready = False
            return
        transaction.promised = True
        if producer.v1:
            # What may still be under way must not belong to the next one.
            client.ready = not transaction.is_in_doubt
        else:
            producer.become(Told(0, answer.producer_id, answer.producer_epoch))

    # -- faults ------------------------------------------------------------------------------

    def control(self, action: Callable[..., None], *arguments: object) -> None:
        """Some cannot be done now."""
        with suppress(ControlError):
            self.core.act(lambda: action(*arguments))

    def log_of(self, subject: int) -> tuple[str, int]:
        """A partition with records, or one that coordinates an id."""
        if subject < len(PARTITIONS):
            return "t", subject
        return TRANSACTION_STATE_TOPIC, self.clients[subject - len(PARTITIONS)].producer.index

    @rule(what=st.tuples(faults, subjects, nodes))
    def fault(self, what: tuple[str, int, int]) -> None:
        """Something happens to one partition or one broker."""
        kind, subject, node = what
        controls, log = self.core.controls, self.log_of(subject)
        if kind == "hold log":
            for each in NODES:
                self.control(controls.hold_follower, *log, each)
        elif kind == "hold follower":
            self.control(controls.hold_follower, *log, node)
        elif kind == "hold high watermark":
            self.control(controls.hold_high_watermark, *log)
        elif kind == "move leader":
            self.control(controls.move_leader, *log, node)
        elif kind == "isolate":
            self.control(controls.isolate, node)
        elif len(self.core.cluster.brokers) == len(NODES):
            leader = self.core.state(*log).leader
            victim = leader if kind == "kill leader" else node
            self.control(partial(controls.kill, fence=kind != "kill unnoticed"), victim)

    @rule(subject=subjects)
    def release(self, subject: int) -> None:
        """One partition is replicated again."""
        log = self.log_of(subject)
        for node in NODES:
            self.control(self.core.controls.release_follower, *log, node)
        self.control(self.core.controls.release_high_watermark, *log)

    @rule(ms=st.sampled_from([100, 2_000]))
    def mend(self, ms: int) -> None:
        """Everything is as it should be, for a while."""
        for node in NODES:
            self.control(self.core.controls.revive, node)
            self.control(self.core.controls.reconnect, node)
        for subject in range(6):
            self.release(subject)
        self.core.advance(ms)

    @rule(ms=st.sampled_from([10, 500, 3_000, 12_000]))
    def wait(self, ms: int) -> None:
        self.core.advance(ms)

    # -- what must hold ----------------------------------------------------------------------

    def visible(self, index: int) -> list[str] | None:
        """What a new read_committed consumer sees at the leader; None: it is not there."""
        leader = self.core.state("t", index).leader
        answer = self.ask(leader, fetch_request("t", index), 12, FetchResponse)
        if answer is None or answer.responses[0].partitions[0].error_code:
            return None
        return values_in(answer)

    @invariant()
    def nothing_is_unread(self) -> None:
        for index in PARTITIONS:
            seen, before = self.visible(index), self.read[index]
            if seen is not None:
                shorter = min(len(seen), len(before))
                assert seen[:shorter] == before[:shorter]
                self.read[index] = max(seen, before, key=len)

    @invariant()
    def epochs_do_not_go_back(self) -> None:
        for client in self.clients:
            name = client.producer.transactional_id
            request = DescribeTransactionsRequest([name])
            coordinator = client.producer.coordinator
            answer = self.ask(coordinator, request, 0, DescribeTransactionsResponse)
            if answer is None or answer.transaction_states[0].error_code:
                continue
            (state,) = answer.transaction_states
            key = name, state.producer_id
            assert state.producer_epoch >= self.epochs.get(key, -1)
            self.epochs[key] = state.producer_epoch

    def teardown(self) -> None:
        if not hasattr(self, "core"):
            return
        self.mend(2_000)
        self.mend(HEALING_MS)
        states = {client.producer.describe().transaction_state for client in self.clients}
        assert states <= {"", "Empty", "CompleteCommit", "CompleteAbort"}
        seen = [self.visible(index) for index in PARTITIONS]
        for index in PARTITIONS:
            log = self.core.partition(self.core.state("t", index).leader, "t", index).log
            assert log is None or log.last_stable_offset == log.log_end_offset
        self.nothing_is_unread()
        for transaction in self.transactions:
            shown = [value in (seen[index] or ()) for index, value in transaction.acknowledged]
            assert all(shown) or not any(shown), transaction.acknowledged
            if transaction.promised:
                assert shown == [transaction.commit] * len(shown)
            elif not transaction.commit:
                assert not any(shown)
        values = [value for part in seen for value in part or ()]
        assert len(values) == len(set(values))
        known = {value for one in self.transactions for _, value in one.acknowledged if one.commit}
        assert set(values) <= known


TestReplicatedTransactions = ReplicatedTransactions.TestCase
TestReplicatedTransactions.settings = settings(max_examples=15, stateful_step_count=30)
