"""Processors write one output for each input, over successions of their own."""

from __future__ import annotations

import pytest

from simulation.cluster.processors import Processor
from tests.support.transaction_run import transaction_run

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("bumps_epochs", [False, True])
def test_inputs_are_processed_once(bumps_epochs: bool) -> None:
    run, crew = transaction_run(transactors=1, processors=1)
    (processor,) = (each for each in crew.clients if isinstance(each, Processor))
    processor.bumps_epochs, processor.leaves, processor.pause_ms = bumps_epochs, False, 10.0
    processor.produce_version, processor.end_version = (12, 5) if bumps_epochs else (9, 3)
    processor.offset_version = 5 if bumps_epochs else 3
    run.live()
    assert run.world.violations == []
    assert processor.commits > 2
    assert processor.committed is not None
    assert processor.committed > processor.commits


def test_successors_go_on_where_offsets_are_committed() -> None:
    run, crew = transaction_run(processors=2, succession_chance=0.05, seed=2)
    run.live()
    assert run.world.violations == []
    processors = [each for each in crew.clients if isinstance(each, Processor)]
    assert len(processors) > 4
    assert sum(each.commits > 0 for each in processors) > 2
