"""Members that share a partition: what those who read by ranges and by leases have in common.

A member asks how its group stands, reads what is its own or what it is dealt, and commits single
offsets of that in any order. It may crash, be slow, give leases back or keep them for longer, and
set plain positions beside; then what it has not committed must come to somebody again. How it gets
into a group is for subclasses. All that it is told goes to the group's `SharingBook`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import (
    commit_fields,
    read_offset_ranges,
    write_offset_ranges,
)
from mockbroker.coop.leases import Holder
from mockbroker.coop.numbers import DraftError, Tag
from mockbroker.coop.tags import Cooperative, Identity
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from simulation.cluster.carried_text import text_of_commit, wrong_in
from simulation.cluster.consumers import fetch_of
from simulation.cluster.coordinated_members import CoordinatedMember
from simulation.cluster.plan import SHARED
from simulation.record_reader import read_records

if TYPE_CHECKING:
    from random import Random

    from mockbroker.coop.key_filter import KeyRange
    from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponsePartition
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.sharing_book import SharingBook
    from simulation.cluster.sharing_plan import SharingPlan
    from simulation.cluster.truth import Truth

PART = SHARED, 0
COMMIT_VERSION, OFFSETS_VERSION = 9, 8
FETCH_VERSIONS = (12, 13, 16)
BY_IDS = 13
NO_GENERATION = -1
MOVED = frozenset(
    (
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,  # a broker that has not heard of the topic yet
    )
)
THROWN_OUT = frozenset(
    (
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.STALE_MEMBER_EPOCH,
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.GROUP_ID_NOT_FOUND,
    )
)
NOT_NOW = frozenset(
    (
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.OFFSET_OUT_OF_RANGE,
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    )
)
"""What a fetch may be answered."""


class Said(NamedTuple):
    """What a commit says beside its ranges."""

    begins: int | None = None
    read_committed: bool = False
    releases: list[tuple[int, int]] = []  # noqa: RUF012 -- never changed
    renews: list[tuple[int, int]] = []  # noqa: RUF012

    def fields(self, ranges: list[tuple[int, int]] | None) -> dict[int, bytes]:
        """In tagged fields."""
        if ranges is not None:
            return commit_fields(ranges, self.begins, read_committed=self.read_committed)
        return {
            tag: write_offset_ranges(leases)
            for tag, leases in (
                (Tag.RELEASE_RANGES, self.releases),
                (Tag.RENEW_RANGES, self.renews),
            )
            if leases
        }

    def text(self, ranges: list[tuple[int, int]]) -> str:
        """In metadata."""
        return text_of_commit(ranges, **self._asdict())


class Setting(NamedTuple):
    """What the members of one group have in common."""

    book: SharingBook
    truth: Truth
    plan: ClusterPlan
    group: SharingPlan
    lease_ms: int


def runs_of(offsets: list[int]) -> list[tuple[int, int]]:
    """Sorted offsets as ranges."""
    runs: list[tuple[int, int]] = []
    for offset in offsets:
        if runs and runs[-1][1] == offset - 1:
            runs[-1] = runs[-1][0], offset
        else:
            runs.append((offset, offset))
    return runs


def draft_error(data: object) -> int:
    """The draft's number of an error; 0 where it has none."""
    told = tags.tagged_fields(data).get(Tag.EXT_ERROR)
    return 0 if told is None else int.from_bytes(told[:2], "big")


class Sharer(CoordinatedMember):
    """A member without a group protocol: always in, always the same ranges."""

    group: SharingPlan
    leaves = 0.04
    reads_on = True

    def __init__(self, setting: Setting, name: str, rng: Random) -> None:
        topics = {SHARED: 1}
        super().__init__(setting.book.world, name, rng, setting.truth, topics)
        self.book = setting.book
        self.group = setting.group
        self.lease_ms = setting.lease_ms
        self.rack = rng.choice(("", *dict.fromkeys(setting.plan.racks)))
        self.member_id = name
        self.generation = NO_GENERATION
        self.ranges: tuple[KeyRange, ...] | None = ()
        """What it reads: nothing if None; without ranges all of it."""
        self.stable = -1
        """As it last heard; -1: it has to ask."""
        self.position = 0
        self.done: set[int] = set()
        """Offsets that it was told are committed."""
        self.got: list[int] = []
        """Offsets that it was given and has not committed."""
        self._carries = setting.plan.on["carriers"]
        """Whether it says some of what it commits in metadata, as who cannot send fields."""
        self._fetch_version = rng.choice(FETCH_VERSIONS)
        self._preferred: int | None = None
        self._session = 0, 0, -1
        """Id and epoch of its fetch session, and the broker that has it."""

    # -- its life --------------------------------------------------------------------------

    def calm_down(self) -> None:
        """Behave from now on."""
        self.calm = True

    @property
    def group_id(self) -> str:
        """Whose coordinator it looks for."""
        return self.book.group

    @property
    def is_in(self) -> bool:
        """Whether it may work."""
        return True

    @property
    def era(self) -> object:
        """What its generation is told from others by."""
        return self.generation

    def lose_identity(self) -> None:
        """It begins anew, as a new process would."""
        self.lose_work()

    def lose_work(self) -> None:
        """Forget what it has, and ask again how the group stands."""
        self.stable = -1
        self.got.clear()
        self.done.clear()
        self._session = 0, 0, -1

    def begin(self) -> None:
        if not self.calm and self.misbehaves():
            return
        node = self.coordinator
        if node is None:
            self.find()
        elif not self.is_in:
            self.get_in(node)
        elif self.ranges is None:
            self.stay(node)
        elif self.stable < 0 or self.rng.random() < (0.4 if self.calm and not self.got else 0.06):
            self._ask_offsets(node)
        elif self.rng.random() < 0.25:
            self.stay(node)
        elif self.got and self.rng.random() < 0.5:
            self._commit(node)
        else:
            self._fetch()

    def get_in(self, node: int) -> None:
        """Join the group."""

    def stay(self, node: int) -> None:
        """Tell the coordinator that it is there."""
        del node
        self.pause()

    def leave(self, node: int) -> None:
        """Go, and come back as somebody new."""
        del node
        self.lose_identity()
        self.later(100.0)

    def refused(self, what: str, error: int, *also: ErrorCode) -> None:
        """An answer that is an error, or -1 for none; `also` may be answered beside the usual."""
        self.note(f"{what}: {error}")
        if error in THROWN_OUT:
            self.lose_identity()
        elif error == ErrorCode.REBALANCE_IN_PROGRESS:
            self.must_rejoin()
        elif error == -1 or error in MOVED:
            self.coordinator = None
        elif error not in also:
            self.world.violate(f"{self.name}: {what} is answered {error}")
        self.later()

    def must_rejoin(self) -> None:
        """The group rebalances."""
        self.lose_work()

    # -- how the group stands --------------------------------------------------------------

    def _ask_offsets(self, node: int) -> None:
        stable = self.rng.random() < 0.8
        group = OffsetFetchRequestGroup(
            self.book.group, topics=[OffsetFetchRequestTopics(SHARED, partition_indexes=[0])]
        )
        tags.tag(group, {Tag.WANT_RANGES: b"\x02"})
        request = OffsetFetchRequest(groups=[group], require_stable=stable)
        asked = self.book.ask(node)

        def answered(answer: OffsetFetchResponse | None) -> None:
            if answer is None:
                self.refused("offsets", -1)
                return
            error = answer.groups[0].error_code
            if not error:
                error = answer.groups[0].topics[0].partitions[0].error_code
            if error:
                self.refused("offsets", error, ErrorCode.UNSTABLE_OFFSET_COMMIT)
                return
            one = answer.groups[0].topics[0].partitions[0]
            ranges = read_offset_ranges(tags.tagged_fields(one)[Tag.COMMITTED_RANGES])
            self.note(f"finds {one.committed_offset} {ranges} at {node}")
            if self._carries and (wrong := wrong_in(one.metadata, ranges)) is not None:
                self.world.violate(f"{self.name}: {wrong}")
            self.book.told(self.name, asked, one.committed_offset, ranges, all_of_it=stable)
            if one.committed_offset < 0:
                # Agree with the others on a beginning.
                self._send_commit(node, "begins", [], Said(begins=0))
            else:
                self._stands_at(one.committed_offset, ranges)
                self.later(1.0)

        self.ask(node, request, OFFSETS_VERSION, OffsetFetchResponse, answered)

    def _stands_at(self, stable: int, ranges: list[tuple[int, int]]) -> None:
        self.stable = self.position = stable
        self.got.clear()
        self.done = {offset for first, last in ranges for offset in range(first, last + 1)}
        self._session = 0, 0, -1

    # -- reading ---------------------------------------------------------------------------

    def identity(self) -> Identity:
        """As whom it fetches."""
        return Identity(self.book.group, self.member_id, self.generation, None)

    def _fetch(self) -> None:
        known = self.leaders.get(PART)
        if known is None:
            self.learn()
            return
        node, epoch = known
        if self._preferred is not None and not self.group.by_leases:
            node = self._preferred
        request = fetch_of(PART, epoch, self.position, committed=self.group.read_committed)
        version = self._fetch_version
        if version >= BY_IDS:
            request.topics[0].topic_id = self.world.cluster.metadata.topics[SHARED].id
        if self.group.by_leases:
            self._fetch_cooperatively(node, request, version)
        else:
            self._fetch_ranges(node, request, version)

    def _told(self, answer: FetchResponse | None) -> FetchResponsePartition | None:
        """The partition, unless something is wrong."""
        error = -1 if answer is None else answer.error_code
        data = None
        if answer is not None and not error and answer.responses:
            data = answer.responses[0].partitions[0]
            error = data.error_code
        if not error:
            return data
        self._session = 0, 0, -1
        draft = draft_error(data)
        self.note(f"fetch: {error} ({draft})")
        if error not in NOT_NOW and error != -1:
            self.world.violate(f"{self.name}: a fetch is answered {error} ({draft})")
        if error == ErrorCode.OFFSET_OUT_OF_RANGE:
            self.stable = -1
        self._preferred = None
        self.forget(PART)
        if error == ErrorCode.COORDINATOR_NOT_AVAILABLE or draft:
            self.coordinator = None
        return None

    def _fetch_ranges(self, node: int, request: FetchRequest, version: int) -> None:
        ranges = self.ranges
        assert ranges is not None
        request.rack_id = self.rack
        (asked_part,) = request.topics[0].partitions
        session, epoch, at = self._session
        in_session = self.group.on["sessions"]
        if in_session:
            request.session_id, request.session_epoch = (session, epoch) if at == node else (0, 0)
        if ranges and not request.session_epoch > 0:
            tags.tag(asked_part, {Tag.KEY_RANGES: tags.write_ranges(ranges)})
        if self.group.protocol != "alone":
            tags.tag(request, {Tag.GROUP_IDENTITY: tags.write_identity(self.identity())})
        era, position = self.era, self.position

        def answered(answer: FetchResponse | None) -> None:
            data = self._told(answer)
            if answer is None or answer.error_code:
                self.later()
                return
            if in_session:
                self._session = answer.session_id, request.session_epoch + 1, node
            if data is None:
                self.later(self.group.pause_ms if not answer.responses else 50.0)
                return
            if (self.ranges, self.era, self.position) != (ranges, era, position):
                self.later(1.0)
                return
            if data.preferred_read_replica >= 0:
                self._preferred, self._session = data.preferred_read_replica, (0, 0, -1)
                self.later(1.0)
                return
            self._take(data, ranges)
            if self.rng.random() < 0.05:
                self._preferred = None
                self.forget(PART)
            self.pause()

        self.ask(node, request, version, FetchResponse, answered)

    def _take(self, data: FetchResponsePartition, ranges: tuple[KeyRange, ...]) -> None:
        committed = self.group.read_committed
        reading = read_records(data, self.position, committed=committed)
        if reading.wrong is not None:
            self.world.violate(f"{self.name}: {reading.wrong}")
        told = tags.tagged_fields(data).get(Tag.NEXT_FETCH_OFFSET)
        if ranges and told is not None and int.from_bytes(told, "big") != reading.end:
            self.world.violate(f"{self.name}: the next offset {told!r} is not {reading.end}")
        span = self.position, reading.end
        self.book.was_given(self.name, span, reading.records, ranges, committed=committed)
        if reading.records:
            self.note(f"is given {[offset for offset, _ in reading.records]} of {span}")
        new = [offset for offset, _ in reading.records if offset not in self.done]
        self.book.reads(self.name, self.era, new)
        self.got += new
        self.position = reading.end

    def _fetch_cooperatively(self, node: int, request: FetchRequest, version: int) -> None:
        most = self.rng.choice((0, 1, 4))
        asked = self.book.ask(node)
        tags.tag(
            request,
            {
                Tag.GROUP_IDENTITY: tags.write_identity(self.identity()),
                Tag.COOPERATIVE: tags.write_cooperative(Cooperative(most)),
            },
        )
        generation = self.generation

        def answered(answer: FetchResponse | None) -> None:
            data = self._told(answer)
            if data is None or generation != self.generation:
                self.later()
                return
            pieces = tags.read_acquired(tags.tagged_fields(data)[Tag.ACQUIRED_RANGES])
            dealt = [(first, last) for first, last, _ in pieces]
            if dealt:
                self.note(f"is dealt {dealt} at {node}")
            holder = Holder(self.member_id, generation)
            self.book.was_dealt(self.name, asked, holder, dealt, self.lease_ms)
            self._take_dealt(data, dealt)
            self.pause()

        self.ask(node, request, version, FetchResponse, answered)

    def _take_dealt(self, data: FetchResponsePartition, dealt: list[tuple[int, int]]) -> None:
        start = dealt[0][0] if dealt else 0
        reading = read_records(data, start, committed=self.group.read_committed)
        offsets = [
            offset
            for offset, _ in reading.records
            if any(first <= offset <= last for first, last in dealt)
        ]
        self.got += [offset for offset in offsets if offset not in self.got]

    # -- committing ------------------------------------------------------------------------

    def _commit(self, node: int) -> None:
        rng, on = self.rng, self.group.on
        if on["positions"] and not self.calm and rng.random() < 0.1:
            self._set_position(node)
            return
        if self.group.by_leases and not self.calm and rng.random() < 0.15:
            self._change_leases(node)
            return
        got = sorted(self.got)
        if self.calm:
            chosen = got[: rng.randint(1, len(got))]
        else:
            chosen = sorted(rng.sample(got, rng.randint(1, len(got))))
        ranges = runs_of(chosen)
        said = Said(read_committed=self.group.read_committed)
        self._send_commit(node, f"commits {ranges}", ranges, said)

    def _change_leases(self, node: int) -> None:
        """Give something back, or keep it for longer."""
        offsets = sorted(self.rng.sample(self.got, self.rng.randint(1, len(self.got))))
        runs = runs_of(offsets)
        if self.rng.random() < 0.5:
            self.got = [each for each in self.got if each not in offsets]
            self.book.frees(runs)
            self._send_commit(node, f"releases {offsets}", None, Said(releases=runs))
        else:
            self._send_commit(node, f"renews {offsets}", None, Said(renews=runs))

    def _asking(
        self, offset: int, fields: dict[int, bytes] | None, text: str | None = None
    ) -> OffsetCommitRequest:
        one = OffsetCommitRequestPartition(0, offset, committed_metadata=text)
        if fields is not None:
            tags.tag(one, fields)
        return OffsetCommitRequest(
            group_id=self.book.group,
            generation_id_or_member_epoch=self.generation,
            member_id=self.member_id,
            topics=[OffsetCommitRequestTopic(SHARED, partitions=[one])],
        )

    def _send_commit(
        self, node: int, what: str, committed: list[tuple[int, int]] | None, said: Said
    ) -> None:
        """`committed` None: nothing is, its leases change."""
        asked, ranges = self.book.ask(node), committed or []
        self.book.commits(asked, ranges)
        in_text = self._carries and not self.calm and self.rng.random() < 0.5

        def answered(answer: OffsetCommitResponse | None) -> None:
            one = None if answer is None else answer.topics[0].partitions[0]
            error = -1 if one is None else one.error_code
            if one is None or error:
                self.book.refused(asked, ranges)
                self._commit_refused(what, one, error)
                return
            self.note(f"{what} at {node}{' in text' * in_text}")
            told = tags.tagged_fields(one)
            if in_text:
                if told:
                    self.world.violate(f"{self.name}: {told} is told to who cannot read it")
            else:
                stable = int.from_bytes(told[Tag.STABLE_OFFSET], "big", signed=True)
                self.book.told(self.name, asked, stable, [], all_of_it=False)
            self.book.committed(asked, ranges)
            self.got = [each for each in self.got if not any(lo <= each <= hi for lo, hi in ranges)]
            self.pause()

        offset = max(self.stable, 0)
        if in_text:
            request = self._asking(offset, None, said.text(ranges))
        else:
            request = self._asking(offset, said.fields(committed))
        self.ask(node, request, COMMIT_VERSION, OffsetCommitResponse, answered)

    def _commit_refused(self, what: str, one: object | None, error: int) -> None:
        draft = draft_error(one)
        if draft == DraftError.INDIVIDUAL_COMMIT_TOO_OLD or error in (
            *((ErrorCode.INVALID_COMMIT_OFFSET_SIZE,) if self._carries else ()),
            ErrorCode.INVALID_RECORD_STATE,
            ErrorCode.UNSTABLE_OFFSET_COMMIT,
        ):
            # Somebody else has done it, has it by now, or is about to have done it.
            self.note(f"{what}: {error} ({draft})")
            self.lose_work()
            self.later()
        elif draft == DraftError.MAX_INDIVIDUAL_COMMIT_REACHED and self.calm:
            self.note(f"{what}: {error} ({draft})")
            self.got = sorted(self.got)[:1]  # the lowest of all goes through, whoever has it
            self.later()
        elif draft == DraftError.MAX_INDIVIDUAL_COMMIT_REACHED:
            self.refused(what, ErrorCode.REBALANCE_IN_PROGRESS)
        else:
            self.refused(what, error)

    def _set_position(self, node: int) -> None:
        """A plain commit beside: of where it stands, or of where all is tried up to."""
        offset = self.rng.choice((max(self.stable, 0), self.book.prefix()))
        self.book.sets(offset)

        def answered(answer: OffsetCommitResponse | None) -> None:
            error = -1 if answer is None else answer.topics[0].partitions[0].error_code
            self.book.was_set(offset, done=None if error else True)
            if error:
                self.refused(f"sets {offset}", error)
                return
            self.note(f"sets {offset} at {node}")
            self.stable = -1
            self.pause()

        self.ask(node, self._asking(offset, None), COMMIT_VERSION, OffsetCommitResponse, answered)
