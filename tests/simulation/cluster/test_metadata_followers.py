"""Those who follow the metadata log notice what a controller does wrong."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.apis.controller import fetch as controller_fetch
from mockbroker.quorum.observers import Observers
from mockbroker.quorum.quorum import MetadataQuorum, ParkedFetch
from mockbroker.quorum.translation import Translation
from simulation.cluster.metadata_followers import QuorumCrew, wrong_observers
from simulation.cluster.simulation import ClusterRun, plan_of

pytestmark = pytest.mark.sim


def run_of(*kinds: str, commit_delay_ms: int = 0) -> tuple[ClusterRun, QuorumCrew]:
    plan = plan_of(3)
    plan.quorum_times = plan.quorum_times[0], commit_delay_ms
    plan.on = {kind: kind in (*kinds, "quorum") for kind in plan.on}
    plan.active_ms, plan.unclean = 1_000.0, False
    run = ClusterRun(3, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, QuorumCrew))
    return run, crew


def violations_of(*kinds: str, commit_delay_ms: int = 0) -> list[str]:
    run, _ = run_of(*kinds, commit_delay_ms=commit_delay_ms)
    run.live()
    return run.world.violations


def test_a_run_with_a_metadata_log_is_followed() -> None:
    run, crew = run_of("crash", "topics", "scope", "snapshot", "cut_clients")
    run.live()
    assert not run.world.violations
    assert crew.counts()["metadata fetches"] > 10
    assert all(follower.offset > 20 for follower in crew.followers)


def test_a_run_without_one_is_left_alone() -> None:
    run, crew = run_of()
    assert crew.followers
    plan = plan_of(3)
    plan.on = dict.fromkeys(plan.on, False)
    other = ClusterRun(3, plan)
    assert other.world.cluster.interconnect.controller is None
    assert run.world.cluster.quorum().is_leader


def test_a_change_that_is_not_written_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Translation, "_change_partition", lambda *_: [])
    assert any("the metadata log says topics" in wrong for wrong in violations_of("crash"))


def test_a_high_watermark_beyond_the_log_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    commit = MetadataQuorum._commit
    monkeypatch.setattr(MetadataQuorum, "_commit", lambda self, end: commit(self, end + 1000))
    with pytest.raises(AssertionError):  # the log itself cannot be so
        run_of()
    read = controller_fetch._read

    def ahead(*of: object) -> object:
        data = read(*of)  # type: ignore[arg-type]
        data.high_watermark += 1000
        return data

    monkeypatch.setattr(MetadataQuorum, "_commit", commit)
    monkeypatch.setattr(controller_fetch, "_read", ahead)
    assert any("high watermark" in wrong for wrong in violations_of())


def test_who_waits_on_as_more_is_committed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    wake = MetadataQuorum._wake

    def without_advance(self: MetadataQuorum) -> None:
        self._advanced = False
        wake(self)

    assert violations_of("crash", "topics", commit_delay_ms=20) == []
    monkeypatch.setattr(MetadataQuorum, "_wake", without_advance)
    found = violations_of("crash", "topics", commit_delay_ms=20)
    assert any("who waits is not told" in wrong for wrong in found)


def test_records_that_are_left_out_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    read = controller_fetch._read

    def from_further_on(quorum: MetadataQuorum, request: object, asked: object) -> object:
        data = read(quorum, request, asked)  # type: ignore[arg-type]
        if data.records and asked.fetch_offset < 3:  # type: ignore[attr-defined]
            data.records = quorum.log.read_uncommitted(4, 1)
        return data

    monkeypatch.setattr(controller_fetch, "_read", from_further_on)
    assert any("is told a batch at" in wrong for wrong in violations_of())


def test_a_high_watermark_that_goes_back_is_noticed() -> None:
    run, crew = run_of()
    run.world.run_for(50)
    assert not run.world.violations
    quorum = run.world.cluster.quorum()
    assert quorum.high_watermark is not None
    quorum.high_watermark -= 1
    crew._watch()
    assert "the metadata log is at" in run.world.violations[0]


def test_what_an_epoch_commits_before_its_first_record_is_noticed() -> None:
    run, crew = run_of()
    run.world.run_for(50)
    quorum = run.world.cluster.quorum()
    run.world.operate(quorum.begin_epoch)
    assert not run.world.violations
    quorum.high_watermark = crew._begins
    crew._watch()
    assert "which begins" in run.world.violations[-1]


def test_who_waits_on_when_the_leader_resigns_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def silent(self: MetadataQuorum) -> None:
        self.high_watermark = None
        self._begin_epoch()

    run, crew = run_of()
    run.world.run_for(50)
    quorum = run.world.cluster.quorum()
    quorum.park(ParkedFetch(quorum.log.log_end_offset + 9, lambda _: None), 10_000)
    monkeypatch.setattr(MetadataQuorum, "begin_epoch", silent)
    run.world.operate(crew._resign)
    assert "is not told of 2" in run.world.violations[0]


def test_observers_that_are_remembered_for_ever_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert not [*wrong_observers(Random(1))]
    monkeypatch.setattr(
        Observers, "current", lambda self: [one for _, one in sorted(self._replicas.items())]
    )
    assert [*wrong_observers(Random(1))]
