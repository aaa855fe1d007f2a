"""BrokerRegistration (key 62), v0–v4: a broker outside this process starts.

v2 log directories (KIP-858); v3 the previous broker's epoch (KIP-966), which tells nothing here.

Where this differs from Apache Kafka: registering again with the same incarnation changes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.quorum.registrations import ListenerAddress, Registration
from mockbroker_protocol.messages.controller_apis import BrokerRegistrationResponse

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.controller_apis import BrokerRegistrationRequest

guard = cluster_guard(AclOperation.CLUSTER_ACTION)


def handle(
    services: Services, ctx: RequestContext, request: BrokerRegistrationRequest
) -> BrokerRegistrationResponse:
    quorum = services.quorum
    assert quorum is not None
    registration = Registration(
        request.broker_id,
        request.incarnation_id,
        tuple(
            ListenerAddress(one.name, one.host, one.port, one.security_protocol)
            for one in request.listeners
        ),
        {
            feature.name: (feature.min_supported_version, feature.max_supported_version)
            for feature in request.features
        },
        tuple(request.log_dirs),
        request.rack,
    )
    error, epoch = quorum.remote_brokers.register(request.cluster_id, registration)
    return BrokerRegistrationResponse(ctx.throttle_time_ms, error, epoch)
