"""Who may log in is served, nobody else is, and a broker that lets others in is noticed."""

from __future__ import annotations

import pytest

from simulation.cluster.logins import ATTEMPTS, LoginCrew
from simulation.cluster.simulation import ClusterRun, plan_of

pytestmark = pytest.mark.sim


def run_of(*kinds: str) -> tuple[ClusterRun, LoginCrew]:
    plan = plan_of(1)
    plan.on = {kind: kind in kinds for kind in plan.on}
    plan.topics, plan.active_ms, plan.committers = {"t0": 1}, 100.0, 0
    plan.transactors = plan.processors = 0
    run = ClusterRun(1, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, LoginCrew))
    return run, crew


def test_each_gets_as_far_as_it_may() -> None:
    run, crew = run_of("logins")
    for attempt in ATTEMPTS:
        crew._try(attempt, 0)
    assert not run.world.violations
    assert crew.counts()["logins"] == len(ATTEMPTS)


def test_they_come_where_a_seed_draws_them() -> None:
    run, crew = run_of("logins")
    run.live()
    assert not run.world.violations
    assert crew.tried
    assert crew.counts()["in sessions"]
    run, crew = run_of()
    run.live()
    assert not crew.tried


def test_a_broker_that_lets_anybody_in_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockbroker.security.plain.compare_digest", lambda *_: True)
    run, crew = run_of("logins")
    for attempt in ATTEMPTS:
        crew._try(attempt, 0)
    assert "of another password, not 1" in run.world.violations[0]


def done(turns: int = 40) -> list[str]:
    """What is wrong when each act was done some times."""
    run, crew = run_of("logins")
    for turn in range(turns):
        for act in crew._acts:
            crew._do(act, run.world.cluster.brokers[turn % 3])
        run.world.operate(lambda: None)
        run.world.run_for(10)
    return run.world.violations


def test_all_that_log_in_by_the_rules_are_served() -> None:
    assert done() == []


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        ("mockbroker.security.scram.compare_digest", "ScramLogin(served=True"),
        ("mockbroker.metadata.delegation_tokens.DelegationToken.is_removed", "Made("),
        ("mockbroker.security.plain.compare_digest", "a bare token"),
    ],
)
def test_who_is_let_in_wrongly_is_noticed(
    where: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    instead = "is_removed" in where
    monkeypatch.setattr(where, lambda *_: not instead)
    assert any(wrong in one for one in done())


def test_a_rule_that_fails_no_login_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mockbroker.security.admission.Admission.refused_by", lambda *_: None)
    assert any("without a rule" in one for one in done(5))


def test_a_session_by_a_token_that_lasts_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "mockbroker.security.authenticator.Authenticator._lifetime_ms", lambda *_: 60_000
    )
    assert any("ms: ScramLogin" in one for one in done())
