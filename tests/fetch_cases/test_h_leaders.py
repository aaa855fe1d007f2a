"""Part H of the cases where the lead moves, or another broker has it; 58 of B.

Broker 1 answers; broker 2 is driven by hand. A lead that broker 1 gives and takes back makes two
leader epochs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.messages.topics import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from tests.fetch_cases.replica_target import FOLLOWER, LEADER, RACKS

if TYPE_CHECKING:
    from tests.fetch_cases.asking import Answer, Topic
    from tests.fetch_cases.replica_target import ReplicaTarget

LONG_MS = 8_000
SOON_MS = LONG_MS / 2
NOWHERE = (-1, -1, -1)


def leader_told(answer: Answer) -> tuple[int, int] | None:
    """Leader and epoch that the only partition is told."""
    told = answer.only.data.current_leader
    return None if told is None else (told.leader_id, told.leader_epoch)


def endpoints_told(answer: Answer) -> list[tuple[int, str]]:
    return [
        (node.node_id, f"{node.host}:{node.port}") for node in answer.response.node_endpoints or ()
    ]


def test_123_an_older_leader_epoch_is_fenced(replicas: ReplicaTarget) -> None:
    topic = replicas.topic(1, (50,))
    assert replicas.next_epoch(topic) == 2
    reader = replicas.reader()
    for epoch, error in ((1, 74), (0, 74), (2, 0), (3, 75), (-1, 0)):
        answer = reader.fetch(topic.at(0, 0, current_leader_epoch=epoch))
        assert answer.only.error == error
    # Not a leader any more, but still a replica: the epoch comes first there too.
    replicas.move_leader(topic, FOLLOWER)
    for epoch, error in ((2, 74), (3, 0), (4, 75), (-1, 0)):
        answer = reader.fetch(topic.at(0, 0, current_leader_epoch=epoch))
        assert answer.only.error == error


def test_124_a_fenced_reader_is_told_the_leader_from_v16_on(replicas: ReplicaTarget) -> None:
    topic = replicas.topic(1, (50,))
    replicas.next_epoch(topic)
    reader = replicas.reader()
    for version in (12, 15, 16, 18):
        answer = reader.fetch(topic.at(0, 0, current_leader_epoch=1), version=version)
        assert answer.only.error == 74
        if version < 16:
            assert (leader_told(answer), endpoints_told(answer)) == (None, [])
        else:
            assert leader_told(answer) == (LEADER, 2)
            assert endpoints_told(answer) == [(LEADER, replicas.address)]


@pytest.mark.parametrize("version", [12, 16, 18])
def test_125_who_asks_a_broker_without_a_replica_is_told_the_leader(
    replicas: ReplicaTarget, version: int
) -> None:
    topic = replicas.placed([FOLLOWER])
    answer = replicas.reader().fetch(topic.at(0), version=version, wait=LONG_MS, min_bytes=1)
    assert (answer.only.error, answer.only.positions) == (6, NOWHERE)
    assert answer.elapsed_ms < SOON_MS
    if version < 16:
        assert (leader_told(answer), endpoints_told(answer)) == (None, [])
    else:
        assert leader_told(answer) == (FOLLOWER, 0)
        assert endpoints_told(answer) == [(FOLLOWER, replicas.outside_address)]


def test_125_a_leader_that_is_unknown_has_no_endpoint(lonely: ReplicaTarget) -> None:
    topic = lonely.placed([FOLLOWER])
    lonely.fence_follower()
    lonely.until(lambda: lonely.state(topic).leader_id == -1)
    reader = lonely.reader()
    answer = reader.fetch(topic.at(0), version=18, wait=LONG_MS, min_bytes=1)
    assert (answer.only.error, leader_told(answer), endpoints_told(answer)) == (6, (-1, 1), [])
    assert answer.elapsed_ms < SOON_MS


def test_126_a_replica_that_does_not_lead_serves_consumers_from_v11_on(
    replicas: ReplicaTarget,
) -> None:
    topic = replicas.topic(1, (50, 50))
    replicas.follower().fetch(topic.at(0, 1))
    replicas.move_leader(topic, FOLLOWER)
    reader = replicas.reader()
    for version, error in ((4, 6), (10, 6), (11, 0), (12, 0), (18, 0)):
        got = reader.fetch(topic.at(0), version=version, wait=LONG_MS, min_bytes=1).only
        # Up to the high watermark that this follower knows; its log has one batch more.
        assert (got.error, got.size, got.high_watermark) == (
            (error, 0, -1) if error else (0, 118, 1)
        )
        assert reader.elapsed_ms < SOON_MS


def test_126_losing_the_lead_ends_the_wait_of_those_who_need_the_leader(
    replicas: ReplicaTarget,
) -> None:
    def lose_it(version: int, epoch: int, wait: int = LONG_MS) -> int | None:
        """The error that comes at once; None: it stays parked."""
        topic = replicas.topic()
        reader = replicas.reader()
        part = topic.at(0, 0, current_leader_epoch=epoch)
        reader.ask(part, version=version, wait=wait, min_bytes=1)
        replicas.parked(reader)
        replicas.move_leader(topic, FOLLOWER)
        answer = reader.answer()
        return answer.only.error if answer.elapsed_ms < wait else None

    assert lose_it(10, -1) == 6
    assert lose_it(12, 0) == 74
    assert lose_it(12, -1, wait=600) is None


@pytest.mark.parametrize("version", [10, 12, 15, 16, 18])
def test_126_a_replica_that_goes_elsewhere_ends_the_wait_and_tells_the_leader(
    replicas: ReplicaTarget, version: int
) -> None:
    topic = replicas.topic()
    reader = replicas.reader()
    reader.ask(topic.at(0), version=version, wait=LONG_MS, min_bytes=1)
    replicas.parked(reader)
    replicas.reassign(topic, [FOLLOWER])
    answer = reader.answer()
    assert answer.elapsed_ms < SOON_MS
    assert (answer.only.error, answer.only.positions) == (6, NOWHERE)
    if version < 16:
        assert (leader_told(answer), endpoints_told(answer)) == (None, [])
    else:
        assert leader_told(answer) == (FOLLOWER, 1)
        assert endpoints_told(answer) == [(FOLLOWER, replicas.outside_address)]


def test_126_a_session_is_told_each_time_that_its_replica_has_gone(
    replicas: ReplicaTarget,
) -> None:
    topic = replicas.topic()
    reader = replicas.reader()
    session, _ = reader.open_session(topic.at(0))
    reader.ask(session=(session, 1), wait=LONG_MS, min_bytes=1)
    replicas.parked(reader)
    replicas.reassign(topic, [FOLLOWER])
    for epoch in (2, 3):
        answer = reader.answer()
        assert answer.elapsed_ms < SOON_MS
        assert (answer.status, answer.errors) == ((0, session), [6])
        reader.ask(session=(session, epoch), wait=LONG_MS, min_bytes=1)
    assert reader.answer().errors == [6]


def test_126_a_topic_that_goes_ends_the_wait_with_3(replicas: ReplicaTarget) -> None:
    topic = replicas.topic()
    reader = replicas.reader()
    reader.ask(topic.at(0), wait=LONG_MS, min_bytes=1)
    replicas.parked(reader)
    replicas.delete(topic)
    answer = reader.answer()
    assert answer.elapsed_ms < SOON_MS
    assert (answer.only.error, leader_told(answer), endpoints_told(answer)) == (3, None, [])


def two_epochs(replicas: ReplicaTarget) -> Topic:
    """Epoch 0 ends at offset 2, epoch 2 at 4; all of it is committed."""
    topic = replicas.topic(1, (50, 50))
    epoch = replicas.next_epoch(topic)
    replicas.produce(topic, 0, 50, 50)
    follower = replicas.follower()
    got = follower.fetch(topic.at(0, 4, current_leader_epoch=epoch, last_fetched_epoch=epoch)).only
    assert (got.error, got.data.diverging_epoch) == (0, None)
    return topic


def test_129_an_offset_beyond_the_end_of_an_older_epoch_diverges(replicas: ReplicaTarget) -> None:
    topic = two_epochs(replicas)
    reader = replicas.reader()
    got = reader.fetch(topic.at(0, 3, last_fetched_epoch=0)).only
    assert got.data.diverging_epoch is not None
    assert got.data.diverging_epoch.epoch == 0
    assert got.data.diverging_epoch.end_offset == 2
    assert (got.error, got.size) == (0, 0)
    agreeing = reader.fetch(topic.at(0, 2, last_fetched_epoch=0)).only
    assert agreeing.data.diverging_epoch is None
    assert agreeing.size == 236


def test_129_an_epoch_without_records_ends_where_the_one_before_it_does(
    replicas: ReplicaTarget,
) -> None:
    got = replicas.reader().fetch(two_epochs(replicas).at(0, 3, last_fetched_epoch=1)).only
    assert got.data.diverging_epoch is not None
    assert (got.data.diverging_epoch.epoch, got.data.diverging_epoch.end_offset) == (0, 2)


@pytest.mark.parametrize("version", [7, 11])
def test_129_a_version_that_cannot_tell_a_divergence_is_refused(
    replicas: ReplicaTarget, version: int
) -> None:
    """35, from a session of v12; what it knew stays, and v12 is told."""
    diverging = two_epochs(replicas)
    other = replicas.placed([LEADER])
    reader = replicas.reader()
    session, _ = reader.open_session(diverging.at(0, 2, last_fetched_epoch=0), other.at(0))
    moved = reader.fetch(diverging.at(0, 3, last_fetched_epoch=0), session=(session, 1))
    assert moved.only.data.diverging_epoch is not None
    replicas.produce(other, 0, 50)
    answer = reader.fetch(session=(session, 2), version=version, wait=LONG_MS, min_bytes=1)
    assert (answer.status, answer.errors) == ((35, session), [])
    assert answer.elapsed_ms < SOON_MS
    named = reader.fetch(other.at(0), session=(session, 3), version=version)
    assert (named.status, named.errors) == ((35, session), [35])
    again = reader.fetch(session=(session, 4))
    assert (again.status, again.errors) == ((0, session), [0, 0])
    assert [each.data.diverging_epoch is not None for each in again.parts].count(True) == 1


def delete_before(topic: Topic, offset: int, timeout_ms: int) -> DeleteRecordsRequest:
    asked = DeleteRecordsTopic(topic.name, [DeleteRecordsPartition(0, offset)])
    return DeleteRecordsRequest([asked], timeout_ms)


def deleted(response: DeleteRecordsResponse) -> tuple[int, int]:
    """Error and low watermark."""
    (result,) = response.topics[0].partitions
    return result.error_code, result.low_watermark


def test_130_below_the_log_start_an_offset_is_out_of_range_whatever_its_epoch(
    replicas: ReplicaTarget,
) -> None:
    topic = two_epochs(replicas)
    # The follower never moves its log start; what it did not tell is -1.
    response = replicas.control.call(delete_before(topic, 3, 200), 2, DeleteRecordsResponse)
    assert deleted(response) == (7, -1)
    assert replicas.earliest(topic) == 3
    reader = replicas.reader()
    for epoch in (0, 2):
        got = reader.fetch(topic.at(0, 1, last_fetched_epoch=epoch)).only
        assert (got.error, got.data.diverging_epoch) == (1, None)


def test_a_deletion_is_answered_once_the_follower_has_deleted_too(
    replicas: ReplicaTarget,
) -> None:
    topic = replicas.topic(1, (50, 50))
    follower, operator = replicas.follower(), replicas.reader()
    follower.fetch(topic.at(0, 2))
    operator.send(delete_before(topic, 1, LONG_MS), 2)
    replicas.parked(operator)
    assert follower.fetch(topic.at(0, 2)).only.log_start_offset == 1
    replicas.parked(operator)
    follower.fetch(topic.at(0, 2, log_start_offset=1))
    assert deleted(operator.receive(DeleteRecordsResponse)) == (0, 1)
    assert operator.elapsed_ms < SOON_MS


def test_a_deletion_does_not_wait_for_a_follower_that_is_lost(lonely: ReplicaTarget) -> None:
    topic = lonely.topic(1, (50, 50))
    lonely.follower().fetch(topic.at(0, 2))
    lonely.lose_follower(topic)
    response = lonely.control.call(delete_before(topic, -1, LONG_MS), 2, DeleteRecordsResponse)
    assert deleted(response) == (0, 2)


def test_132_a_fenced_epoch_leaves_a_session_alone(replicas: ReplicaTarget) -> None:
    topic = replicas.topic()
    reader = replicas.reader()
    session, _ = reader.open_session(topic.at(0, 0, current_leader_epoch=0))
    replicas.next_epoch(topic)
    for epoch in (1, 2):
        assert reader.fetch(session=(session, epoch)).errors == [74]
    ahead = reader.fetch(topic.at(0, 0, current_leader_epoch=3), session=(session, 3))
    assert ahead.errors == [75]
    right = reader.fetch(topic.at(0, 0, current_leader_epoch=2), session=(session, 4))
    assert (right.status, right.errors) == ((0, session), [0])


def replicated(replicas: ReplicaTarget) -> Topic:
    """Two batches that the follower has, and two that it has not."""
    topic = replicas.topic(1, (50, 50))
    replicas.follower().fetch(topic.at(0, 2))
    replicas.produce(topic, 0, 50, 50)
    return topic


def preferred(answer: Answer) -> int:
    return answer.only.data.preferred_read_replica


@pytest.mark.parametrize("version", [11, 12, 18])
def test_134_a_reader_is_sent_to_the_replica_in_its_rack(
    replicas: ReplicaTarget, version: int
) -> None:
    topic = replicated(replicas)
    answer = replicas.reader().fetch(
        topic.at(0), version=version, rack=RACKS[1], wait=LONG_MS, min_bytes=1
    )
    assert (preferred(answer), answer.only.error, answer.only.size) == (FOLLOWER, 0, 0)
    assert answer.elapsed_ms < SOON_MS


@pytest.mark.parametrize("rack", [RACKS[0], "", "r9"])
def test_134_in_another_rack_the_leader_serves(replicas: ReplicaTarget, rack: str) -> None:
    answer = replicas.reader().fetch(replicated(replicas).at(0), rack=rack)
    assert (preferred(answer), answer.only.error, answer.only.size) == (-1, 0, 236)


def test_134_a_request_that_names_no_rack_is_served(replicas: ReplicaTarget) -> None:
    answer = replicas.reader().fetch(replicated(replicas).at(0), version=10)
    assert (answer.only.error, answer.only.size) == (0, 236)


def test_134_a_wrong_epoch_is_told_first(replicas: ReplicaTarget) -> None:
    part = replicated(replicas).at(0, 0, current_leader_epoch=1)
    answer = replicas.reader().fetch(part, rack=RACKS[1])
    assert (preferred(answer), answer.only.error) == (-1, 75)


def test_134_what_the_follower_has_not_is_with_the_leader(replicas: ReplicaTarget) -> None:
    answer = replicas.reader().fetch(replicated(replicas).at(0, 3), rack=RACKS[1])
    assert (preferred(answer), answer.only.error, answer.only.high_watermark) == (-1, 0, 2)


def test_58_a_preferred_replica_is_told_every_time(replicas: ReplicaTarget) -> None:
    topic = replicated(replicas)
    reader = replicas.reader()
    session, full = reader.open_session(topic.at(0, 2), rack=RACKS[1])
    assert preferred(full) == FOLLOWER
    for epoch in (1, 2):
        answer = reader.fetch(session=(session, epoch), rack=RACKS[1])
        assert (answer.status, preferred(answer)) == ((0, session), FOLLOWER)
    # The rack is the request's, not the session's.
    assert reader.fetch(session=(session, 3)).parts == []
