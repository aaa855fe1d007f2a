"""Access control lists as the metadata keep them: who may, or may not, do what to which resources.

`Controller` creates and deletes them for CreateAcls and DeleteAcls, `security.authorizer` decides
by them (Kafka: AclControlManager, AclBinding, AclBindingFilter; KIP-140, KIP-290). Types, patterns,
operations and permissions are Kafka's codes.
"""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.changes import AclsChanged
from mockbroker.metadata.topic_requests import ACCEPTED, Refusal
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mockbroker.metadata.store import MetadataStore

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


class DeletedAcls(NamedTuple):
    """What one filter removed, or why it was refused."""

    refusal: Refusal
    acls: Sequence[Acl]


def create_acls(store: MetadataStore, acls: Iterable[Acl]) -> list[Refusal]:
    """Add each that passes; one answer for each, in their order. One that is there stays."""
    answers: list[Refusal] = []
    added: dict[Acl, None] = {}
    for acl in acls:
        problem = _problem(acl)
        answers.append(ACCEPTED if problem is None else _invalid(problem))
        if problem is None and acl not in store.acls:
            added[acl] = None
    if added:
        store.apply(AclsChanged(tuple(added), ()))
    return answers


def delete_acls(store: MetadataStore, filters: Iterable[AclFilter]) -> list[DeletedAcls]:
    """Remove what any filter matches; each is answered with what it alone matches."""
    answers: list[DeletedAcls] = []
    removed: dict[Acl, None] = {}
    for each in filters:
        problem = filter_problem(each)
        if problem is not None:
            answers.append(DeletedAcls(_invalid(problem), ()))
            continue
        found = [acl for acl in store.acls if each.matches(acl)]
        removed.update(dict.fromkeys(found))
        answers.append(DeletedAcls(ACCEPTED, found))
    if removed:
        store.apply(AclsChanged((), tuple(removed)))
    return answers


def filter_problem(wanted: AclFilter) -> str | None:
    """Why a filter is refused (AclControlManager.validateFilter)."""
    if UNKNOWN in (wanted.resource_type, wanted.pattern_type):
        return "Unknown patternFilter."
    if UNKNOWN in (wanted.operation, wanted.permission):
        return "Unknown entryFilter."
    return None


def is_binding(acl: Acl) -> bool:
    """Whether each of its codes means one thing, as AclBinding demands; filters mean many."""
    return (
        acl.resource_type in _RESOURCE_TYPES
        and acl.pattern_type in (PatternType.LITERAL, PatternType.PREFIXED)
        and ANY < acl.operation <= _LAST_OPERATION
        and acl.permission in (Permission.DENY, Permission.ALLOW)
    )


def _problem(acl: Acl) -> str | None:
    """Why an ACL may not be (AclApis.handleCreateAcls, StandardAcl)."""
    if acl.resource_type == ResourceType.CLUSTER and acl.resource_name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not acl.resource_name:
        return "Invalid empty resource name"
    if ":" not in acl.principal:
        return (
            f"Could not parse principal from `{acl.principal}` "
            "(no colon is present separating the principal type from the principal name)"
        )
    return None


def _invalid(message: str) -> Refusal:
    return Refusal(ErrorCode.INVALID_REQUEST, message)


OPERATIONS: Final[dict[int, tuple[AclOperation, ...]]] = {
    ResourceType.TOPIC: (
        AclOperation.READ,
        AclOperation.WRITE,
        AclOperation.CREATE,
        AclOperation.DELETE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.GROUP: (
        AclOperation.READ,
        AclOperation.DELETE,
        AclOperation.DESCRIBE,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
    ),
    ResourceType.CLUSTER: (
        AclOperation.CREATE,
        AclOperation.ALTER,
        AclOperation.DESCRIBE,
        AclOperation.CLUSTER_ACTION,
        AclOperation.DESCRIBE_CONFIGS,
        AclOperation.ALTER_CONFIGS,
        AclOperation.IDEMPOTENT_WRITE,
    ),
}
"""What may be done to a resource of each type that tells its authorized operations."""
