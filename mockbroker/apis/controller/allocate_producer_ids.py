"""AllocateProducerIds (key 67), v0: a broker outside this process wants a block of producer ids.

KIP-730: the controller writes the next block into the metadata log before it tells this one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.controller_apis import AllocateProducerIdsResponse
from mockbroker_protocol.messages.metadata_records import ProducerIdsRecord

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.controller_apis import AllocateProducerIdsRequest

guard = cluster_guard(AclOperation.CLUSTER_ACTION)


def handle(
    services: Services, ctx: RequestContext, request: AllocateProducerIdsRequest
) -> AllocateProducerIdsResponse:
    quorum = services.quorum
    assert quorum is not None
    error = quorum.remote_brokers.check_epoch(request.broker_id, request.broker_epoch)
    if error is not ErrorCode.NONE:
        return AllocateProducerIdsResponse(ctx.throttle_time_ms, error)
    block = quorum.allocate_producer_ids()
    quorum.append([ProducerIdsRecord(request.broker_id, request.broker_epoch, block.stop)])
    return AllocateProducerIdsResponse(ctx.throttle_time_ms, error, block.start, len(block))
