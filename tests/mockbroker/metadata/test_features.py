"""Which features are on offer, and what may become of a level."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.features import (
    FEATURES,
    FeatureUpdate,
    finalized,
    offered,
    update_features,
)
from mockbroker.metadata.store import FEATURES_AT_FORMAT, MetadataStore
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode

TXN = "transaction.version"
METADATA = "metadata.version"


@pytest.fixture
def store() -> MetadataStore:
    return MetadataStore("cluster", BrokerConfig())


def change(
    store: MetadataStore, *updates: FeatureUpdate, validate_only: bool = False
) -> str | None:
    answer = update_features(store, updates, FEATURES, 1, validate_only=validate_only)
    assert (answer.error is ErrorCode.NONE) == (answer.message is None)
    return answer.message


def test_a_fresh_cluster_has_levels_that_exist() -> None:
    levels = {each.name: range(each.min_version, each.max_version + 1) for each in FEATURES}
    assert all(level in levels[name] for name, level in FEATURES_AT_FORMAT.items())


def test_a_feature_needs_its_api(store: MetadataStore) -> None:
    def served(key: ApiKey) -> bool:
        return key is ApiKey.END_TXN

    assert [each.name for each in offered(served)] == ["kraft.version", METADATA, TXN]
    assert finalized(store, served) == {METADATA: 33, TXN: 2}


def test_a_level_goes_up_and_safely_down(store: MetadataStore) -> None:
    assert change(store, FeatureUpdate(TXN, 1, 2)) is None
    assert store.features[TXN] == 1
    assert change(store, FeatureUpdate(TXN, 0, 3)) is None
    assert TXN not in store.features
    assert change(store, FeatureUpdate(TXN, 2, 1)) is None
    assert store.features[TXN] == 2


def test_all_or_nothing(store: MetadataStore) -> None:
    assert change(store, FeatureUpdate(TXN, 1, 2), FeatureUpdate("nope", 1, 1)) is not None
    assert store.features[TXN] == 2


def test_validation_changes_nothing(store: MetadataStore) -> None:
    assert change(store, FeatureUpdate(TXN, 1, 2), validate_only=True) is None
    assert store.features[TXN] == 2


@pytest.mark.parametrize(
    ("update", "why"),
    [
        (FeatureUpdate("nope", 1, 1), "Local controller 1 does not support this feature."),
        (FeatureUpdate(TXN, 3, 1), "only supports versions 0-2"),
        (FeatureUpdate(TXN, -1, 2), "cannot be less than 0"),
        (FeatureUpdate(TXN, 1, 1), "without setting the upgrade type"),
        (FeatureUpdate(TXN, 2, 9), "does not support the given upgrade type"),
        (FeatureUpdate(METADATA, 32, 2), "might delete metadata information"),
        (FeatureUpdate(METADATA, 32, 3), "Unsafe metadata downgrade is not supported"),
        (FeatureUpdate(METADATA, 6, 2), "only supports versions 7-33"),
    ],
)
def test_what_is_refused(store: MetadataStore, update: FeatureUpdate, why: str) -> None:
    message = change(store, update)
    assert message is not None
    assert why in message
    assert store.features == FEATURES_AT_FORMAT


def test_what_went_up_for_good(store: MetadataStore) -> None:
    assert change(store, FeatureUpdate("kraft.version", 1, 1)) is None
    assert "Can't downgrade" in (change(store, FeatureUpdate("kraft.version", 0, 2)) or "")


def test_a_downgrade_never_goes_up(store: MetadataStore) -> None:
    change(store, FeatureUpdate(TXN, 0, 2))
    assert "Can't downgrade to a newer version." in (change(store, FeatureUpdate(TXN, 1, 2)) or "")
