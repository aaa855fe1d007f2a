"""Whether a principal may do something, by the ACLs in the metadata (Kafka: StandardAuthorizer).

Made by `node` if `authorizer.class.name` names it, and asked by the guards of
`apis.auth_helper`; a broker without one has neither. Super users may do all. Else the ACLs whose
resource pattern fits decide: one that denies wins, then one that allows; where no ACL is about the
resource at all, `allow.everyone.if.no.acl.found` does.

Invariant: what is remembered of earlier decisions is dropped with each change of the ACLs.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from mockbroker.config.errors import ConfigError
from mockbroker.metadata.acl_index import ANYONE
from mockbroker.metadata.acls import (
    OPERATIONS,
    WILDCARD,
    Acl,
    PatternType,
    Permission,
    ResourceType,
)
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.changes import AclsChanged

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.changes import Change
    from mockbroker.metadata.store import MetadataStore

STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
ALL_OPERATIONS: Final = 2
_SOME_RESOURCE: Final = "hardcode"
_DECISIONS_KEPT: Final = 10_000
_CHANGES_KEPT: Final = 10_000

_IMPLIED_BY: Final[dict[int, frozenset[int]]] = {
    AclOperation.DESCRIBE: frozenset(
        (
            AclOperation.DESCRIBE,
            AclOperation.READ,
            AclOperation.WRITE,
            AclOperation.DELETE,
            AclOperation.ALTER,
        )
    ),
    AclOperation.DESCRIBE_CONFIGS: frozenset(
        (AclOperation.DESCRIBE_CONFIGS, AclOperation.ALTER_CONFIGS)
    ),
}
"""Whoever is allowed one of these is allowed the key too; denials imply nothing."""

_Question = tuple[str, str, int, int, str]


def make_authorizer(config: BrokerConfig, metadata: MetadataStore) -> StandardAuthorizer | None:
    """What `authorizer.class.name` wants: None for nothing; ConfigError for an unknown class."""
    name = config.str("authorizer.class.name")
    if not name:
        return None
    if name != STANDARD_AUTHORIZER:
        raise ConfigError(
            f"Invalid value {name} for configuration authorizer.class.name: "
            f"only {STANDARD_AUTHORIZER} is known here"
        )
    return StandardAuthorizer(config, metadata)


class StandardAuthorizer:
    """The decisions of one node."""

    __slots__ = (
        "_allows_without_acl",
        "_decided",
        "_decided_some",
        "_metadata",
        "_recent",
        "_super_users",
        "changes",
        "denied",
    )

    def __init__(self, config: BrokerConfig, metadata: MetadataStore) -> None:
        names = config.str("super.users").split(";")
        self._super_users = frozenset(name.strip() for name in names if name.strip())
        for name in self._super_users:
            if ":" not in name:
                raise ConfigError(
                    f"Invalid value {name} for configuration super.users: "
                    "a principal is written as type:name"
                )
        self._allows_without_acl = config.bool("allow.everyone.if.no.acl.found")
        self._metadata = metadata
        self._decided: dict[_Question, bool] = {}
        self._decided_some: dict[tuple[str, str, int, int], bool] = {}
        self._recent: deque[tuple[int, Acl]] = deque(maxlen=_CHANGES_KEPT)
        """The ACLs that came or went last, with the number of their change."""
        self.changes = 0
        """How often the ACLs changed: decisions are the same in between."""
        self.denied = 0
        """How many denials were told to the journal."""
        metadata.subscribe(self._on_change)

    def allows(
        self, principal: str, host: str, operation: int, resource_type: int, name: str
    ) -> bool:
        """Whether `principal` ("User:name") may, from the address `host`."""
        if principal in self._super_users:
            return True
        question = (principal, host, operation, resource_type, name)
        decision = self._decided.get(question)
        if decision is None:
            if len(self._decided) >= _DECISIONS_KEPT:
                self._decided.clear()
            decision = self._decided[question] = self._decide(*question)
        return decision

    def allows_some(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        """Whether there may be a resource of the type that it may do this to.

        Kafka: Authorizer.authorizeByResourceType, for producers without a transactional id.
        """
        if self.allows(principal, host, operation, resource_type, _SOME_RESOURCE):
            return True
        question = (principal, host, operation, resource_type)
        decision = self._decided_some.get(question)
        if decision is None:
            if len(self._decided_some) >= _DECISIONS_KEPT:
                self._decided_some.clear()
            decision = self._decided_some[question] = self._decide_some(*question)
        return decision

    def authorized_operations(
        self, principal: str, host: str, resource_type: int, name: str
    ) -> int:
        """The bit field of all that it may do to the resource."""
        operations = OPERATIONS[resource_type]
        if not self._metadata.acl_index.is_any_about(resource_type, name):
            allows_all = self._allows_without_acl or principal in self._super_users
            return sum(1 << operation for operation in operations) if allows_all else 0
        return sum(
            1 << operation
            for operation in operations
            if self.allows(principal, host, operation, resource_type, name)
        )

    def rule(self, principal: str, host: str, operation: int, resource_type: int, name: str) -> str:
        """What decides it, as Kafka prints it (StandardAuthorizerData.findAclRule)."""
        if principal in self._super_users:
            return "SuperUser"
        index = self._metadata.acl_index
        concerning = index.concerning(principal, host, resource_type, name)
        found = [acl for acl in concerning if _is_of(acl, operation)]
        found.sort(key=_printed_order)
        denied = [acl for acl in found if acl.permission == Permission.DENY]
        if found:
            return f"MatchingAcl(acl={_printed(denied[0] if denied else found[-1])})"
        if self._allows_without_acl and not index.is_any_about(resource_type, name):
            return "DefaultAllow"
        return "DefaultDeny"

    def changed_since(
        self, changes: int, principal: str, host: str, operation: int, resource_type: int
    ) -> list[tuple[str, bool]] | None:
        """The resources of which decisions may be others than after so many `changes`.

        Each is a name and whether all that begins with it is meant; None: any may be.
        """
        if principal in self._super_users:
            return []
        recent = self._recent
        if len(recent) == _CHANGES_KEPT and recent[0][0] > changes:
            return None
        touched: dict[tuple[str, bool], None] = {}
        for number, acl in reversed(recent):
            if number <= changes:
                break
            if acl.resource_type == resource_type and (
                self._allows_without_acl
                or (_concerns(acl, principal, host) and _is_of(acl, operation))
            ):
                if _is_wildcard(acl):
                    return None
                touched[acl.resource_name, acl.pattern_type == PatternType.PREFIXED] = None
        return list(touched)

    def _decide(
        self, principal: str, host: str, operation: int, resource_type: int, name: str
    ) -> bool:
        index = self._metadata.acl_index
        allowed = False
        for acl in index.concerning(principal, host, resource_type, name):
            if not _is_of(acl, operation):
                continue
            if acl.permission != Permission.ALLOW:
                return False
            allowed = True
        if allowed or not self._allows_without_acl:
            return allowed
        return not index.is_any_about(resource_type, name)

    def _decide_some(self, principal: str, host: str, operation: int, resource_type: int) -> bool:
        index = self._metadata.acl_index
        kinds = (operation, ALL_OPERATIONS)

        def denials(name: str) -> Iterator[Acl]:
            for acl in index.concerning(principal, host, resource_type, name):
                if acl.permission == Permission.DENY and acl.operation in kinds:
                    yield acl

        if any(_is_wildcard(acl) for acl in denials(WILDCARD)):
            return False
        return any(
            acl.host in (host, WILDCARD)
            and not any(_dominates(deny, acl) for deny in denials(acl.resource_name))
            for kind in kinds
            for acl in index.allowing(principal, kind, resource_type)
        )

    def _on_change(self, change: Change) -> None:
        if not isinstance(change, AclsChanged):
            return
        self._decided.clear()
        self._decided_some.clear()
        self.changes += 1
        self._recent.extend((self.changes, acl) for acl in (*change.added, *change.removed))


def _concerns(acl: Acl, principal: str, host: str) -> bool:
    return acl.principal in (principal, ANYONE) and acl.host in (host, WILDCARD)


def _is_of(acl: Acl, operation: int) -> bool:
    """Whether the ACL says something about the operation."""
    if acl.operation in (operation, ALL_OPERATIONS):
        return True
    return acl.permission == Permission.ALLOW and acl.operation in _IMPLIED_BY.get(operation, ())


def _printed_order(acl: Acl) -> tuple[bool, int, int, str, str, int, int]:
    """The order in which Kafka meets the ACLs about a resource: the longest pattern first."""
    return (
        _is_wildcard(acl),
        -len(acl.resource_name),
        acl.pattern_type,
        acl.principal,
        acl.host,
        acl.operation,
        acl.permission,
    )


def _printed(acl: Acl) -> str:
    return (
        f"StandardAcl(resourceType={ResourceType(acl.resource_type).name}, "
        f"resourceName={acl.resource_name}, patternType={PatternType(acl.pattern_type).name}, "
        f"principal={acl.principal}, host={acl.host}, operation={operation_name(acl.operation)}, "
        f"permissionType={Permission(acl.permission).name})"
    )


def operation_name(operation: int) -> str:
    """Kafka's name of an AclOperation."""
    return "ALL" if operation == ALL_OPERATIONS else AclOperation(operation).name


def _is_wildcard(acl: Acl) -> bool:
    return acl.pattern_type == PatternType.LITERAL and acl.resource_name == WILDCARD


def _dominates(deny: Acl, allow: Acl) -> bool:
    """Whether all that `allow` is about is denied."""
    if deny.pattern_type == PatternType.PREFIXED:
        return allow.resource_name.startswith(deny.resource_name)
    return allow.pattern_type == PatternType.LITERAL and deny.resource_name == allow.resource_name


TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = (
    ResourceType.TOPIC,
    ResourceType.GROUP,
    ResourceType.CLUSTER,
    ResourceType.TRANSACTIONAL_ID,
)
