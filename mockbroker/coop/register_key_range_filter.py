"""RegisterKeyRangeFilter (19701), v0: what a client that sends no tagged fields is given.

From the next fetch on, in place of all that was registered for this client before; without topics
nothing is. What `coop.client.filters` says of a partition gives way to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop import registered_filters, tags
from mockbroker.coop.extension import extension_of
from mockbroker.coop.key_filter import BadRangeError, KeyFilter
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.cooperation import RegisterKeyRangeFilterResponse

if TYPE_CHECKING:
    from mockbroker.apis.auth_helper import AuthHelper
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker_protocol.messages.cooperation import RegisterKeyRangeFilterRequest


def handle(
    services: Services, ctx: RequestContext, request: RegisterKeyRangeFilterRequest
) -> RegisterKeyRangeFilterResponse:
    """A range that is none is 42, more partitions than a node keeps 44: nothing is changed then."""
    response = RegisterKeyRangeFilterResponse(throttle_time_ms=ctx.throttle_time_ms)
    try:
        filters = {
            (topic.name, part.partition_index): KeyFilter(
                tags.unpack_ranges(part.ranges), part.keys
            )
            for topic in request.topics
            for part in topic.partitions
            if part.ranges or part.keys
        }
    except BadRangeError as error:
        response.error_code, response.error_message = ErrorCode.INVALID_REQUEST, str(error)
        return response
    client = ctx.connection_id if request.client_id is None else request.client_id
    if not extension_of(services).registered.register(client, filters):
        response.error_code = ErrorCode.POLICY_VIOLATION
        response.error_message = (
            f"more than {registered_filters.MOST_PARTITIONS:,} partitions have a filter"
        )
    return response


def guard(auth: AuthHelper, request: RegisterKeyRangeFilterRequest) -> object | None:
    """ALTER on the cluster to say what another client is given; a connection has its own say."""
    if request.client_id is None:
        return None
    return auth.require_cluster(AclOperation.ALTER)
