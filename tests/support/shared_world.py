"""Three brokers, a group whose members share t-0, and two producers, held against `Model`.

Each method is one step, over the wire of the real core and on virtual time; it asserts what the
model says of it. Requests go to whoever leads or coordinates at that moment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from mockbroker.coop import tags
from mockbroker.coop.assignor import cut
from mockbroker.coop.commit_tags import commit_fields, write_offset_ranges
from mockbroker.coop.numbers import Tag
from mockbroker.coop.tags import Cooperative
from mockbroker.metadata.names import (
    GROUP_METADATA_TOPIC,
    INDIVIDUAL_COMMITS_TOPIC,
    TRANSACTION_STATE_TOPIC,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from mockbroker_protocol.messages.fetch import FetchRequestPartition as FetchPartition
from mockbroker_protocol.messages.fetch import FetchRequestTopic as FetchTopic
from mockbroker_protocol.messages.group_membership import (
    LeaveGroupRequest,
    LeaveGroupResponse,
    MemberIdentity,
)
from mockbroker_protocol.messages.group_offsets import OffsetCommitResponse
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.transactions import (
    InitProducerIdResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from tests.support.cluster_core import ClusterCore
from tests.support.cluster_transactions import OnCluster, ended, produced
from tests.support.coop_groups import SharingGroup
from tests.support.range_group import COMMIT_VERSION, ON, Committed, RangeGroup, Standing, told
from tests.support.shared_model import KEYS, Held, Model
from tests.support.shared_records import batch_of, is_in, offsets_of, records_of, runs_of
from tests.support.transactions import Told

if TYPE_CHECKING:
    from mockbroker.coop.key_filter import KeyRange
    from mockbroker_protocol.messages.fetch import FetchResponsePartition

    Mode = Literal["ranges", "leases"]

LEASE_MS = 5_000
SESSION_MS = 1_000_000
"""Members send no heartbeats."""
FETCH_VERSION, TXN_COMMIT_VERSION = 12, 5
PARTS = ("t", GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC, TRANSACTION_STATE_TOPIC)
CONFIG = {
    **ON,
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.num.partitions": "1",
    "group.max.session.timeout.ms": str(SESSION_MS),
    "group.initial.rebalance.delay.ms": "0",
    "transaction.max.timeout.ms": str(SESSION_MS),
    "min.insync.replicas": "2",
    "log.retention.ms": "-1",
    "coop.fetch.lease.ms": str(LEASE_MS),
}
PASSING = frozenset(
    (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
    )
)
"""After these a client comes again."""
TRIES = 40


class Member:
    """What a consumer keeps of its turn; without a position it has yet to ask where to begin."""

    def __init__(self, ranges: tuple[KeyRange, ...]) -> None:
        self.ranges = ranges
        self.position = -1
        self.known: set[int] = set()
        """What was committed when it began, and what it commits."""
        self.work: list[int] = []
        """What it was given, and has not committed."""


class Producer(OnCluster):
    """Commits offsets, or writes records, in transactions."""

    def __init__(self, core: ClusterCore, name: str) -> None:
        super().__init__(core, name)
        self.is_open = False


class World:
    """See the module."""

    def __init__(self, mode: Mode, members: int) -> None:
        self.mode = mode
        self.core = ClusterCore(topics={"t": 1}, config=CONFIG)
        self.model = Model()
        self.down = 0
        """The node that crashed and is not back yet."""
        self.asked_ms = 0.0
        """When a commit was sent last."""
        self._coordinates: object = None
        self.last_of_key: dict[str, tuple[int, int]] = {}
        """By key, which member was given it in this generation, and its last offset."""
        for topic in PARTS[1:]:
            if topic != INDIVIDUAL_COMMITS_TOPIC:
                self.core.cluster.controller.ensure_internal_topic(topic)
        self.core.advance(10)
        self.producers = [Producer(self.core, name) for name in ("tx-0", "tx-1")]
        for producer in self.producers:
            producer.become(self._init(producer))
        self.write([*KEYS, *KEYS])
        self.group = SharingGroup(
            self.core,
            *[7] * members,
            nodes=[self._coordinator] * members,
            session_timeout_ms=SESSION_MS,
        )
        self._sync()
        begun = self._send_commit(0, commit_fields([], 0, read_committed=True))
        assert begun[:3] == (ErrorCode.NONE, None, 0)

    # -- who is who ------------------------------------------------------------------------

    @property
    def _coordinator(self) -> int:
        return self.core.state(GROUP_METADATA_TOPIC).leader

    @property
    def _leader(self) -> int:
        return self.core.state("t").leader

    def _member(self, number: int) -> int:
        return number % len(self.members)

    def look(self) -> None:
        """Another coordinator knows of no lease."""
        state = self.core.state(GROUP_METADATA_TOPIC)
        if (state.leader, state.leader_epoch) != self._coordinates:
            self._coordinates = state.leader, state.leader_epoch
            self.model.held.clear()
            self.model.marker = None

    def _init(self, producer: Producer) -> Told:
        for _ in range(TRIES):
            client = producer.client
            client.send(producer.init_request(timeout_ms=SESSION_MS), 5)
            self.core.advance(100)
            answer = client.receive(InitProducerIdResponse)
            if answer.error_code not in PASSING:
                return Told(answer.error_code, answer.producer_id, answer.producer_epoch)
        raise AssertionError("nobody gives producer ids")

    # -- writing ---------------------------------------------------------------------------

    def write(self, keys: list[str]) -> None:
        """Append a batch."""
        part = ProduceRequestPartition(index=0, records=batch_of(keys))
        request = ProduceRequest(
            acks=-1, timeout_ms=1000, topic_data=[ProduceRequestTopic("t", partition_data=[part])]
        )
        for _ in range(TRIES):
            client = self.core.client(node=self._leader)
            client.send(request, 9)
            self.core.advance(50)
            (one,) = client.receive(ProduceResponse).responses[0].partition_responses
            if one.error_code not in PASSING:
                assert one.error_code == ErrorCode.NONE
                break
        self.model.append(keys, aborted=False, markers=0)

    def write_in_transaction(self, keys: list[str], *, commit: bool) -> None:
        """Append a batch in a transaction, and its marker; one with open offsets waits."""
        producer = self.producers[0]
        if producer.is_open:
            return
        sequence = producer.sequences.get(("t", 0), 0)
        batch = batch_of(keys, producer.producer_id, producer.epoch, sequence)
        for _ in range(TRIES):
            client = producer.leader("t", 0)
            client.send(producer.produce_request("t", 0, batch), 12)
            self.core.advance(200)
            error = produced(client)
            if error not in PASSING:
                assert error == ErrorCode.NONE
                break
        self._end(producer, commit=commit)
        self.model.append(keys, aborted=not commit, markers=1)

    def _end(self, producer: Producer, *, commit: bool) -> None:
        for _ in range(TRIES):
            client = producer.send_end(commit=commit)
            self.core.advance(200)
            answer = ended(client)
            if answer.error not in PASSING:
                producer.become(answer)
                break
        self.core.advance(500)

    # -- the group -------------------------------------------------------------------------

    def rebalance(self, members: int) -> None:
        """A generation with so many members; who fetches or commits in the last one is refused."""
        group = self.group
        before = group.generation
        self._connect()
        while len(group.members) > members:
            group.flags.pop()
            self._leave(group.members.pop())
        self._connect()
        while len(group.members) < members:
            group.flags.append(7)
            group.clients.append(self.core.client(node=self._coordinator))
            group.members.append(group.first(len(group.members)))
        group.rejoin()
        self._sync()
        for at in range(members):
            self._is_fenced(at, before)

    def _connect(self) -> None:
        node = self._coordinator
        self.group.clients = [self.core.client(node=node) for _ in self.group.members]

    def _leave(self, *members: str) -> None:
        client = self.core.client(node=self._coordinator)
        client.send(LeaveGroupRequest("g", members=[MemberIdentity(one) for one in members]), 4)
        self.core.advance(50)
        assert client.receive(LeaveGroupResponse).error_code == ErrorCode.NONE

    def _sync(self) -> None:
        count = len(self.group.members)
        parts = cut(count) if self.mode == "ranges" else [()] * count
        self.group.sync(*({"t": {0: ranges}} for ranges in parts))
        self.members = [Member(ranges) for ranges in parts]
        self.last_of_key.clear()
        self.model.held.clear()

    def _is_fenced(self, at: int, generation: int) -> None:
        refused = self._fetched(at, 0, generation)
        assert refused.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
        fields = commit_fields([(self.model.end - 1, self.model.end - 1)], read_committed=True)
        answer = self._send_commit(at, fields, generation)
        assert answer.error == ErrorCode.ILLEGAL_GENERATION

    def reset(self, position: int) -> None:
        """All leave, somebody from outside sets the position, and they come back."""
        position = self._within(position)
        count = self.leave_all()
        client = self.core.client(node=self._coordinator)
        asking = RangeGroup(client)
        client.send(asking.asking(position, None), COMMIT_VERSION)
        self.core.advance(50)
        answer = told(client.receive(OffsetCommitResponse).topics[0].partitions[0])
        assert answer == Committed(ErrorCode.NONE)
        self.model.sets(position, keeps=False)
        self.come_back(count)

    def leave_all(self) -> int:
        """The group has no member any more; how many it had."""
        self._leave(*self.group.members)
        return len(self.group.members)

    def come_back(self, count: int) -> None:
        """The group has so many again."""
        self._connect()
        self.group.members = [self.group.first(at) for at in range(count)]
        self.group.rejoin()
        self._sync()

    def _within(self, position: int) -> int:
        return max(self.model.start, min(position, self.model.end))

    # -- reading ---------------------------------------------------------------------------

    def _standing(self, *, require_stable: bool = False) -> Standing:
        for _ in range(TRIES):
            asking = RangeGroup(self.core.client(node=self._coordinator))
            standing = asking.fetch(require_stable=require_stable)
            if standing.error not in PASSING:
                return standing
            self.core.advance(50)
        raise AssertionError("nobody tells how the group stands")

    def check(self) -> None:
        """What is told is what is committed, and nothing else."""
        told, model = self._standing(), self.model
        assert told.error == ErrorCode.NONE
        assert model.is_stable(told.stable)
        ends = [last + 1 for _, last in told.ranges]
        assert all(end < first for end, (first, _) in zip(ends, told.ranges[1:], strict=False))
        assert offsets_of(told.ranges) & model.keys.keys() == model.done & model.keys.keys()
        assert offsets_of(told.pending) == set().union(*model.pending.values())

    def fetch(self, number: int, most: int) -> None:
        """A member is given records, from where it stands, or as the broker deals."""
        at = self._member(number)
        if self.mode == "leases":
            self._deal(at, most)
        elif self._is_placed(at):
            self._read(at)

    def _is_placed(self, at: int) -> bool:
        """It asks how the group stands; while a transaction is open it is told to wait."""
        member, model = self.members[at], self.model
        if member.position < 0:
            standing = self._standing(require_stable=True)
            if any(model.pending.values()):
                assert standing.error == ErrorCode.UNSTABLE_OFFSET_COMMIT
                return False
            assert standing.error == ErrorCode.NONE
            assert model.is_stable(standing.stable)
            member.position = standing.stable
            member.known = offsets_of(standing.ranges)
        return True

    def _read(self, at: int) -> None:
        member, model = self.members[at], self.model
        start = member.position
        part = self._fetched(at, start)
        assert part.error_code == ErrorCode.NONE
        given, end = records_of(part)
        assert end == (model.end if start < model.end else -1)
        right = [
            (offset, key)
            for offset, key in model.keys.items()
            if offset >= start and is_in(member.ranges, key)
        ]
        assert [each for each in given if each[0] in model.keys and each[0] >= start] == right
        for offset, key in right:
            if offset in member.known:
                continue
            # Nothing that is committed comes again, and a key's records are one member's, in order.
            assert offset >= model.stable
            assert offset not in model.done
            owner, last = self.last_of_key.get(key, (at, -1))
            assert (owner, last < offset) == (at, True)
            self.last_of_key[key] = at, offset
            member.work.append(offset)
        member.position = max(start, end)

    def _deal(self, at: int, most: int) -> None:
        model, now_ms, name = self.model, self.core.now_ms, self.group.members[at]
        free = model.free(now_ms)
        part = self._fetched(at, 0, most=most)
        assert part.error_code == ErrorCode.NONE
        fields = tags.tagged_fields(part)
        pieces = tags.read_acquired(fields[Tag.ACQUIRED_RANGES])
        offsets = [each for first, last, _ in pieces for each in range(first, last + 1)]
        assert set(offsets) <= set(free)
        assert offsets[:1] == free[:1]
        assert {offset for offset, _ in records_of(part)[0]}.issuperset(offsets)
        model.marker = int.from_bytes(fields[Tag.NEXT_FETCH_OFFSET], "big")
        assert all(offset < model.marker for offset in offsets)
        for offset in offsets:
            model.held[offset] = Held(name, now_ms + LEASE_MS)
        member = self.members[at]
        member.work = [each for each in member.work if each not in offsets] + offsets

    def _fetched(
        self, at: int, offset: int, generation: int | None = None, most: int = 3
    ) -> FetchResponsePartition:
        part = FetchPartition(0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0,
            min_bytes=1,
            max_bytes=1 << 20,
            isolation_level=1,
            session_epoch=-1,
            topics=[FetchTopic("t", partitions=[part])],
        )
        own = self.group.identity(at, generation)
        ranges = self.members[at].ranges
        if self.mode == "leases":
            own[Tag.COOPERATIVE] = tags.write_cooperative(Cooperative(most, 0))
        elif ranges:
            tags.tag(part, {Tag.KEY_RANGES: tags.write_ranges(ranges)})
        tags.tag(request, own)
        client = self.core.client(node=self._leader)
        answer = client.call(request, FETCH_VERSION, FetchResponse)
        return answer.responses[0].partitions[0]

    # -- committing ------------------------------------------------------------------------

    def commit(self, number: int, picks: int) -> None:
        """A member commits some of what it has, or had."""
        at = self._member(number)
        offsets = self._picked(at, picks)
        if not offsets:
            return
        model, name = self.model, self.group.members[at]
        fields = commit_fields(runs_of(offsets), read_committed=True)
        answer = self._send_commit(at, fields)
        if model.others(name, offsets, self.asked_ms):
            assert answer.error == ErrorCode.INVALID_RECORD_STATE
        elif min(offsets) < model.stable:
            assert answer[:3] == (ErrorCode.INVALID_COMMIT_OFFSET_SIZE, 91, model.stable)
        elif model.waits(offsets):
            assert answer.error == ErrorCode.UNSTABLE_OFFSET_COMMIT
        else:
            model.commit(offsets)
            assert answer[:3] == (ErrorCode.NONE, None, model.stable)
            self._finished(at, offsets)

    def _finished(self, at: int, offsets: set[int]) -> None:
        member = self.members[at]
        member.known |= offsets
        member.work = [each for each in member.work if each not in offsets]

    def _picked(self, at: int, picks: int) -> set[int]:
        """As the bits of `picks` say: of its work, and of what it knows to be committed."""
        member = self.members[at]
        known = sorted(each for each in member.known if each >= self.model.stable - 1)[:3]
        candidates = [*enumerate(member.work[:13]), *enumerate(known, 13)]
        return {each for bit, each in candidates if picks >> bit & 1}

    def set_position(self, number: int, position: int) -> None:
        """A member commits a plain position."""
        at = self._member(number)
        position = self._within(position)
        answer = self._send_commit(at, None, offset=position)
        assert answer == Committed(ErrorCode.NONE)
        self.model.sets(position, keeps=position >= self.model.stable)
        self.rebalance(len(self.members))  # who is given what has nothing to do with it any more

    def release(self, number: int, picks: int) -> None:
        """A member gives back some of what it was dealt."""
        at = self._member(number)
        model, name = self.model, self.group.members[at]
        mine = model.mine(name, self.core.now_ms)
        offsets = {each for bit, each in enumerate(mine) if picks >> bit % 16 & 1}
        if self.mode == "leases" and offsets:
            fields: dict[int, bytes] = {Tag.RELEASE_RANGES: write_offset_ranges(runs_of(offsets))}
            answer = self._send_commit(at, fields)
            assert answer.error == ErrorCode.NONE
            for offset in offsets:
                del model.held[offset]

    def _send_commit(
        self,
        at: int,
        fields: dict[int, bytes] | None,
        generation: int | None = None,
        offset: int = -1,
    ) -> Committed:
        for _ in range(TRIES):
            client = self.core.client(node=self._coordinator)
            asking = RangeGroup(client)
            self.asked_ms = self.core.now_ms
            asking.member = self.group.members[at]
            asking.generation = self.group.generation if generation is None else generation
            client.send(asking.asking(offset, fields), COMMIT_VERSION)
            self.core.advance(50)
            answer = told(client.receive(OffsetCommitResponse).topics[0].partitions[0])
            if answer.error not in PASSING:
                return answer
        raise AssertionError("nobody takes the commit")

    # -- transactions ----------------------------------------------------------------------

    def stage(self, number: int, which: int, picks: int) -> None:
        """A member's work is to be committed with a transaction, which is given up if it cannot."""
        at, producer = self._member(number), self.producers[which]
        offsets, model = self._picked(at, picks), self.model
        if not offsets:
            return
        own = model.pending.setdefault(producer.transactional_id, set())
        one = TxnOffsetCommitRequestPartition(0, 0)
        tags.tag(one, commit_fields(runs_of(offsets), read_committed=True))
        error, draft = self._send_staged(at, producer, one)
        if model.others(self.group.members[at], offsets, self.asked_ms):
            wanted = ErrorCode.INVALID_RECORD_STATE, 0
        elif min(offsets) < model.stable:
            wanted = ErrorCode.INVALID_COMMIT_OFFSET_SIZE, 91
        elif offsets & model.done or model.waits(offsets, producer.transactional_id):
            wanted = ErrorCode.TRANSACTION_ABORTABLE, 0
        else:
            wanted = ErrorCode.NONE, 0
        assert (error, draft) == wanted, (offsets, error, draft, wanted)
        producer.is_open = True
        if error:
            self.end(which, commit=False)
        else:
            own |= offsets

    def _send_staged(
        self, at: int, producer: Producer, one: TxnOffsetCommitRequestPartition
    ) -> tuple[int, int]:
        group = self.group
        for _ in range(TRIES):
            request = TxnOffsetCommitRequest(
                producer.transactional_id,
                "g",
                producer.producer_id,
                producer.epoch,
                group.generation,
                group.members[at],
                None,
                [TxnOffsetCommitRequestTopic("t", partitions=[one])],
            )
            client = self.core.client(node=self._coordinator)
            self.asked_ms = self.core.now_ms
            client.send(request, TXN_COMMIT_VERSION)
            self.core.advance(200)
            answer = client.receive(TxnOffsetCommitResponse).topics[0].partitions[0]
            if answer.error_code not in PASSING:
                return answer.error_code, tags.read_error(
                    tags.tagged_fields(answer).get(Tag.EXT_ERROR)
                )
        raise AssertionError("nobody takes the offsets of a transaction")

    def end(self, which: int, *, commit: bool) -> None:
        """End a producer's transaction: what it staged counts, or goes to somebody again."""
        producer = self.producers[which]
        if not producer.is_open:
            return
        self._end(producer, commit=commit)
        producer.is_open = False
        staged = self.model.pending.pop(producer.transactional_id, set())
        if commit:
            self.model.commit(staged)
            for at in range(len(self.members)):
                self._finished(at, staged)

    # -- what happens ----------------------------------------------------------------------

    def wait(self, ms: int) -> None:
        """Leases end."""
        self.core.advance(ms)

    def crash(self, *, of_leader: bool) -> None:
        """Of who leads or coordinates; one broker is down at a time."""
        self.revive()
        self.down = self._leader if of_leader else self._coordinator
        self.core.cluster.controls.kill(self.down)
        self.core.advance(1000)

    def revive(self) -> None:
        """All are up, and in sync."""
        if self.down:
            self.core.cluster.controls.revive(self.down)
            self.core.advance(3000)
            self.down = 0

    def move(self, *, of_leader: bool) -> None:
        """Another takes over, who is in sync."""
        topic = "t" if of_leader else GROUP_METADATA_TOPIC
        state = self.core.state(topic)
        others = [node for node in state.isr if node != state.leader]
        if others:
            self.core.controls.move_leader(topic, 0, min(others))
            self.core.advance(500)

    def finish(self) -> None:
        """All that nobody has committed is given to somebody again, and can be committed."""
        self.revive()
        for which in range(len(self.producers)):
            self.end(which, commit=False)
        self.rebalance(len(self.members))
        for _ in range(len(self.model.keys)):
            for at in range(len(self.members)):
                self.look()
                self.fetch(at, 100)
                self.commit(at, (1 << 13) - 1)
            if not self.model.open():
                break
        assert not self.model.open()
        self.check()
        assert self.model.stable == self.model.end
