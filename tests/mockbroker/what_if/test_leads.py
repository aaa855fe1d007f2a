"""How far the log reached that a broker had copied before it came to lead a partition."""

from __future__ import annotations

import pytest

from mockbroker.journal.events import MOVED
from mockbroker.metadata.changes import PartitionState
from mockbroker.what_if.leads import Leads, TakenOver
from mockbroker.what_if.recording import (
    RecordedBatch,
    RecordedConnection,
    RecordedPoll,
    RecordedTopic,
    Recording,
)
from mockbroker_protocol.fetch_codec import encode_fetch_request
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
)

TOPIC = (1).to_bytes(16, "big")
NAME = "orders"


def moved(at_ms: float, leader: int, epoch: int) -> RecordedTopic:
    state = PartitionState(leader, [1, 2], [1, 2], epoch)
    return RecordedTopic(at_ms, int(at_ms), MOVED, NAME, TOPIC, 0, [state], {})


def appended(at_ms: float, base_offset: int) -> RecordedBatch:
    return RecordedBatch(at_ms, int(at_ms), NAME, 0, base_offset, 61, b"")


def asked(at_ms: float, offset: int, epoch: int = -1, version: int = 13) -> RecordedPoll:
    one = FetchRequestPartition(partition=0, fetch_offset=offset, last_fetched_epoch=epoch)
    topic = FetchRequestTopic(topic=NAME, topic_id=TOPIC, partitions=[one])
    request = encode_fetch_request(FetchRequest(topics=[topic]), version)
    frame = encode_request_header(1, version, 0, "app") + request
    return RecordedPoll(at_ms, at_ms, 0, 0, 0, 0, 0, False, True, 0, 0, [], frame, version)


def recording(
    topics: list[RecordedTopic], batches: list[RecordedBatch], *polls: RecordedPoll
) -> Leads:
    connection = RecordedConnection(1, "app", "PLAINTEXT", "User:ANONYMOUS", list(polls))
    return Leads(Recording(1, topics=topics, batches=batches, connections={1: connection}))


FIRST, AWAY, AGAIN = moved(100, 1, 1), moved(200, 2, 2), moved(300, 1, 3)
MOVES = [FIRST, AWAY, AGAIN]


def test_it_ends_where_the_first_batch_of_its_own_begins() -> None:
    leads = recording(MOVES, [appended(50, 3), appended(150, 7), appended(350, 9)], asked(120, 5))
    assert leads.taken_over(FIRST).end_offset == 7
    assert leads.taken_over(AGAIN).end_offset == 9


@pytest.mark.parametrize("version", [12, 13])
def test_it_ends_where_readers_asked_if_nothing_was_appended(version: int) -> None:
    polls = [asked(at, offset, version=version) for at, offset in ((50, 99), (120, 5), (130, 4))]
    leads = recording(MOVES, [appended(350, 9)], *polls, asked(210, 88))
    assert leads.taken_over(FIRST).end_offset == 5


def test_it_is_of_the_epoch_that_followers_told() -> None:
    polls = [asked(320, 5, epoch=2), asked(320, 5, epoch=1), asked(330, 6, epoch=3)]
    leads = recording(MOVES, [], *polls)
    assert leads.taken_over(AGAIN) == TakenOver(6, 1)
    assert leads.taken_over(FIRST) == TakenOver(0, 0)
