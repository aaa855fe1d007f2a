"""What the simulation asks brokers about transactions, producers, groups and coordinators.

Each function asks `Asker.node` one question and compares the answer with what that broker's
coordinators and logs hold.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Final

from mockbroker.coop import tags
from mockbroker.coordinator.runtime import partition_for
from mockbroker.metadata.authorized_operations import GROUP_OPERATIONS, NOT_ASKED
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.cooperation import (
    DescribeIndividualCommitsRequest,
    DescribeIndividualCommitsRequestTopic,
    DescribeIndividualCommitsResponse,
)
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_admin import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from mockbroker_protocol.messages.transaction_admin import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    ListTransactionsRequest,
    ListTransactionsResponse,
    TopicRequest,
)
from simulation.cluster.metadata_inquiries import BAD_NAME, NOBODY
from simulation.cluster.plan import SHARED
from simulation.expressions import draw_any_expression

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.coordinator.txn.metadata import TransactionMetadata
    from simulation.cluster.metadata_inquiries import Asker

GROUP, TRANSACTION, SHARE = range(3)
STATES: Final = ("Empty", "Ongoing", "CompleteCommit", "CompleteAbort", "PrepareCommit", "Nowhere")
PATTERN: Final = 2
"""The version from which on a pattern is told."""
NOWHERE: Final = frozenset(
    (ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
     ErrorCode.COORDINATOR_NOT_AVAILABLE)
)  # fmt: skip
"""What is answered of an id that is coordinated elsewhere, or not yet here."""


def _transactions(asker: Asker) -> dict[str, TransactionMetadata]:
    transactions = asker.services.transactions
    if not transactions.in_use:
        return {}
    shards = transactions.service.runtime.shards()
    return {key: each for shard in shards for key, each in shard.transactions.items()}


def _state(metadata: TransactionMetadata) -> str:
    return metadata.state.name.replace("_", "").lower()


def list_transactions(asker: Asker) -> None:
    """Those that every filter lets through."""
    rng, there = asker.rng, _transactions(asker)
    version = rng.choice((0, 1, PATTERN, PATTERN))
    states = rng.sample(STATES, rng.choice((0, 0, 1, 3)))
    producers = [each.producer_id for each in there.values() if rng.random() < 0.5]
    request = ListTransactionsRequest(states, producers if rng.random() < 0.3 else [])
    request.duration_filter = rng.choice((-1, 100, 10**9)) if version >= 1 else -1
    pattern = draw_any_expression(rng) if version == PATTERN and rng.random() < 0.9 else None
    request.transactional_id_pattern = None if pattern is None else pattern.text
    answer = asker.inquire(request, version, ListTransactionsResponse)
    if answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return
    bad = pattern is not None and pattern.python is None
    error = ErrorCode.INVALID_REGULAR_EXPRESSION if bad else ErrorCode.NONE
    asker.expect("the error", answer.error_code, error)
    now_ms = asker.services.clock.wall_ms()
    wanted = {
        (key, each.producer_id, _state(each))
        for key, each in there.items()
        if not bad
        and (not states or _state(each) in {name.lower() for name in states})
        and (not request.producer_id_filters or each.producer_id in producers)
        and (request.duration_filter < 0 or now_ms - each.start_ms > request.duration_filter)
        and (pattern is None or pattern.matches(key))
    }
    told = {
        (each.transactional_id, each.producer_id, each.transaction_state.lower())
        for each in answer.transaction_states
    }
    asker.expect("transactions", told, wanted)
    if not bad:
        unknown = [name for name in states if name == "Nowhere"]
        asker.expect("unknown states", answer.unknown_state_filters, unknown)


def describe_transactions(asker: Asker) -> None:
    """Of those that there are here, one that there is not, and one without a name."""
    there = _transactions(asker)
    asked = [*there, NOBODY, ""]
    answer = asker.inquire(DescribeTransactionsRequest(asked), 0, DescribeTransactionsResponse)
    told = {each.transactional_id: each for each in answer.transaction_states}
    asker.expect("who is told of", list(told), asked)
    asker.expect("the error of no name", told[""].error_code, ErrorCode.INVALID_REQUEST)
    of_nobody = told[NOBODY].error_code
    if of_nobody not in NOWHERE:
        asker.expect("the error of nobody", of_nobody, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    for key, metadata in there.items():
        one = told[key]
        if one.error_code in NOWHERE:
            continue
        asker.expect(
            key,
            (one.producer_id, one.producer_epoch, one.transaction_state.lower(), one.error_code),
            (metadata.producer_id, metadata.producer_epoch, _state(metadata), 0),
        )
        parts = {(of.topic, index) for of in one.topics for index in of.partitions}
        asker.expect(f"the partitions of {key}", parts, set(metadata.partitions))


def describe_producers(asker: Asker) -> None:
    """Of partitions that the broker leads, has, and has not."""
    rng, services = asker.rng, asker.services
    name, index = rng.choice([*asker.parts, (NOBODY, 0), (BAD_NAME, 0)])
    request = DescribeProducersRequest([TopicRequest(name, [index])])
    answer = asker.inquire(request, 0, DescribeProducersResponse)
    told = answer.topics[0].partitions[0]
    if name == BAD_NAME:
        asker.expect("the error", told.error_code, ErrorCode.INVALID_TOPIC_EXCEPTION)
        return
    partition = services.replicas.partition(name, index)
    if partition is None:
        there = name in services.metadata.topics
        wanted = ErrorCode.NOT_LEADER_OR_FOLLOWER if there else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        asker.expect("the error", told.error_code, wanted)
    if told.error_code or partition is None or partition.log is None:
        asker.expect("producers", told.active_producers, [])
        return
    producers = partition.log.producers
    asker.expect(
        "producers",
        {
            (each.producer_id, each.producer_epoch, each.last_sequence,
             each.current_txn_start_offset)
            for each in told.active_producers
        },
        {
            (key, each.producer_epoch, each.last_sequence, each.current_txn_first_offset)
            for key, each in ({} if producers is None else producers.producers).items()
        },
    )  # fmt: skip


def find_coordinators(asker: Asker) -> None:
    """Of several keys at once, some twice, and of types that there are not."""
    rng, store = asker.rng, asker.services.metadata
    version, kind = rng.randrange(4, 7), rng.choice((GROUP, GROUP, TRANSACTION, SHARE, 9))
    topic = {GROUP: GROUP_METADATA_TOPIC, TRANSACTION: TRANSACTION_STATE_TOPIC}.get(kind)
    if topic is not None and topic not in store.topics:
        return  # to ask would make it
    keys = ["g0", "txn0", NOBODY, "g0"]
    request = FindCoordinatorRequest(key_type=kind, coordinator_keys=keys)
    answer = asker.inquire(request, version, FindCoordinatorResponse)
    told = [(each.key, each.error_code, each.node_id) for each in answer.coordinators]
    wanted: list[tuple[str, int, int]] = []
    for key in keys:
        if topic is None:
            wanted.append((key, ErrorCode.INVALID_REQUEST, -1))
            continue
        partitions = store.topics[topic].partitions
        leader = partitions[partition_for(key, len(partitions))].leader
        broker = store.brokers.get(leader)
        if broker is None or broker.fenced:
            wanted.append((key, ErrorCode.COORDINATOR_NOT_AVAILABLE, -1))
        else:
            wanted.append((key, 0, leader))
    asker.expect("coordinators", told, wanted)


def groups(asker: Asker) -> None:
    """ListGroups by type and state, and a description of each that is told of."""
    rng = asker.rng
    version = rng.randrange(6)
    request = ListGroupsRequest()
    if version >= 4 and rng.random() < 0.5:
        request.states_filter = rng.sample(("Stable", "Empty", "Dead", "nowhere"), 2)
    if version >= 5 and rng.random() < 0.5:
        request.types_filter = [rng.choice(("classic", "consumer", "nothing"))]
    answer = asker.inquire(request, version, ListGroupsResponse)
    for group in answer.groups:
        if request.states_filter:
            states = {name.lower() for name in request.states_filter}
            asker.expect("an unwanted state", group.group_state.lower() in states, True)
        if version >= 5:
            wanted = request.types_filter or ["classic", "consumer"]
            asker.expect("an unwanted type", group.group_type in wanted, True)
            _describe_group(asker, group.group_id, group.group_type, group.group_state)


def _describe_group(asker: Asker, group_id: str, kind: str, state: str) -> None:
    """Between two events nothing changes: what is listed is what is described."""
    asks = asker.rng.random() < 0.5
    if kind == "consumer":
        consumers = ConsumerGroupDescribeRequest([group_id, NOBODY], asks)
        told, other = asker.inquire(consumers, 1, ConsumerGroupDescribeResponse).groups
        asker.expect("its state", (told.error_code, told.group_state), (0, state))
        if not other.error_code:
            asker.expect("the error of nobody", other.error_code, ErrorCode.GROUP_ID_NOT_FOUND)
    else:
        classic = DescribeGroupsRequest([group_id, NOBODY], asks)
        one, nobody = asker.inquire(classic, 6, DescribeGroupsResponse).groups
        asker.expect("its state", (one.error_code, one.group_state), (0, state))
        asker.expect("the state of nobody", nobody.group_state in ("Dead", ""), True)
        operations = GROUP_OPERATIONS if asks else NOT_ASKED
        asker.expect("operations", one.authorized_operations, operations)


def shared_partitions(asker: Asker) -> None:
    """DescribeIndividualCommits: what is done beyond the stable offset, and what is handed out."""
    services, rng = asker.services, asker.rng
    if services.extension is None:
        return
    topics = [
        DescribeIndividualCommitsRequestTopic(SHARED, [0, 9]),
        DescribeIndividualCommitsRequestTopic(NOBODY, [0]),
    ]
    group_id = rng.choice(("sharing0", "sharing1", "g0"))
    asks_all = rng.random() < 0.5
    request = DescribeIndividualCommitsRequest(group_id, None if asks_all else topics)
    answer = asker.inquire(request, 0, DescribeIndividualCommitsResponse)
    if answer.error_code:
        asker.expect("the error", answer.error_code in NOWHERE, True)
        return
    told = {(of.name, one.partition_index): one for of in answer.topics for one in of.partitions}
    if not asks_all:
        parts = {(SHARED, 0), (SHARED, 9), (NOBODY, 0)}
        asker.expect("partitions", set(told), parts)
        errors = [told[part].error_code for part in ((SHARED, 9), (NOBODY, 0))]
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        asker.expect("errors", errors, [unknown, unknown])
    for one in told.values():
        ranges = [(*at,) for at in tags.unpack_ranges(one.committed_ranges)]
        ends = [one.stable_offset - 1, *(end for _, end in ranges)]
        in_order = all(end < first - 1 for end, (first, _) in zip(ends, ranges, strict=False))
        asker.expect(f"{ranges} beyond {one.stable_offset} in order", in_order, True)
        most = ends[-1] if ranges else max(one.stable_offset - 1, -1)
        asker.expect("what is committed at most", one.max_committed_offset, most)
        leases = sorted((lease.first_offset, lease.last_offset) for lease in one.leases)
        apart = all(end < first for (_, end), (first, _) in pairwise(leases))
        asker.expect(f"{leases} apart", apart, True)


COORDINATOR_INQUIRIES: Final[tuple[Callable[[Asker], None], ...]] = (
    list_transactions,
    describe_transactions,
    describe_producers,
    find_coordinators,
    groups,
    shared_partitions,
)
