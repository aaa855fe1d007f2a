"""What a test sees of one consumer group: `broker.group("g")`, `broker.aio.group("g")`.

As with topics, a view holds no state and each of its verbs is one call or one wait of the bridge.
Waits end with the step in which the group got there: what a group is, is what its coordinator
wrote, and a write is a step. `GroupView` has the verbs, `ClusterGroupView` how they are done in a
broker of this process.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Generic, TypeVar

from mockbroker.state import groups
from mockbroker.testing.topic_view import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.groups import Group, Member, Sharing
    from mockbroker.testing.bridge import Caller
    from mockbroker_protocol.errors import ErrorCode

    Offsets = dict[tuple[str, int], int]

__tracebackhide__ = True

S = TypeVar("S")


class GroupView(ABC, Generic[S]):
    """One group, from any thread."""

    def __init__(self, bridge: Caller[S], group_id: str) -> None:
        self._bridge = bridge
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"GroupView({self.group_id!r})"

    def describe(self) -> Group:
        """State, generation or epoch, protocol and members; Dead when there is no such group."""
        return self._bridge.call(self._describe)

    @property
    def state(self) -> str:
        """Kafka's word for it: Empty, Stable, Dead, and while it rebalances PreparingRebalance or
        CompletingRebalance of a classic group, Assigning or Reconciling of a consumer group.
        """
        return self._bridge.call(lambda source: self._describe(source).state)

    def members(self) -> list[Member]:
        """Its members, each with the partitions that it was assigned."""
        return self._bridge.call(lambda source: self._describe(source).members)

    def committed(self) -> dict[tuple[str, int], int]:
        """Committed offsets by (topic, partition)."""
        return self._bridge.call(self._committed)

    def lag(self) -> dict[tuple[str, int], int]:
        """Records behind the high watermark, of what it committed or has assigned."""
        return self._bridge.call(self._lag)

    def sharing(self) -> dict[tuple[str, int], Sharing]:
        """The partitions that its members share, with `coop.extension.enable`: what is committed
        beyond the stable offset, who reads which slots of keys, and what is leased to whom.
        """
        return self._bridge.call(self._sharing)

    def expire_leases(self) -> int:
        """End all leases of its cooperative fetches, as if their time were over; how many."""
        return self._bridge.call(self._expire_leases)

    def wait_stable(
        self, members: int | None = None, timeout: float = DEFAULT_TIMEOUT_SECONDS
    ) -> Group:
        """Wait until it is Stable with exactly that many members (None: any)."""

        def settled(group: Group) -> bool:
            count = len(group.members)
            wanted = count > 0 if members is None else count == members
            return group.state == groups.STABLE and wanted

        wanted = "" if members is None else f" with {members} member(s)"
        return self._until(settled, f"be Stable{wanted}", timeout)

    def wait_state(self, *states: str, timeout: float = DEFAULT_TIMEOUT_SECONDS) -> Group:
        """Wait until its state is one of these; see `state` for the words."""
        return self._until(
            lambda group: group.state in states, f"be {' or '.join(states)}", timeout
        )

    def wait_empty(self, timeout: float = DEFAULT_TIMEOUT_SECONDS) -> Group:
        """Wait until it has no members."""
        return self._until(
            lambda group: group.state in (groups.EMPTY, groups.DEAD), "be empty", timeout
        )

    def wait_committed(
        self,
        offsets: Mapping[tuple[str, int], int],
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> dict[tuple[str, int], int]:
        """Wait until it has committed at least these offsets, by (topic, partition)."""

        def reached(source: S) -> Offsets | None:
            committed = self._committed(source)
            there = all(committed.get(at, -1) >= offset for at, offset in offsets.items())
            return committed if there else None

        explain = self._instead(f"commit {dict(offsets)}", timeout)
        return self._bridge.wait(reached, timeout, explain)

    def wait_caught_up(
        self,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
        *,
        topics: Collection[str] | None = None,
    ) -> dict[tuple[str, int], int]:
        """Wait until it has committed all that there is, of these topics (None: of all its own).

        What a group reads and never commits, such as changelogs, has to be left out.
        """

        def caught_up(source: S) -> Offsets | None:
            lag = self._lag(source)
            if topics is not None:
                lag = {at: behind for at, behind in lag.items() if at[0] in topics}
            return lag if lag and not any(lag.values()) else None

        wanted = "catch up" if topics is None else f"catch up in {', '.join(topics)}"
        return self._bridge.wait(caught_up, timeout, self._instead(wanted, timeout))

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> dict[tuple[str, int], int]:
        """Commit for it from outside; returns all that it has committed then.

        Raises GroupError while it has members.
        """
        return self._commit(offsets)

    def delete(self) -> None:
        """Forget it and its offsets; members are told that they are unknown."""
        return self._bridge.call(self._delete)

    def _until(self, condition: Callable[[Group], bool], wanted: str, timeout: float) -> Group:
        def reached(source: S) -> Group | None:
            group = self._describe(source)
            return group if condition(group) else None

        return self._bridge.wait(reached, timeout, self._instead(wanted, timeout))

    def _instead(self, wanted: str, timeout: float) -> Callable[[S], str]:
        def explain(source: S) -> str:
            group = self._describe(source)
            first = (
                f"waited {timeout:g} s for group {self.group_id} to {wanted}: it is {group.state}"
                f" with {len(group.members)} member(s), committed {self._committed(source)},"
                f" lag {self._lag(source)}"
            )
            lines = [first]
            lines += [f"  {member}" for member in group.members]
            if group.state == groups.DEAD:
                lines.append(f"  groups: {', '.join(self._group_ids(source)) or 'none'}")
            return "\n".join(lines)

        return explain

    # -- how it is done where the bridge leads -------------------------------------------------

    @abstractmethod
    def _describe(self, source: S) -> Group: ...

    @abstractmethod
    def _committed(self, source: S) -> Offsets: ...

    @abstractmethod
    def _lag(self, source: S) -> Offsets: ...

    @abstractmethod
    def _sharing(self, source: S) -> dict[tuple[str, int], Sharing]: ...

    @abstractmethod
    def _expire_leases(self, source: S) -> int: ...

    @abstractmethod
    def _group_ids(self, source: S) -> list[str]: ...

    @abstractmethod
    def _commit(self, offsets: Mapping[tuple[str, int], int]) -> Offsets:
        """Commit, and return what is committed then; one call or wait of the bridge."""

    @abstractmethod
    def _delete(self, source: S) -> None: ...


class ClusterGroupView(GroupView["Cluster"]):
    """A group of a broker in this process."""

    def _describe(self, source: Cluster) -> Group:
        return groups.describe_group(source, self.group_id)

    def _committed(self, source: Cluster) -> Offsets:
        return groups.committed_offsets(source, self.group_id)

    def _lag(self, source: Cluster) -> Offsets:
        return groups.lag(source, self.group_id)

    def _sharing(self, source: Cluster) -> dict[tuple[str, int], Sharing]:
        return groups.sharing(source, self.group_id)

    def _expire_leases(self, source: Cluster) -> int:
        return groups.expire_leases(source, self.group_id)

    def _group_ids(self, source: Cluster) -> list[str]:
        return groups.group_ids(source)

    def _commit(self, offsets: Mapping[tuple[str, int], int]) -> Offsets:
        outcome: list[ErrorCode] = []

        def commit(cluster: Cluster) -> None:
            groups.commit_offsets(cluster, self.group_id, offsets, outcome)

        def written(cluster: Cluster) -> Offsets | None:
            if not outcome:
                return None
            groups.check_commit(self.group_id, outcome)
            return self._committed(cluster)

        return self._bridge.wait(
            written,
            DEFAULT_TIMEOUT_SECONDS,
            lambda _: f"group {self.group_id}: the commit was not replicated",
            begin=(groups.ensure_coordinators, commit),
        )

    def _delete(self, source: Cluster) -> None:
        groups.delete_group(source, self.group_id)
