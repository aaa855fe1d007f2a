"""What a test or the console sees of a running cluster is held against what there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.state import fetching, record_search, replicas, request_lines, request_rows, writing
from simulation.cluster.onlookers import OnlookerCrew
from simulation.cluster.simulation import ClusterRun, plan_of

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.sim


def run_of(*kinds: str) -> tuple[ClusterRun, OnlookerCrew]:
    plan = plan_of(3)
    plan.on = {kind: kind in (*kinds, "views") for kind in plan.on}
    plan.active_ms, plan.unclean = 1_000.0, False
    run = ClusterRun(3, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, OnlookerCrew))
    return run, crew


def half_way(*kinds: str) -> tuple[list[str], OnlookerCrew]:
    """What is wrong so far, and the crew, while clients and followers are at work."""
    run, crew = run_of(*kinds)
    run._create_topics()
    for each in run.crews:
        each.start()
    run.world.run_for(300.0)
    assert not run.world.violations
    return run.world.violations, crew


def test_all_is_told_as_it_is() -> None:
    run, crew = run_of("fetch_sessions", "slow", "hold_follower")
    run.live()
    assert not run.world.violations
    assert crew.counts()["looks in"] > 10


VIEWS: tuple[tuple[str, object, str, object], ...] = (
    ("_look_at_sessions", fetching, "sessions", lambda _: []),
    ("_look_at_waits", fetching, "waits", lambda _: []),
    ("_look_at_replicas", replicas, "replica_logs", None),
    (
        "_look_at_links",
        replicas,
        "faulty_links",
        lambda _: [replicas.LinkState(1, 2, True, True, 0)],
    ),
    ("_look_at_requests", request_rows, "find", lambda *_: None),
    ("_look_at_requests", request_rows, "writer_of", lambda *_: None),
    ("_look_at_lines", request_lines, "summary", lambda *_: ""),
)


@pytest.mark.parametrize(("view", "module", "name", "told"), VIEWS)
def test_what_is_told_otherwise_is_noticed(
    monkeypatch: pytest.MonkeyPatch, view: str, module: object, name: str, told: object
) -> None:
    violations, crew = half_way()
    if told is None:
        logs = replicas.replica_logs
        told = lambda *of: [one._replace(is_leader=False) for one in logs(*of)]  # noqa: E731
    monkeypatch.setattr(module, name, told)
    look: Callable[[], None] = getattr(crew, view)
    look()
    assert violations


def test_a_query_that_finds_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    from mockbroker.state.requests import RequestQuery

    violations, crew = half_way()
    monkeypatch.setattr(RequestQuery, "find", lambda *_: [])
    crew._look_at_queries()
    assert "does not find" in violations[0]


@pytest.mark.parametrize(
    ("module", "name", "told"),
    [
        (writing, "_end", lambda *_: 0),
        (record_search, "search", lambda *_, **__: record_search.Found([], 0, None, None)),
    ],
)
def test_records_that_are_put_elsewhere_or_not_found_are_noticed(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str, told: object
) -> None:
    run, _ = run_of()
    if module is writing:
        append = writing._append
        told = lambda *of: {  # noqa: E731
            at: one._replace(offset=one.offset + 1) for at, one in append(*of).items()
        }
        name = "_append"
    monkeypatch.setattr(module, name, told)
    run.live()
    assert run.world.violations
