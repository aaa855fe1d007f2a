"""What a leader knows of its followers, and what it makes of it, held against the followers.

- A follower has what its leader takes it to have, while both are in one leader epoch. What is known
  of followers is of that epoch alone, which begins behind all batches of those before.
- When a high watermark moves it is the smallest end among those that hold it back: the larger
  in-sync set, and who has caught up and may join (Partition.maybeIncrementLeaderHW). It stands
  still while it is held, and below min.insync.replicas (KIP-966).
- A leader notes the in-sync set that it proposes (KIP-497). Who joins has all up to the high
  watermark and up to where the leader's epoch began; who is at the leader's end does not leave,
  nor does who was when he last polled, however quietly, not long ago. Of a proposal that was taken
  he hears before he makes another.
- Who fetches from before the end has not caught up by that, and who left the in-sync set has to
  catch up anew. The low watermark is the smallest log start of those that are there (KIP-107).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.journal import HighWatermarkMoved
from mockbroker.replica.in_sync import NEVER
from simulation.cluster.refusals import least_in_sync

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.cluster.nodes import Node
    from mockbroker.journal import Event
    from mockbroker.node.broker import Broker
    from mockbroker.replica.in_sync import Follower, Followers
    from mockbroker.replica.manager import ReplicaManager
    from mockbroker.replica.partition import Partition
    from simulation.cluster.truth import ReplicaState, Truth
    from simulation.cluster.world import ClusterWorld


class FollowerAudits:
    """Watches leaders; what is wrong goes to `world.violate`."""

    def __init__(self, world: ClusterWorld, truth: Truth, *, tails_are_lost: bool = False) -> None:
        self._world = world
        self._tails_are_lost = tails_are_lost
        """A follower may come back with less than its leader knows of, until it has fetched."""
        self._truth = truth
        self._lag_ms = world.cluster.brokers[0].services.replicas.max_lag_ms()
        self._hosts: set[ReplicaManager] = set()
        """Whose proposals are heard."""
        self._proposed: dict[Partition, tuple[tuple[int, int], list[int]]] = {}
        """What a leader proposed last, and in which epochs of leader and partition."""
        self._ends: dict[Partition, list[tuple[float, int]]] = {}
        """When the logs of leaders grew, and where they ended then."""
        self._in_sync: dict[Followers, tuple[float, list[int]]] = {}
        """When a leader was last looked at, and its in-sync set then."""
        self._known_in: dict[Followers, int] = {}
        """The leader epoch in which it was first seen."""
        truth.on_replica.append(self._on_replica)
        world.cluster.journal.listen(self._on_moved, high_watermarks=True)

    def _on_moved(self, event: Event) -> None:
        if not isinstance(event, HighWatermarkMoved) or event.after <= event.before:
            return
        broker = self._world.cluster.broker(event.broker_id)
        partition = (
            None
            if broker is None
            else broker.services.replicas.partition(event.topic, event.partition)
        )
        if broker is None or partition is None or not partition.is_leader:
            return
        if partition.high_watermark_held:
            self._world.violate(f"{partition} of {event.broker_id}: a held high watermark moved")
        least = least_in_sync(broker, partition)
        if len(partition.state.isr) < least:
            self._world.violate(
                f"{partition} of {event.broker_id}: its high watermark moved with "
                f"{partition.state.isr} of at least {least} in sync"
            )
        wanted = self._smallest_end(broker, partition)
        if event.after != wanted:
            self._world.violate(
                f"{partition} of {event.broker_id}: its high watermark went to {event.after}, its "
                f"in-sync replicas have {wanted}"
            )

    def _smallest_end(self, broker: Broker, partition: Partition) -> int:
        """Of the leader and of all followers that hold its high watermark back."""
        assert partition.log is not None
        ends = [partition.log.log_end_offset]
        followers = partition.followers
        now_ms = broker.services.clock.now_ms
        for follower in () if followers is None else followers.all():
            assert followers is not None
            node = follower.replica_id
            known = broker.services.metadata.brokers.get(node)
            may_join = (
                known is not None
                and known.active
                and (follower.broker_epoch < 0 or follower.broker_epoch >= known.epoch)
                and now_ms - follower.caught_up_ms <= self._lag_ms
            )
            if node in partition.state.isr or node in (followers.proposed or ()) or may_join:
                ends.append(follower.log_end_offset)
        return min(ends)

    # -- proposals ---------------------------------------------------------------------------

    def _hear(self, broker: Broker) -> None:
        """Be told what the leaders of an incarnation propose from now on."""
        replicas = broker.services.replicas
        propose = replicas.propose_isr
        if replicas in self._hosts or propose is None:
            return
        self._hosts.add(replicas)

        def proposes(partition: Partition, isr: list[int]) -> None:
            wrong = self._wrong_proposal(partition, isr) or self._taken_before(partition, isr)
            if wrong:
                self._world.violate(f"{partition}: {broker.broker_id} proposes {isr}: {wrong}")
            propose(partition, isr)

        replicas.propose_isr = proposes

    def _wrong_proposal(self, partition: Partition, isr: list[int]) -> str:
        followers, log = partition.followers, partition.log
        before = partition.state.isr
        if followers is None or followers.proposed is not isr:
            return "it does not note that"
        end = 0 if log is None else log.log_end_offset
        for node in set(isr) ^ set(before):
            follower = followers.get(node)
            has = -1 if follower is None else follower.log_end_offset
            if follower is not None and follower.reader is not None:
                has = min(has, follower.reader.fetch_offset)  # as it has asked itself
            if node in isr and has < max(partition.high_watermark, _epoch_start(partition)):
                return f"{node} has {has} of {partition.high_watermark} records"
            if node in before and has == end:
                return f"{node} is at the end, {end}"
            if node in before and follower is not None and follower.reader is not None:
                polled_ms = follower.reader.polled_ms()
                if self._was_at_end(partition, follower, polled_ms):
                    return f"{node} was at the end at {polled_ms:.3f}"
        return ""

    def _taken_before(self, partition: Partition, isr: list[int]) -> str:
        """A leader that proposes another set waits for news of the one before, if it was taken."""
        epochs = partition.leader_epoch, partition.state.partition_epoch
        known_epochs, before = self._proposed.get(partition, (epochs, []))
        self._proposed[partition] = epochs, isr
        topic = self._world.cluster.metadata.topics_by_id.get(partition.topic_id)
        if topic is None or known_epochs != epochs or partition.index >= len(topic.partitions):
            return ""
        state = topic.partitions[partition.index]
        is_taken = state.leader_epoch == epochs[0] and state.partition_epoch == epochs[1] + 1
        return f"{before} was taken" if is_taken and [*state.isr] == before else ""

    def _was_at_end(self, partition: Partition, follower: Follower, polled_ms: float) -> bool:
        """Whether a follower had all when it polled, not long ago."""
        ends = self._ends.get(partition, [])
        if not ends or ends[0][0] > polled_ms or self._world.now_ms - polled_ms > self._lag_ms:
            return False
        if ends[-1][1] != (0 if partition.log is None else partition.log.log_end_offset):
            return False  # it has grown since, maybe before that poll: nobody looks any more
        # The time of a poll has no fraction: what came in the same millisecond may be before it.
        return follower.log_end_offset >= max(end for at, end in ends if at <= polled_ms + 1)

    # -- what leaders make of it -------------------------------------------------------------

    def look(self, broker: Broker) -> None:
        """What a broker knows of the followers of all that it leads."""
        now_ms = broker.services.clock.now_ms
        for partition in broker.services.replicas.led_partitions():
            followers = partition.followers
            assert followers is not None
            for wrong in self._wrong_progress(partition, followers):
                self._world.violate(f"{partition} of {broker.broker_id}: {wrong}")
            self._in_sync[followers] = now_ms, partition.state.isr
            known_in = self._known_in.setdefault(followers, partition.leader_epoch)
            if known_in != partition.leader_epoch:
                self._world.violate(
                    f"{partition} of {broker.broker_id}: its followers are those of epoch "
                    f"{known_in}, not of {partition.leader_epoch}"
                )
            begins = _known_epoch_start(partition)
            if partition.epoch_start_offset < begins:
                self._world.violate(
                    f"{partition} of {broker.broker_id}: its epoch begins at {begins}, not at "
                    f"{partition.epoch_start_offset}"
                )
            starts = [0 if partition.log is None else partition.log.log_start_offset]
            for follower in followers.all():
                known = broker.services.metadata.brokers.get(follower.replica_id)
                if known is not None and not known.fenced:
                    starts.append(follower.log_start_offset)
            if partition.low_watermark() != min(starts):
                self._world.violate(
                    f"{partition} of {broker.broker_id}: its low watermark is "
                    f"{partition.low_watermark()}, its replicas start at {starts}"
                )

    def _wrong_progress(self, partition: Partition, followers: Followers) -> Iterator[str]:
        looked_ms, before = self._in_sync.get(followers, (0.0, []))
        began_ms = followers._now_ms  # noqa: SLF001 -- when all were taken to have caught up
        for follower in followers.all():
            node, end = follower.replica_id, follower.log_end_offset
            caught_up_ms = follower.caught_up_ms
            short = end < follower.leader_end_offset
            if short and caught_up_ms == follower.fetched_ms != began_ms:
                ends = self._ends.get(partition, ())
                if end >= max((one for at, one in ends if at < caught_up_ms), default=0):
                    continue  # it fetched twice in that instant, and was at the end at first
                yield f"{node} has caught up with {end} of {follower.leader_end_offset}"
            left = node in before and node not in partition.state.isr
            # The next fetch may count as of the one before it (Replica.updateFetchStateOrThrow). It
            # may have come in the instant of the last look, and after it.
            if left and follower.fetched_ms < looked_ms and NEVER < caught_up_ms < looked_ms:
                yield f"{node} left the set, and has caught up since {caught_up_ms:.3f}"

    # -- what followers have -----------------------------------------------------------------

    def _on_replica(self, at: Node, partition: Partition, _before: ReplicaState | None) -> None:
        end = 0 if partition.log is None else partition.log.log_end_offset
        if partition.followers is None:
            self._ends.pop(partition, None)
        else:
            self._ends.setdefault(partition, []).append((self._world.now_ms, end))
        if at.broker is not None:
            self._hear(at.broker)
        if partition.followers is None:
            return
        for follower in partition.followers.all():
            peer = self._world.cluster.broker(follower.replica_id)
            if peer is None or (self._tails_are_lost and not self._has_fetched(follower)):
                continue
            replica = peer.services.replicas.partition(partition.topic, partition.index)
            if (
                replica is not None
                and replica.topic_id == partition.topic_id
                and replica.leader_epoch == partition.leader_epoch
            ):
                has = 0 if replica.log is None else replica.log.log_end_offset
                if follower.log_end_offset > has:
                    self._world.violate(
                        f"{partition}: its leader {at.node_id} takes {follower.replica_id} to have "
                        f"{follower.log_end_offset} records, which has {has}"
                    )

    def _has_fetched(self, follower: Follower) -> bool:
        """Whether it has told its leader what it has since it was last started."""
        running = self._world.peers.running.get(follower.replica_id)
        return running is not None and follower.broker_epoch == running.fetchers.broker_epoch


def _known_epoch_start(partition: Partition) -> int:
    """Where the log has its leader's epoch begin; 0 where records were deleted up to there."""
    log = partition.log
    epoch, start = (-1, 0) if log is None else (log.leader_epochs() or [(-1, 0)])[-1]
    is_known = log is not None and epoch == partition.leader_epoch and start > log.log_start_offset
    return start if is_known else 0


def _epoch_start(partition: Partition) -> int:
    """Where the leader's epoch began: with its first batch, or with the next."""
    log = partition.log
    if log is None:
        return 0
    for header, _ in log.iterate_batches(log.log_start_offset):
        if header.partition_leader_epoch == partition.leader_epoch:
            return int(header.base_offset)
    return log.log_end_offset
