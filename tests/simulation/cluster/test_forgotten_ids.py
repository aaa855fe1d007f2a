"""An id that is forgotten has nothing open, and a coordinator that leaves it open is noticed."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.txn.service import TransactionCoordinatorService
from simulation.cluster.forgotten_ids import NAME, check_forgotten_id
from tests.support.transaction_run import transaction_run

pytestmark = pytest.mark.sim


def told(**spoilt: object) -> tuple[list[str], list[str]]:
    """What is wrong, and what was asked to be forgotten; methods are `spoilt` meanwhile."""
    run, _ = transaction_run()
    run.live()
    asked: list[str] = []
    forget = TransactionCoordinatorService.forget

    def forgets(self: TransactionCoordinatorService, transactional_id: str) -> None:
        asked.append(transactional_id)
        forget(self, transactional_id)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionCoordinatorService, "forget", forgets)
        for name, method in spoilt.items():
            patch.setattr(TransactionCoordinatorService, name, method)
        check_forgotten_id(run.world, "t0")
    return run.world.violations, asked


def test_what_is_open_is_aborted_first() -> None:
    assert told() == ([], [NAME] * 3)


def test_what_stays_open_is_noticed() -> None:
    violations, _ = told(_abort=lambda *_: None)
    assert "is to be forgotten, and is" in violations[0]
