"""What a leader knows of its followers, and what follows: the high watermark, the in-sync set.

A `Partition` that leads and has other replicas holds one `Followers`; it is made anew with each
leader epoch (Kafka: Partition, Replica). Proposed in-sync sets go to the controller and count when
the metadata say so; until then the larger of both sets holds the high watermark back (KIP-497).

A follower that polls an idle partition in its session is not met by that poll: when it last
fetched is then read off the session, at the next append.

Invariant: at most one proposal of a partition is under way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.brokers import UNKNOWN_EPOCH, is_stale

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker.metadata.changes import PartitionState
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.replica.hosted_log import PartitionReader

UNKNOWN_OFFSET: Final = -1
NEVER: Final = float("-inf")


class Follower:
    """One follower's progress, as its fetches tell (Kafka: ReplicaState)."""

    __slots__ = (
        "broker_epoch",
        "caught_up_ms",
        "fetched_ms",
        "leader_end_offset",
        "log_end_offset",
        "log_start_offset",
        "reader",
        "replica_id",
    )

    def __init__(self, replica_id: int, caught_up_ms: float) -> None:
        self.replica_id = replica_id
        self.log_end_offset = UNKNOWN_OFFSET
        self.log_start_offset = UNKNOWN_OFFSET
        self.caught_up_ms = caught_up_ms
        self.fetched_ms = 0.0
        self.leader_end_offset = 0
        self.broker_epoch = UNKNOWN_EPOCH
        """The registration under which it fetched last."""
        self.reader: PartitionReader | None = None

    def fetched(
        self,
        reader: PartitionReader,
        leader_end_offset: int,
        now_ms: float,
        broker_epoch: int = UNKNOWN_EPOCH,
    ) -> None:
        """It asked for what follows the reader's offset (Replica.updateFetchStateOrThrow)."""
        offset = reader.fetch_offset
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.log_end_offset = offset
        self.log_start_offset = reader.log_start_offset
        self.leader_end_offset = leader_end_offset
        self.fetched_ms = now_ms
        self.broker_epoch = broker_epoch
        self.reader = reader

    def leader_appended(self, end_before: int) -> None:
        """The leader's log grew from `end_before`, up to where this follower may have polled idly.

        A poll of its session that did not name this partition counts as one at the leader's end.
        """
        reader = self.reader
        if reader is not None and self.log_end_offset == end_before:
            polled_ms = reader.polled_ms()
            if polled_ms > self.fetched_ms:
                self.fetched_ms = polled_ms
                self.caught_up_ms = max(self.caught_up_ms, polled_ms)

    def removed_from_isr(self) -> None:
        """It left the in-sync set: only what it fetches from now on brings it back."""
        if self.reader is not None:
            self.fetched_ms = max(self.fetched_ms, self.reader.polled_ms())
        self.caught_up_ms = NEVER

    def is_caught_up(self, leader_end_offset: int, now_ms: float, max_lag_ms: float) -> bool:
        """Whether it is at the leader's end, or was not long ago (ReplicaState.isCaughtUp)."""
        return self.log_end_offset == leader_end_offset or now_ms - self.caught_up_ms <= max_lag_ms


class Followers:
    """All followers of a partition that is led here. `state` is the one in force."""

    __slots__ = ("_by_id", "_metadata", "_now_ms", "leader_id", "proposed", "state")

    def __init__(
        self, leader_id: int, state: PartitionState, metadata: MetadataStore, now_ms: float
    ) -> None:
        self.leader_id = leader_id
        self.state = state
        self.proposed: list[int] | None = None
        """The in-sync set that the controller was asked for."""
        self._metadata = metadata
        self._now_ms = now_ms
        self._by_id: dict[int, Follower] = {}
        self.update(state)

    def update(self, state: PartitionState) -> None:
        """Replicas or the in-sync set changed under the same leader; a proposal is settled."""
        known = self._by_id
        for node in self.state.isr:
            # Who was removed from the set holds nothing back, however lately it had caught up.
            if node in known and node not in state.isr:
                known[node].removed_from_isr()
        self.state = state
        self.proposed = None
        # Who is in the set is taken to be caught up as of now (Partition.makeLeader).
        self._by_id = {
            node: known.get(node) or Follower(node, self._now_ms if node in state.isr else NEVER)
            for node in state.replicas
            if node != self.leader_id
        }

    def get(self, replica_id: int) -> Follower | None:
        """The follower, if it is one."""
        return self._by_id.get(replica_id)

    def all(self) -> Iterable[Follower]:
        """The followers, in the order of the replicas."""
        return self._by_id.values()

    def leader_appended(self, end_before: int) -> None:
        """The leader appended."""
        for follower in self._by_id.values():
            follower.leader_appended(end_before)

    def caught_up_idle(self, replica_id: int, leader_end: int) -> Follower | None:
        """A follower out of the set that polled at the leader's end without being met, if it did.

        None too while a proposal is under way.
        """
        follower = self._by_id.get(replica_id)
        if (
            follower is None
            or follower.reader is None
            or self.proposed is not None
            or replica_id in self.state.isr
            or follower.log_end_offset != leader_end
        ):
            return None
        follower.leader_appended(leader_end)
        return follower if follower.caught_up_ms == follower.fetched_ms else None

    def may_expand_idle(self, replica_id: int, leader_end: int) -> bool:
        """Whether a poll at the leader's end may bring this follower back into the set."""
        follower = self._by_id.get(replica_id)
        return (
            follower is not None
            and replica_id not in self.state.isr
            and follower.log_end_offset == leader_end
            and self.may_join(replica_id)
        )

    def high_watermark(self, leader_end: int, now_ms: float, max_lag_ms: float) -> int:
        """The smallest end offset among those that hold the high watermark back.

        These are the larger in-sync set, and whoever else has caught up and may join
        (Partition.maybeIncrementLeaderHW).
        """
        isr = self.state.isr
        proposed = self.proposed
        smallest = leader_end
        for follower in self._by_id.values():
            end = follower.log_end_offset
            if end >= smallest:
                continue
            node = follower.replica_id
            if (
                node in isr
                or (proposed is not None and node in proposed)
                or (now_ms - follower.caught_up_ms <= max_lag_ms and self.may_join(node))
            ):
                smallest = end
        return smallest

    def low_watermark(self, leader_start: int) -> int:
        """The smallest log start among the leader and the live followers (KIP-107)."""
        brokers = self._metadata.brokers
        smallest = leader_start
        for follower in self._by_id.values():
            if follower.log_start_offset < smallest:
                broker = brokers.get(follower.replica_id)
                if broker is not None and not broker.fenced:
                    smallest = follower.log_start_offset
        return smallest

    def may_join(self, replica_id: int) -> bool:
        """Whether the metadata let it be in sync: it is there and stays.

        What it fetched before it registered anew may be lost since (KIP-903; Kafka:
        Partition.isReplicaIsrEligible).
        """
        broker = self._metadata.brokers.get(replica_id)
        return (
            broker is not None
            and broker.active
            and not is_stale(broker, self.broker_epoch(replica_id))
        )

    def broker_epoch(self, replica_id: int) -> int:
        """Under which registration a follower fetched last; -1: it did not say, or is none."""
        follower = self._by_id.get(replica_id)
        return UNKNOWN_EPOCH if follower is None else follower.broker_epoch

    def preferred_replica(self, rack: str, offset: int) -> int:
        """The in-sync follower in `rack` that has `offset` and most behind it; -1: the leader.

        KIP-392: RackAwareReplicaSelector. A leader in that rack wins.
        """
        brokers = self._metadata.brokers
        own = brokers.get(self.leader_id)
        if own is not None and own.rack == rack:
            return -1
        best: Follower | None = None
        for follower in self._by_id.values():
            broker = brokers.get(follower.replica_id)
            if (
                broker is None
                or broker.fenced
                or broker.rack != rack
                or follower.replica_id not in self.state.isr
                or not follower.log_start_offset <= offset <= follower.log_end_offset
            ):
                continue
            if best is None or follower.log_end_offset > best.log_end_offset:
                best = follower
        return -1 if best is None else best.replica_id

    def expansion(
        self, follower: Follower, high_watermark: int, epoch_start_offset: int
    ) -> list[int] | None:
        """The in-sync set with this follower, once it has caught up (maybeExpandIsr)."""
        isr = self.state.isr
        if (
            self.proposed is not None
            or follower.replica_id in isr
            or follower.log_end_offset < max(high_watermark, epoch_start_offset)
            or not self.may_join(follower.replica_id)
        ):
            return None
        return [*isr, follower.replica_id]

    def shrinkage(self, leader_end: int, now_ms: float, max_lag_ms: float) -> list[int] | None:
        """The in-sync set without those that lag; None when nobody does (maybeShrinkIsr)."""
        if self.proposed is not None:
            return None
        isr = [
            node
            for node in self.state.isr
            if (follower := self._by_id.get(node)) is None
            or follower.is_caught_up(leader_end, now_ms, max_lag_ms)
        ]
        return isr if len(isr) < len(self.state.isr) else None
