"""Access control lists as the metadata keep them: who may, or may not, do what to which resources.

`acl_control` creates and deletes them, `security.authorizer` decides by them (Kafka: AclBinding,
AclBindingFilter; KIP-140, KIP-290). Types, patterns, operations and permissions are Kafka's codes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata import authorized_operations as authorized

if TYPE_CHECKING:
    from mockbroker.metadata.authorized_operations import AclOperation

UNKNOWN: Final = 0
ANY: Final = 1
WILDCARD: Final = "*"
CLUSTER_NAME: Final = "kafka-cluster"
_LAST_OPERATION: Final = 15


class ResourceType(IntEnum):
    """What an ACL is about."""

    TOPIC = 2
    GROUP = 3
    CLUSTER = 4
    TRANSACTIONAL_ID = 5
    DELEGATION_TOKEN = 6
    USER = 7


_RESOURCE_TYPES: Final = frozenset(ResourceType)


class PatternType(IntEnum):
    """How a resource's name is meant; MATCH, in filters only: whatever applies to the name."""

    MATCH = 2
    LITERAL = 3
    PREFIXED = 4


class Permission(IntEnum):
    """What an ACL does."""

    DENY = 2
    ALLOW = 3


class Acl(NamedTuple):
    """One ACL (Kafka: StandardAcl)."""

    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str
    host: str
    operation: int
    permission: int


class AclFilter(NamedTuple):
    """Which ACLs are meant; None and code 1 (ANY) stand for all."""

    resource_type: int
    resource_name: str | None
    pattern_type: int
    principal: str | None
    host: str | None
    operation: int
    permission: int

    def matches(self, acl: Acl) -> bool:
        """Whether the ACL is one of them."""
        return (
            self.resource_type in (ANY, acl.resource_type)
            and self._fits_name(acl)
            and self.principal in (None, acl.principal)
            and self.host in (None, acl.host)
            and self.operation in (ANY, acl.operation)
            and self.permission in (ANY, acl.permission)
        )

    @property
    def only(self) -> Acl | None:
        """The ACL that it names in full, as tools do that take back what they gave; None: many."""
        name, principal, host = self.resource_name, self.principal, self.host
        if name is None or principal is None or host is None:
            return None
        if self.pattern_type in (ANY, PatternType.MATCH):
            return None
        if ANY in (self.resource_type, self.operation, self.permission):
            return None
        kind, pattern = self.resource_type, self.pattern_type
        return Acl(kind, name, pattern, principal, host, self.operation, self.permission)

    def _fits_name(self, acl: Acl) -> bool:
        """ResourcePatternFilter.matches."""
        wanted, pattern = self.pattern_type, acl.pattern_type
        if wanted not in (ANY, PatternType.MATCH, pattern):
            return False
        name = self.resource_name
        if name is None:
            return True
        if wanted != PatternType.MATCH:
            return name == acl.resource_name
        if pattern == PatternType.PREFIXED:
            return name.startswith(acl.resource_name)
        return acl.resource_name in (name, WILDCARD)


def is_binding(acl: Acl) -> bool:
    """Whether each of its codes means one thing, as AclBinding demands; filters mean many."""
    return (
        acl.resource_type in _RESOURCE_TYPES
        and acl.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        and ANY < acl.operation <= _LAST_OPERATION
        and acl.permission in (Permission.DENY, Permission.ALLOW)
    )


OPERATIONS: Final[dict[int, tuple[AclOperation, ...]]] = {
    ResourceType.TOPIC: authorized.OF_TOPIC,
    ResourceType.GROUP: authorized.OF_GROUP,
    ResourceType.CLUSTER: authorized.OF_CLUSTER,
}
"""What may be done to a resource of each type that tells its authorized operations."""
