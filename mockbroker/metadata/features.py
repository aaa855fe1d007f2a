"""Features of the cluster: which levels there are, which are finalized, how one is changed.

ApiVersions tells clients both, UpdateFeatures changes the second (KIP-584, KIP-1022; Kafka:
FeatureControlManager). A client draws conclusions from finalized features: transaction.version 2
makes a producer leave out AddPartitionsToTxn (KIP-890). So none is offered before the APIs behind
it are there.

Invariant: a request is carried out whole or not at all; level 0 is kept as no level.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata.changes import FeatureChanged
from mockbroker.metadata.topic_requests import ACCEPTED, Refusal
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mockbroker.metadata.store import MetadataStore

METADATA_VERSION: Final = "metadata.version"
KRAFT_VERSION: Final = "kraft.version"


class Feature(NamedTuple):
    """A feature of Kafka 4.4 with its levels; it exists here once `needs` is served."""

    name: str
    min_version: int
    max_version: int
    needs: ApiKey | None = None


# eligible.leader.replicas.version is left out: no replica is tracked as eligible here (KIP-966).
FEATURES: Final = (
    Feature("group.version", 0, 1, ApiKey.CONSUMER_GROUP_HEARTBEAT),
    Feature(KRAFT_VERSION, 0, 1),
    Feature(METADATA_VERSION, 7, 33),
    Feature("share.version", 0, 2, ApiKey.SHARE_FETCH),
    Feature("streams.version", 0, 1, ApiKey.STREAMS_GROUP_HEARTBEAT),
    Feature("transaction.version", 0, 2, ApiKey.END_TXN),
)


class UpgradeType(IntEnum):
    """What a change of a level may do (Kafka: FeatureUpdate.UpgradeType)."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


class FeatureUpdate(NamedTuple):
    """A level that a feature shall have; `upgrade_type` as it came."""

    name: str
    level: int
    upgrade_type: int


def offered(is_served: Callable[[ApiKey], bool]) -> list[Feature]:
    """The features whose APIs are here."""
    return [each for each in FEATURES if each.needs is None or is_served(each.needs)]


def finalized(store: MetadataStore, is_served: Callable[[ApiKey], bool]) -> dict[str, int]:
    """The finalized levels of what is on offer."""
    names = {each.name for each in offered(is_served)}
    return {name: level for name, level in store.features.items() if name in names}


def update_features(
    store: MetadataStore,
    updates: Sequence[FeatureUpdate],
    features: Sequence[Feature],
    node_id: int,
    *,
    validate_only: bool,
) -> Refusal:
    """Give each feature its new level, or none of them; `features` are those on offer."""
    known = {each.name: each for each in features}
    changes: list[FeatureChanged] = []
    for update in updates:
        problem = _problem(store, update, known.get(update.name), node_id)
        if problem is not None:
            return Refusal(
                ErrorCode.INVALID_UPDATE_VERSION,
                "The update failed for all features since the following feature had an error: "
                f"{problem}",
            )
        if update.level != store.features.get(update.name, 0):
            changes.append(FeatureChanged(update.name, update.level))
    if not validate_only:
        for change in changes:
            store.apply(change)
    return ACCEPTED


def _problem(
    store: MetadataStore, update: FeatureUpdate, feature: Feature | None, node_id: int
) -> str | None:
    """Why a level cannot be given (FeatureControlManager.updateFeature); the order is Kafka's."""
    name, level = update.name, update.level
    invalid = f"Invalid update version {level} for feature {name}."
    if update.upgrade_type not in UpgradeType.__members__.values():
        return f"{invalid} The controller does not support the given upgrade type."
    current = store.features.get(name, 0)
    if feature is not None and level < 0:
        return f"{invalid} A feature version cannot be less than 0."
    if feature is None:
        return f"{invalid} Local controller {node_id} does not support this feature."
    if not feature.min_version <= level <= feature.max_version:
        levels = f"{feature.min_version}-{feature.max_version}"
        return f"{invalid} Local controller {node_id} only supports versions {levels}"
    if level < current:
        if name == KRAFT_VERSION:
            return f"{invalid} Can't downgrade the version of this feature."
        if update.upgrade_type == UpgradeType.UPGRADE:
            return (
                f"{invalid} Can't downgrade the version of this feature without setting the "
                "upgrade type to either safe or unsafe downgrade."
            )
        if name == METADATA_VERSION:
            return _metadata_downgrade(current, level, update.upgrade_type)
    elif level > current and update.upgrade_type != UpgradeType.UPGRADE:
        return f"{invalid} Can't downgrade to a newer version."
    return None


def _metadata_downgrade(current: int, level: int, upgrade_type: int) -> str:
    # Each level since the first changed what the metadata log may hold.
    refused = f"Unsupported metadata.version downgrade from {current} to {level}."
    if upgrade_type == UpgradeType.UNSAFE_DOWNGRADE:
        return f"{refused} Unsafe metadata downgrade is not supported in this version."
    return (
        f"{refused} Refusing to perform the requested downgrade because it might delete metadata "
        "information."
    )
