"""Who may become or stop being a voter of the metadata quorum (KIP-853), and why nobody does.

The handlers of AddRaftVoter and RemoveRaftVoter ask here. Without a controller's listener the
quorum is a static one, whose voters stand in its configs; with one it is dynamic and has a single
voter: that one cannot leave, and none that is asked to join can be reached from here. Checks stand
in the order of KafkaRaftClient's handleAddVoterRequest and handleRemoveVoterRequest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.topic_requests import Refusal
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.primitives import uuid_text
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.quorum.quorum import MetadataQuorum
    from mockbroker_protocol.messages.quorum import AddRaftVoterRequest, RemoveRaftVoterRequest


def refuse_addition(
    request: AddRaftVoterRequest,
    store: MetadataStore,
    quorum: MetadataQuorum | None,
) -> Refusal:
    """Why the voter does not join."""
    voter = request.voter_id, request.voter_directory_id
    refused = _malformed("Add", request.cluster_id, voter, store.cluster_id)
    if refused is not None:
        return refused
    listener = store.config.list("controller.listener.names")[0]
    if all(each.name != listener for each in request.listeners):
        told = ", ".join(
            f"ListenerName({each.name})={each.host}/<unresolved>:{each.port}"
            for each in request.listeners
        )
        return Refusal(
            ErrorCode.INVALID_REQUEST,
            f"Add voter request didn't include the endpoint (Endpoints(endpoints={{{told}}})) "
            f"for the default listener ListenerName({listener})",
        )
    refused = _unready("adding", quorum)
    if refused is not None:
        return refused
    assert quorum is not None
    if request.voter_id == quorum.leader_id:
        return Refusal(
            ErrorCode.DUPLICATE_VOTER,
            f"The voter id for {_replica(*voter)} is already part of the set of voters "
            f"{_voters(quorum)}.",
        )
    return Refusal(
        ErrorCode.REQUEST_TIMED_OUT,
        f"New voter {_replica(*voter)} is not ready to receive requests",
    )


def refuse_removal(
    request: RemoveRaftVoterRequest,
    store: MetadataStore,
    quorum: MetadataQuorum | None,
) -> Refusal:
    """Why the voter stays."""
    voter = request.voter_id, request.voter_directory_id
    refused = _malformed("Remove", request.cluster_id, voter, store.cluster_id)
    if refused is None:
        refused = _unready("removing", quorum)
    if refused is not None:
        return refused
    assert quorum is not None
    return Refusal(
        ErrorCode.VOTER_NOT_FOUND,
        f"Cannot remove voter {_replica(*voter)} from the set of voters {_voters(quorum)}",
    )


def _malformed(
    verb: str, cluster_id: str | None, voter: tuple[int, bytes], own_cluster_id: str
) -> Refusal | None:
    if cluster_id is not None and cluster_id != own_cluster_id:
        return Refusal(
            ErrorCode.INCONSISTENT_CLUSTER_ID,
            f'The given id "{cluster_id}" doesn\'t match the cluster id "{own_cluster_id}"',
        )
    voter_id, directory_id = voter
    if voter_id < 0 or directory_id == ZERO_UUID:
        message = f"{verb} voter request didn't include a valid voter"
        return Refusal(ErrorCode.INVALID_REQUEST, message)
    return None


def _unready(doing: str, quorum: MetadataQuorum | None) -> Refusal | None:
    """No voters change in a static quorum, nor before its leader has committed of its epoch."""
    if quorum is None:
        return Refusal(
            ErrorCode.UNSUPPORTED_VERSION,
            f"Cluster doesn't support {doing} voter because the kraft.version feature is 0",
        )
    if quorum.high_watermark is None:
        return Refusal(
            ErrorCode.REQUEST_TIMED_OUT,
            "Request timed out waiting for leader to establish HWM and fence previous voter "
            "changes",
        )
    return None


def _voters(quorum: MetadataQuorum) -> str:
    return f"[{_replica(quorum.leader_id, quorum.directory_id)}]"


def _replica(node_id: int, directory_id: bytes) -> str:
    """Kafka: ReplicaKey.toString, Uuid.toString."""
    return f"ReplicaKey(id={node_id}, directoryId={uuid_text(directory_id)})"
