"""What ACLs mean, written down a second time: no order of evaluation, no memory, no shortcuts.

For those who hold brokers to it (`acl_checkers`, `config_inquiries`); from the documentation of
Apache Kafka's ACLs, KIP-140, KIP-290 (prefixes) and KIP-679 (authorizeByResourceType).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from random import Random

    from mockbroker.metadata.acls import Acl
    from mockbroker.node.broker import Broker
    from mockbroker_protocol.messages.acls import DeleteAclsFilter

T = TypeVar("T")
ANY, MATCH, LITERAL, PREFIXED = 1, 2, 3, 4
DENY, ALLOW = 2, 3
ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE = 2, 3, 4, 5, 6, 7, 8
CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE = 9, 10, 11, 12
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID = 2, 3, 4, 5
IMPLYING: Final = {
    DESCRIBE: (READ, WRITE, DELETE, ALTER),
    DESCRIBE_CONFIGS: (ALTER_CONFIGS,),
}
"""Who is allowed one of these is allowed the key."""
OPERATIONS: Final = {
    TOPIC: (READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    GROUP: (READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS),
    CLUSTER: (
        CREATE,
        ALTER,
        DESCRIBE,
        CLUSTER_ACTION,
        DESCRIBE_CONFIGS,
        ALTER_CONFIGS,
        IDEMPOTENT_WRITE,
    ),
    TRANSACTIONAL_ID: (DESCRIBE, WRITE),
}
UNHEARD_OF: Final = "~"
"""What no pattern but the wildcard fits."""


class Asker(Protocol):
    """An ACL checker, as those need it who ask for it and hold answers to what they expect."""

    rng: Random

    @property
    def topics(self) -> Iterable[str]:
        """Those that there are."""

    def asked_as(
        self, broker: Broker, principal: str, request: object, version: int, kind: type[T]
    ) -> T | None:
        """The answer; None: it is not there at once."""

    def expect(self, principal: str, what: str, told: object, wanted: object) -> None:
        """It is a violation if they differ."""


class ExpectedRights:
    """The ACLs that are in force, for one who asks from one address."""

    def __init__(
        self, acls: Iterable[Acl], principal: str, host: str, *, everyone: bool, is_super: bool
    ) -> None:
        self._acls = list(acls)
        self._principals = (principal, "User:*")
        self._hosts = (host, "*")
        self._everyone = everyone
        self._is_super = is_super

    def allows(self, operation: int, kind: int, name: str) -> bool:
        """Whether it may do this to the resource."""
        about = [acl for acl in self._acls if acl.resource_type == kind and is_about(acl, name)]
        if self._is_super or not about:
            return self._is_super or self._everyone
        denials = self._concerning(about, DENY, (operation, ALL))
        implying = (operation, ALL, *IMPLYING.get(operation, ()))
        return bool(self._concerning(about, ALLOW, implying)) and not denials

    def _concerning(
        self, acls: Iterable[Acl], permission: int, operations: Collection[int]
    ) -> list[Acl]:
        return [
            acl
            for acl in acls
            if acl.permission == permission
            and acl.operation in operations
            and acl.principal in self._principals
            and acl.host in self._hosts
        ]

    def allows_some(self, operation: int, kind: int) -> bool:
        """Whether there may be a resource that it may do this to: one of these names is it."""
        names = {acl.resource_name for acl in self._acls if acl.resource_type == kind}
        names |= {name + UNHEARD_OF for name in names} | {UNHEARD_OF}
        return any(self.allows(operation, kind, name) for name in names - {"*"})

    def bits(self, kind: int, name: str) -> int:
        """All that it may do to a resource (KIP-430)."""
        allowed = [each for each in OPERATIONS[kind] if self.allows(each, kind, name)]
        return sum(1 << each for each in allowed)


def is_about(acl: Acl, name: str) -> bool:
    """Whether its pattern fits the name of a resource of its type."""
    if acl.pattern_type == PREFIXED:
        return name.startswith(acl.resource_name)
    return acl.resource_name in (name, "*")


def acl_fits(acl: Acl, asked: DeleteAclsFilter) -> bool:
    """Whether a filter, of a look or of a deletion, means it."""
    name, pattern = asked.resource_name_filter, asked.pattern_type_filter
    if pattern == MATCH and name is not None:
        same = is_about(acl, name)
    else:
        same = name in (None, acl.resource_name) and pattern in (ANY, MATCH, acl.pattern_type)
    wanted: Sequence[tuple[object, object, object]] = (
        (asked.resource_type_filter, ANY, acl.resource_type),
        (asked.principal_filter, None, acl.principal),
        (asked.host_filter, None, acl.host),
        (asked.operation, ANY, acl.operation),
        (asked.permission_type, ANY, acl.permission),
    )
    return same and all(one in (every, there) for one, every, there in wanted)
