"""One request before its authorizer: what guards ask, take out, and change in the answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.apis.context import CLOSE, NO_RESPONSE
from mockbroker.metadata.acls import CLUSTER_NAME, ResourceType
from mockbroker_protocol.error_responses import error_response, merge_responses, split_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.metadata.authorized_operations import AclOperation
    from mockbroker_protocol.errors import ErrorCode
    from mockbroker_protocol.subjects import TopicRef


class Asked:
    """A request, who sent it, and what its answer needs afterwards."""

    __slots__ = ("_allows", "_host", "_principal", "amendments", "ctx", "request", "services")

    def __init__(self, services: Services, ctx: RequestContext, request: object) -> None:
        authorizer = services.authorizer
        assert authorizer is not None, "only a broker with an authorizer has guards"
        self.services = services
        self.ctx = ctx
        self.request = request
        self.amendments: list[Callable[[object], object]] = []
        self._allows = authorizer.allows
        self._principal = ctx.principal
        self._host = ctx.peer.removeprefix("/")

    @property
    def version(self) -> int:
        """The request's."""
        return self.ctx.api_version

    def may(self, operation: AclOperation, resource_type: ResourceType, name: str) -> bool:
        """Whether its sender may do this to the resource."""
        return self._allows(self._principal, self._host, operation, resource_type, name)

    def may_cluster(self, operation: AclOperation) -> bool:
        """Whether its sender may do this to the cluster."""
        return self.may(operation, ResourceType.CLUSTER, CLUSTER_NAME)

    def may_some(self, operation: AclOperation, resource_type: ResourceType) -> bool:
        """Whether there may be a resource of the type that it may do this to."""
        authorizer = self.services.authorizer
        assert authorizer is not None
        return authorizer.allows_some(self._principal, self._host, operation, resource_type)

    def operations(self, resource_type: ResourceType, name: str) -> int:
        """The bit field of what its sender may do to the resource."""
        authorizer = self.services.authorizer
        assert authorizer is not None
        return authorizer.authorized_operations(self._principal, self._host, resource_type, name)

    def refuse(self, code: ErrorCode, level: str | None = None) -> object:
        """The answer that refuses all of the request."""
        if getattr(self.request, "acks", None) == 0:
            return CLOSE
        response = error_response(self.request, self.version, code, level)
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.ctx.throttle_time_ms
        return response

    def topic_name(self, ref: TopicRef) -> str | None:
        """A topic by its name or its id; None: nothing is known of the id."""
        if ref.name:
            return ref.name
        return None if ref.topic_id is None else self.services.metadata.topic_name(ref.topic_id)

    def refuse_topics(
        self,
        operation: AclOperation,
        code: ErrorCode,
        prepare: Callable[[object], None] | None = None,
    ) -> object | None:
        """Take the topics out that its sender may not do this to, and tell their error.

        What is left is handled; when nothing is, this is the answer. `prepare` completes what is
        told of the refused ones.
        """
        taken: list[str] = []

        def selects(ref: TopicRef, _: int | None) -> bool:
            name = self.topic_name(ref)
            if name is None or self.may(operation, ResourceType.TOPIC, name):
                return False
            taken.append(name)
            return True

        part, left = split_request(self.request, selects)
        if not taken:
            return None
        refused = error_response(part, self.version, code, "partition")
        if prepare is not None:
            prepare(refused)
        if getattr(self.request, "acks", None) == 0:
            if not left:
                return CLOSE
            self.amendments.append(lambda response: CLOSE if response is NO_RESPONSE else response)
            return None
        if not left:
            if hasattr(refused, "throttle_time_ms"):
                refused.throttle_time_ms = self.ctx.throttle_time_ms
            return refused
        self.amendments.append(lambda response: merge_responses(response, refused))
        return None

    def amend(self, response: object) -> object:
        """The answer with what was taken out of the request, or hidden."""
        for amendment in self.amendments:
            response = amendment(response)
        return response
