"""What the guard of an API asks the authorizer, and how a request is refused (Kafka: AuthHelper).

The module of each API has a `guard` beside its `handle`: it refuses a request as a whole, or takes
out of it what its sender may not touch; the rest is handled, and the answer tells both (Kafka: the
checks of KafkaApis, AclApis and ControllerApis). `registry` puts guards before the handlers of a
broker with an authorizer; those of others do not know that there is such a thing.

Answers that come later pass through the guard as well: it stands in for the responder.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final, Protocol, cast

from mockbroker.apis.authorization_audit import Audit
from mockbroker.apis.context import CLOSE, NO_RESPONSE, PARKED
from mockbroker.metadata.acls import CLUSTER_NAME, ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.error_responses import error_response, merge_responses, split_request
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.schema import is_declared, schema_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.apis.context import Handle, RequestContext, Responder, Services
    from mockbroker_protocol.messages.configs import (
        AlterConfigsRequest,
        DescribeConfigsRequest,
        IncrementalAlterConfigsRequest,
    )
    from mockbroker_protocol.subjects import TopicRef

    Rights = tuple[
        object, int, Callable[[int], list[tuple[str, bool]] | None], Callable[[str], bool]
    ]
    ConfigsRequest = AlterConfigsRequest | DescribeConfigsRequest | IncrementalAlterConfigsRequest

_CONFIG_ERRORS: Final = {
    2: (
        ResourceType.TOPIC,
        ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        "Topic authorization failed.",
    ),
    32: (
        ResourceType.GROUP,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        "Group authorization failed.",
    ),
}
"""By ConfigResource.Type; configs of all other types are the cluster's."""


CLUSTER_DENIED: Final = "Cluster authorization failed."
NEEDS_ALTER: Final = "Request needs ALTER permission."
"""Kafka's controller prints the request as an object in it."""


class Guard(Protocol):
    """What an API asks before it works: None lets the request pass, else this is the answer."""

    def __call__(self, auth: AuthHelper, request: object) -> object | None: ...


class AuthHelper:
    """A request, who sent it, and what its answer needs afterwards."""

    __slots__ = (
        "_allows",
        "_amendments",
        "_audit",
        "_host",
        "_principal",
        "ctx",
        "request",
        "services",
    )

    def __init__(self, services: Services, ctx: RequestContext, request: object) -> None:
        authorizer = services.authorizer
        assert authorizer is not None, "only a broker with an authorizer has guards"
        self.services = services
        self.ctx = ctx
        self.request = request
        self._amendments: list[Callable[..., object]] = []
        self._allows = authorizer.allows
        self._principal = ctx.principal
        self._host = ctx.peer.removeprefix("/")
        journal = services.replicas.journal
        self._audit = None if journal is None else Audit(authorizer, journal, ctx)

    @property
    def version(self) -> int:
        """The request's."""
        return self.ctx.api_version

    # -- what its sender may do --------------------------------------------------------------

    def authorize(
        self,
        operation: AclOperation,
        resource_type: ResourceType,
        name: str,
        *,
        logs_denial: bool = True,
    ) -> bool:
        """Whether its sender may do this to the resource.

        A denial is told to the journal unless something else is asked for then (Kafka:
        Action.logIfDenied).
        """
        allowed = self._allows(self._principal, self._host, operation, resource_type, name)
        audit = self._audit
        if audit is not None and (audit.wants_allowed if allowed else logs_denial):
            audit.note(allowed, operation, resource_type, name)
        return allowed

    @property
    def tells_allowed(self) -> bool:
        """Whether somebody wants to be told of what is allowed, too."""
        return self._audit is not None and self._audit.wants_allowed

    def tell_audit(self) -> None:
        """Tell the journal what was noted since the last time."""
        if self._audit is not None:
            self._audit.tell()

    def authorize_topic(
        self, operation: AclOperation, name: str, *, logs_denial: bool = True
    ) -> bool:
        """Whether its sender may do this to the topic."""
        return self.authorize(operation, ResourceType.TOPIC, name, logs_denial=logs_denial)

    def rights(self, operation: AclOperation, resource_type: ResourceType) -> Rights:
        """Who asks, the changes of the ACLs, what is decided otherwise after some more, and how.

        What is decided by this is not told to the journal.
        """
        authorizer = self.services.authorizer
        assert authorizer is not None
        who = (self._principal, self._host)

        def changed_since(changes: int) -> list[tuple[str, bool]] | None:
            return authorizer.changed_since(changes, *who, operation, resource_type)

        def still_allows(name: str) -> bool:
            return authorizer.allows(*who, operation, resource_type, name)

        return (who, operation), authorizer.changes, changed_since, still_allows

    def show_topics(self) -> None:
        """Let the handler know which topics its sender may describe; the others are no denials."""
        self.services.shown_topics = lambda name: self.authorize_topic(
            AclOperation.DESCRIBE, name, logs_denial=False
        )

    def authorize_group(
        self, operation: AclOperation, name: str, *, logs_denial: bool = True
    ) -> bool:
        """Whether its sender may do this to the group."""
        return self.authorize(operation, ResourceType.GROUP, name, logs_denial=logs_denial)

    def authorize_transactional_id(self, operation: AclOperation, name: str) -> bool:
        """Whether its sender may do this to the transactional id."""
        return self.authorize(operation, ResourceType.TRANSACTIONAL_ID, name)

    def authorize_cluster(self, operation: AclOperation, *, logs_denial: bool = True) -> bool:
        """Whether its sender may do this to the cluster."""
        cluster = ResourceType.CLUSTER
        return self.authorize(operation, cluster, CLUSTER_NAME, logs_denial=logs_denial)

    def authorize_creation(self, topic: str) -> bool:
        """Whether its sender may create the topic: CREATE on the cluster or on it."""
        create = AclOperation.CREATE
        return self.authorize_cluster(create, logs_denial=False) or self.authorize_topic(
            create, topic
        )

    def authorize_by_resource_type(
        self, operation: AclOperation, resource_type: ResourceType
    ) -> bool:
        """Whether there may be a resource of the type that it may do this to (KIP-679)."""
        authorizer = self.services.authorizer
        assert authorizer is not None
        return authorizer.allows_some(self._principal, self._host, operation, resource_type)

    def authorized_operations(self, resource_type: ResourceType, name: str) -> int:
        """The bit field of what its sender may do to the resource (KIP-430)."""
        authorizer = self.services.authorizer
        assert authorizer is not None
        return authorizer.authorized_operations(self._principal, self._host, resource_type, name)

    def cluster_operations(self) -> int:
        """The same of the cluster; nothing if its sender may not even describe it."""
        if not self.authorize_cluster(AclOperation.DESCRIBE):
            return 0
        return self.authorized_operations(ResourceType.CLUSTER, CLUSTER_NAME)

    # -- how the request is refused ----------------------------------------------------------

    def refuse(self, code: ErrorCode, level: str | None = None) -> object:
        """The answer that refuses all of the request."""
        if getattr(self.request, "acks", None) == 0:
            return CLOSE
        return self._throttled(error_response(self.request, self.version, code, level))

    def require_cluster(
        self, operation: AclOperation, prepare: Callable[..., None] | None = None
    ) -> object | None:
        """The refusal, which `prepare` completes, unless its sender may do this to the cluster."""
        if self.authorize_cluster(operation):
            return None
        refused = self.refuse(ErrorCode.CLUSTER_AUTHORIZATION_FAILED)
        if prepare is not None:
            prepare(refused, self)
        return refused

    def require_group(self, operation: AclOperation, name: str) -> object | None:
        """The refusal unless its sender may do this to the group."""
        if self.authorize_group(operation, name):
            return None
        return self.refuse(ErrorCode.GROUP_AUTHORIZATION_FAILED)

    def require_transactional_id(self, operation: AclOperation, name: str) -> object | None:
        """The refusal unless its sender may do this to the transactional id."""
        if self.authorize_transactional_id(operation, name):
            return None
        return self.refuse(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)

    def filter_topics(
        self, operation: AclOperation, prepare: Callable[..., None] | None = None
    ) -> object | None:
        """Take out the topics that its sender may not do this to (Kafka: partitionSeqByAuthorized).

        What is left is handled, and the answer tells the error of the others; when nothing is left,
        this is the answer. `prepare` completes what is told of the others.
        """
        taken: list[str] = []

        def selects(ref: TopicRef, _: int | None) -> bool:
            name = ref.name
            if not name and ref.topic_id is not None:
                name = self.services.metadata.topic_name(ref.topic_id)
            if name is None or self.authorize_topic(operation, name):
                return False
            taken.append(name)
            return True

        part, left = split_request(self.request, selects)
        if not taken:
            return None
        code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        refused = error_response(part, self.version, code, "partition")
        if prepare is not None:
            prepare(refused, self)
        if getattr(self.request, "acks", None) == 0:
            if not left:
                return CLOSE
            self.amend(lambda response: CLOSE if response is NO_RESPONSE else response)
            return None
        if not left:
            return self._throttled(refused)
        self.amend(lambda response: merge_responses(response, refused))
        return None

    def filter_configs(
        self,
        request: ConfigsRequest,
        operation: AclOperation,
        field: str,
        result: Callable[[ErrorCode, str, int, str], object],
    ) -> None:
        """Take out the resources whose configs are denied: each is answered for itself.

        `result` makes what `field` of the answer says of one.
        """
        denied = []
        kept = []
        for one in request.resources:
            kind, name = one.resource_type, one.resource_name
            acl_type, code, message = _CONFIG_ERRORS.get(
                kind,
                (
                    ResourceType.CLUSTER,
                    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
                    "Cluster authorization failed.",
                ),
            )
            acl_name = CLUSTER_NAME if acl_type is ResourceType.CLUSTER else name
            if self.authorize(operation, acl_type, acl_name):
                kept.append(one)
            else:
                denied.append(result(code, message, kind, name))
        request.resources = kept  # type: ignore[assignment]  # the type of those that came
        self.append(field, denied)

    def _throttled(self, response: object) -> object:
        if hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = self.ctx.throttle_time_ms
        return response

    # -- what its answer needs ---------------------------------------------------------------

    def amend(self, amendment: Callable[..., object]) -> None:
        """Let `amendment` change the answer, or return another; a generator does so in slices."""
        self._amendments.append(amendment)

    def append(self, field: str, results: list[object]) -> None:
        """Add what was refused to a list of the answer."""
        if results:
            self.amend(lambda response: getattr(response, field).extend(results))

    @property
    def amends(self) -> bool:
        """Whether the answer is to be changed."""
        return bool(self._amendments)

    def amending(self, response: object) -> Generator[None, None, object]:
        """The answer with what was taken out of the request, or hidden, made in slices."""
        for amendment in self._amendments:
            changed = amendment(response)
            if isinstance(changed, Generator):
                changed = yield from changed
            response = response if changed is None else changed
        self.tell_audit()
        return response

    def amended(self, response: object) -> object:
        """The same, at once."""
        steps = self.amending(response)
        while True:
            try:
                next(steps)
            except StopIteration as end:
                made: object = end.value
                return made


def cluster_guard(operation: AclOperation, prepare: Callable[..., None] | None = None) -> Guard:
    """A guard that asks for one operation on the cluster; `prepare` completes its refusal."""
    return lambda auth, _: auth.require_cluster(operation, prepare)


def topics_guard(operation: AclOperation, prepare: Callable[..., None] | None = None) -> Guard:
    """A guard that asks for one operation on each topic; `prepare` completes its refusal."""
    return lambda auth, _: auth.filter_topics(operation, prepare)


def told(message: str, *, lists: str | None = None) -> Callable[..., None]:
    """Completes a refusal by `message`, wherever it tells an error, and by what it `lists`."""

    def prepare(refused: object, auth: AuthHelper) -> None:
        if lists is not None:
            code = ErrorCode.CLUSTER_AUTHORIZATION_FAILED
            each = error_response(auth.request, auth.version, code, "partition")
            setattr(refused, lists, getattr(each, lists))
        _say(refused, message)

    return prepare


def _say(part: object, message: str) -> None:
    if hasattr(part, "error_message"):
        part.error_message = message
    for name in schema_of(type(part)).field_names:
        value = getattr(part, name)
        for each in value if isinstance(value, list) else ():
            if is_declared(type(each)):
                _say(each, message)


def guarded(guard: Guard, handle: Handle) -> Handle:
    """The handler behind its guard."""

    def check_and_handle(services: Services, ctx: RequestContext, request: object) -> object:
        auth = AuthHelper(services, ctx, request)
        refused = guard(auth, request)
        auth.tell_audit()
        if refused is not None:
            return refused
        try:
            if not auth.amends:
                return handle(services, ctx, request)
            responder = ctx.responder
            ctx.responder = _Amending(responder, auth)
            response = handle(services, ctx, request)
        finally:
            services.fetch.gate = None
            services.shown_topics = None
            auth.tell_audit()
        if response is PARKED:
            return PARKED
        ctx.responder = responder
        return services.answer_in_slices(ctx, auth.amending(response))

    return check_and_handle


class _Amending:
    """Stands between a parked request and its responder."""

    __slots__ = ("_auth", "_responder")

    def __init__(self, responder: Responder, auth: AuthHelper) -> None:
        self._responder = responder
        self._auth = auth

    @property
    def broker_id(self) -> int:
        """The node's, for the journal."""
        return cast("int", getattr(self._responder, "broker_id", -1))

    def is_connected(self, connection_id: int) -> bool:
        """Whether a connection is still there."""
        known = getattr(self._responder, "is_connected", None)
        return known is None or bool(known(connection_id))

    def complete(self, ctx: RequestContext, response: object) -> None:
        """Queue the answer of a parked request."""
        self._responder.complete(ctx, self._auth.amended(response))

    def complete_by(self, ctx: RequestContext, make: Callable[[], object]) -> None:
        """Make the answer of a parked request inside the request boundary, and queue it."""
        self._responder.complete_by(ctx, lambda: self._auth.amended(make()))

    def complete_in_slices(self, ctx: RequestContext, response: object) -> None:
        """Queue the long answer of a parked request."""
        ctx.responder = self._responder
        amended = self._auth.services.answer_in_slices(ctx, self._auth.amending(response))
        if amended is not PARKED:
            ctx.respond_in_slices(amended)
