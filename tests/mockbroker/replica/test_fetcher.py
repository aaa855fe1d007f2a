"""A follower's fetcher against a leader whose answers the test makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.clock import Timer
from mockbroker.log.unified_log import UnifiedLog
from mockbroker.replica.fetcher import ReplicaFetcher, truncation_offset
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    EpochEndOffset,
    FetchRequest,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from tests.support.fetch_world import World, batch

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.replica.partition import Partition

SESSION = 77


class Leader:
    """The channel of a fetcher; the test answers what it was sent."""

    def __init__(self, *indexes: int) -> None:
        self.world = World()
        self.topic_id = self.world.create_topic("t", 2, leader=2, replicas=(2, 1))
        self.timer = Timer()
        self.asked: list[FetchRequest] = []
        self.versions: list[int] = []
        self.offsets: list[ListOffsetsRequest] = []
        self._answer: Callable[[FetchResponse | None], None] | None = None
        self._offset_answers: list[Callable[[object | None], None]] = []
        self.closed = False
        replicas = self.world.replicas
        self.fetcher = ReplicaFetcher(self, replicas.clock, self.timer, replicas.config, 1, 5)
        for index in indexes or (0,):
            self.fetcher.add(self.partition(index))
        self.fetcher.poll()

    def partition(self, index: int = 0) -> Partition:
        return self.world.partition("t", index)

    def log(self, index: int = 0) -> UnifiedLog:
        log = self.partition(index).log
        assert log is not None
        return log

    def fetch(
        self,
        request: FetchRequest,
        version: int,
        on_response: Callable[[FetchResponse | None], None],
    ) -> None:
        assert self._answer is None, "two fetches at once"
        self.asked.append(request)
        self.versions.append(version)
        self._answer = on_response

    def send(
        self, request: object, version: int, on_response: Callable[[object | None], None]
    ) -> None:
        assert isinstance(request, ListOffsetsRequest)
        self.offsets.append(request)
        self._offset_answers.append(on_response)

    def close(self) -> None:
        self.closed = True
        self._answer = None

    def answer(self, *partitions: FetchResponsePartition, error: int = 0) -> None:
        topics = [FetchResponseTopic("t", self.topic_id, list(partitions))] if partitions else []
        self.respond(FetchResponse(0, error, SESSION, topics))

    def respond(self, response: FetchResponse | None) -> None:
        answer, self._answer = self._answer, None
        assert answer is not None
        answer(response)

    def answer_offset(self, offset: int) -> None:
        found = ListOffsetsPartitionResponse(0, 0, -1, offset, 0)
        self._offset_answers.pop(0)(
            ListOffsetsResponse(0, [ListOffsetsTopicResponse("t", [found])])
        )

    def advance(self, milliseconds: float) -> None:
        self.world.clock.now_ms += milliseconds
        self.timer.advance(self.world.clock.now_ms)


def told(
    records: bytes = b"", high_watermark: int = 0, *, index: int = 0, error: int = 0
) -> FetchResponsePartition:
    return FetchResponsePartition(index, error, high_watermark, -1, 0, None, -1, records)


def stamped(base_offset: int, epoch: int = 0) -> bytes:
    data = bytearray(batch(50))
    data[0:8] = base_offset.to_bytes(8, "big")
    data[12:16] = epoch.to_bytes(4, "big")
    return bytes(data)


@pytest.fixture
def leader() -> Leader:
    return Leader()


def test_the_first_fetch_is_full_and_says_who_asks(leader: Leader) -> None:
    (request,) = leader.asked
    state = request.replica_state
    assert state is not None
    assert (state.replica_id, state.replica_epoch) == (1, 5)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert (request.max_wait_ms, request.min_bytes) == (500, 1)
    (asked,) = request.topics[0].partitions
    assert (asked.fetch_offset, asked.last_fetched_epoch, asked.high_watermark) == (0, -1, 0)
    assert leader.versions == [18]


def test_records_are_appended_and_the_next_fetch_is_incremental(leader: Leader) -> None:
    leader.answer(told(stamped(0), 0))
    request = leader.asked[1]
    assert (request.session_id, request.session_epoch) == (SESSION, 1)
    assert request.topics[0].partitions[0].fetch_offset == 1
    leader.answer(told(b"", 1))
    assert leader.partition().high_watermark == 1
    assert leader.asked[2].session_epoch == 2
    assert leader.asked[2].topics[0].partitions[0].high_watermark == 1
    leader.answer()
    assert leader.asked[3].topics == []


def test_a_pinned_version_does_not_tell_the_high_watermark(leader: Leader) -> None:
    leader.fetcher.version = 17
    leader.answer(told(stamped(0), 1))
    assert leader.versions == [18, 17]
    assert leader.asked[1].topics[0].partitions[0].high_watermark == 2**63 - 1


def test_where_the_leader_diverges_the_log_is_cut(leader: Leader) -> None:
    leader.answer(told(stamped(0) + stamped(1, 1) + stamped(2, 1), 1))
    assert leader.log().log_end_offset == 3
    diverging = told(b"", 1)
    diverging.diverging_epoch = EpochEndOffset(0, 1)
    leader.answer(diverging)
    assert leader.log().log_end_offset == 1
    asked = leader.asked[-1].topics[0].partitions[0]
    assert (asked.fetch_offset, asked.last_fetched_epoch) == (1, 0)


def test_a_stale_answer_changes_nothing(leader: Leader) -> None:
    leader.partition().append_as_follower(stamped(0), 0, 0)
    leader.answer(told(stamped(0), 1))
    assert leader.log().log_end_offset == 1
    assert leader.partition().high_watermark == 0
    assert leader.offsets == []


def test_a_stale_answer_without_records_tells_no_high_watermark(leader: Leader) -> None:
    leader.partition().append_as_follower(stamped(0), 0, 0)
    leader.answer(told(b"", 1))
    assert leader.partition().high_watermark == 0


def test_an_answer_in_an_older_leader_epoch_changes_nothing(leader: Leader) -> None:
    """What was a leader's then may be cut by the next one."""
    leader.world.change_leader("t", 0, leader=2, replicas=(2, 1), epoch=1)
    leader.answer(told(stamped(0), 1))
    assert leader.log().log_end_offset == 0


def test_an_end_offset_in_an_older_leader_epoch_changes_nothing(leader: Leader) -> None:
    leader.answer(told(stamped(0) + stamped(1) + stamped(2), 0))
    leader.answer(told(error=ErrorCode.OFFSET_OUT_OF_RANGE))
    leader.world.change_leader("t", 0, leader=2, replicas=(2, 1), epoch=1)
    leader.answer_offset(2)
    assert leader.log().log_end_offset == 3


def test_a_lost_connection_starts_a_new_session_after_a_while(leader: Leader) -> None:
    leader.answer(told(stamped(0), 1))
    leader.respond(None)
    assert len(leader.asked) == 2
    leader.advance(1000.0)
    assert (leader.asked[2].session_id, leader.asked[2].session_epoch) == (0, 0)
    assert leader.asked[2].topics[0].partitions[0].fetch_offset == 1


def test_a_session_that_the_leader_forgot_is_opened_anew_at_once(leader: Leader) -> None:
    leader.answer(told(stamped(0), 1))
    leader.answer(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    assert leader.asked[2].session_epoch == 0
    leader.answer(error=ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    assert len(leader.asked) == 3
    leader.advance(1000.0)
    assert len(leader.asked) == 4


def test_a_partition_in_error_rests_while_others_go_on() -> None:
    leader = Leader(0, 1)
    leader.answer(told(error=ErrorCode.NOT_LEADER_OR_FOLLOWER), told(stamped(0), 1, index=1))
    request = leader.asked[1]
    assert [each.partition for each in request.topics[0].partitions] == [1]
    assert request.forgotten_topics_data[0].partitions == [0]
    leader.answer()
    leader.advance(1000.0)
    leader.answer()
    assert [each.partition for each in leader.asked[-1].topics[0].partitions] == [0]


def test_what_is_asked_for_again_after_all_rested_is_not_forgotten(leader: Leader) -> None:
    """A leader adds what is asked for, and then takes away what is to be forgotten."""
    leader.answer(told())
    leader.answer(told(error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert len(leader.asked) == 2
    leader.advance(1000.0)
    request = leader.asked[-1]
    assert [each.partition for each in request.topics[0].partitions] == [0]
    assert request.forgotten_topics_data == []


def test_a_partition_that_is_removed_is_forgotten() -> None:
    leader = Leader(0, 1)
    leader.answer(told(), told(index=1))
    leader.fetcher.remove(leader.partition(1))
    leader.answer()
    assert leader.asked[-1].forgotten_topics_data[0].partitions == [1]
    assert len(leader.fetcher) == 1


def test_one_that_rested_and_was_added_again_is_forgotten_when_it_is_removed(
    leader: Leader,
) -> None:
    """Else the session would tell its error at once, for ever."""
    leader.answer(told())
    leader.answer(told(error=ErrorCode.NOT_LEADER_OR_FOLLOWER))
    leader.fetcher.add(leader.partition(0))
    leader.fetcher.remove(leader.partition(0))
    leader.fetcher.add(leader.partition(1))
    leader.fetcher.poll()
    request = leader.asked[-1]
    assert [each.partition for each in request.topics[0].partitions] == [1]
    assert request.forgotten_topics_data[0].partitions == [0]


def test_one_that_was_removed_does_not_come_back_with_an_offset(leader: Leader) -> None:
    leader.fetcher.add(leader.partition(1))
    leader.fetcher.poll()
    leader.answer(told(stamped(0), 0))
    leader.answer(told(error=ErrorCode.OFFSET_OUT_OF_RANGE))
    leader.fetcher.remove(leader.partition(0))
    leader.answer()
    asked = len(leader.asked)
    leader.answer_offset(0)
    leader.answer()
    again = [
        part.partition for ask in leader.asked[asked:] for t in ask.topics for part in t.partitions
    ]
    assert again == []


def test_a_log_that_goes_beyond_the_leaders_is_cut_to_its_end(leader: Leader) -> None:
    leader.answer(told(stamped(0) + stamped(1) + stamped(2), 0))
    leader.answer(told(error=ErrorCode.OFFSET_OUT_OF_RANGE))
    assert leader.offsets[0].replica_id == 1
    assert leader.offsets[0].topics[0].partitions[0].timestamp == -1
    leader.answer_offset(2)
    assert leader.log().log_end_offset == 2


def test_a_log_that_ends_before_the_leaders_begins_starts_over(leader: Leader) -> None:
    leader.answer(told(stamped(0), 1))
    leader.answer(told(error=ErrorCode.OFFSET_OUT_OF_RANGE))
    leader.answer_offset(100)
    assert leader.offsets[1].topics[0].partitions[0].timestamp == -2
    leader.answer_offset(40)
    log = leader.log()
    assert (log.log_start_offset, log.log_end_offset, log.high_watermark) == (40, 40, 40)


def test_a_new_partition_does_not_wait_for_a_parked_fetch(leader: Leader) -> None:
    leader.answer(told())
    leader.fetcher.add(leader.partition(1))
    leader.fetcher.poll()
    assert leader.closed
    request = leader.asked[-1]
    assert (request.session_id, request.session_epoch) == (SESSION, 0)
    assert [each.partition for each in request.topics[0].partitions] == [0, 1]


def test_a_closed_fetcher_hangs_up(leader: Leader) -> None:
    leader.fetcher.close()
    assert leader.closed
    assert len(leader.fetcher) == 0


@pytest.mark.parametrize(
    ("leader_says", "cut_at"),
    [((3, 25), 25), ((3, 50), 30), ((2, 15), 20), ((9, 7), 7), ((-1, 12), 12)],
)
def test_where_to_cut(leader_says: tuple[int, int], cut_at: int) -> None:
    """Epochs 1 from 0, 3 from 20, log end 30; asked for 2 it knows 1 only, which ends at 20."""
    log = UnifiedLog("t", 0)
    log.log_end_offset = 30
    log.assign_epoch(1, 0)
    log.assign_epoch(3, 20)
    assert truncation_offset(log, EpochEndOffset(*leader_says)) == cut_at
