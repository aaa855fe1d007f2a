"""Records of the metadata log, `__cluster_metadata` (KIP-631).

A value in the log is a frame version (1), the record's key and its version as unsigned varints, and
the record (METADATA_RECORDS); there is no key. Who writes and reads them is `mockbroker.quorum`.
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated, Final

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    float64,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uint16,
    uuid,
)


@message(versions=(0, 4), flexible=0)
class RegisterBrokerRecord:
    """A broker started; its epoch is the offset of this record."""

    broker_id: int32 = 0
    is_migrating_zk_broker: Annotated[boolean, V(since=2)] = False
    incarnation_id: uuid = ZERO_UUID
    broker_epoch: int64 = 0
    end_points: list[RegisteredEndpoint] = []
    features: list[RegisteredFeature] = []
    rack: Annotated[str | None, V(nullable=0)] = ""
    fenced: boolean = True
    in_controlled_shutdown: Annotated[boolean, V(since=1)] = False
    log_dirs: Annotated[list[uuid], V(tag=0, tagged=3)] = []
    cordoned_log_dirs: Annotated[list[uuid] | None, V(nullable=4, tag=1, tagged=4)] = None


@struct
class RegisteredEndpoint:
    """A listener, and where it is reached."""

    name: str = ""
    host: str = ""
    port: uint16 = 0
    security_protocol: int16 = 0


@struct
class RegisteredFeature:
    """The versions of a feature that it supports."""

    name: str = ""
    min_supported_version: int16 = 0
    max_supported_version: int16 = 0


@message(versions=(0, 0), flexible=0)
class UnregisterBrokerRecord:
    """A broker was taken off the books."""

    broker_id: int32 = 0
    broker_epoch: int64 = 0


@message(versions=(0, 0), flexible=0)
class TopicRecord:
    """A topic came to be."""

    name: str = ""
    topic_id: uuid = ZERO_UUID


@message(versions=(0, 2), flexible=0)
class PartitionRecord:
    """A partition came to be, or is told anew as a whole."""

    partition_id: int32 = -1
    topic_id: uuid = ZERO_UUID
    replicas: list[int32] = []
    isr: list[int32] = []
    removing_replicas: list[int32] = []
    adding_replicas: list[int32] = []
    leader: int32 = -1
    leader_recovery_state: Annotated[int8, V(tag=0, tagged=0)] = 0
    leader_epoch: int32 = -1
    partition_epoch: int32 = -1
    directories: Annotated[list[uuid], V(since=1)] = []
    eligible_leader_replicas: Annotated[list[int32] | None, V(nullable=2, tag=1, tagged=2)] = None
    last_known_elr: Annotated[list[int32] | None, V(nullable=2, tag=2, tagged=2)] = None


@message(versions=(0, 0), flexible=0)
class ConfigRecord:
    """A config was set, or (null) taken away."""

    resource_type: int8 = 0
    resource_name: str = ""
    name: str = ""
    value: Annotated[str | None, V(nullable=0)] = ""


@message(versions=(0, 2), flexible=0)
class PartitionChangeRecord:
    """What changed of a partition."""

    partition_id: int32 = -1
    topic_id: uuid = ZERO_UUID
    isr: Annotated[list[int32] | None, V(nullable=0, tag=0, tagged=0)] = None
    leader: Annotated[int32, V(tag=1, tagged=0)] = -2
    replicas: Annotated[list[int32] | None, V(nullable=0, tag=2, tagged=0)] = None
    removing_replicas: Annotated[list[int32] | None, V(nullable=0, tag=3, tagged=0)] = None
    adding_replicas: Annotated[list[int32] | None, V(nullable=0, tag=4, tagged=0)] = None
    leader_recovery_state: Annotated[int8, V(tag=5, tagged=0)] = -1
    directories: Annotated[list[uuid] | None, V(nullable=1, tag=8, tagged=1)] = None
    eligible_leader_replicas: Annotated[list[int32] | None, V(nullable=2, tag=6, tagged=2)] = None
    last_known_elr: Annotated[list[int32] | None, V(nullable=2, tag=7, tagged=2)] = None


@message(versions=(0, 0), flexible=0)
class RemoveTopicRecord:
    """A topic is gone."""

    topic_id: uuid = ZERO_UUID


@message(versions=(0, 0), flexible=0)
class FeatureLevelRecord:
    """A feature was finalized at a level."""

    name: str = ""
    feature_level: int16 = 0


@message(versions=(0, 0), flexible=0)
class ClientQuotaRecord:
    """A quota of an entity was set, or taken away."""

    entity: list[QuotaEntityData] = []
    key: str = ""
    value: float64 = 0.0
    remove: boolean = False


@struct
class QuotaEntityData:
    """One part of whom a quota is for; null names the default of its type."""

    entity_type: str = ""
    entity_name: Annotated[str | None, V(nullable=0)] = ""


@message(versions=(0, 0), flexible=0)
class ProducerIdsRecord:
    """Producer ids below `next_producer_id` were given out."""

    broker_id: int32 = 0
    broker_epoch: int64 = -1
    next_producer_id: int64 = 0


@message(versions=(0, 3), flexible=0)
class BrokerRegistrationChangeRecord:
    """A broker was fenced or unfenced, or begins to shut down."""

    broker_id: int32 = 0
    broker_epoch: int64 = 0
    fenced: Annotated[int8, V(tag=0, tagged=0)] = 0
    in_controlled_shutdown: Annotated[int8, V(tag=1, tagged=1)] = 0
    log_dirs: Annotated[list[uuid], V(tag=2, tagged=2)] = []
    cordoned_log_dirs: Annotated[list[uuid] | None, V(nullable=3, tag=3, tagged=3)] = None


@message(versions=(0, 0), flexible=0)
class AccessControlEntryRecord:
    """An ACL came to be."""

    id: uuid = ZERO_UUID
    resource_type: int8 = 0
    resource_name: str = ""
    pattern_type: int8 = 0
    principal: str = ""
    host: str = ""
    operation: int8 = 0
    permission_type: int8 = 0


@message(versions=(0, 0), flexible=0)
class RemoveAccessControlEntryRecord:
    """An ACL is gone."""

    id: uuid = ZERO_UUID


@message(versions=(0, 0), flexible=0)
class UserScramCredentialRecord:
    """What proves that a user knows its password."""

    name: str = ""
    mechanism: int8 = 0
    salt: bytes = b""
    stored_key: bytes = b""
    server_key: bytes = b""
    iterations: int32 = 0


@message(versions=(0, 0), flexible=0)
class RemoveUserScramCredentialRecord:
    """Nobody is that user by that mechanism any more."""

    name: str = ""
    mechanism: int8 = 0


@message(versions=(0, 0), flexible=0)
class DelegationTokenRecord:
    """A delegation token, without its secret."""

    owner: str = ""
    requester: str = ""
    renewers: list[str] = []
    issue_timestamp: int64 = 0
    max_timestamp: int64 = 0
    expiration_timestamp: int64 = 0
    token_id: str = ""


@message(versions=(0, 0), flexible=0)
class RemoveDelegationTokenRecord:
    """There is no such token any more."""

    token_id: str = ""


@message(versions=(0, 0), flexible=0)
class NoOpRecord:
    """Nothing; written so that the log keeps moving."""


@message(versions=(0, 0), flexible=0)
class BeginTransactionRecord:
    """What follows counts together, once it has ended."""

    name: Annotated[str | None, V(nullable=0, tag=0, tagged=0)] = None


@message(versions=(0, 0), flexible=0)
class EndTransactionRecord:
    """What was begun counts from here on."""


@message(versions=(0, 0), flexible=0)
class RegisterControllerRecord:
    """A controller started."""

    controller_id: int32 = 0
    incarnation_id: uuid = ZERO_UUID
    zk_migration_ready: boolean = False
    end_points: list[RegisteredEndpoint] = []
    features: list[RegisteredFeature] = []


METADATA_RECORDS: Final[dict[int, type]] = {
    0: RegisterBrokerRecord,
    1: UnregisterBrokerRecord,
    2: TopicRecord,
    3: PartitionRecord,
    4: ConfigRecord,
    5: PartitionChangeRecord,
    9: RemoveTopicRecord,
    10: DelegationTokenRecord,
    11: UserScramCredentialRecord,
    12: FeatureLevelRecord,
    14: ClientQuotaRecord,
    15: ProducerIdsRecord,
    17: BrokerRegistrationChangeRecord,
    18: AccessControlEntryRecord,
    19: RemoveAccessControlEntryRecord,
    20: NoOpRecord,
    22: RemoveUserScramCredentialRecord,
    23: BeginTransactionRecord,
    24: EndTransactionRecord,
    26: RemoveDelegationTokenRecord,
    27: RegisterControllerRecord,
}
"""Key of a record in the metadata log → its class."""
