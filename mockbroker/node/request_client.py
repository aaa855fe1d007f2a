"""The client of a request that fault rules are held against: its token, and the ACLs it may lose.

`interceptor` makes one for each request while rules about its API are armed; nothing is looked up
before a rule asks. What a rule takes away the controller takes away, as by DeleteAcls and
ExpireDelegationToken, so that all brokers and the metadata log hear of it; a broker that does not
reach its controller hears of it later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.faults.fault import ANY_OPERATION
from mockbroker.faults.request_view import ClientFacts
from mockbroker.metadata.acls import (
    ANY,
    CLUSTER_NAME,
    AclFilter,
    PatternType,
    Permission,
    ResourceType,
)
from mockbroker.metadata.authorized_operations import AclOperation

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.faults.request_view import AclRule, RequestView
    from mockbroker.metadata.acls import Acl
    from mockbroker.metadata.store import MetadataStore

ALL_OPERATIONS: Final = 2


class RequestClient(ClientFacts):
    """Who sent one request."""

    __slots__ = ("_ctx", "_services")

    def __init__(self, services: Services, ctx: RequestContext) -> None:
        self._services = services
        self._ctx = ctx

    @property
    def shown_token(self) -> str | None:
        """What names the token that it logged in with; None without one."""
        login = self._services.logins.get(self._ctx.connection_id)
        return None if login is None else login.authenticator.token

    def acls_to_lose(self, rule: AclRule, view: RequestView) -> Sequence[Acl]:
        """Those that allow its principal, by name, an operation on what the request is about."""
        name = rule.fault.revoked_operation
        wanted = {ALL_OPERATIONS}
        if name == ANY_OPERATION:
            wanted.update(AclOperation)
        else:
            wanted.add(AclOperation[name])
        allowing = AclFilter(ANY, None, ANY, self._ctx.principal, None, ANY, Permission.ALLOW)
        own = [
            acl
            for acl in self._services.metadata.acls_near(allowing)
            if allowing.matches(acl) and acl.operation in wanted
        ]
        if not own:
            return ()
        filters = [_applying_to(kind, named) for kind, named in _resources(rule, view)]
        return [acl for acl in own if any(each.matches(acl) for each in filters)]

    def lose(self, acls: Iterable[Acl]) -> bool:
        """Have ACLs taken away; whether this broker has yet to hear of it."""
        from mockbroker.metadata.acl_control import delete_acls

        gone = list(dict.fromkeys(acls))
        filters = [AclFilter(*acl) for acl in gone]

        def take_away(store: MetadataStore) -> None:
            delete_acls(store, filters)

        self._services.controller.carry_out(take_away, None, imposed=True)
        known = self._services.metadata.acls
        return any(acl in known for acl in gone)

    def token_expires(self) -> None:
        """Let the delegation token that it logged in with, if it is one, expire now."""
        services = self._services
        login = services.logins.get(self._ctx.connection_id)
        if login is None or not login.authenticator.by_token:
            return
        token_id, clock = login.authenticator.token, services.clock
        assert token_id is not None

        def expire(store: MetadataStore) -> None:
            from mockbroker.metadata.delegation_token_control import expire_now

            expire_now(store, clock, token_id)

        services.controller.carry_out(expire, None, imposed=True)


def _resources(rule: AclRule, view: RequestView) -> Iterator[tuple[int, str]]:
    """What a request is about, as far as the rule is: all of it, unless it names topics or such."""
    fault = rule.fault
    names_some = fault.topic or fault.group or fault.transactional_id
    if fault.topic or not names_some:
        for topic in view.topics:
            if rule.selects_topic(topic, None):
                yield ResourceType.TOPIC, topic
    if fault.group or not names_some:
        for group in view.groups:
            yield ResourceType.GROUP, group
    if fault.transactional_id or not names_some:
        for transactional_id in view.transactional_ids:
            yield ResourceType.TRANSACTIONAL_ID, transactional_id
    if not names_some:
        yield ResourceType.CLUSTER, CLUSTER_NAME


def _applying_to(resource_type: int, name: str) -> AclFilter:
    return AclFilter(resource_type, name, PatternType.MATCH, None, None, 1, 1)
