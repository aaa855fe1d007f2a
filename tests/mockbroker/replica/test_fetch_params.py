"""A fetch's limits after the broker's own, and how far its reader may read."""

from __future__ import annotations

import pytest

from mockbroker.log.offsets import FetchIsolation
from mockbroker.replica.fetch_params import FetchParams
from mockbroker_protocol.messages.fetch import FetchRequest, ReplicaState

BROKER_LIMIT = 1_000


@pytest.mark.parametrize(
    ("max_bytes", "min_bytes", "expected"),
    [
        (500, 1, (500, 1)),
        (5_000, 2_000, (1_000, 1_000)),
        (150, 1_000, (150, 150)),
        (-1, 1, (-1, -1)),
    ],
)
def test_max_bytes_is_bounded_by_the_broker_and_min_bytes_by_that(
    max_bytes: int, min_bytes: int, expected: tuple[int, int]
) -> None:
    params = FetchParams(FetchRequest(max_bytes=max_bytes, min_bytes=min_bytes), 12, BROKER_LIMIT)
    assert (params.max_bytes, params.min_bytes) == expected


@pytest.mark.parametrize(
    ("replica_id", "level", "version", "isolation", "only_leader"),
    [
        (-1, 0, 12, FetchIsolation.HIGH_WATERMARK, False),
        (-1, 1, 12, FetchIsolation.TXN_COMMITTED, False),
        (-1, 0, 10, FetchIsolation.HIGH_WATERMARK, True),
        (-2, 1, 12, FetchIsolation.TXN_COMMITTED, False),
        (-3, 0, 10, FetchIsolation.LOG_END, False),
        (5, 1, 12, FetchIsolation.LOG_END, True),
    ],
)
def test_who_reads_decides_how_far_and_from_whom(
    replica_id: int, level: int, version: int, isolation: FetchIsolation, only_leader: bool
) -> None:
    request = FetchRequest(replica_id=replica_id, isolation_level=level)
    params = FetchParams(request, version, BROKER_LIMIT)
    assert (params.isolation, params.only_leader) == (isolation, only_leader)
    assert params.is_from_follower == (replica_id >= 0)


def test_the_replica_state_speaks_from_version_15_on() -> None:
    params = FetchParams(FetchRequest(replica_state=ReplicaState(3, 8)), 15, BROKER_LIMIT)
    assert (params.replica_id, params.replica_epoch) == (3, 8)
    assert params.is_from_follower


@pytest.mark.parametrize(("level", "known"), [(0, True), (1, True), (7, False), (-1, False)])
def test_isolation_levels_that_do_not_exist_are_noticed(level: int, known: bool) -> None:
    params = FetchParams(FetchRequest(isolation_level=level), 12, BROKER_LIMIT)
    assert params.isolation_known == known
