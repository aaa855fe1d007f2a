"""The rules of groups, offsets and sessions can fail: each of these defects is caught."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.coordinator.group.classic_group import ClassicGroup
from mockbroker.coordinator.group.consumer.reconcile import _Step
from mockbroker.coordinator.partition_load import PartitionLoad
from mockbroker.coordinator.runtime import CoordinatorRuntime
from mockbroker.fetch.session import CHANGED, CachedPartition
from mockbroker_protocol.errors import ErrorCode
from tests.seeds.test_cluster_mutations import Mutate, check_caught

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.coordinator.deferred_writes import DeferredWrite
    from mockbroker.coordinator.partition_load import LoggedEntry

pytestmark = [pytest.mark.sim, pytest.mark.timeout(300)]

SEEDS = range(100)


def acknowledge_writes_before_they_are_replicated(patch: pytest.MonkeyPatch) -> None:
    defer = CoordinatorRuntime._defer

    def tell_at_once(
        self: CoordinatorRuntime[Any], index: int, write: DeferredWrite, timeout_ms: float | None
    ) -> None:
        defer(self, index, write, timeout_ms)
        write.complete(ErrorCode.NONE)

    patch.setattr(CoordinatorRuntime, "_defer", tell_at_once)


def forget_an_offset_on_loading(patch: pytest.MonkeyPatch) -> None:
    replay = PartitionLoad.replay

    def replay_but_the_last(self: PartitionLoad[Any], entries: Iterable[LoggedEntry]) -> int:
        logged = list(entries)
        replay(self, logged[:-1])
        if logged:
            self.next_offset = logged[-1][0] + 1
        return len(logged)

    patch.setattr(PartitionLoad, "replay", replay_but_the_last)


def give_what_another_member_still_has(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(_Step, "_is_free", lambda *_: True)


def keep_the_generation(patch: pytest.MonkeyPatch) -> None:
    begin = ClassicGroup.begin_generation

    def begin_again(self: ClassicGroup, now_wall_ms: int) -> None:
        begin(self, now_wall_ms)
        self.generation_id -= self.generation_id > 1

    patch.setattr(ClassicGroup, "begin_generation", begin_again)


def mark_no_partition_of_a_session_that_nobody_waits_for(patch: pytest.MonkeyPatch) -> None:
    mark = CachedPartition.mark

    def mark_waiting(self: CachedPartition) -> None:
        if self.state == CHANGED or self.session.waits:
            mark(self)

    patch.setattr(CachedPartition, "mark", mark_waiting)


MUTATIONS: dict[Mutate, int] = {
    acknowledge_writes_before_they_are_replicated: 0,
    forget_an_offset_on_loading: 1,
    give_what_another_member_still_has: 2,
    keep_the_generation: 2,
    mark_no_partition_of_a_session_that_nobody_waits_for: 0,
}
"""Each with the first seed that caught it: it is tried first, the others when it does not."""


@pytest.mark.parametrize("mutate", MUTATIONS, ids=lambda mutate: mutate.__name__)
def test_a_defect_is_caught(mutate: Mutate, monkeypatch: pytest.MonkeyPatch) -> None:
    check_caught(mutate, monkeypatch, MUTATIONS[mutate], SEEDS)
