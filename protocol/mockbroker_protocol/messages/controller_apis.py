"""What brokers ask of the active controller (KIP-631)."""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    boolean,
    int8,
    int16,
    int32,
    int64,
    message,
    struct,
    uint16,
    uuid,
)


@message(api_key=62)
class BrokerRegistrationRequest:
    """A broker that starts makes itself known."""

    broker_id: int32 = 0
    cluster_id: str = ""
    incarnation_id: uuid = ZERO_UUID
    listeners: list[BrokerRegistrationRequestListener] = []
    features: list[BrokerRegistrationRequestFeature] = []
    rack: Annotated[str | None, V(nullable=0)] = ""
    is_migrating_zk_broker: Annotated[boolean, V(since=1)] = False
    log_dirs: Annotated[list[uuid], V(since=2, ignorable=True)] = []
    previous_broker_epoch: Annotated[int64, V(since=3, ignorable=True)] = -1


@struct
class BrokerRegistrationRequestListener:
    """A listener, where it is and how it is secured."""

    name: str = ""
    host: str = ""
    port: uint16 = 0
    security_protocol: int16 = 0


@struct
class BrokerRegistrationRequestFeature:
    """The versions of a feature that are supported."""

    name: str = ""
    min_supported_version: int16 = 0
    max_supported_version: int16 = 0


@message(api_key=62)
class BrokerRegistrationResponse:
    """The epoch of this start of the broker."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    broker_epoch: int64 = -1


@message(api_key=63)
class BrokerHeartbeatRequest:
    """A broker lives, and says how far it has read the metadata."""

    broker_id: int32 = 0
    broker_epoch: int64 = -1
    current_metadata_offset: int64 = 0
    want_fence: boolean = False
    want_shut_down: boolean = False
    offline_log_dirs: Annotated[list[uuid], V(tag=0, tagged=1)] = []
    cordoned_log_dirs: Annotated[list[uuid] | None, V(nullable=2, tag=1, tagged=2)] = None


@message(api_key=63)
class BrokerHeartbeatResponse:
    """Whether it may serve clients."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    is_caught_up: boolean = False
    is_fenced: boolean = True
    should_shut_down: boolean = False


@message(api_key=56)
class AlterPartitionRequest:
    """A leader proposes another in-sync set."""

    broker_id: int32 = 0
    broker_epoch: int64 = -1
    topics: list[AlterPartitionRequestTopicData] = []


@struct
class AlterPartitionRequestTopicData:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[AlterPartitionRequestPartitionData] = []


@struct
class AlterPartitionRequestPartitionData:
    """A partition."""

    partition_index: int32 = 0
    leader_epoch: int32 = 0
    new_isr: Annotated[list[int32], V(until=2)] = []
    new_isr_with_epochs: Annotated[list[AlterPartitionRequestBrokerState], V(since=3)] = []
    leader_recovery_state: int8 = 0
    partition_epoch: int32 = 0


@struct
class AlterPartitionRequestBrokerState:
    """A broker with its epoch."""

    broker_id: Annotated[int32, V(since=3)] = 0
    broker_epoch: Annotated[int64, V(since=3)] = -1


@message(api_key=56)
class AlterPartitionResponse:
    """What the partitions are now."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    topics: list[AlterPartitionResponseTopicData] = []


@struct
class AlterPartitionResponseTopicData:
    """Partitions of one topic."""

    topic_id: uuid = ZERO_UUID
    partitions: list[AlterPartitionResponsePartitionData] = []


@struct
class AlterPartitionResponsePartitionData:
    """A partition."""

    partition_index: int32 = 0
    error_code: int16 = 0
    leader_id: int32 = 0
    leader_epoch: int32 = 0
    isr: list[int32] = []
    leader_recovery_state: int8 = 0
    partition_epoch: int32 = 0


@message(api_key=67)
class AllocateProducerIdsRequest:
    """A broker wants a block of producer ids."""

    broker_id: int32 = 0
    broker_epoch: int64 = -1


@message(api_key=67)
class AllocateProducerIdsResponse:
    """The block."""

    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    producer_id_start: int64 = 0
    producer_id_len: int32 = 0


@message(api_key=58)
class EnvelopeRequest:
    """A client's request, forwarded by a broker with the client's principal."""

    request_data: bytes = b""
    request_principal: Annotated[bytes | None, V(nullable=0)] = b""
    client_host_address: bytes = b""


@message(api_key=58)
class EnvelopeResponse:
    """The answer to the request inside."""

    response_data: Annotated[bytes | None, V(nullable=0)] = None
    error_code: int16 = 0
