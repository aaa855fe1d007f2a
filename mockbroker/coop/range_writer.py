"""One request's commit of ranges, from its tagged fields to what is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop import tags
from mockbroker.coop.commit_tags import (
    AskedCommit,
    read_commit,
    read_lease_changes,
    standing_fields,
)
from mockbroker.coop.errors import Refusal
from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import LeaseChanges, Shared, Taken
from mockbroker.coop.ic_records import IndividualCommitKey, IndividualCommitValue
from mockbroker.coop.individual_commit import (
    MALFORMED,
    NOTHING_COMMITTED,
    TOO_MANY,
    TOO_OLD,
    Outcome,
    Standing,
    commit,
)
from mockbroker.coop.individual_commits import NOT_ALLOWED, Place, committed_offset
from mockbroker.coop.numbers import Tag
from mockbroker.coordinator.records import CoordinatorRecord
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.messages.coordinator_records import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.context import Services
    from mockbroker.coop.ic_shard import CommittedRanges, IndividualCommitShard
    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker_protocol.messages.group_offsets import (
        OffsetCommitRequest,
        OffsetCommitResponse,
    )
    from mockbroker_protocol.messages.transactions import (
        TxnOffsetCommitRequest,
        TxnOffsetCommitResponse,
    )

NOT_YOURS = Refusal(ErrorCode.INVALID_RECORD_STATE)
_TOO_MANY_ASKED = Refusal(ErrorCode.INVALID_COMMIT_OFFSET_SIZE)


class RangeWriter:
    """Decides about each partition of a request, and writes (see `CommitWriter`)."""

    def __init__(
        self, services: Services, request: OffsetCommitRequest | TxnOffsetCommitRequest
    ) -> None:
        self._services = services
        self._commits = extension_of(services).commits
        self._request = request
        self._asked: dict[tuple[str, int], AskedCommit | Refusal] = {}
        self._said: dict[tuple[str, int], LeaseChanges] = {}
        self._handouts = extension_of(services).handouts
        self._handed_out: list[tuple[Shared, Taken]] = []
        """What of it is committed: it is free again if that fails."""
        self._outcomes: dict[tuple[str, int], Outcome] = {}
        self._sweeps: list[tuple[Place, int]] = []
        self._dropped: list[Shared] = []
        self._ranges: list[CoordinatorRecord] = []
        self._grown = 0
        for topic in request.topics:
            for one in topic.partitions:
                if Tag.COMMIT_RANGES in tags.tagged_fields(one):
                    one.committed_metadata = None

    # -- what is asked for -----------------------------------------------------------------

    def _read(self) -> None:
        """The tagged fields of the partitions; topics have their names by now."""
        total = 0
        for topic in self._request.topics:
            for one in topic.partitions:
                key = topic.name, one.partition_index
                try:
                    asked = read_commit(tags.tagged_fields(one))
                    said = read_lease_changes(tags.tagged_fields(one))
                except ProtocolError:
                    self._asked[key] = MALFORMED
                    continue
                if said != LeaseChanges():
                    self._said[key] = said
                    asked = asked or AskedCommit([], None, False)
                if asked is None:
                    continue
                wants_minus_one = self._services.config.bool("range.commit.require.minus.one")
                if wants_minus_one and one.committed_offset != -1:
                    self._asked[key] = MALFORMED
                    continue
                before = self._asked.get(key)
                if isinstance(before, AskedCommit):  # named twice
                    asked = asked._replace(ranges=before.ranges + asked.ranges)
                self._asked[key] = asked
                total += len(asked.ranges)
        if total > self._services.config.int("individual.commit.max.ranges.per.request"):
            self._asked.update(dict.fromkeys(self._asked, _TOO_MANY_ASKED))

    # -- what is written -------------------------------------------------------------------

    def write(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Write the plain positions as they are, and what ranges make of theirs."""
        self._read()
        self._write_read(shard, records, done)

    def _write_read(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """The same, once it is known what is asked for."""
        refusal = self._refusal_of_all() if self._asked else None
        mine = self._commits.shard_of(self._request.group_id) if refusal is None else refusal
        if isinstance(mine, Refusal) and self._asked:
            self._asked.update(dict.fromkeys(self._asked, mine))
        kept = [
            record
            for record in records
            if self._decide(shard, None if isinstance(mine, Refusal) else mine, record)
        ]
        self.write_all(shard, kept, self._then_sweep(shard, done))

    def write_all(
        self,
        shard: GroupShard,
        records: list[CoordinatorRecord],
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Write the positions, and what was decided of ranges."""
        self._commits.write_both(shard, records, self._ranges, done)

    def _refusal_of_all(self) -> Refusal | None:
        if not self._services.config.bool("accept.individual.commit"):
            return NOT_ALLOWED
        return self._commits.ensure_topic()

    def _then_sweep(
        self, shard: GroupShard, done: Callable[[ErrorCode], None]
    ) -> Callable[[ErrorCode], None]:
        sweeps, handed_out, dropped = self._sweeps, self._handed_out, self._dropped

        def written(error: ErrorCode) -> None:
            if error is ErrorCode.NONE:
                for place, stable in sweeps:
                    self._commits.sweep(shard, place, stable)
                for shared in dropped:
                    self._handouts.note_dropped(shared)
            else:
                for shared, taken in handed_out:
                    self._handouts.give_back(shared, taken)
            done(error)

        return written

    def _decide(
        self, shard: GroupShard, mine: IndividualCommitShard | None, record: CoordinatorRecord
    ) -> bool:
        """Whether a position's record is written; it may have another offset then."""
        key, value = record.key, record.value
        assert isinstance(key, OffsetCommitKey)
        assert isinstance(value, OffsetCommitValue)
        asked = self._asked.get((key.topic, key.partition))
        place = Place(key.group, key.topic, key.partition, value.topic_id)
        if isinstance(asked, Refusal):
            self._outcomes[key.topic, key.partition] = Outcome(NOTHING_COMMITTED, 0, refusal=asked)
            return False
        if asked is None:
            part = None if mine is None else mine.of(*place[:3])
            committed = committed_offset(shard, place)
            return part is None or self._decide_plain(place, committed, part, value)
        assert mine is not None
        if (key.topic, key.partition) in self._outcomes:
            return False
        return self._decide_ranges(shard, mine, place, record, asked)

    def _decide_ranges(
        self,
        shard: GroupShard,
        mine: IndividualCommitShard,
        place: Place,
        record: CoordinatorRecord,
        asked: AskedCommit,
    ) -> bool:
        value = record.value
        assert isinstance(value, OffsetCommitValue)
        committed, part = committed_offset(shard, place), mine.of(*place[:3])
        shared = Shared(*place[:3])
        said = self._said.get((place.topic, place.partition), LeaseChanges())
        if self._handouts.refuses(shared, self._request.member_id, asked.ranges, said):
            outcome = Outcome(committed, 0 if part is None else len(part.keys), refusal=NOT_YOURS)
            self._outcomes[place.topic, place.partition] = outcome
            return False
        standing = self._commits.standing(
            committed, part, place, read_committed=asked.read_committed
        )
        held = self._commits.held(shard, mine, place.group) + self._grown
        outcome = self._outcome(mine, standing, asked, held)
        self._outcomes[place.topic, place.partition] = outcome
        if outcome.refusal is not None:
            self._refused(shard, mine, outcome.refusal)
            return False
        taken = self._handouts.apply(shared, outcome.stable, asked.ranges, said)
        self._handed_out.append((shared, taken))
        self._write_ranges(place, value, outcome, asked)
        if outcome.stable == committed:
            return False
        self._commits.counted["primary_pushes"] += 1
        mine.called_out.pop(place.group, None)
        value.offset, value.metadata = outcome.stable, ""
        self._sweeps.append((place, outcome.stable))
        return True

    def _outcome(
        self, mine: IndividualCommitShard, standing: Standing, asked: AskedCommit, held: int
    ) -> Outcome:
        if standing.is_new and not asked.ranges and asked.initial is None:
            return Outcome(NOTHING_COMMITTED, 0)
        group_id = self._request.group_id
        most = self._services.config.int("individual.commit.max.ranges.per.group")
        initial = -1 if asked.initial is None else asked.initial
        outcome = commit(standing, asked.ranges, initial, most - held)
        if outcome.refusal is None:
            growth = len(outcome.put) - len(outcome.gone)
            self._grown += growth
            if held + growth < most:
                mine.called_out.pop(group_id, None)
        return outcome

    def _refused(self, shard: GroupShard, mine: IndividualCommitShard, refusal: Refusal) -> None:
        if refusal is TOO_OLD:
            self._commits.counted["too_old"] += 1
        elif refusal is TOO_MANY:
            self._commits.call_out(shard, mine, self._request.group_id)

    def _write_ranges(
        self, place: Place, value: OffsetCommitValue, outcome: Outcome, asked: AskedCommit
    ) -> None:
        self._commits.counted["commits"] += 1
        self._ranges += self._commits.tombstones(place, outcome.gone)
        committed = IndividualCommitValue(
            value.leader_epoch,
            value.commit_timestamp,
            self._request.member_id,
            int(asked.read_committed),
        )
        for first, last in outcome.put:
            key = IndividualCommitKey(place.group, place.topic, place.partition, first, last)
            self._ranges.append(CoordinatorRecord(key, committed))

    def _decide_plain(
        self, place: Place, committed: int, part: CommittedRanges, value: OffsetCommitValue
    ) -> bool:
        """A plain position in a partition with ranges."""
        is_member = self._request.generation_id_or_member_epoch >= 0
        if is_member and self._services.config.str("coop.plain.commit.policy") == "reject":
            outcome = Outcome(committed, len(part.keys), refusal=MALFORMED)
            self._outcomes[place.topic, place.partition] = outcome
            return False
        standing = self._commits.standing(committed, part, place, read_committed=True)
        if is_member and 0 <= standing.stable() <= value.offset:
            value.offset = standing._replace(committed=value.offset).stable()
            self._sweeps.append((place, value.offset))
            self._ranges += self._commits.tombstones(place, part.all_pending())
        else:
            self._ranges += self._commits.dropped(place, part)
            self._dropped.append(Shared(*place[:3]))
        return True

    # -- what is told ----------------------------------------------------------------------

    def amend(self, response: OffsetCommitResponse | TxnOffsetCommitResponse) -> None:
        """Say of each partition with ranges how it stands, or why they are refused."""
        mode = self._services.config.str("coop.error.mode")
        is_member = self._request.generation_id_or_member_epoch >= 0
        for topic in response.topics:
            for one in topic.partitions:
                outcome = self._outcomes.get((topic.name, one.partition_index))
                if outcome is None or one.error_code:
                    continue
                asked = (topic.name, one.partition_index) in self._asked
                fields = standing_fields(outcome.stable, outcome.held) if asked else {}
                refusal = outcome.refusal
                if refusal is not None:
                    if refusal is TOO_MANY and not is_member:
                        refusal = refusal._replace(error=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
                    one.error_code = refusal.code(mode)
                    if refusal.draft is not None:
                        fields[Tag.EXT_ERROR] = tags.error(refusal.draft)
                if fields:
                    tags.tag(one, fields)
