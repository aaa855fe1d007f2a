"""Transactions: a producer's life in both generations of the protocol, its errors, its offsets.

One transactional id goes through the whole script, so that each part begins where the one before
left it; the epoch that it has reached is handed on.
"""

from __future__ import annotations

from typing import Any

from mockbroker_protocol.messages.find_coordinator import FindCoordinatorRequest
from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsRequest,
    ListTransactionsRequest,
    WriteTxnMarkersRequest,
)
from tests.differential.record_steps import Target, fetch, offsets_ready
from tests.differential.steps import Step, ask
from tests.differential.topic_steps import create, settled, topic
from tests.differential.txn_requests import (
    GROUP,
    OTHER_GROUP,
    PARTITIONS,
    TOPIC,
    TXN,
    Producer,
    add,
    add_all,
    add_offsets,
    commit_offset,
    describe,
    end,
    init,
    is_given,
    learn_producer,
    mark,
    offsets_of,
    produce,
    produce_each,
    producers,
)

OLD, NEW = (0, 1, 2, 3, 4), (5,)
"""Versions of EndTxn that keep the epoch, and those that bump it (KIP-890)."""
BATCHED = (4, 5)


def find_steps() -> list[Step]:
    def find(*keys: str) -> FindCoordinatorRequest:
        return FindCoordinatorRequest(keys[0], 1, list(keys))

    return [
        *ask("CreateTopics for transactions", 7, create(topic(TOPIC, PARTITIONS))),
        *settled(TOPIC),
        *offsets_ready(TOPIC, PARTITIONS),
        *ask("FindCoordinator of a transaction", range(1, 7), find(TXN)),
        *ask("FindCoordinator of transactions", (4, 6), find(TXN, "", "another")),
        *ask("FindCoordinator of no transaction", (1, 3, 4), find("")),
    ]


def first_init_steps() -> list[Step]:
    steps = ask("InitProducerId of a transaction", 5, init(), learn=learn_producer(),
                until=is_given)  # fmt: skip
    for version in range(6):
        steps += ask("InitProducerId of another", version, init(txn=f"init-v{version}"),
                     until=is_given)  # fmt: skip
        steps += ask("InitProducerId of it again", version, init(txn=f"init-v{version}"),
                     until=is_given)  # fmt: skip
    return [
        *steps,
        *describe("at first"),
        *describe("of unknown", "nobody's"),
        *describe("of no name", ""),
        *describe("of several", TXN, "init-v0", "nobody's"),
        *ask("DescribeTransactions of none", 0, DescribeTransactionsRequest([])),
        *ask("InitProducerId for too long", (0, 5), init(timeout_ms=900_001)),
        *ask("InitProducerId for no time", (0, 5), init(timeout_ms=0)),
        *ask("InitProducerId for less than no time", (0, 5), init(timeout_ms=-1)),
    ]


def empty_end_steps() -> list[Step]:
    """From epoch 0 to 2: the end of what has not begun."""
    me, next_me = Producer(0), Producer(1)
    unknown, nameless = Producer(0, txn="nobody's"), Producer(0, txn="")
    return [
        *ask("EndTxn to commit nothing", (0, 4, 5), end(me, commit=True)),
        *ask("EndTxn to abort nothing", (0, 4), end(me, commit=False)),
        *ask("EndTxn in a later epoch", range(6), end(next_me, commit=True)),
        *ask("EndTxn of unknown", (0, 5), end(unknown, commit=True)),
        *ask("EndTxn of no name", (0, 5), end(nameless, commit=True)),
        *ask("EndTxn of another producer", (0, 5), end(Producer(0, off=9999), commit=True)),
        *ask("EndTxn to abort nothing", 5, end(me, commit=False)),
        *describe("after an empty abort"),
        *ask("EndTxn to abort nothing again", 5, end(me, commit=False)),
        *ask("EndTxn to commit after that", 5, end(me, commit=True)),
        *ask("InitProducerId as itself", 5, init(next_me)),
        *ask("InitProducerId as itself again", 5, init(next_me)),
        *ask("InitProducerId as it was", (3, 4, 5), init(me)),
        *ask("InitProducerId as it will be", (3, 5), init(Producer(6))),
        *ask("InitProducerId as another producer", (3, 5), init(Producer(0, off=777))),
        *ask("InitProducerId as half a producer", (3, 5), init(Producer(-1))),
        *describe("after odd inits"),
    ]


def add_steps(epoch: int) -> list[Step]:
    """What cannot join, in every version; nothing does.

    Not no transactions at all: Apache Kafka then never answers.
    """
    me, old = Producer(epoch), Producer(epoch - 1)
    other, unknown = Producer(epoch, off=777), Producer(epoch, txn="nobody's")
    parts, versions = {TOPIC: [0]}, (0, 1, 3, 4, 5)
    return [
        *ask("AddPartitionsToTxn of unknown ones", versions, add(
            me, {TOPIC: [0, 9], "nowhere": [0]})),
        *describe("after unknown partitions"),
        *ask("AddPartitionsToTxn in an old epoch", range(6), add(old, parts)),
        *ask("AddPartitionsToTxn by another producer", versions, add(other, parts)),
        *ask("AddPartitionsToTxn of unknown", versions, add(unknown, parts)),
        *ask("AddPartitionsToTxn of no name", versions, add(Producer(epoch, txn=""), parts)),
        *ask("AddPartitionsToTxn to verify nothing begun", BATCHED, add(
            me, parts, verify_only=True)),
        *ask("Produce what was not added", (3, 9, 10, 11, 12), produce(me, 0, 9)),
        *ask("Produce before it is added", (3, 9, 10, 11), produce(me, 0, 0)),
        *ask("Produce as an unknown transaction", (9, 11, 12), produce(
            me, 0, 0, txn="nobody's")),
        *ask("Produce a transaction by nobody", (9, 11, 12), produce(me, 0, 0, txn=None)),
    ]  # fmt: skip


def old_generation_steps(epoch: int) -> list[Step]:
    """AddPartitionsToTxn, Produce, EndTxn, one round a version: the epoch stays."""
    me, old = Producer(epoch), Producer(epoch - 1)
    steps: list[Step] = []
    for turn, version in enumerate(OLD):
        join, commit = min(version, 3), version % 2 == 0
        steps += [
            *ask("AddPartitionsToTxn", join, add(me, {TOPIC: [0]})),
            *ask("AddPartitionsToTxn again", join, add(me, {TOPIC: [0]})),
            *describe("when it is open"),
            *ask("Produce", 5 + version, produce(me, turn, 0)),
            *ask("Produce again", 5 + version, produce(me, turn, 0)),
            *producers("when it is open"),
            *fetched("when it is open", 12, 18),
            *ask("EndTxn", version, end(me, commit=commit)),
            *describe("when it is over"),
            *ask("EndTxn again", version, end(me, commit=commit)),
            *ask("EndTxn the other way", version, end(me, commit=not commit)),
            *producers("when it is over"),
        ]
    return [
        *steps,
        *fetched("after the rounds", 4, 11, 12, 18),
        *ask("AddPartitionsToTxn", 3, add(me, {TOPIC: [0]})),
        *ask("Produce in an old epoch", (9, 11, 12), produce(old, 9, 0)),
        *ask("Produce without a transaction", (9, 11), produce(
            me, 5, 0, txn=None, transactional=False)),
        *ask("Produce to a partition that is not in it", (9, 10, 11), produce(me, 0, 1)),
        *producers("of unknown ones", {TOPIC: [0, 9], "nowhere": [0], "b@d": [0]}),
        *ask("EndTxn", 4, end(me, commit=True)),
        *describe("of nothing but a partition"),
        *ask("EndTxn of the new kind, an epoch behind", 5, end(old, commit=True)),
        *ask("EndTxn of the new kind", 5, end(me, commit=True)),
    ]  # fmt: skip


def new_generation_steps(epoch: int) -> list[Step]:
    """Produce adds partitions by itself and EndTxn bumps the epoch; up by one."""
    me, old = Producer(epoch), Producer(epoch - 1)
    return [
        *ask("Produce after the end", (9, 11), produce(me, 6, 0)),
        *ask("Produce at a gap", (12, 13), produce(me, 60, 0)),
        *ask("Produce to a new partition not from 0", 12, produce(me, 5, 2)),
        *describe("after refused batches"),
        *ask("Produce", 12, produce(me, 5, 0)),
        *ask("Produce to another partition", 13, produce(me, 0, 1)),
        *describe("when it is open"),
        *ask("AddPartitionsToTxn to verify", BATCHED, add_all(
            (me, {TOPIC: [0, 1, 3]}), (Producer(epoch, txn="nobody's"), {TOPIC: [0]}),
            verify_only=True)),
        *ask("AddPartitionsToTxn of two transactions", BATCHED, add_all(
            (me, {TOPIC: [2]}), (Producer(epoch, txn="init-v0"), {TOPIC: [0, 7]}))),
        *ask("AddPartitionsToTxn to verify an old epoch", BATCHED, add(
            old, {TOPIC: [0]}, verify_only=True)),
        *list_steps(),
        *offset_steps(epoch),
        *ask("EndTxn", 5, end(me, commit=True)),
        *describe("when it is over"),
        *committed(GROUP, 5), *committed(OTHER_GROUP, 6),
        *ask("EndTxn again", 5, end(me, commit=True)),
        *ask("EndTxn the other way", 5, end(me, commit=False)),
        *ask("Produce in the epoch of before", (11, 12), produce(me, 7, 0)),
        *producers("when it is over"),
        *fetched("when it is over", 12, 18),
    ]  # fmt: skip


def list_steps() -> list[Step]:
    def wanted(**filters: Any) -> ListTransactionsRequest:
        return ListTransactionsRequest(**filters)

    every, pattern = range(3), "transactional_id_pattern"
    return [
        *ask("ListTransactions", every, wanted()),
        *ask("ListTransactions by state", every, wanted(state_filters=["Ongoing", "Odd"])),
        *ask("ListTransactions by no state", every, wanted(state_filters=["Odd"])),
        *ask("ListTransactions by case", every, wanted(state_filters=["ongoing"])),
        *ask("ListTransactions by producer", every, wanted(producer_id_filters=[987_654])),
        *ask("ListTransactions of an hour", (1, 2), wanted(duration_filter=3_600_000)),
        *ask("ListTransactions of no time", (1, 2), wanted(duration_filter=0)),
        *ask("ListTransactions by pattern", 2, wanted(**{pattern: "t.*"})),
        *ask("ListTransactions by half a pattern", 2, wanted(**{pattern: "t"})),
        *ask("ListTransactions by an empty pattern", 2, wanted(**{pattern: ""})),
        *ask("ListTransactions by a bad pattern", 2, wanted(**{pattern: "(("})),
    ]


def offset_steps(epoch: int) -> list[Step]:
    """Offsets join the open transaction: 5 for one group, 6 for another."""
    me, old, unknown = Producer(epoch), Producer(epoch - 1), Producer(epoch, txn="nobody's")
    every, some = range(7), (0, 3, 4, 5)
    return [
        *ask("TxnOffsetCommit before the group is added", (0, 3, 4), commit_offset(me, 1)),
        *ask("AddOffsetsToTxn", range(5), add_offsets(me)),
        *ask("AddOffsetsToTxn in an old epoch", range(5), add_offsets(old)),
        *ask("AddOffsetsToTxn of unknown", (0, 4), add_offsets(unknown)),
        *ask("AddOffsetsToTxn of no group", (0, 4), add_offsets(me, "")),
        *ask("TxnOffsetCommit", every, commit_offset(me, 5)),
        *ask("TxnOffsetCommit of a generation", (3, 5), commit_offset(
            me, 1, generation=3, member="nobody")),
        *ask("TxnOffsetCommit of no group's generation", (3, 5), commit_offset(
            me, 1, group="unheard-of", generation=3, member="nobody")),
        *ask("TxnOffsetCommit of an unknown topic", some, commit_offset(me, 1, topic="nowhere")),
        *ask("TxnOffsetCommit of an unknown partition", some, commit_offset(me, 1, index=99)),
        *ask("TxnOffsetCommit of no group", some, commit_offset(me, 1, group="")),
        *ask("TxnOffsetCommit in an old epoch", some, commit_offset(old, 1)),
        *ask("TxnOffsetCommit to a group that is not in it", (0, 3, 4), commit_offset(
            me, 1, group=OTHER_GROUP)),
        *ask("TxnOffsetCommit adds the group", 5, commit_offset(me, 6, group=OTHER_GROUP)),
        *ask("OffsetFetch of stable offsets", (7, 8), offsets_of(GROUP, stable=True)),
        *ask("OffsetFetch of unstable offsets", (7, 8), offsets_of(GROUP, stable=False)),
    ]  # fmt: skip


def committed(group: str, offset: int) -> list[Step]:
    """Asked until the marker has reached the group's offsets."""

    def until(answer: Any) -> bool:
        (found,) = answer.groups[0].topics[0].partitions
        return bool(found.error_code == 0 and found.committed_offset == offset)

    return ask(f"OffsetFetch of {offset}", 8, offsets_of(group, stable=True), until=until)


def fetched(what: str, *versions: int) -> list[Step]:
    every = [(Target(TOPIC, index), 0) for index in range(PARTITIONS)]
    return [
        *ask(f"Fetch {what}", versions, fetch(every)),
        *ask(f"Fetch committed {what}", versions, fetch(every, isolation_level=1)),
    ]


def fence_steps(epoch: int) -> list[Step]:
    """A successor's InitProducerId aborts what is open; up by two."""
    me, heir = Producer(epoch), Producer(epoch + 2)
    return [
        *ask("Produce", 12, produce(me, 0, 0)),
        *ask("TxnOffsetCommit", 5, commit_offset(me, 77)),
        *ask("InitProducerId of the heir", 5, init()),
        *describe("after the fence"),
        *ask("InitProducerId of the heir again", 5, init(), until=is_given),
        *ask("Produce of the fenced", (11, 12), produce(me, 1, 0)),
        *ask("Produce of the fenced elsewhere", 12, produce(me, 0, 2)),
        *ask("EndTxn of the fenced", (0, 4, 5), end(me, commit=True)),
        *ask("AddPartitionsToTxn of the fenced", (0, 3), add(me, {TOPIC: [0]})),
        *ask("AddOffsetsToTxn of the fenced", (0, 4), add_offsets(me)),
        *committed(GROUP, 5),
        *fetched("after the fence", 12),
        *ask("AddPartitionsToTxn", 3, add(heir, {TOPIC: [0]})),
    ]


def marker_steps(epoch: int) -> list[Step]:
    """Markers that no coordinator wrote; the transaction with partition 0 is open; up by one."""
    me, stranger, past = Producer(epoch), Producer(0, producer_id=4242), Producer(epoch - 5)
    every = (1, 2)
    part = {TOPIC: [0]}
    return [
        *ask("WriteTxnMarkers of a stranger", every, mark(
            stranger, {TOPIC: [0, 9], "nowhere": [0]})),
        *ask("WriteTxnMarkers of a coordinator behind", every, mark(
            me, part, coordinator_epoch=-1)),
        *ask("WriteTxnMarkers in an old epoch", every, mark(past, part)),
        *ask("WriteTxnMarkers of nothing open", every, mark(me, part)),
        *ask("WriteTxnMarkers of the same epoch, new kind", 2, mark(
            me, part, transaction_version=2)),
        *ask("WriteTxnMarkers of none", every, WriteTxnMarkersRequest([])),
        *producers("after foreign markers"),
        *ask("Produce", 12, produce(me, 0, 0)),
        *ask("WriteTxnMarkers of the same epoch while open, new kind", 2, mark(
            me, part, transaction_version=2)),
        *ask("WriteTxnMarkers while open", 1, mark(me, part)),
        *ask("Produce after a foreign abort", 12, produce(me, 1, 0)),
        *fetched("after foreign markers", 12),
        *ask("EndTxn", 5, end(me, commit=True)),
        *describe("after foreign markers"),
    ]  # fmt: skip


def timeout_steps(epoch: int) -> list[Step]:
    """A transaction of half a second that nobody ends; the coordinator's epoch goes up by two."""
    me = Producer(epoch + 1)
    return [
        *ask("InitProducerId for half a second", 5, init(timeout_ms=500)),
        *ask("Produce", 12, produce(me, 0, 0)),
        *describe("once the time is over", state="CompleteAbort"),
        *ask("Produce after the timeout", (11, 12), produce(me, 1, 0)),
        *ask("EndTxn to commit after the timeout", (4, 5), end(me, commit=True)),
        *ask("EndTxn to abort after the timeout", 5, end(me, commit=False)),
        *ask("InitProducerId as before the timeout", 5, init(me)),
        *describe("after the timeout"),
        *producers("after the timeout"),
    ]


def mixed_steps(epoch: int) -> list[Step]:
    """A fence of the old generation, requests for several partitions, and a last look."""
    me, heir, other = Producer(epoch), Producer(epoch + 2), Producer(1, off=1)
    return [
        *ask("AddPartitionsToTxn", 3, add(me, {TOPIC: [1]})),
        *ask("Produce", 11, produce(me, 0, 1)),
        *ask("InitProducerId of a second heir", 3, init()),
        *describe("after the second fence"),
        *ask("InitProducerId of a second heir again", 3, init(), until=is_given),
        *describe("of the second heir"),
        *ask("Produce to several partitions", 12, produce(heir, 0, 0, 9, 1)),
        *ask("Produce as another transaction", 12, produce(heir, 1, 0, txn="init-v0")),
        *ask("Produce of two producers", (9, 11, 12), produce_each({0: heir, 1: other})),
        *ask("Produce of another producer alone", (9, 12), produce_each({0: other})),
        *ask("Produce some that are refused", (9, 12), produce_each({0: me, 9: me, 1: None})),
        *ask("Produce to nobody's acks", (9, 12), produce_each({2: heir}, acks=5)),
        *describe("at last"),
        *ask("EndTxn", 5, end(heir, commit=False)),
        *describe("at the end", TXN, "init-v0"),
        *producers("at the end"),
        *fetched("at the end", 4, 18),
        *ask("ListTransactions at the end", range(3), ListTransactionsRequest()),
    ]


def txn_steps() -> list[Step]:
    return [
        *find_steps(),
        *first_init_steps(),
        *empty_end_steps(),
        *add_steps(2),
        *old_generation_steps(2),
        *new_generation_steps(2),
        *fence_steps(3),
        *marker_steps(5),
        *timeout_steps(6),
        *mixed_steps(8),
    ]
