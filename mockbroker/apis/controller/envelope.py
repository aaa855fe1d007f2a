"""Envelope (key 58), v0: a client's request that a broker outside this process forwards (KIP-590).

The request inside goes to its own handler with the client's principal and address; its answer, with
its header, goes back in the envelope's. Kafka: EnvelopeUtils, ForwardingManager.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from mockbroker.apis.auth_helper import cluster_guard
from mockbroker.apis.context import PARKED, ForwardedRequest
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ErrorCode, ProtocolError
from mockbroker_protocol.headers import decode_request_header, encode_response_header
from mockbroker_protocol.messages.controller_apis import EnvelopeResponse
from mockbroker_protocol.primitives import read_compact_string

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.context import RequestContext, ServedApi, Services, Verdict
    from mockbroker_protocol.messages.controller_apis import EnvelopeRequest

FORWARDABLE: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ALLOCATE_PRODUCER_IDS,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
        ApiKey.UNREGISTER_CONTROLLER,
    }
)
"""What is taken from an envelope (Kafka: ApiKeys.forwardable), as far as it is served here."""
_PRINCIPAL_VERSION_BYTES: Final = 2

guard = cluster_guard(AclOperation.CLUSTER_ACTION)


def handle(
    services: Services, ctx: RequestContext, request: EnvelopeRequest
) -> EnvelopeResponse | Verdict:
    try:
        header = decode_request_header(request.request_data)
        principal, by_token = _principal(request.request_principal)
        peer = f"/{ip_address(request.client_host_address)}"
    except (ProtocolError, ValueError):
        return EnvelopeResponse(None, ErrorCode.INVALID_REQUEST)
    api = services.registry_of(ctx.listener).get(header.api_key)
    if api is None or header.api_key not in FORWARDABLE:
        return EnvelopeResponse(None, ErrorCode.INVALID_REQUEST)
    version = header.api_version
    if not api.min_version <= version <= api.max_version:
        return EnvelopeResponse(None, ErrorCode.UNSUPPORTED_VERSION)
    try:
        inner = api.decode(request.request_data, header.body_pos, version)
    except ProtocolError:
        return EnvelopeResponse(None, ErrorCode.INVALID_REQUEST)
    sealer = _Sealer(ctx, api, header.correlation_id, version)
    size = len(request.request_data)
    inner_ctx = ForwardedRequest(sealer, header, ctx, ctx.arrived_ms, size)
    inner_ctx.principal, inner_ctx.by_token = principal, by_token
    inner_ctx.peer = peer
    response = api.handle(services, inner_ctx, inner)
    if response is PARKED:
        return PARKED
    return _sealed(api, header.correlation_id, version, response)


class _Sealer:
    """Takes the late answer of the request inside, and sends it in the envelope's."""

    __slots__ = ("_api", "_correlation_id", "_outer", "_version")

    def __init__(
        self, outer: RequestContext, api: ServedApi, correlation_id: int, version: int
    ) -> None:
        self._outer = outer
        self._api = api
        self._correlation_id = correlation_id
        self._version = version

    def complete(self, ctx: RequestContext, response: object) -> None:
        ctx.done = True
        self._outer.respond(_sealed(self._api, self._correlation_id, self._version, response))

    complete_in_slices = complete

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        ctx.done = True
        self._outer.respond_by(
            lambda: _sealed(self._api, self._correlation_id, self._version, make())
        )


def _sealed(
    api: ServedApi, correlation_id: int, version: int, response: object
) -> EnvelopeResponse:
    head = encode_response_header(api.key, version, correlation_id)
    return EnvelopeResponse(b"".join((head, *api.encode(response, version))))


def _principal(data: bytes | None) -> tuple[str, bool]:
    """TYPE:NAME of a serialized principal, and whether a delegation token says so.

    Kafka: DefaultKafkaPrincipalBuilder.deserialize.
    """
    if data is None:
        return "User:ANONYMOUS", False
    kind, pos = read_compact_string(data, _PRINCIPAL_VERSION_BYTES)
    name, pos = read_compact_string(data, pos)
    return f"{kind}:{name}", data[pos : pos + 1] == b"\1"
