"""WriteTxnMarkers over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from tests.support.core import Core
from tests.support.transactions import Transactional, read_committed

Errors = dict[int, dict[tuple[str, int], int]]


def marker(
    producer_id: int,
    epoch: int,
    *,
    commit: bool = False,
    coordinator_epoch: int = 0,
    version: int = 0,
    partitions: tuple[tuple[str, int], ...] = (("t", 0),),
) -> WritableTxnMarker:
    topics: dict[str, list[int]] = {}
    for topic, index in partitions:
        topics.setdefault(topic, []).append(index)
    written = [WritableTxnMarkerTopic(topic, indexes) for topic, indexes in topics.items()]
    return WritableTxnMarker(producer_id, epoch, commit, written, coordinator_epoch, version)


def write(core: Core, *markers: WritableTxnMarker, version: int = 2) -> Errors:
    request = WriteTxnMarkersRequest(list(markers))
    answer = core.client().call(request, version, WriteTxnMarkersResponse)
    return {
        one.producer_id: {
            (topic.name, result.partition_index): result.error_code
            for topic in one.topics
            for result in topic.partitions
        }
        for one in answer.markers
    }


@pytest.fixture
def core() -> Core:
    return Core(topics={"t": 2})


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("commit", [False, True])
def test_a_marker_ends_what_is_open(core: Core, version: int, commit: bool) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    asked = marker(producer.producer_id, 0, commit=commit)
    assert write(core, asked, version=version) == {producer.producer_id: {("t", 0): 0}}
    assert read_committed(core, "t") == (["a"] if commit else [])


def test_each_partition_has_its_outcome_and_each_producer_its_entry(core: Core) -> None:
    partitions = (("t", 0), ("t", 9), ("nope", 0))
    asked = marker(1, 0, partitions=partitions), marker(2, 0), marker(1, 0, partitions=(("t", 1),))
    assert write(core, *asked) == {
        1: {("t", 9): 3, ("nope", 0): 3, ("t", 0): 0, ("t", 1): 0},
        2: {("t", 0): 0},
    }
    assert write(core) == {}


def test_the_epochs_of_producer_and_coordinator_do_not_go_back(core: Core) -> None:
    assert write(core, marker(1, 5, coordinator_epoch=3)) == {1: {("t", 0): 0}}
    assert write(core, marker(1, 4, coordinator_epoch=3)) == {1: {("t", 0): 47}}
    assert write(core, marker(1, 5, coordinator_epoch=2)) == {1: {("t", 0): 52}}


def test_of_transactions_v2_the_epoch_must_have_grown(core: Core) -> None:
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    name = producer.producer_id
    assert write(core, marker(name, 0, version=2)) == {name: {("t", 0): 47}}
    assert write(core, marker(name, 1, version=2)) == {name: {("t", 0): 0}}
    assert write(core, marker(name, 1, version=2)) == {name: {("t", 0): 0}}
