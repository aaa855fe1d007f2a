"""What an authorizer said of a request, for the journal and the log.

`auth_helper` notes each decision; a resource that the request names several times is told once,
with how often (Kafka: Action.resourceReferenceCount, StandardAuthorizerData.logAuditMessage).
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

from mockbroker.journal.events import Authorization
from mockbroker.metadata.acls import ResourceType
from mockbroker.security.authorizer import operation_name

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext
    from mockbroker.journal import Journal
    from mockbroker.security.authorizer import StandardAuthorizer


MOST_TOLD: Final = 1000
"""Decisions about one request that are told each; more would hold up others. All are counted."""


class Audit:
    """The decisions about one request that are to be told."""

    __slots__ = ("_authorizer", "_ctx", "_journal", "_noted", "_untold", "wants_allowed")

    def __init__(
        self, authorizer: StandardAuthorizer, journal: Journal, ctx: RequestContext
    ) -> None:
        self._authorizer = authorizer
        self._journal = journal
        self._ctx = ctx
        self._noted: dict[tuple[bool, int, int, str], int] | None = None
        self._untold = MOST_TOLD
        self.wants_allowed = journal.wants_allowed
        """Whether somebody wants to be told of what is allowed, too."""

    def note(self, allowed: bool, operation: int, resource_type: int, name: str) -> None:
        """The sender may, or may not, do this to the resource."""
        noted = self._noted
        if noted is None:
            noted = self._noted = {}
        decision = (allowed, operation, resource_type, name)
        noted[decision] = noted.get(decision, 0) + 1

    def tell(self) -> None:
        """Tell what was noted since the last time."""
        noted, self._noted = self._noted, None
        if noted is None:
            return
        ctx, authorizer = self._ctx, self._authorizer
        host = ctx.peer.removeprefix("/")
        authorizer.denied += sum(not allowed for allowed, *_ in noted)
        for (allowed, operation, resource_type, name), count in islice(noted.items(), self._untold):
            event = Authorization(
                ctx.connection_id,
                ctx.peer,
                ctx.client_id,
                ctx.api_name,
                ctx.principal,
                allowed,
                operation_name(operation),
                _pascal_case(ResourceType(resource_type).name),
                name,
                count,
                authorizer.rule(ctx.principal, host, operation, resource_type, name),
                ctx.broker_id,
            )
            if allowed:
                self._journal.record_allowed(event)
            else:
                self._journal.record(event)
        self._untold = max(self._untold - len(noted), 0)


def _pascal_case(name: str) -> str:
    return name.title().replace("_", "")
