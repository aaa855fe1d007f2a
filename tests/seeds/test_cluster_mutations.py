"""The rules of replication can fail: each defect put into the cluster is caught by some seed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.cluster.links.heartbeats import BrokerSessions
from mockbroker.cluster.links.isr_proposals import IsrProposals
from mockbroker.coordinator.txn.markers import TransactionMarkers
from mockbroker.coordinator.txn.shard import TransactionShard
from mockbroker.coordinator.txn.states import PREPARED
from mockbroker.log.offsets import FetchIsolation
from mockbroker.log.unified_log import UnifiedLog
from mockbroker.replica import manager as replica_manager
from mockbroker.replica.in_sync import Followers
from mockbroker.replica.log_reader import LogReader
from mockbroker.replica.partition import Partition
from simulation.cluster.simulation import simulate_cluster

if TYPE_CHECKING:
    from mockbroker.coordinator.txn.metadata import TransactionMetadata, Transition
    from mockbroker.log.results import ReadResult
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.replica.fetch_entry import FetchEntry
    from mockbroker_protocol.errors import ErrorCode

pytestmark = [pytest.mark.sim, pytest.mark.timeout(300)]

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

    def same_epoch(state: PartitionState, *args: Any, **kwargs: Any) -> PartitionState | None:
        made = changed(state, *args, **kwargs)
        return None if made is None else made._replace(leader_epoch=state.leader_epoch)

    patch.setattr(replication_control, "changed", same_epoch)


def never_return_to_the_in_sync_set(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(Followers, "expansion", nothing)


def never_truncate(patch: pytest.MonkeyPatch) -> None:
    """It asks for ever where it may go on: no time passes, and the run is told to be endless."""
    patch.setattr(Partition, "truncate_to", nothing)


def never_tell_where_logs_part(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(LogReader, "_divergence", nothing)


def let_the_high_watermark_go_back(patch: pytest.MonkeyPatch) -> None:
    """A new leader knows nothing of its followers yet: their offsets would be taken for 0."""
    patch.setattr(UnifiedLog, "advance_high_watermark", UnifiedLog.set_high_watermark)


def forget_proposals(patch: pytest.MonkeyPatch) -> None:
    """The controller may have agreed, and the leader does not wait for who may lead by now."""
    propose = Partition._propose

    def propose_and_forget(self: Partition, followers: Followers, isr: list[int]) -> None:
        propose(self, followers, isr)
        followers.proposed = None

    patch.setattr(Partition, "_propose", propose_and_forget)


def forget_proposals_without_news(patch: pytest.MonkeyPatch) -> None:
    def forget(_self: IsrProposals, partition: Partition, isr: list[int], _: list[int]) -> None:
        followers = partition.followers
        if followers is not None and followers.proposed is isr:
            followers.proposed = None

    patch.setattr(IsrProposals, "_propose_again", forget)


def never_fence(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BrokerSessions, "_check", nothing)


def serve_beyond_the_high_watermark(patch: pytest.MonkeyPatch) -> None:
    read = UnifiedLog.read

    def read_on(
        self: UnifiedLog, offset: int, max_bytes: int, _: FetchIsolation, min_one: bool
    ) -> ReadResult:
        return read(self, offset, max_bytes, FetchIsolation.LOG_END, min_one)

    patch.setattr(UnifiedLog, "read", read_on)


def replay_decisions_before_they_are_replicated(patch: pytest.MonkeyPatch) -> None:
    """What is not replicated in time leaves them behind, and nobody sends their markers."""
    write = TransactionShard.write

    def write_ahead(
        self: TransactionShard,
        current: TransactionMetadata,
        transition: Transition,
        done: Callable[[ErrorCode], None],
    ) -> None:
        write(self, current, transition, done)
        if current.pending_state in PREPARED:
            current.pending_state = None
            current.apply(transition.value)

    patch.setattr(TransactionShard, "write", write_ahead)


def forget_the_last_stable_offset(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UnifiedLog, "_update_first_unstable_offset", nothing)


def forget_what_was_aborted(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(UnifiedLog, "_add_aborted", nothing)


def never_send_markers_again(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(TransactionMarkers, "_send_later", nothing)


MUTATIONS: dict[Mutate, int] = {
    acknowledge_before_the_followers_have_it: 0,
    let_the_high_watermark_follow_the_leader: 0,
    take_in_who_lags: 5,
    truncate_one_record_too_many: 1,
    keep_the_leader_epoch: 1,
    never_return_to_the_in_sync_set: 1,
    never_truncate: 1,
    never_tell_where_logs_part: 6,
    let_the_high_watermark_go_back: 1,
    forget_proposals: 237,
    forget_proposals_without_news: 257,
    never_fence: 70,
    serve_beyond_the_high_watermark: 1,
    replay_decisions_before_they_are_replicated: 25,
    forget_the_last_stable_offset: 0,
    forget_what_was_aborted: 1,
    never_send_markers_again: 10,
}
"""Each with the first seed that caught it: it is tried first, the others when it does not."""


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_a_defect_is_caught(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    check_caught(mutate, monkeypatch, MUTATIONS[mutate], SEEDS)


def check_caught(
    mutate: Mutate, patch: pytest.MonkeyPatch, first: int, seeds: Iterable[int]
) -> None:
    """`first` fails with the defect and not without it, or one of `seeds` fails with it."""
    assert not fails(first)
    mutate(patch)
    assert any(fails(seed) for seed in (first, *seeds))


def fails(seed: int) -> bool:
    """Whether a rule, or an assertion of the cluster's own, notices."""
    try:
        return simulate_cluster(seed).failed
    except (AssertionError, IndexError):
        return True
