"""What an assignor is given and what it gives: a group as values, and partitions by member.

`target` makes the `GroupSpec`; each assignor of `assignors` reads it and changes nothing in it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from mockbroker.coordinator.group.consumer.java_order import ordered_strings

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# topic id → partitions
Partitions: TypeAlias = "dict[bytes, tuple[int, ...]]"
# member id → partitions
Assignments: TypeAlias = "dict[str, Partitions]"
Assignor: TypeAlias = "Callable[[GroupSpec], Assignments]"


@dataclass(slots=True, eq=False)
class MemberSpec:
    """A member as an assignor sees it; `topic_ids` are those of its topics that exist.

    `server_assignor` is the one that it asks for.
    """

    topic_ids: frozenset[bytes]
    assigned: Partitions
    instance_id: str | None = None
    server_assignor: str | None = None


@dataclass(slots=True, eq=False)
class GroupSpec:
    """The members by id, how many partitions each topic has, and who has a partition now.

    `is_homogeneous` says that all members read the same topics.
    """

    members: Mapping[str, MemberSpec]
    partition_counts: Mapping[bytes, int]
    owners: Mapping[tuple[bytes, int], str]
    is_homogeneous: bool
    member_ids: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.member_ids = ordered_strings(self.members)
