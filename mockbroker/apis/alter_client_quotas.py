"""AlterClientQuotas: set and remove quotas of users, client ids and addresses (KIP-546).

Versions: v1 is flexible. Each entity is answered for itself; one that comes twice, once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.auth_helper import CLUSTER_DENIED, cluster_guard, told
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.client_quotas import QuotaAlteration
from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    AlterClientQuotasResponseEntryData,
    EntityData,
)

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services

guard = cluster_guard(AclOperation.ALTER_CONFIGS, told(CLUSTER_DENIED))


def handle(
    services: Services, ctx: RequestContext, request: AlterClientQuotasRequest
) -> AlterClientQuotasResponse:
    alterations = [
        QuotaAlteration(
            [(part.entity_type, part.entity_name) for part in entry.entity],
            [(op.key, None if op.remove else op.value) for op in entry.ops],
        )
        for entry in request.entries
    ]
    answers = services.controller.alter_client_quotas(
        alterations, validate_only=request.validate_only
    )
    return AlterClientQuotasResponse(
        ctx.throttle_time_ms,
        [
            AlterClientQuotasResponseEntryData(
                answer.error,
                answer.message,
                [EntityData(kind, name) for kind, name in entity],
            )
            for entity, answer in answers.items()
        ],
    )
