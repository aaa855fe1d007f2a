"""Records out of an answer: what is the member's, and what is not."""

from __future__ import annotations

from mockbroker.coop import tags
from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop.numbers import Tag
from mockbroker.coop_client.reading import TopicPartition, read_records
from mockbroker.coop_client.share import Committed, Share
from mockbroker_protocol.messages.fetch import AbortedTransaction, FetchResponsePartition
from mockbroker_protocol.records.batch import build_batch, control_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.keyed_log import log_k

LOW = KeyRange(0, 2**30 - 1)
PLACE = TopicPartition("t", 0)


def answer(*batches: bytes, **fields: bytes) -> FetchResponsePartition:
    data = FetchResponsePartition(0, 0, 13, 13, 0, None, -1, b"".join(batches))
    data.unknown_tags = {Tag[name]: value for name, value in fields.items()}
    return data


def share(*ranges: KeyRange, stable: int = 0, done: tuple[tuple[int, int], ...] = ()) -> Share:
    made = Share(ranges)
    made.begin(Committed(stable, done))
    return made


def offsets(data: FetchResponsePartition, of: Share, *, only_committed: bool = False) -> list[int]:
    found = list(read_records(PLACE, data, of, 3, only_committed=only_committed))
    assert {one.turn for one in found} <= {3}
    return [one.offset for one in found]


def test_a_broker_that_ignores_the_filter_does_no_harm() -> None:
    mine = share(LOW)
    assert offsets(answer(*log_k()), mine) == [0, 2, 7, 8, 9, 11]
    assert mine.position == 13


def test_what_the_broker_looked_at_is_not_hashed_again() -> None:
    mine = share(LOW)
    stats = tags.stats(1, 1, 1, 0)
    assert offsets(answer(log_k()[0], FILTER_STATS=stats), mine) == [0, 1, 2, 3]


def test_an_answer_is_read_as_far_as_it_is_wanted() -> None:
    mine = share()
    found = read_records(PLACE, answer(*log_k()), mine, 0, only_committed=False)
    assert [next(found).offset for _ in range(5)] == [0, 1, 2, 3, 4]
    assert mine.position == 4
    mine.note_done(5, 9)
    assert [one.offset for one in found] == [11, 12]
    assert mine.position == 13


def test_what_is_committed_or_behind_is_not_given_again() -> None:
    assert offsets(answer(*log_k()), share(stable=5, done=((7, 8), (12, 12)))) == [5, 6, 9, 11]


def test_the_field_says_where_to_go_on() -> None:
    mine = share(LOW)
    assert offsets(answer(log_k()[0], NEXT_FETCH_OFFSET=tags.offset(9)), mine) == [0, 2]
    assert mine.position == 9


def test_leases_say_what_is_handed_out_and_how_often() -> None:
    packed = tags.write_acquired([(1, 2, 1), (5, 5, 4)])
    found = read_records(
        PLACE,
        answer(*log_k(), ACQUIRED_RANGES=packed),
        share(),
        0,
        only_committed=False,
    )
    assert [(one.offset, one.deliveries) for one in found] == [(1, 1), (2, 1), (5, 4)]


def test_markers_are_known_to_be_nobodys() -> None:
    mine = share()
    offsets(answer(*log_k()), mine)
    mine.ack(7, 9)
    mine.ack(11, 11)
    assert mine.to_commit(9) == [(7, 11)]


def test_aborted_records_are_left_out_of_committed_reads() -> None:
    def batch(offset: int) -> bytes:
        one = Record(offset, 0, b"a", b"v")
        return build_batch([one], producer_id=9, producer_epoch=0, transactional=True)

    data = answer(batch(0), control_batch(9, 0, False, 0, 0, base_offset=1), batch(2))
    data.aborted_transactions = [AbortedTransaction(9, 0)]
    mine = share()
    assert offsets(data, mine, only_committed=True) == [2]
    assert offsets(data, share()) == [0, 2]
    assert mine.is_done(0)
