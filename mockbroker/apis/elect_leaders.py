"""ElectLeaders (43), v0–v2: preferred or unclean elections of partitions by request (KIP-460).

v1 ElectionType (0 preferred, 1 unclean) and a top-level error · v2 flexible.

Null partitions mean all: then those that need no election are left out of the answer, as in Apache
Kafka; of partitions named, such a one is ELECTION_NOT_NEEDED (84).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.apis.auth_helper import NEEDS_ALTER, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.elections import Election
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.reassignments import (
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.reassignments import ElectLeadersRequest

guard = cluster_guard(AclOperation.ALTER, told(NEEDS_ALTER, lists="replica_election_results"))

_NONE_OF_ALL: Final = (ErrorCode.ELECTION_NOT_NEEDED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
"""What is not told of a partition that was not named: nothing is to do, or it was deleted since."""
_ELECTIONS: Final = {0: Election.PREFERRED, 1: Election.UNCLEAN}


def handle(
    services: Services, ctx: RequestContext, request: ElectLeadersRequest
) -> ElectLeadersResponse:
    """Elect one after the other; each has its own outcome."""
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        return ElectLeadersResponse(
            throttle_time_ms=ctx.throttle_time_ms, error_code=ErrorCode.INVALID_REQUEST
        )
    wanted = request.topic_partitions
    asked: list[tuple[str, Sequence[int]]]
    if wanted is None:
        topics = services.metadata.topics.values()
        asked = [(topic.name, range(len(topic.partitions))) for topic in topics]
    else:
        asked = [(each.topic, each.partitions) for each in wanted]
    results = []
    for topic, indexes in asked:
        partitions = []
        for index in indexes:
            refusal = services.controller.elect_leader(topic, index, election)
            if wanted is not None or refusal.error not in _NONE_OF_ALL:
                partitions.append(PartitionResult(index, refusal.error, refusal.message))
        if partitions:
            results.append(ReplicaElectionResult(topic, partitions))
    return ElectLeadersResponse(
        throttle_time_ms=ctx.throttle_time_ms, replica_election_results=results
    )
