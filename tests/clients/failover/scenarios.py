"""What befalls three brokers under a client's load; the same for every client library.

Each scenario is given a fresh cluster, a client and its ledger. It waits for records
to be acknowledged before and after each thing that it does, and checks the ledger against the logs
of all replicas in the end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Protocol

from mockbroker.faults import Fault
from mockbroker.testing.bridge import WaitTimeoutError
from mockbroker_protocol.errors import ErrorCode
from tests.clients.failover.ledger import (
    DEADLINE_S,
    GROUP,
    PARTITIONS,
    TOPIC,
    Ledger,
    Logs,
    whole,
)

if TYPE_CHECKING:
    from mockbroker.testing.mock_broker import MockBroker

# So many acknowledged records tell that a producer goes on.
SOME = 40


class Client(Protocol):
    """A producer and the members of a group, of one library. Each returns at once if it does not
    say otherwise.

    The producer is idempotent, with acks=all; where its library gives it up for good there is a new
    one, as an application would make it. What happens is told to the ledger.
    """

    def produce(self) -> None:
        """Send numbered records until `pause`."""

    def pause(self) -> None:
        """Send no more, and wait until all that was sent is acknowledged or given up."""

    def join(self, member: int) -> None:
        """One more member of the group reads, and commits after each batch."""

    def leave(self, member: int) -> None:
        """A member leaves the group."""

    def wait_left(self, members: int) -> None:
        """Wait until so many members have left."""


class Run(NamedTuple):
    """A cluster with a client of it."""

    broker: MockBroker
    client: Client
    ledger: Ledger
    resumes_at_divergence: bool = True
    """Whether a consumer whose log was truncated reads on where the logs part (KIP-320); else it
    is out of range, and begins anew as auto.offset.reset says."""
    outlives_truncation: bool = True
    """Whether the producer gives no record up when a log that was cut lacks its last ones."""
    leaves_dead_coordinator: bool = True
    """Whether a member without partitions looks for another coordinator while one is down; else it
    knocks there until that one is back."""


def begun(run: Run, replicas: int = 3) -> tuple[MockBroker, Client, Ledger]:
    """The topic is there, and the client writes and reads."""
    run.broker.topic(TOPIC).create(PARTITIONS, replication_factor=replicas)
    run.client.join(0)
    run.client.produce()
    run.ledger.wait_acknowledged(SOME)
    return run.broker, run.client, run.ledger


def leader_killed(run: Run) -> None:
    """The leader dies under load, and comes back."""
    broker, client, ledger = begun(run)
    leader = broker.cluster.leader(TOPIC, 0)
    broker.cluster.kill(leader)
    ledger.wait_acknowledged(SOME)
    broker.cluster.revive(leader)
    ledger.wait_acknowledged(SOME)
    client.pause()
    logs = final_logs(broker)
    finish(run, logs)
    ledger.check_written(logs)
    assert not ledger.refused
    ledger.check_read({part: whole(log) for part, log in logs.items()})


def coordinator_moved(run: Run) -> None:
    """In the middle of a rebalance another broker coordinates; in the next one it dies."""
    broker, client, ledger = begun(run)
    ledger.wait_for(lambda: len(ledger.reads) > SOME, "reading")
    old = broker.cluster.coordinator(GROUP)
    new = old % 3 + 1
    rebalancing(run, joins=1)
    broker.cluster.move_coordinator(GROUP, to=new)
    broker.faults.clear()
    broker.group(GROUP).wait_stable(members=2, timeout=DEADLINE_S)
    seen = len(ledger.reads)
    ledger.wait_for(
        lambda: {one.member for one in ledger.reads[seen:]} == {0, 1}, "both members reading"
    )
    rebalancing(run, joins=2)
    broker.cluster.kill(new)
    broker.faults.clear()
    assert broker.cluster.coordinator(GROUP) not in (new, -1)
    if run.leaves_dead_coordinator:
        broker.group(GROUP).wait_stable(members=3, timeout=DEADLINE_S)
    broker.cluster.revive(new)
    broker.group(GROUP).wait_stable(members=3, timeout=DEADLINE_S)
    ledger.wait_acknowledged(SOME)
    client.pause()
    logs = final_logs(broker)
    finish(run, logs, members=3)
    ledger.check_written(logs)
    assert not ledger.refused
    ledger.check_shared(logs)


def rebalancing(run: Run, joins: int) -> None:
    """A member joins, and the rebalance is in its middle until the faults are cleared.

    Of a classic group all that the leader assigned is held back; of a consumer group the
    heartbeats of the present members, who have partitions to give away.
    """
    run.broker.faults.add(
        Fault(api="SyncGroup", group=GROUP, park=True, maybe=True),
        Fault(
            api="ConsumerGroupHeartbeat", client=f"member-[0-{joins - 1}]", park=True, maybe=True
        ),
    )
    run.client.join(joins)
    run.broker.group(GROUP).wait_state("CompletingRebalance", "Reconciling", timeout=DEADLINE_S)


def partition_reassigned(run: Run) -> None:
    """Under load a partition leaves its leader for a new broker, then takes a third one."""
    broker, client, ledger = begun(run, replicas=2)
    leader, follower = broker.cluster.replicas(TOPIC, 0)
    (other,) = {1, 2, 3} - {leader, follower}
    for replicas in ([follower, other], [other], [other, leader, follower]):
        broker.cluster.reassign(TOPIC, 0, replicas)
        broker.cluster.wait_in_sync(TOPIC, 0, replicas, timeout=DEADLINE_S)
        ledger.wait_acknowledged(SOME)
        if len(replicas) < 3:
            assert broker.cluster.records(TOPIC, 0, leader) == []
    client.pause()
    logs = final_logs(broker)
    finish(run, logs)
    ledger.check_written(logs)
    assert not ledger.refused
    ledger.check_read({part: whole(log) for part, log in logs.items()})


def unclean_election(run: Run) -> None:
    """A leader goes on alone and dies; a follower that lagged behind leads, and logs are cut."""
    broker, client, ledger = begun(run)
    cluster = broker.cluster
    leader, *followers = cluster.replicas(TOPIC, 0)
    for follower in followers:
        cluster.hold_follower(TOPIC, 0, follower)
        cluster.shrink_isr(TOPIC, 0, without=follower)
    # From here on min.insync.replicas=1 acknowledges what the leader alone has; what is told first
    # may have been with the followers before.
    with_followers = max(len(log_of(broker, 0, follower)) for follower in followers)
    ledger.wait_acknowledged(SOME)
    while len(log_of(broker, 0, leader)) < with_followers + SOME:
        ledger.wait_acknowledged(SOME)
    client.pause()
    before = {part: log_of(broker, part, cluster.leader(TOPIC, part)) for part in range(PARTITIONS)}
    ledger.wait_read(before)
    ledger.check_written(before)
    cluster.kill(leader)
    assert cluster.leader(TOPIC, 0) == -1
    cluster.elect_unclean(TOPIC, 0)
    new = cluster.leader(TOPIC, 0)
    assert new in followers
    kept = len(log_of(broker, 0, new))
    lost = frozenset(before[0][kept:])
    assert len(lost) >= SOME
    for follower in followers:
        cluster.release_follower(TOPIC, 0, follower)
    if not run.resumes_at_divergence:
        # Later there would be records at the consumer's offset again, and it would miss some.
        out_of_range = int(ErrorCode.OFFSET_OUT_OF_RANGE)
        broker.journal.expect(api="Fetch", topic=TOPIC, error=out_of_range).within(DEADLINE_S)
    client.produce()
    ledger.wait_acknowledged(SOME)
    cluster.revive(leader)
    ledger.wait_acknowledged(SOME)
    client.pause()
    logs = final_logs(broker)
    assert logs[0][:kept] == before[0][:kept]
    finish(run, logs)
    ledger.check_written(logs, lost)
    assert bool(ledger.refused) != run.outlives_truncation, set(ledger.refused.values())
    again = kept if run.resumes_at_divergence else 0
    ledger.check_read(
        {0: whole(before[0]) + whole(logs[0], again)}
        | {part: whole(logs[part]) for part in range(1, PARTITIONS)}
    )


def final_logs(broker: MockBroker) -> Logs:
    """What each partition holds, once all replicas hold the same."""
    logs: Logs = {}
    for partition in range(PARTITIONS):
        broker.cluster.wait_in_sync(TOPIC, partition, timeout=DEADLINE_S)
        held = [
            log_of(broker, partition, node) for node in broker.cluster.replicas(TOPIC, partition)
        ]
        assert all(each == held[0] for each in held), "replicas differ"
        logs[partition] = held[0]
    return logs


def log_of(broker: MockBroker, partition: int, node: int) -> list[int]:
    """The numbers in one replica of a partition; offsets count from 0 without gaps."""
    records = broker.cluster.records(TOPIC, partition, node)
    assert [record.offset for record in records] == list(range(len(records)))
    return [int(record.value) for record in records]


def finish(run: Run, logs: Logs, members: int = 1) -> None:
    """All is read and committed, and the members leave."""
    ends = {(TOPIC, part): len(log) for part, log in logs.items()}
    group = run.broker.group(GROUP)
    run.ledger.wait_read(logs)
    try:
        group.wait_committed(ends, timeout=DEADLINE_S)
    except WaitTimeoutError as late:
        raise AssertionError(run.ledger.failures or run.ledger.describe()) from late
    for member in range(members):
        run.client.leave(member)
    run.client.wait_left(members)
    # A consumer that was set back commits less than before.
    assert group.committed() == ends


SCENARIOS = (leader_killed, coordinator_moved, partition_reassigned, unclean_election)
