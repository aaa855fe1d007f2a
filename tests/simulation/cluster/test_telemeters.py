"""Metrics that are pushed lie there, and bad settings are refused; otherwise it is noticed."""

from __future__ import annotations

import pytest

from mockbroker.metadata.controller import Controller
from mockbroker.telemetry.client_metrics import ClientMetrics
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.cluster.telemeters import BAD_SETTINGS, PUSHES, TelemetryCrew

pytestmark = pytest.mark.sim


def crew_of() -> TelemetryCrew:
    plan = plan_of(3)
    plan.on = {kind: kind == "telemetry" for kind in plan.on}
    run = ClusterRun(3, plan)
    run._create_topics()
    (crew,) = (crew for crew in run.crews if isinstance(crew, TelemetryCrew))
    return crew


def test_everything_is_sent_and_everything_bad_refused() -> None:
    crew = crew_of()
    crew.start()
    crew.world.run_for(20_000)
    assert not crew.world.violations
    counts = crew.counts()
    assert counts["pushes"] > 3 * len(PUSHES)
    assert counts["bad settings"] > 2 * len(BAD_SETTINGS)
    crew.check()
    assert not crew.world.violations


@pytest.mark.parametrize(
    ("owner", "name", "made"),
    [
        (ClientMetrics, "_refusal", lambda *_: ErrorCode.NONE),
        (ClientMetrics, "push", lambda *_, **__: ErrorCode.NONE),
    ],
)
def test_what_is_taken_wrongly_is_noticed(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str, made: object
) -> None:
    monkeypatch.setattr(owner, name, made)
    crew = crew_of()
    crew.start()
    assert crew.world.run_until(lambda: bool(crew.world.violations), 5_000)


def test_a_bad_setting_that_was_made_is_noticed() -> None:
    crew = crew_of()
    assert isinstance(crew.world.cluster.controller, Controller)
    crew.world.cluster.metadata.resource_configs[32]["of-telemeters"] = {"a": "b"}
    crew.check()
    assert "bad settings were made: [32]" in crew.world.violations[0]
