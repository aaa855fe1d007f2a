"""How ACLs come and go by request (Kafka: AclControlManager).

`Controller` calls this for CreateAcls and DeleteAcls; it is imported with the first such request.
Snapshots and scopes bring ACLs back by it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.metadata.acls import CLUSTER_NAME, UNKNOWN, ResourceType
from mockbroker.metadata.changes import AclsChanged
from mockbroker.metadata.topic_requests import ACCEPTED, Refusal, invalid_request

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from mockbroker.metadata.acls import Acl, AclFilter
    from mockbroker.metadata.store import MetadataStore


class DeletedAcls(NamedTuple):
    """What one filter removed, or why it was refused."""

    refusal: Refusal
    acls: Sequence[Acl]


def create_acls(store: MetadataStore, acls: Iterable[Acl]) -> list[Refusal]:
    """Add each that passes; one answer for each, in their order. One that is there stays."""
    answers: list[Refusal] = []
    added: dict[Acl, None] = {}
    for acl in acls:
        problem = acl_problem(acl)
        answers.append(ACCEPTED if problem is None else invalid_request(problem))
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
        problem = _filter_problem(each)
        if problem is not None:
            answers.append(DeletedAcls(invalid_request(problem), ()))
            continue
        found = [acl for acl in store.acls_near(each) if each.matches(acl)]
        removed.update(dict.fromkeys(found))
        answers.append(DeletedAcls(ACCEPTED, found))
    if removed:
        store.apply(AclsChanged((), tuple(removed)))
    return answers


def replace_acls(store: MetadataStore, wanted: Sequence[Acl]) -> None:
    """Let there be these, in their order, and no others."""
    if tuple(store.acls) != tuple(wanted):
        store.apply(AclsChanged((), tuple(store.acls)))
        store.apply(AclsChanged(tuple(wanted), ()))


def _filter_problem(wanted: AclFilter) -> str | None:
    """Why a filter is refused (AclControlManager.validateFilter)."""
    if UNKNOWN in (wanted.resource_type, wanted.pattern_type):
        return "Unknown patternFilter."
    if UNKNOWN in (wanted.operation, wanted.permission):
        return "Unknown entryFilter."
    return None


def acl_problem(acl: Acl) -> str | None:
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
