"""Whether a principal may do something, by the ACLs in the metadata (Kafka: StandardAuthorizer).

Made by `node` if `authorizer.class.name` names it, and asked by the guards of
`apis.auth_helper`; a broker without one has neither. Super users may do all. Else the ACLs whose
resource pattern fits decide: one that denies wins, then one that allows; where no ACL is about the
resource at all, `allow.everyone.if.no.acl.found` does.

Invariant: what is remembered of earlier decisions is dropped with each change of the ACLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.config.errors import ConfigError
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
ANYONE: Final = "User:*"
_SOME_RESOURCE: Final = "hardcode"
_DECISIONS_KEPT: Final = 10_000

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
        "_acls",
        "_allows_without_acl",
        "_decided",
        "_literal",
        "_prefixed",
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
        self._acls = metadata.acls
        self._decided: dict[_Question, bool] = {}
        self._literal: dict[tuple[int, str], list[Acl]] | None = None
        """Those of a name, by it; None: they are to be sorted when somebody asks."""
        self._prefixed: list[Acl] = []
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
        denied: list[Acl] = []
        allowed: list[Acl] = []
        for acl in self._acls:
            if (
                acl.resource_type == resource_type
                and acl.operation in (operation, ALL_OPERATIONS)
                and _concerns(acl, principal, host)
            ):
                (denied if acl.permission == Permission.DENY else allowed).append(acl)
        if any(_is_wildcard(acl) for acl in denied):
            return False
        return any(
            _is_wildcard(acl) or not any(_dominates(deny, acl) for deny in denied)
            for acl in allowed
        )

    def authorized_operations(
        self, principal: str, host: str, resource_type: int, name: str
    ) -> int:
        """The bit field of all that it may do to the resource."""
        operations = OPERATIONS[resource_type]
        if not any(True for _ in self._about(resource_type, name)):
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
        about = list(self._about(resource_type, name))
        found = [acl for acl in about if _concerns(acl, principal, host) and _is_of(acl, operation)]
        found.sort(key=_printed_order)
        denied = [acl for acl in found if acl.permission == Permission.DENY]
        if found:
            return f"MatchingAcl(acl={_printed(denied[0] if denied else found[-1])})"
        return "DefaultAllow" if not about and self._allows_without_acl else "DefaultDeny"

    def _decide(
        self, principal: str, host: str, operation: int, resource_type: int, name: str
    ) -> bool:
        found = allowed = False
        for acl in self._about(resource_type, name):
            found = True
            if not _concerns(acl, principal, host):
                continue
            if not _is_of(acl, operation):
                continue
            if acl.permission != Permission.ALLOW:
                return False
            allowed = True
        return allowed if found else self._allows_without_acl

    def _about(self, resource_type: int, name: str) -> Iterator[Acl]:
        """The ACLs whose pattern fits the resource."""
        literal = self._sort() if self._literal is None else self._literal
        yield from literal.get((resource_type, name), ())
        if name != WILDCARD:
            yield from literal.get((resource_type, WILDCARD), ())
        for acl in self._prefixed:
            if acl.resource_type == resource_type and name.startswith(acl.resource_name):
                yield acl

    def _sort(self) -> dict[tuple[int, str], list[Acl]]:
        literal: dict[tuple[int, str], list[Acl]] = {}
        self._prefixed = []
        for acl in self._acls:
            if acl.pattern_type == PatternType.PREFIXED:
                self._prefixed.append(acl)
            else:
                literal.setdefault((acl.resource_type, acl.resource_name), []).append(acl)
        self._literal = literal
        return literal

    def _on_change(self, change: Change) -> None:
        if isinstance(change, AclsChanged):
            self._decided.clear()
            self._literal = None
            self.changes += 1


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
