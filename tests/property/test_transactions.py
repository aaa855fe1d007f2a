"""Random producers against a model: read_committed sees exactly what committed, in order.

Three transactional producers of either generation, two of which share an id and so fence each
other, write to three partitions and commit offsets for two groups. They commit, abort, repeat an
end whose answer was lost, begin anew over an open transaction, and are left to time out; plain
commits and plain records come between, and coordinators move. Two groups more, one of each
protocol, have a static member whose place is taken again and again: producers commit for who has
it and for those who had it. The model knows nothing of producer epochs: it knows who owns an id
now, what each open transaction wrote, and in which order.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from mockbroker.coordinator.log_port import InternalLog
from mockbroker_protocol.messages.consumer_group import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.group_membership import (
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.core import EPOCH_MS, Core
from tests.support.group_calls import join_request
from tests.support.transactions import (
    GROUP,
    Told,
    Transactional,
    committed_offset,
    fetch_request,
    values_in,
)

IDS = ("shared", "shared", "alone")
PARTITIONS = (("t", 0), ("t", 1), ("u", 0))
GROUPS = ("g", "h")
STATIC, CONSUMERS = "static", "consumers"
"""Groups with a static member, of the classic and of the consumer protocol."""
INSTANCE = "i"
PATIENT = {
    "group.consumer.max.session.timeout.ms": "100000000",
    "group.consumer.session.timeout.ms": "100000000",
}
TIMEOUT_MS = 15_000
LOOK_MS = 10_000

producers = st.integers(0, len(IDS) - 1)
partitions = st.sampled_from(PARTITIONS)
groups = st.sampled_from(GROUPS)
inhabited = st.sampled_from((STATIC, CONSUMERS))


class Entry(NamedTuple):
    """A record of a partition; the number of its transaction, or None for a plain one."""

    value: str
    transaction: int | None


class Open:
    """An open transaction of an id, as the model sees it."""

    def __init__(self, number: int, started_ms: float) -> None:
        self.number = number
        self.started_ms = started_ms
        self.offsets: dict[tuple[str, str, int], tuple[int, int]] = {}


class Model:
    """What a reader must see."""

    def __init__(self) -> None:
        self.logs: dict[tuple[str, int], list[Entry]] = {name: [] for name in PARTITIONS}
        self.outcomes: dict[int, bool] = {}
        self.open: dict[str, Open] = {}
        self.owner: dict[str, int | None] = {}
        self.began = 0
        # (group, topic, partition) → (when written, offset): the latest write that counts wins.
        self.offsets: dict[tuple[str, str, int], tuple[int, int]] = {}
        self.writes = 0
        # Who had the static member's place, one after the other: (member id, generation or epoch).
        self.members: dict[str, list[tuple[str, int]]] = {STATIC: [], CONSUMERS: []}

    def transaction(self, transactional_id: str, now_ms: float) -> Open:
        if transactional_id not in self.open:
            self.began += 1
            self.open[transactional_id] = Open(self.began, now_ms)
        return self.open[transactional_id]

    def end(self, transactional_id: str, *, commit: bool) -> None:
        ended = self.open.pop(transactional_id, None)
        if ended is None:
            return
        self.outcomes[ended.number] = commit
        for name, written in ended.offsets.items():
            if commit and written > self.offsets.get(name, (-1, -1)):
                self.offsets[name] = written

    def commit_offset(self, name: tuple[str, str, int], offset: int, to: Open | None) -> None:
        self.writes += 1
        target = self.offsets if to is None else to.offsets
        target[name] = (self.writes, offset)

    def visible(self, name: tuple[str, int]) -> list[str]:
        """Up to the first record of an open transaction, without what was aborted."""
        found = []
        for entry in self.logs[name]:
            if entry.transaction is None:
                found.append(entry.value)
            elif entry.transaction not in self.outcomes:
                break
            elif self.outcomes[entry.transaction]:
                found.append(entry.value)
        return found

    def is_pending(self, name: tuple[str, str, int]) -> bool:
        return any(name in one.offsets for one in self.open.values())


class Transactions(RuleBasedStateMachine):
    """The core beside the model."""

    @initialize(v1=st.tuples(*[st.booleans()] * len(IDS)))
    def start(self, v1: tuple[bool, ...]) -> None:
        self.core = Core(topics={"t": 2, "u": 1}, config=PATIENT)
        self.model = Model()
        self.producers = [
            Transactional(self.core, name, v1=old) for name, old in zip(IDS, v1, strict=True)
        ]
        for producer in self.producers:
            producer.find()
        for group in GROUPS:
            self.producers[0].find(group, GROUP)
        self.counter = 0
        for group in (STATIC, CONSUMERS):
            self.take_over(group)

    # -- producers ---------------------------------------------------------------------------

    def owns(self, number: int) -> bool:
        """Whether the producer is the newest of its id and was not timed out."""
        return self.model.owner.get(IDS[number]) == number

    @rule(number=producers)
    def init(self, number: int) -> None:
        """Begin anew: whatever is open under this id is aborted."""
        producer, name = self.producers[number], IDS[number]
        told = producer.init(timeout_ms=TIMEOUT_MS)
        if name in self.model.open:
            assert told.error == 51
            self.model.end(name, commit=False)
            told = producer.init(timeout_ms=TIMEOUT_MS)
        producer.sequences.clear()
        producer.become(told)
        self.model.owner[name] = number

    @rule(number=producers, to=partitions, count=st.integers(1, 3))
    def write(self, number: int, to: tuple[str, int], count: int) -> None:
        producer, name = self.producers[number], IDS[number]
        if producer.producer_id < 0:
            return
        values = [self.value() for _ in range(count)]
        added = producer.add({to[0]: [to[1]]})[to] if producer.v1 else 0
        error = producer.send(*to, *values)
        if self.owns(number):
            assert (added, error) == (0, 0)
            transaction = self.model.transaction(name, self.core.now_ms)
            self.model.logs[to] += [Entry(value, transaction.number) for value in values]
        else:
            assert error != 0

    @rule(number=producers, group=groups, of=partitions, offset=st.integers(0, 9))
    def commit_offset(self, number: int, group: str, of: tuple[str, int], offset: int) -> None:
        producer, name = self.producers[number], IDS[number]
        if producer.v1:
            added = producer.add_offsets(group)
            assert (added == 0) == self.owns(number)
        error = producer.commit_offset(group, *of, offset)
        assert (error == 0) == self.owns(number)
        if error == 0:
            transaction = self.model.transaction(name, self.core.now_ms)
            self.model.commit_offset((group, *of), offset, transaction)

    @rule(number=producers, commit=st.booleans(), lost=st.booleans())
    def end(self, number: int, commit: bool, lost: bool) -> None:
        """Commit or abort; `lost`: the answer does not arrive, and the producer asks again."""
        producer, name = self.producers[number], IDS[number]
        told = producer.end(commit=commit)
        if not self.owns(number):
            self.check_stale_end(number, told, commit)
            return
        if name not in self.model.open:
            allowed = not producer.v1 and not commit
            assert (told.error == 0) == allowed or producer.v1
        if told.error:
            return
        if lost:
            assert producer.end(commit=commit) == told
            assert producer.end(commit=not commit).error == 48
        if not producer.v1:
            producer.become(told)
        self.model.end(name, commit=commit)

    def check_stale_end(self, number: int, told: Told, commit: bool) -> None:
        """Who was fenced ends nothing; one who timed out may learn of the abort, and go on."""
        if told.error == 0:
            assert not commit
            assert self.model.owner.get(IDS[number]) is None
            self.producers[number].become(told)
            self.model.owner[IDS[number]] = number

    # -- members -----------------------------------------------------------------------------

    @rule(group=inhabited)
    def take_over(self, group: str) -> None:
        """Another member comes in the place of the static one."""
        had = self.model.members[group]
        if group == STATIC:
            had.append(self.join_classic())
        else:
            if had:
                self.beat(had[-1][0], -2)
            name = f"m{len(had)}"
            had.append((name, self.beat(name, 0).member_epoch))

    def join_classic(self) -> tuple[str, int]:
        client = self.core.client()
        request = join_request(group_id=STATIC, instance=INSTANCE)
        request.session_timeout_ms = 1_800_000
        answer = client.call(request, 9, JoinGroupResponse)
        assert answer.error_code == 0
        member_id, generation = answer.member_id, answer.generation_id
        sync = SyncGroupRequest(STATIC, generation, member_id, INSTANCE, "consumer", "range", [])
        assert client.call(sync, 5, SyncGroupResponse).error_code == 0
        return member_id, generation

    def beat(self, member_id: str, epoch: int) -> ConsumerGroupHeartbeatResponse:
        joins = epoch == 0
        request = ConsumerGroupHeartbeatRequest(
            group_id=CONSUMERS,
            member_id=member_id,
            member_epoch=epoch,
            instance_id=INSTANCE,
            rebalance_timeout_ms=60_000 if joins else -1,
            subscribed_topic_names=["t"] if joins else None,
            topic_partitions=[] if joins else None,
        )
        answer = self.core.client().call(request, 1, ConsumerGroupHeartbeatResponse)
        assert answer.error_code == 0
        return answer

    @rule(
        number=producers,
        group=inhabited,
        ago=st.integers(0, 2),
        later=st.sampled_from([0, 0, 0, 1]),
        of=partitions,
        offset=st.integers(0, 9),
    )
    def commit_as_member(
        self, number: int, group: str, ago: int, later: int, of: tuple[str, int], offset: int
    ) -> None:
        """For the member of `ago` places before, `later` by so many generations or epochs."""
        producer, name = self.producers[number], IDS[number]
        had = self.model.members[group]
        member_id, generation = had[-1 - min(ago, len(had) - 1)]
        if producer.v1:
            assert (producer.add_offsets(group) == 0) == self.owns(number)
        error = producer.commit_offset(
            group,
            *of,
            offset,
            generation=generation + later,
            member_id=member_id,
            instance=INSTANCE,
        )
        if not self.owns(number):
            assert error != 0
            return
        if member_id != had[-1][0]:
            assert error == (82 if group == STATIC else 25)
        else:
            assert error == (22 if later else 0)
        # Whatever the group says to it, the transaction has begun.
        transaction = self.model.transaction(name, self.core.now_ms)
        if error == 0:
            self.model.commit_offset((group, *of), offset, transaction)

    # -- others ------------------------------------------------------------------------------

    @rule(to=partitions)
    def write_plain(self, to: tuple[str, int]) -> None:
        value = self.value()
        data = build_batch([Record(0, EPOCH_MS, None, value.encode(), [])])
        topics = [ProduceRequestTopic(to[0], bytes(16), [ProduceRequestPartition(to[1], data)])]
        request = ProduceRequest(None, -1, 1_000, topics)
        answer = self.core.client().call(request, 12, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0
        self.model.logs[to].append(Entry(value, None))

    @rule(group=groups, of=partitions, offset=st.integers(0, 9))
    def commit_plain_offset(self, group: str, of: tuple[str, int], offset: int) -> None:
        partition = OffsetCommitRequestPartition(of[1], offset)
        request = OffsetCommitRequest(
            group_id=group, topics=[OffsetCommitRequestTopic(of[0], partitions=[partition])]
        )
        answer = self.core.client().call(request, 8, OffsetCommitResponse)
        assert answer.topics[0].partitions[0].error_code == 0
        self.model.commit_offset((group, *of), offset, None)

    @rule(ms=st.sampled_from([1, 4_000, LOOK_MS, 2 * LOOK_MS]))
    def wait(self, ms: int) -> None:
        """Each look of the coordinator aborts what is open for too long."""
        end_ms = self.core.now_ms + ms
        look_ms = (self.core.now_ms // LOOK_MS + 1) * LOOK_MS
        while look_ms <= end_ms:
            for name, one in list(self.model.open.items()):
                if one.started_ms + TIMEOUT_MS < look_ms:
                    self.model.end(name, commit=False)
                    self.model.owner[name] = None
            look_ms += LOOK_MS
        self.core.advance(ms)

    @precondition(lambda self: self.model.began > 0)
    @rule(number=producers)
    def move_transactions(self, number: int) -> None:
        """The coordinator of an id begins again from its log."""
        services = self.core.broker.services
        service = services.transactions.service
        index = service.runtime.partition_for(IDS[number])
        log = InternalLog("__transaction_state", services.replicas, services.clock)
        service.runtime.unload(index)
        service.runtime.load(index, log.read(index))

    @rule(group=st.sampled_from((*GROUPS, STATIC, CONSUMERS)))
    def move_group(self, group: str) -> None:
        services = self.core.broker.services
        service = services.groups.service
        index = service.runtime.partition_for(group)
        log = InternalLog("__consumer_offsets", services.replicas, services.clock)
        service.runtime.unload(index)
        service.runtime.load(index, log.read(index))

    def value(self) -> str:
        self.counter += 1
        return f"v{self.counter}"

    # -- what must hold ----------------------------------------------------------------------

    @invariant()
    def readers_see_what_committed(self) -> None:
        for name in PARTITIONS:
            request = fetch_request(*name)
            seen = values_in(self.core.client().call(request, 12, FetchResponse))
            assert seen == self.model.visible(name), name

    @invariant()
    def offsets_are_those_that_count(self) -> None:
        for group in (*GROUPS, STATIC, CONSUMERS):
            for of in PARTITIONS:
                name = (group, *of)
                _, offset = self.model.offsets.get(name, (0, -1))
                assert committed_offset(self.core, *name, stable=False) == (0, offset)
                pending = self.model.is_pending(name)
                assert committed_offset(self.core, *name) == ((88, -1) if pending else (0, offset))

    def teardown(self) -> None:
        """Once everybody timed out, nothing is open anywhere."""
        if hasattr(self, "model"):
            self.wait(2 * TIMEOUT_MS + LOOK_MS)
            self.readers_see_what_committed()
            self.offsets_are_those_that_count()
            assert not self.model.open
            assert not self.core.broker.services.transactions.service.markers


TestTransactions = Transactions.TestCase
TestTransactions.settings = settings(max_examples=40, stateful_step_count=30)
