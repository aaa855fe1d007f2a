"""UpdateFeatures, and what ApiVersions says after it; the levels are in the end as at first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.differential.steps import ask

if TYPE_CHECKING:
    from tests.differential.steps import Step

UPGRADE, SAFE, UNSAFE = 1, 2, 3
TXN, METADATA = "transaction.version", "metadata.version"
Level = tuple[str, int, int]


def update(*levels: Level, validate_only: bool = False) -> UpdateFeaturesRequest:
    keys = [FeatureUpdateKey(name, level, False, kind) for name, level, kind in levels]
    return UpdateFeaturesRequest(1000, keys, validate_only)


def feature_steps() -> list[Step]:
    def told(level: int) -> list[Step]:
        return ask(f"ApiVersions when {TXN} is {level}", 4, ApiVersionsRequest("x", "1"),
                   until=lambda answer: level == next(
                       (each.max_version_level for each in answer.finalized_features
                        if each.name == TXN), 0))  # fmt: skip

    ways: list[list[Level]] = [
        [(TXN, 2, UPGRADE)], [(TXN, 3, UPGRADE)], [(TXN, 1, UPGRADE)], [(TXN, -1, UPGRADE)],
        [(TXN, -1, SAFE)], [(TXN, 2, SAFE)], [(TXN, 2, 0)], [(TXN, 2, 9)],
        [("no.such", 1, UPGRADE)], [("", 1, UPGRADE)], [(TXN, 1, SAFE), ("no.such", 1, UPGRADE)],
        [(METADATA, 32, UPGRADE)], [(METADATA, 32, SAFE)], [(METADATA, 32, UNSAFE)],
        [(METADATA, 34, UPGRADE)], [(METADATA, 33, UPGRADE)], [(METADATA, 6, SAFE)],
        [(METADATA, 0, SAFE)], [(METADATA, 7, UNSAFE)], [],
    ]  # fmt: skip
    return [
        *(step for way in ways for step in ask(f"UpdateFeatures {way}", (1, 2), update(*way))),
        *ask("UpdateFeatures validated", 2, update((TXN, 1, SAFE), validate_only=True)),
        *told(2),
        *ask("UpdateFeatures down", 2, update((TXN, 1, SAFE))),
        *told(1),
        *ask("UpdateFeatures down to nothing", 1, update((TXN, 0, UNSAFE))),
        *told(0),
        *ask("UpdateFeatures to nothing again", 2, update((TXN, 0, UPGRADE))),
        *ask("UpdateFeatures upwards by a downgrade", 2, update((TXN, 1, SAFE))),
        *ask("UpdateFeatures up", 0, update((TXN, 2, UPGRADE))),
        *told(2),
    ]  # fmt: skip
