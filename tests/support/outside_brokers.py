"""A broker outside the process, as its requests to a controller's listener."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.quorum.quorum import METADATA_VERSION
from mockbroker_protocol.messages.controller_apis import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationRequestFeature,
    BrokerRegistrationRequestListener,
    BrokerRegistrationResponse,
)
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    ReplicaState,
)

if TYPE_CHECKING:
    from tests.support.core import CoreClient
    from tests.support.metadata_logs import QuorumCore

NODE_ID = 2
FEATURES = {
    "metadata.version": (7, METADATA_VERSION),
    "transaction.version": (0, 2),
    "group.version": (0, 1),
    "share.version": (0, 1),
    "streams.version": (0, 1),
}
"""What a broker of Apache Kafka 4.3 supports, as far as it may be finalized here."""


def registration(core: QuorumCore, node_id: int = NODE_ID) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        node_id,
        core.cluster.metadata.cluster_id,
        b"i" * 16,
        [BrokerRegistrationRequestListener("PLAINTEXT", "outside", 19092, 0)],
        [BrokerRegistrationRequestFeature(name, *levels) for name, levels in FEATURES.items()],
        log_dirs=[b"d" * 16],
    )


def start(core: QuorumCore, client: CoreClient, node_id: int = NODE_ID) -> int:
    """Register and be unfenced; the broker's epoch."""
    answer = client.call(registration(core, node_id), 4, BrokerRegistrationResponse)
    assert answer.error_code == 0
    beat = BrokerHeartbeatRequest(node_id, answer.broker_epoch, core.quorum.log.log_end_offset)
    assert not client.call(beat, 1, BrokerHeartbeatResponse).is_fenced
    return answer.broker_epoch


def follow(
    core: QuorumCore, client: CoreClient, broker_epoch: int, topic: str, offset: int
) -> FetchResponse:
    """Fetch partition 0 of a topic as the broker outside does, which has all before `offset`."""
    known = core.cluster.metadata.topics[topic]
    state = known.partitions[0]
    asked = FetchRequestPartition(0, state.leader_epoch, offset, log_start_offset=0)
    asked.partition_max_bytes = 1 << 20
    request = FetchRequest(
        min_bytes=1,
        topics=[FetchRequestTopic(topic_id=known.id, partitions=[asked])],
        replica_state=ReplicaState(NODE_ID, broker_epoch),
    )
    return client.call(request, 17, FetchResponse)
