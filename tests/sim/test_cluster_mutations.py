"""The rules of replication can fail: each defect put into the cluster is caught by some seed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

from mockbroker.replica import manager as replica_manager
from mockbroker.replica.in_sync import Followers
from mockbroker.replica.partition import Partition
from mockbroker.sim.cluster.simulation import simulate_cluster

if TYPE_CHECKING:
    from mockbroker.replica.fetch_entry import FetchEntry

pytestmark = pytest.mark.sim

SEEDS = range(200)
Mutate = Callable[[pytest.MonkeyPatch], None]


def nothing(*_: object, **__: object) -> None:
    return None


def acknowledge_before_the_followers_have_it(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(replica_manager, "ACKS_ALL", 99)


def let_the_high_watermark_follow_the_leader(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Followers, "high_watermark", lambda _self, leader_end, *_: leader_end)


def take_in_who_lags(patch: pytest.MonkeyPatch) -> None:
    fetched = Partition.follower_fetched

    def take_in(self: Partition, replica_id: int, entry: FetchEntry, end: int) -> None:
        fetched(self, replica_id, entry, end)
        followers = self.followers
        if followers is None or followers.get(replica_id) is None or followers.proposed is not None:
            return
        if replica_id not in self.state.isr:
            self._propose(followers, [*self.state.isr, replica_id])

    patch.setattr(Partition, "follower_fetched", take_in)


def truncate_one_record_too_many(patch: pytest.MonkeyPatch) -> None:
    change_state = Partition.change_state

    def change_and_lose(self: Partition, state: object) -> None:
        change_state(self, state)  # type: ignore[arg-type]
        if not self.is_leader and self.log is not None and self.log.log_end_offset:
            self.truncate_to(self.log.log_end_offset - 1)

    patch.setattr(Partition, "change_state", change_and_lose)


def keep_the_leader_epoch(patch: pytest.MonkeyPatch) -> None:
    from mockbroker.metadata import replication_control
    from mockbroker.metadata.elections import changed

    def same_epoch(state: object, *args: object, **kwargs: object) -> object:
        made = changed(state, *args, **kwargs)  # type: ignore[arg-type]
        if made is not None:
            made.leader_epoch = state.leader_epoch  # type: ignore[attr-defined]
        return made

    patch.setattr(replication_control, "changed", same_epoch)


def never_return_to_the_in_sync_set(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Followers, "expansion", nothing)


MUTATIONS: tuple[Mutate, ...] = (
    acknowledge_before_the_followers_have_it,
    let_the_high_watermark_follow_the_leader,
    take_in_who_lags,
    truncate_one_record_too_many,
    keep_the_leader_epoch,
    never_return_to_the_in_sync_set,
)


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_a_defect_is_caught(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    mutate(monkeypatch)
    assert any(fails(seed) for seed in SEEDS)


def fails(seed: int) -> bool:
    """Whether a rule, or an assertion of the cluster's own, notices."""
    try:
        return simulate_cluster(seed).failed
    except (AssertionError, IndexError):
        return True
