"""Transactional ids and silent producers are forgotten, and who is not is noticed."""

from __future__ import annotations

import pytest

from mockbroker.log.unified_log import UnifiedLog
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from simulation.cluster.expiries import ExpiryCrew, counted_records
from simulation.cluster.simulation import ClusterRun, plan_of

pytestmark = pytest.mark.sim


def expiry_run() -> tuple[ClusterRun, ExpiryCrew]:
    plan = plan_of(1)
    assert plan.on["transactions"]
    plan.on = {kind: kind in ("expiry", "transactions") for kind in plan.on}
    plan.topics, plan.active_ms, plan.transactors, plan.processors = {"t0": 1}, 500.0, 2, 0
    run = ClusterRun(1, plan)
    (crew,) = (crew for crew in run.crews if isinstance(crew, ExpiryCrew))
    return run, crew


def test_all_that_may_expire_does() -> None:
    run, crew = expiry_run()
    run.live()
    assert not run.world.violations
    assert crew.counts()["expired"] > 5


def test_a_producer_that_is_known_for_ever_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(UnifiedLog, "expire_producers", lambda *_: None)
    run, _ = expiry_run()
    run.live()
    assert "has not expired" in run.world.violations[0]


def test_records_of_an_aborted_transaction_do_not_count() -> None:
    log = UnifiedLog("t", 0)
    for producer_id, commit in ((1, True), (2, False)):
        record = Record(0, 0, b"k%d" % producer_id, b"v")
        batch = build_batch(
            [record], producer_id=producer_id, producer_epoch=0, base_sequence=0, transactional=True
        )
        assert not log.append_as_leader(bytearray(batch), 0, 0).error
        assert not log.append_end_of_transaction(producer_id, 0, 0, 0, 0, commit=commit).error
    assert [bytes(one.key or b"") for one in counted_records(log)] == [b"k1"]
