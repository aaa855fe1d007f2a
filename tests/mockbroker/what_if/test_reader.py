"""What a recorded client wanted, read off its requests."""

from __future__ import annotations

from mockbroker.what_if.reader import RecordedWishes, Settings, is_follower
from mockbroker.what_if.recording import RecordedPoll
from mockbroker_protocol.fetch_codec import encode_fetch_request
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    ReplicaState,
)

TOPIC = (1).to_bytes(16, "big")
VERSION = 17


def poll(
    session: tuple[int, int],
    offsets: dict[int, int],
    *,
    answered_session: int = 5,
    told: dict[int, int] | None = None,
    error: int = 0,
    forgotten: list[int] | None = None,
) -> RecordedPoll:
    """A recorded fetch from these offsets, with the offsets behind what it was given."""
    partitions = [
        FetchRequestPartition(partition=index, fetch_offset=offset, partition_max_bytes=100)
        for index, offset in offsets.items()
    ]
    request = FetchRequest(
        session_id=session[0],
        session_epoch=session[1],
        topics=[FetchRequestTopic(topic_id=TOPIC, partitions=partitions)] if offsets else [],
        forgotten_topics_data=[FetchRequestForgottenTopic(topic_id=TOPIC, partitions=forgotten)]
        if forgotten
        else [],
    )
    frame = encode_request_header(1, VERSION, 0, "app") + encode_fetch_request(request, VERSION)
    given: list[tuple[bytes | str, int, int | None, int]] = [
        (TOPIC, index, offset, 0) for index, offset in (told or {}).items()
    ]
    return RecordedPoll(
        0.0, 0.0, 0, 0, 0, 0, 0, False, True, answered_session, error, given, frame, VERSION
    )


def wishes(*polls: RecordedPoll) -> RecordedWishes:
    read = RecordedWishes(list(polls))
    for _ in polls:
        read.advance()
    return read


def positions(read: RecordedWishes) -> dict[int, int]:
    return {index: wish.position for (_, index), wish in read.wanted.items()}


def test_a_position_behind_an_answer_is_that_of_the_run() -> None:
    read = wishes(poll((0, 0), {0: 10, 1: 20}, told={0: 15}))
    read.wanted[TOPIC, 0].position = 13  # the run gave less
    read._polls.append(poll((5, 1), {0: 15}))
    read.advance()
    assert positions(read) == {0: 13, 1: 20}


def test_a_position_that_jumped_is_its_client_s() -> None:
    assert positions(wishes(poll((0, 0), {0: 10}, told={0: 15}), poll((5, 1), {0: 3}))) == {0: 3}


def test_who_is_left_out_for_a_while_comes_back_where_it_was() -> None:
    first = poll((0, 0), {0: 10, 1: 20}, told={0: 15})
    read = wishes(first)
    read.wanted[TOPIC, 0].position = 13
    read._polls += [poll((5, 1), {}, forgotten=[0]), poll((5, 2), {0: 15})]
    read.advance()
    assert positions(read) == {1: 20}
    read.advance()
    assert positions(read) == {1: 20, 0: 13}


def test_a_full_request_that_nothing_called_for_is_a_beginning_of_its_own() -> None:
    assert wishes(poll((0, 0), {0: 1}), poll((5, 0), {0: 1})).reset
    refused = poll((0, 0), {0: 1}, answered_session=0)
    assert not wishes(refused, poll((0, 0), {0: 1})).reset
    lost = poll((5, 1), {}, error=70)
    assert not wishes(poll((0, 0), {0: 1}), lost, poll((0, 0), {0: 1})).reset


def test_an_epoch_that_is_wrong_stays_so() -> None:
    assert wishes(poll((0, 0), {0: 1}), poll((5, 1), {})).skew == (None, 0)
    assert wishes(poll((0, 0), {0: 1}), poll((5, 3), {})).skew == (None, 2)
    assert wishes(poll((0, 0), {0: 1}), poll((9, 1), {})).skew == (9, 0)


def test_what_is_named_for_nothing_is_known() -> None:
    again = {0: 1}
    assert wishes(poll((0, 0), again)).take_named() == {(TOPIC, 0): False}
    read = wishes(poll((0, 0), again), poll((5, 1), again))
    assert read.take_named() == {(TOPIC, 0): True}
    assert read.take_named() == {}


def test_limits_are_of_consumers_or_of_followers() -> None:
    consumer, follower = FetchRequest(max_bytes=7), FetchRequest(replica_state=ReplicaState(2, 0))
    follower.max_bytes = 7
    assert (is_follower(consumer), is_follower(follower)) == (False, True)
    settings = Settings(max_bytes=1, replica_max_bytes=2, partition_max_bytes=3)
    assert [settings.request_max_bytes(each) for each in (consumer, follower)] == [1, 2]
    assert settings.partition_limit(9, follower=False) == 3
    assert settings.partition_limit(9, follower=True) == 9
    assert Settings().request_max_bytes(consumer) == 7
