"""Part E of the cases: how much an answer holds (KIP-74), in the order of the request.

Five partitions: two batches of 118 bytes, one of 1070, none, three of 118, one of 118.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.records.batch import iterate_batches
from tests.fetch_cases.asking import MAX_INT32, Part, Topic
from tests.fetch_cases.target import batch

if TYPE_CHECKING:
    from tests.fetch_cases.target import Target

NO_LIMIT = 1 << 20


def five(target: Target) -> Topic:
    return target.shared(
        "five", lambda target: target.topic(5, (50, 50), (1000,), (), (50, 50, 50), (50,))
    )


def in_order(target: Target, *indexes: int, limit: int = NO_LIMIT) -> list[Part]:
    return [five(target).at(index, 0, limit) for index in indexes]


def all_of(target: Target, limit: int = NO_LIMIT) -> list[Part]:
    return in_order(target, 0, 1, 2, 3, 4, limit=limit)


@pytest.mark.parametrize(
    ("case", "max_bytes", "sizes"),
    [
        (77, 1, [118, 0, 0, 0, 0]),
        (77, 117, [118, 0, 0, 0, 0]),
        (77, 118, [118, 0, 0, 0, 0]),
        (78, 119, [119, 0, 0, 0, 0]),
        (79, 236, [236, 0, 0, 0, 0]),
        (81, 1500, [236, 1070, 0, 194, 0]),
        (87, 0, [118, 0, 0, 0, 0]),
    ],
)
def test_77_81_max_bytes_cuts_the_answer_between_and_within_batches(
    target: Target, case: int, max_bytes: int, sizes: list[int]
) -> None:
    reader = target.reader()
    for version in (4, 12, 18):
        answer = reader.fetch(*all_of(target), max_bytes=max_bytes, version=version)
        assert answer.sizes == sizes, case
        assert answer.errors == [0] * 5


def test_78_the_cut_tail_is_the_beginning_of_the_next_batch(target: Target) -> None:
    whole = target.reader().fetch(*in_order(target, 0)).only.records
    cut = target.reader().fetch(*in_order(target, 0), max_bytes=119).only.records
    assert cut == whole[:119]


def test_81_a_batch_that_does_not_fit_leaves_the_rest_to_later_partitions(target: Target) -> None:
    answer = target.reader().fetch(*in_order(target, 0, 1, 3), max_bytes=400)
    assert answer.sizes == [236, 0, 164]


def test_82_an_empty_partition_passes_the_guaranteed_batch_on(target: Target) -> None:
    answer = target.reader().fetch(*in_order(target, 2, 1, 0, 3), max_bytes=300)
    assert answer.sizes == [0, 1070, 0, 0]


def test_83_the_first_batch_ignores_the_limit_of_its_partition(target: Target) -> None:
    reader = target.reader()
    assert reader.fetch(*all_of(target, limit=10)).sizes == [118, 0, 0, 0, 0]
    assert reader.fetch(*in_order(target, 1, 0, 3, limit=10)).sizes == [1070, 0, 0]


def test_84_partition_limits_cut_each_for_itself(target: Target) -> None:
    assert target.reader().fetch(*all_of(target, limit=150)).sizes == [150, 0, 0, 150, 118]


def test_85_a_partition_limit_of_nothing_gives_the_first_batch(target: Target) -> None:
    topic = five(target)
    assert target.reader().fetch(topic.at(0, 0, 0), topic.at(3, 0, 500)).sizes == [118, 354]


def test_86_a_partition_at_its_end_or_in_error_passes_the_guaranteed_batch_on(
    target: Target,
) -> None:
    topic = five(target)
    reader = target.reader()
    rest = topic.at(3, 0, 1), topic.at(4, 0, 1)
    at_end = reader.fetch(topic.at(0, 2, 1), *rest)
    assert (at_end.errors, at_end.sizes) == ([0, 0, 0], [0, 118, 0])
    outside = reader.fetch(topic.at(0, 99, 1), *rest)
    assert (outside.errors, outside.sizes) == ([1, 0, 0], [0, 118, 0])


def test_87_negative_limits_fail_where_there_is_something_to_read(target: Target) -> None:
    topic = five(target)
    reader = target.reader()
    for part, max_bytes in ((topic.at(0, 0, -1), MAX_INT32), (topic.at(0), -1)):
        got = reader.fetch(part, max_bytes=max_bytes).only
        assert (got.error, got.positions, got.size) == (-1, (-1, -1, -1), 0)
    for part, max_bytes in ((topic.at(0, 2, -1), MAX_INT32), (topic.at(0, 2), -1)):
        got = reader.fetch(part, max_bytes=max_bytes).only
        assert (got.error, got.positions, got.size) == (0, (2, 2, 0), 0)


def test_88_an_offset_within_a_batch_gets_it_whole(target: Target) -> None:
    topic = target.topic()
    ten = batch(1, count=10)
    for _ in range(2):
        target.append(topic, 0, ten)
    reader = target.reader()

    def bases(offset: int, limit: int = NO_LIMIT) -> list[int]:
        records = reader.fetch(topic.at(0, offset, limit)).only.records
        return [header.base_offset for _, header in iterate_batches(records)]

    assert bases(5) == [0, 10]
    assert bases(5, 10) == [0]
    assert bases(15) == [10]


def test_89_the_broker_has_a_limit_of_its_own(small_target: Target) -> None:
    target = small_target
    topic = target.topic(1, (1, 500, 1040, 500, 50))
    reader = target.reader()

    def whole(offset: int) -> list[int]:
        records = reader.fetch(topic.at(0, offset, 1 << 20)).only.records
        return [header.base_offset for _, header in iterate_batches(records)]

    assert [whole(offset) for offset in (0, 2, 3, 4)] == [[0, 1], [2], [3, 4], [4]]


@pytest.mark.parametrize("version", [4, 12, 18])
def test_90_oversize_batches_are_given_alone_and_only_first(target: Target, version: int) -> None:
    """Nine small batches each, then one above the partition's limit in partition 0 and one above
    the limit of the answer in partition 1."""

    def make(target: Target) -> Topic:
        return target.topic(4, *[(1,) * 9 + large for large in ((200,), (1000,), (), ())])

    topic = target.shared("oversize", make)
    reader = target.reader()

    def sizes(*parts: tuple[int, int]) -> list[tuple[int, int]]:
        asked = [topic.at(index, offset, 190) for index, offset in parts]
        answer = reader.fetch(*asked, max_bytes=800, version=version)
        assert answer.errors == [0] * len(parts)
        return list(zip(answer.indexes, answer.sizes, strict=True))

    assert sizes((3, 0), (2, 0), (1, 0), (0, 0)) == [(3, 190), (2, 190), (1, 190), (0, 190)]
    above_partition = 270
    assert sizes((0, 9), (2, 0), (1, 9), (3, 0)) == [
        (0, above_partition), (2, 190), (1, 0), (3, 190),
    ]  # fmt: skip
    assert sizes((1, 9), (2, 0), (0, 9), (3, 0)) == [(1, 1070), (2, 0), (0, 0), (3, 0)]
    assert sizes((2, 0), (3, 0), (0, 9), (1, 9)) == [(2, 190), (3, 190), (0, 0), (1, 0)]


def test_91_an_answer_stays_within_one_segment(target: Target) -> None:
    topic = target.topic(segment_bytes="1048576", max_message_bytes="1000000")
    for _ in range(2):
        target.append(topic, 0, batch(600_000))
    reader = target.reader()
    first, second = (
        reader.fetch(topic.at(0, offset, 10_000_000)).only.records for offset in (0, 1)
    )
    assert [header.base_offset for _, header in iterate_batches(first)] == [0]
    assert [header.base_offset for _, header in iterate_batches(second)] == [1]
    assert struct.unpack_from(">q", first)[0] == 0
