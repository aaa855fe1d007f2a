"""Impostors are refused in every run, and one that gets on is noticed."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn import end_txn
from mockbroker.metadata.replication_control import ReplicationControl
from mockbroker.replica.partition import Partition
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.impostors import ImpostorCrew
from simulation.cluster.simulation import ClusterRun, plan_of
from simulation.runner import carry_out

pytestmark = pytest.mark.sim
SEED = 4


def run_of() -> ClusterRun:
    plan = plan_of(SEED)
    plan.change({"active_ms": 1500.0})
    plan.on.update(dict.fromkeys(("transactions", "classic_group", "consumer_group"), True))
    plan.transactors = 2
    return ClusterRun(SEED, plan)


def test_a_run_refuses_them_all() -> None:
    run = run_of()
    report = carry_out(run)
    assert not report.failed, report.explain()
    assert report.counts["impostors"] > 40
    assert any(isinstance(crew, ImpostorCrew) for crew in run.crews)


@pytest.mark.parametrize(
    ("where", "name", "spoilt"),
    [
        (Partition, "knows_newer", lambda *_: False),
        (Partition, "has_replica", lambda *_: True),
        (end_txn, "_is_valid_epoch", lambda *_: True),
        (ReplicationControl, "_is_registered", lambda *_: True),
        (ReplicationControl, "alter_partition", lambda *_: ErrorCode.NONE),
    ],
)
def test_an_impostor_that_gets_on_is_noticed(
    where: object, name: str, spoilt: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(where, name, spoilt)
    run = run_of()
    wrong: list[str] = []
    try:
        wrong += carry_out(run).violations
    except AssertionError as error:  # it was carried out, which takes longer than a step
        wrong.append(str(error))
    assert any(" answers " in one or "not answered at once" in one for one in wrong)
