"""A run lives, heals and gets well; what it did is told, and a seed repeats."""

from __future__ import annotations

import pytest

from simulation.cluster.simulation import ClusterRun, DataCrew, replay, simulate_cluster
from tests.support.cluster_picture import picture

pytestmark = pytest.mark.sim


def test_a_seed_repeats_itself() -> None:
    first, second = simulate_cluster(4), simulate_cluster(4)
    assert first.trace_hash == second.trace_hash
    assert first.counts == second.counts
    assert not first.failed
    assert first.counts["acknowledged"] > 0


@pytest.mark.parametrize("seed", [4, 5])
def test_a_seed_is_the_same_whether_idle_rounds_are_skipped_or_played(seed: int) -> None:
    runs = []
    for skips in (True, False):
        run = ClusterRun(seed)
        run.world.skips = skips
        run.live()
        run.world.run_for(100_000)
        # Who plays each round knows no later time than that of the last, who skips them does.
        run.world.cluster.set_time(run.world.now_ms)
        runs.append(run)
    skipped, played = runs
    assert skipped.world.trace.digest() == played.world.trace.digest()
    assert picture(skipped.world.cluster) == picture(played.world.cluster)
    assert skipped.world.cluster.rounds_skipped > 500
    assert not skipped.world.violations


def test_a_cluster_that_does_not_get_well_fails_its_run() -> None:
    def keep_ill(run: ClusterRun) -> None:
        run.operator.heal = lambda: run.world.operate(  # type: ignore[method-assign]
            lambda: run.world.peers.sessions.keep_out(1)
        )

    report = simulate_cluster(3, keep_ill)
    assert "does not get well" in report.violations[0]
    assert "--cluster --seed 3" in report.explain()


def test_who_is_behind_is_waited_for_while_he_gets_on() -> None:
    def read_slowly(run: ClusterRun, until_s: float, *, for_ever: bool) -> None:
        def behind() -> str:
            done_s = run.world.now_ms // 1_000
            told = f"s0-0 at {min(done_s, until_s)}"
            return "" if done_s >= until_s and not for_ever else told

        run._behind = behind  # type: ignore[method-assign]

    assert not simulate_cluster(4, lambda run: read_slowly(run, 200, for_ever=False)).failed
    report = simulate_cluster(4, lambda run: read_slowly(run, 100, for_ever=True))
    assert "not all is read or replicated: s0-0 at 100" in report.violations[0]


def test_a_follower_that_begins_before_its_leader_is_waited_for() -> None:
    run = ClusterRun(4)
    run.live()
    assert run._behind() == ""
    state = run.world.cluster.metadata.topics["t0"].partitions[0]
    log = run.world.controls.log("t0", 0, state.leader)
    assert log is not None
    log.advance_log_start(log.log_start_offset + 1)
    assert run._behind().endswith("with the start of t0-0")


def test_replicas_that_differ_and_values_that_repeat_are_noticed() -> None:
    run = ClusterRun(4)
    run.live()
    truth = run.truth.find("t0", 0)
    assert truth is not None
    entries = truth.mirrors[truth.state.replicas[0]].entries
    crew = run.crews[0]
    assert isinstance(crew, DataCrew)
    assert entries[0] is not None
    crew.producers[0].once[entries[0][1][1:]] = None
    entries.append(entries[0])
    run._check_logs()
    crew.check()
    assert [text.partition(": ")[2].split()[0] for text in run.world.violations] == [
        "t0-0:",
        "t0-0",
    ]


def test_the_steps_of_a_run_make_the_same_run_again() -> None:
    run = ClusterRun(6)
    run.live()
    again = replay(6, run.operator.steps)
    assert len(run.operator.steps) > 20
    assert again.trace_hash == run.world.trace.digest()


def test_a_run_can_do_without_clients_steps_and_kinds() -> None:
    report = replay(6, [], without=["producer0"], off=["delays"], producers=2, active_ms=200.0)
    assert not any("operator" in line and "heal" not in line for line in report.trace)
    assert not any("producer0" in line for line in report.trace)
    assert any("producer1" in line for line in report.trace)
