"""A broker with an authorizer, driven by hand, and ACLs for its one principal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import Acl, PatternType, Permission, ResourceType
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from tests.support.core import Core

if TYPE_CHECKING:
    from mockbroker.metadata.authorized_operations import AclOperation

ME = "User:ANONYMOUS"
TOPIC, GROUP = ResourceType.TOPIC, ResourceType.GROUP
CLUSTER, TRANSACTIONAL_ID = ResourceType.CLUSTER, ResourceType.TRANSACTIONAL_ID


def guarded_core(**configs: str) -> Core:
    """Everybody may do what no ACL is about; topics `open` and `shut`."""
    config = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "allow.everyone.if.no.acl.found": "true",
        "auto.create.topics.enable": "false",
    }
    return Core(topics={"open": 1, "shut": 1}, config=config | configs)


def deny(core: Core, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    """Nothing but these operations is denied to ANONYMOUS there."""
    rows = [(operation, Permission.DENY) for operation in operations]
    add(core, kind, name, (2, Permission.ALLOW), *rows)


def add(core: Core, kind: ResourceType, name: str, *rows: tuple[int, Permission]) -> None:
    """ACLs with these operations and permissions."""
    acls = [Acl(kind, name, PatternType.LITERAL, ME, "*", *row) for row in rows]
    core.broker.services.controller.create_acls(acls)
