"""What brokers hold of groups that share is in order in a run; each other state is noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import Handouts
from mockbroker.coop.interval_set import IntervalSet
from mockbroker.coop.leases import Leases
from mockbroker.coop.remainders import Remainder, Remainders
from simulation.cluster.audits import sharing_audits
from simulation.cluster.audits.sharing_audits import SharingAudits
from tests.support.simulated_sharing import sharing_run

if TYPE_CHECKING:
    from simulation.cluster.simulation import ClusterRun

pytestmark = pytest.mark.sim

LOOKS = 60


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> ClusterRun:
    """A group was dealt records by a leader, and then by another one."""
    run = sharing_run(monkeypatch, by_leases=True, protocol="alone")
    world, topics = run.world, run.world.cluster.metadata.topics
    run._create_topics()
    for crew in run.crews:
        crew.start()
    for _ in range(2):
        world.run_for(600)
        state = topics["s0"].partitions[0]
        to = next(node for node in state.isr if node != state.leader)
        world.operate(lambda to=to: world.controls.move_leader("s0", 0, to))  # type: ignore[misc]
    world.run_for(600)
    assert not world.violations
    assert any(extension_of(one.services).handouts.tables() for one in world.cluster.brokers)
    return run


def found(run: ClusterRun) -> str:
    """What is found by many looks."""
    audits = SharingAudits(run.world, Random(1))
    for _ in range(LOOKS):
        audits.look()
    assert audits.looks
    return "\n".join(run.world.violations)


def test_what_is_held_by_the_rules_is_in_order(run: ClusterRun) -> None:
    assert found(run) == ""


def test_a_leader_that_is_not_overtaken_is_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Handouts, "is_overtaken", lambda *_: False)
    assert "is not overtaken in" in found(run)


def test_commits_of_what_others_have_are_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Leases, "refuses", lambda *_: False)
    assert "nobody may commit" in found(run)


def test_one_who_waits_and_is_not_told_is_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Handouts, "wake", lambda *_: None)
    assert "[] are told that something" in found(run)


def test_commits_below_the_stable_offset_are_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sharing_audits, "refusal_of", lambda *_: None)
    assert "may be committed, and" in found(run)


def test_what_is_nobodys_is_noticed(run: ClusterRun) -> None:
    for broker in run.world.cluster.brokers:
        for leases in extension_of(broker.services).handouts.tables().values():
            leases._leased.clear()
            leases._free.clear()
            leases.marker = 10_000
    assert "were handed out, and are nobody's" in found(run)


def test_what_outlives_an_epoch_is_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Leases, "cut", lambda *_: None)
    assert "and its epoch ends at" in found(run)


def test_what_outlives_a_coordinator_is_noticed(run: ClusterRun) -> None:
    audits = SharingAudits(run.world, Random(1))
    for _ in range(LOOKS):
        audits.look()
    for broker, dealt in audits._dealt.items():
        audits._dealt[broker] = dealt._replace(shard=object())
    audits.look()
    assert "and it coordinates anew" in "\n".join(run.world.violations)


def test_left_overs_of_another_batch_are_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def whatever(self: Remainders, *_: object) -> Remainder | None:
        return next(iter(self._entries.values()), None)

    monkeypatch.setattr(Remainders, "find", whatever)
    assert "is another's" in found(run)


def test_ranges_that_stay_apart_are_noticed(
    run: ClusterRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    def apart(self: IntervalSet, first: int, last: int) -> None:
        if not self.overlaps(first, last):
            self.insert(first, last)

    monkeypatch.setattr(IntervalSet, "add", apart)
    assert "are not [(" in found(run)
