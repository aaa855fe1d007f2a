"""Part I of the cases on a controller's endpoint: the Fetch of the metadata log (KRaft, KIP-1166).

A log moves only when a case creates a topic; the epoch is whatever the leader says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.records.batch import iterate_batches
from tests.fetch_cases.raft_target import METADATA, part, raft_error

if TYPE_CHECKING:
    from tests.fetch_cases.raft_target import RaftTarget

LONG_MS = 24_000
"""A controller that has just started, on a busy disk, takes seconds for an append."""
SOON_MS = LONG_MS / 2
SHORT_MS = 80
UNKNOWN = 2**63 - 1


@pytest.mark.parametrize("version", [12, 13, 18])
def test_13_a_raft_endpoint_checks_the_cluster(raft_target: RaftTarget, version: int) -> None:
    reader = raft_target.observer()
    answer = reader.fetch(part(0, 1, 0), version=version, cluster_id="bogus")
    assert (answer.error, answer.parts) == (104, [])


@pytest.mark.parametrize("below", ["unknown", "nothing", "one"])
def test_148_an_observer_that_knows_less_is_answered_at_once(
    raft_target: RaftTarget, below: str
) -> None:
    epoch, end = raft_target.end()
    value = {"unknown": -1, "nothing": 0, "one": end - 1}[below]
    asked = part(end, epoch, epoch, high_watermark=value)
    answer = raft_target.observer().fetch(asked, version=18, wait=LONG_MS)
    assert (answer.only.error, answer.only.size, answer.only.high_watermark) == (0, 0, end)
    assert answer.elapsed_ms < SOON_MS


@pytest.mark.parametrize("above", [0, 1, None, UNKNOWN])
def test_148_an_observer_that_knows_as_much_is_parked(
    raft_target: RaftTarget, above: int | None
) -> None:
    epoch, end = raft_target.end()
    values = {} if above is None else {"high_watermark": min(end + above, UNKNOWN)}
    answer = raft_target.observer().fetch(
        part(end, epoch, epoch, **values), version=18, wait=SHORT_MS
    )
    assert (answer.only.error, answer.only.size, answer.only.high_watermark) == (0, 0, end)
    assert answer.elapsed_ms >= SHORT_MS - 1


@pytest.mark.parametrize("version", [13, 17, 18])
def test_151_an_append_releases_every_observer(raft_target: RaftTarget, version: int) -> None:
    epoch, end = raft_target.end()
    reader = raft_target.observer()
    reader.ask(part(end, epoch, epoch), version=version, wait=LONG_MS)
    raft_target.parked(reader)
    raft_target.grow()
    answer = reader.answer()
    assert answer.only.error == 0
    assert answer.elapsed_ms < SOON_MS
    if raft_target.is_kafka and not answer.only.records:
        # On a busy machine it answered at once, and a moment before what it had appended.
        answer = reader.fetch(part(end, epoch, epoch), version=version, wait=LONG_MS)
    assert next(iterate_batches(answer.only.records))[1].base_offset == end


@pytest.mark.parametrize(
    ("offset", "last_epoch", "wait"), [(0, 0, -1), (-1, 0, 0), (0, -1, 0), (0, 99, 0)]
)
def test_152_values_that_make_no_sense(
    raft_target: RaftTarget, offset: int, last_epoch: int, wait: int
) -> None:
    epoch = raft_target.epoch()
    answer = raft_target.observer().fetch(part(offset, epoch, last_epoch), version=18, wait=wait)
    assert raft_error(answer) == (0, [42])
    assert answer.only.high_watermark == -1


def test_152_other_epochs(raft_target: RaftTarget) -> None:
    epoch = raft_target.epoch()
    reader = raft_target.observer()
    for asked, error in ((epoch - 1, 74), (epoch + 1, 75)):
        answer = reader.fetch(part(0, asked, 0), version=18)
        assert raft_error(answer) == (0, [error])
        leader = answer.only.data.current_leader
        assert leader is not None
        assert leader.leader_epoch == epoch
        assert [node.node_id for node in answer.response.node_endpoints] == [leader.leader_id]


def test_152_topics_go_by_id(raft_target: RaftTarget) -> None:
    epoch = raft_target.epoch()
    reader = raft_target.observer()
    assert raft_error(reader.fetch(part(0, epoch, 0), version=12)) == (42, [])
    other = METADATA._replace(id=b"x" * 16).at(0, current_leader_epoch=epoch, last_fetched_epoch=0)
    assert raft_error(reader.fetch(other, version=13)) == (42, [])


def test_153_limits_of_the_partition_count_for_nothing(raft_target: RaftTarget) -> None:
    epoch, _ = raft_target.end()
    reader = raft_target.observer()
    whole = reader.fetch(part(0, epoch, 0, 0), version=18, min_bytes=0)
    assert whole.only.size > 0
    one = reader.fetch(part(0, epoch, 0, 0), version=18, max_bytes=1)
    ((_, header),) = iterate_batches(one.only.records)
    assert (header.base_offset, one.only.size) == (0, header.size_in_bytes)


@pytest.mark.parametrize("version", [13, 18])
def test_154_no_wait_is_no_wait(raft_target: RaftTarget, version: int) -> None:
    epoch, end = raft_target.end()
    answer = raft_target.observer().fetch(part(end, epoch, epoch), version=version, min_bytes=1)
    assert (answer.only.error, answer.only.size) == (0, 0)
    assert answer.elapsed_ms < SOON_MS


def test_154_all_that_kraft_tells_of_its_partition(raft_target: RaftTarget) -> None:
    epoch, end = raft_target.end()
    answer = raft_target.observer().fetch(part(end, epoch, epoch), version=18)
    assert answer.only.positions == (end, -1, 0)
    assert answer.only.aborted == []
    assert answer.session_id == 0
    assert answer.only.data.preferred_read_replica == -1
