"""Offsets of groups expire when they must, and what goes early or stays is noticed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coordinator.group.classic_group import ClassicGroup
from mockbroker.coordinator.group.expiry import Expiry
from simulation.cluster.expiries import ExpiryCrew
from simulation.cluster.simulation import ClusterRun, plan_of

if TYPE_CHECKING:
    from mockbroker.coordinator.group.consumer.group import ConsumerGroup
    from mockbroker.coordinator.group.offset_store import CommittedOffset

pytestmark = pytest.mark.sim


def expiry_run(*kinds: str) -> tuple[ClusterRun, ExpiryCrew]:
    plan = plan_of(1)
    plan.on = {kind: kind in ("expiry", *kinds) for kind in plan.on}
    plan.topics, plan.active_ms, plan.committers = {"t0": 1}, 500.0, 1
    plan.transactors = plan.processors = 0
    run = ClusterRun(1, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, ExpiryCrew))
    return run, crew


@pytest.mark.parametrize("kinds", [(), ("classic_group",), ("consumer_group",)])
def test_offsets_go_when_they_must(kinds: tuple[str, ...]) -> None:
    run, crew = expiry_run(*kinds)
    run.live()
    assert not run.world.violations
    assert crew.counts()["expired"] > 0


def test_offsets_that_stay_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Expiry, "clean", lambda *_: None)
    run, _ = expiry_run()
    run.live()
    assert "are there or not" in run.world.violations[0]
    assert any("has not expired" in told for told in run.world.violations)


def test_offsets_that_go_early_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    is_expired = Expiry._is_expired

    def early(self: Expiry, group: object, committed: object) -> bool:
        self._clock.epoch_ms += 3_000
        try:
            return is_expired(self, group, committed)  # type: ignore[arg-type]
        finally:
            self._clock.epoch_ms -= 3_000

    monkeypatch.setattr(Expiry, "_is_expired", early)
    run, _ = expiry_run("classic_group")
    run.live()
    assert any("ms early" in told for told in run.world.violations)


def test_offsets_that_go_by_their_commit_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    is_expired = Expiry._is_expired

    def by_commit(
        self: Expiry, group: ClassicGroup | ConsumerGroup, committed: CommittedOffset
    ) -> bool:
        if not isinstance(group, ClassicGroup):
            return is_expired(self, group, committed)
        since_ms, group.state_timestamp_ms = group.state_timestamp_ms, None
        try:
            return is_expired(self, group, committed)
        finally:
            group.state_timestamp_ms = since_ms

    monkeypatch.setattr(Expiry, "_is_expired", by_commit)
    run, _ = expiry_run()
    run.live()
    assert any("expiring-once-left: its offsets are gone" in told for told in run.world.violations)
