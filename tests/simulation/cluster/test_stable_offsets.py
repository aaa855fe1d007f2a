"""Who insists is told what was written when it asked; a broker that tells less is noticed."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from mockbroker.coordinator.group.offsets import OffsetMetadataManager
from mockbroker.metadata.names import GROUP_METADATA_TOPIC
from simulation.cluster.stable_offsets import StableOffsets, offsets_ahead
from tests.support.simulated_groups import SimulatedGroup

pytestmark = pytest.mark.sim


def told() -> tuple[int, list[str]]:
    """How often an offset was told to who insisted while commits were held back, and wrongly."""
    group = SimulatedGroup("consumer", 3)
    group.settle()
    world = group.world
    asker = StableOffsets(world, Random(1))
    for _ in range(5):
        world.operate(lambda: world.controls.hold_high_watermark(GROUP_METADATA_TOPIC, 0))
        for _ in range(8):
            world.run_for(20)
            for broker in world.cluster.brokers:
                asker.ask(broker)
        world.operate(lambda: world.controls.release_high_watermark(GROUP_METADATA_TOPIC, 0))
        world.run_for(200)
    assert not any(offsets_ahead(broker) for broker in world.cluster.brokers)
    return asker.told, world.violations


def test_what_was_written_is_told_once_it_is_replicated() -> None:
    count, violations = told()
    assert count > 3
    assert violations == []


def test_what_was_there_before_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    fetch = OffsetMetadataManager.fetch

    def before(self: OffsetMetadataManager, *asked: Any, **how: Any) -> object:
        return fetch(self, *asked, **{**how, "require_stable": False})

    monkeypatch.setattr(OffsetMetadataManager, "fetch", before)
    assert any("to who insists" in one for one in told()[1])
