"""What a test sees of one consumer group: `broker.group("g")`, `broker.aio.group("g")`.

As with topics, the views hold no state. Waits end with the step in which the group got there: what
a group is, is what its coordinator wrote, and a write is a step.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.state import groups
from mockbroker.state.cleaning import delete_group
from mockbroker.testing.topic_view import DEFAULT_TIMEOUT_SECONDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.groups import Group, Member
    from mockbroker.testing.bridge import Bridge
    from mockbroker_protocol.errors import ErrorCode

    Offsets = dict[tuple[str, int], int]


class _Group:
    """Makes what the views run."""

    def __init__(self, bridge: Bridge, group_id: str) -> None:
        self._bridge = bridge
        self.group_id = group_id

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.group_id!r})"

    def _describe(self, cluster: Cluster) -> Group:
        return groups.describe_group(cluster, self.group_id)

    def _committed(self, cluster: Cluster) -> Offsets:
        return groups.committed_offsets(cluster, self.group_id)

    def _lag(self, cluster: Cluster) -> Offsets:
        return groups.lag(cluster, self.group_id)

    def _stable(self, members: int | None) -> Callable[[Cluster], Group | None]:
        def settled(cluster: Cluster) -> Group | None:
            group = self._describe(cluster)
            count = len(group.members)
            wanted = count > 0 if members is None else count == members
            return group if group.state == groups.STABLE and wanted else None

        return settled

    def _in_state(self, states: tuple[str, ...]) -> Callable[[Cluster], Group | None]:
        def reached(cluster: Cluster) -> Group | None:
            group = self._describe(cluster)
            return group if group.state in states else None

        return reached

    def _empty(self, cluster: Cluster) -> Group | None:
        group = self._describe(cluster)
        return group if group.state in (groups.EMPTY, groups.DEAD) else None

    def _committed_at_least(
        self, offsets: Mapping[tuple[str, int], int]
    ) -> Callable[[Cluster], Offsets | None]:
        def reached(cluster: Cluster) -> Offsets | None:
            committed = self._committed(cluster)
            there = all(committed.get(at, -1) >= offset for at, offset in offsets.items())
            return committed if there else None

        return reached

    def _caught_up(self, cluster: Cluster) -> Offsets | None:
        lag = self._lag(cluster)
        return lag if lag and not any(lag.values()) else None

    def _instead(self, wanted: str, timeout: float) -> Callable[[Cluster], str]:
        def explain(cluster: Cluster) -> str:
            group = self._describe(cluster)
            first = (
                f"waited {timeout:g} s for group {self.group_id} to {wanted}: it is {group.state}"
                f" with {len(group.members)} member(s), committed {self._committed(cluster)},"
                f" lag {self._lag(cluster)}"
            )
            lines = [first]
            lines += [f"  {member}" for member in group.members]
            if group.state == groups.DEAD:
                lines.append(f"  groups: {', '.join(groups.group_ids(cluster)) or 'none'}")
            return "\n".join(lines)

        return explain

    def _commit(
        self, offsets: Mapping[tuple[str, int], int]
    ) -> Callable[[Cluster], list[ErrorCode]]:
        return lambda cluster: groups.commit_offsets(cluster, self.group_id, offsets)

    def _not_written(self, _cluster: Cluster) -> str:
        return f"group {self.group_id}: the commit was not replicated"

    def _delete(self, cluster: Cluster) -> None:
        delete_group(cluster, self.group_id)


def _be_stable(members: int | None) -> str:
    return "be Stable" if members is None else f"be Stable with {members} member(s)"


class GroupView(_Group):
    """One group, from any thread."""

    def describe(self) -> Group:
        """State, generation or epoch, protocol and members; Dead when there is no such group."""
        return self._bridge.call(self._describe)

    @property
    def state(self) -> str:
        """Kafka's word for it: Empty, Stable, Dead, and while it rebalances PreparingRebalance or
        CompletingRebalance of a classic group, Assigning or Reconciling of a consumer group.
        """
        return self.describe().state

    def members(self) -> list[Member]:
        """Its members, each with the partitions that it was assigned."""
        return self.describe().members

    def committed(self) -> dict[tuple[str, int], int]:
        """Committed offsets by (topic, partition)."""
        return self._bridge.call(self._committed)

    def lag(self) -> dict[tuple[str, int], int]:
        """Records behind the high watermark, of what it committed or has assigned."""
        return self._bridge.call(self._lag)

    def wait_stable(
        self, members: int | None = None, timeout: float = DEFAULT_TIMEOUT_SECONDS
    ) -> Group:
        """Wait until it is Stable with exactly that many members (None: any)."""
        return self._bridge.wait(
            self._stable(members), timeout, self._instead(_be_stable(members), timeout)
        )

    def wait_state(self, *states: str, timeout: float = DEFAULT_TIMEOUT_SECONDS) -> Group:
        """Wait until its state is one of these; see `state` for the words."""
        wanted = f"be {' or '.join(states)}"
        return self._bridge.wait(self._in_state(states), timeout, self._instead(wanted, timeout))

    def wait_empty(self, timeout: float = DEFAULT_TIMEOUT_SECONDS) -> Group:
        """Wait until it has no members."""
        return self._bridge.wait(self._empty, timeout, self._instead("be empty", timeout))

    def wait_committed(
        self,
        offsets: Mapping[tuple[str, int], int],
        timeout: float = DEFAULT_TIMEOUT_SECONDS,
    ) -> dict[tuple[str, int], int]:
        """Wait until it has committed at least these offsets, by (topic, partition)."""
        return self._bridge.wait(
            self._committed_at_least(offsets),
            timeout,
            self._instead(f"commit {dict(offsets)}", timeout),
        )

    def wait_caught_up(
        self, timeout: float = DEFAULT_TIMEOUT_SECONDS
    ) -> dict[tuple[str, int], int]:
        """Wait until it has committed all that there is."""
        return self._bridge.wait(self._caught_up, timeout, self._instead("catch up", timeout))

    def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commit for it from outside. Raises GroupError while it has members."""
        self._bridge.call(groups.ensure_coordinators)
        outcome = self._bridge.call(self._commit(offsets))
        if not outcome:
            self._bridge.wait(lambda _: outcome or None, DEFAULT_TIMEOUT_SECONDS, self._not_written)
        groups.check_commit(self.group_id, outcome)

    def delete(self) -> None:
        """Forget it and its offsets; members are told that they are unknown."""
        self._bridge.call(self._delete)


class AsyncGroupView(_Group):
    """The same for coroutines of any loop; see `GroupView`."""

    async def describe(self) -> Group:
        """State, generation, protocol and members."""
        return await self._bridge.call_async(self._describe)

    async def members(self) -> list[Member]:
        """Its members, each with the partitions that it was assigned."""
        return (await self.describe()).members

    async def committed(self) -> dict[tuple[str, int], int]:
        """Committed offsets by (topic, partition)."""
        return await self._bridge.call_async(self._committed)

    async def lag(self) -> dict[tuple[str, int], int]:
        """Records behind the high watermark, of what it committed or has assigned."""
        return await self._bridge.call_async(self._lag)

    async def wait_stable(
        self,
        members: int | None = None,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109 -- as the blocking view has it
    ) -> Group:
        """Wait until it is Stable with exactly that many members (None: any)."""
        return await self._bridge.wait_async(
            self._stable(members), timeout, self._instead(_be_stable(members), timeout)
        )

    async def wait_state(
        self,
        *states: str,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109 -- as the blocking view has it
    ) -> Group:
        """Wait until its state is one of these."""
        wanted = f"be {' or '.join(states)}"
        return await self._bridge.wait_async(
            self._in_state(states), timeout, self._instead(wanted, timeout)
        )

    async def wait_empty(
        self,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109 -- as above
    ) -> Group:
        """Wait until it has no members."""
        return await self._bridge.wait_async(
            self._empty, timeout, self._instead("be empty", timeout)
        )

    async def wait_committed(
        self,
        offsets: Mapping[tuple[str, int], int],
        timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109 -- as above
    ) -> dict[tuple[str, int], int]:
        """Wait until it has committed at least these offsets, by (topic, partition)."""
        return await self._bridge.wait_async(
            self._committed_at_least(offsets),
            timeout,
            self._instead(f"commit {dict(offsets)}", timeout),
        )

    async def wait_caught_up(
        self,
        timeout: float = DEFAULT_TIMEOUT_SECONDS,  # noqa: ASYNC109 -- as above
    ) -> dict[tuple[str, int], int]:
        """Wait until it has committed all that there is."""
        return await self._bridge.wait_async(
            self._caught_up, timeout, self._instead("catch up", timeout)
        )

    async def commit(self, offsets: Mapping[tuple[str, int], int]) -> None:
        """Commit for it from outside. Raises GroupError while it has members."""
        await self._bridge.call_async(groups.ensure_coordinators)
        outcome = await self._bridge.call_async(self._commit(offsets))
        if not outcome:
            await self._bridge.wait_async(
                lambda _: outcome or None, DEFAULT_TIMEOUT_SECONDS, self._not_written
            )
        groups.check_commit(self.group_id, outcome)

    async def delete(self) -> None:
        """Forget it and its offsets; members are told that they are unknown."""
        await self._bridge.call_async(self._delete)
