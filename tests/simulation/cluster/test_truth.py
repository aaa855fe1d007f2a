"""The rules of replication notice what breaks them."""

from __future__ import annotations

import pytest

from mockbroker.journal import HighWatermarkMoved
from mockbroker.metadata.changes import LeaderChanged, PartitionState
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from simulation.cluster.truth import Mirror, PartitionTruth
from tests.support.simulated_cluster import SimulatedCluster


@pytest.fixture
def simulated() -> SimulatedCluster:
    simulated = SimulatedCluster()
    simulated.produce(2)
    assert not simulated.world.violations
    return simulated


def records(value: bytes) -> bytes:
    return build_batch([Record(0, 0, None, value, [])])


def test_what_is_replicated_is_committed_and_in_every_mirror(simulated: SimulatedCluster) -> None:
    truth = simulated.truth.find("t0", 0)
    assert truth is not None
    assert len(truth.committed) == simulated.producer.acknowledged > 0
    assert all(mirror.entries == truth.committed for mirror in truth.mirrors.values())


def test_a_mirror_reads_on_and_starts_over_where_the_log_was_replaced() -> None:
    from mockbroker.log.unified_log import UnifiedLog

    log, mirror = UnifiedLog(), Mirror()
    log.append_as_leader(records(b"a"), 1, 0)
    log.append_as_leader(records(b"b"), 1, 0)
    assert mirror.read(log) == 0
    assert mirror.read(log) is None
    log.truncate_to(1)
    log.append_as_leader(records(b"c"), 2, 0)
    mirror.read(log)
    assert mirror.entries == [(1, b"=a"), (2, b"=c")]
    assert mirror.read(None) is None
    assert mirror.entries == []


def test_a_mirror_notices_that_a_log_was_cut_whose_last_record_is_compacted_since() -> None:
    from mockbroker.log.unified_log import UnifiedLog

    log, mirror = UnifiedLog(), Mirror()
    for value in (b"a", b"b", b"c"):
        log.append_as_leader(records(value), 1, 0)
    mirror.read(log)
    mirror.high_watermark = 3
    log.truncate_to(1)
    for offset, value in ((1, b"d"), (3, b"e")):  # as of a leader that has compacted 2
        batch = build_batch([Record(offset, 0, None, value, [])], partition_leader_epoch=2)
        log.append_as_follower(batch, 0)
    mirror.read(log)
    assert mirror.entries == [(1, b"=a"), (2, b"=d"), None, (2, b"=e")]


def test_what_a_mirror_knows_of_what_is_there_no_more_is_left_out() -> None:
    from mockbroker.log.unified_log import UnifiedLog

    log, mirror = UnifiedLog(), Mirror()
    for value in (b"a", b"b", b"c"):
        log.append_as_leader(records(value), 1, 0)
    mirror.read(log)
    mirror.high_watermark = 3
    log.truncate_to(1)
    batch = build_batch([Record(3, 0, None, b"e", [])], partition_leader_epoch=2)
    log.append_as_follower(batch, 0)  # as of a leader that has compacted 1 and 2
    mirror.read(log)
    assert mirror.entries[1] == (1, b"=b")
    assert mirror.still_there() == [(1, b"=a"), None, None, (2, b"=e")]


def test_what_a_mirror_knew_below_a_start_that_was_cut_away_is_gone() -> None:
    from mockbroker.log.unified_log import UnifiedLog

    log, mirror = UnifiedLog(), Mirror()
    for value in (b"a", b"b", b"c"):
        log.append_as_leader(records(value), 1, 0)
    mirror.read(log)
    mirror.high_watermark = 3
    log.truncate_fully_and_start_at(3)  # as by retention
    mirror.read(log)
    assert mirror.entries == [(1, b"=a"), (1, b"=b"), (1, b"=c")]
    mirror.log_start_offset = 3
    log.truncate_to(2)
    mirror.read(log)
    assert (log.log_start_offset, mirror.entries) == (2, [None, None])


def test_two_leaders_in_an_epoch_are_noticed(simulated: SimulatedCluster) -> None:
    topic = simulated.world.cluster.metadata.topics["t0"]
    state = topic.partitions[0]
    other = next(node for node in state.isr if node != state.leader)
    twice = PartitionState(other, state.replicas, state.isr, state.leader_epoch, 99)
    simulated.world.cluster.metadata.apply(LeaderChanged("t0", topic.id, 0, twice))
    assert "the controller lets" in simulated.world.violations[0]


def test_a_high_watermark_that_goes_back_is_noticed(simulated: SimulatedCluster) -> None:
    log = simulated.leader_log()
    log.high_watermark -= 1
    simulated.truth.look()
    assert "went back" in simulated.world.violations[0]


def test_a_followers_high_watermark_goes_back_once_an_epoch(simulated: SimulatedCluster) -> None:
    world, node, truth = simulated.world, simulated.follower(), simulated.truth
    partition = simulated.partition_at(node)
    world.run_for(1_000)
    known = partition.high_watermark
    assert truth.lowered_ms("t0", 0, node) == -1
    partition.append_as_follower(b"", known - 1, 0)  # as a new leader answers
    partition.append_as_follower(b"", known, 0)
    truth.look()
    assert truth.lowered_ms("t0", 0, node) == world.now_ms
    assert not world.violations
    partition.append_as_follower(b"", known - 1, 0)
    assert f"of {node}, a follower, went back again" in world.violations[0]


def test_a_log_start_goes_back_after_an_unclean_election_alone(
    simulated: SimulatedCluster,
) -> None:
    truth = simulated.truth.find("t0", 0)
    assert truth is not None
    log = simulated.follower_log()

    def moves_back() -> list[str]:
        for start in (2, 1):
            log.log_start_offset = start
            simulated.truth.look()
        return simulated.world.violations

    truth.unclean_floor = truth.state.leader_epoch
    assert not moves_back()
    assert "the log start of" in moves_back()[0]  # one election, one truncation
    simulated.world.violations.clear()
    truth.unclean_floor = -1
    assert "went back from 2 to 1" in moves_back()[0]


def test_an_empty_follower_begins_with_a_whole_batch(simulated: SimulatedCluster) -> None:
    log = simulated.follower_log()
    three = [Record(offset, 0, None, b"%d" % offset, []) for offset in range(3)]
    end = log.log_end_offset
    log.append_as_leader(build_batch(three), log.latest_epoch, 0)
    for start, before, holds in (
        (end, end + 1, True),
        (end, end + 3, False),
        (end - 1, end, False),
    ):
        log.log_start_offset = before
        simulated.truth.look()
        log.log_start_offset = start
        simulated.world.violations.clear()
        simulated.truth.look()
        assert any("the log start" in told for told in simulated.world.violations) is not holds


def test_a_new_leader_that_forgets_the_high_watermark_is_noticed(
    simulated: SimulatedCluster,
) -> None:
    world = simulated.world
    topic = world.cluster.metadata.topics["t0"]
    state = topic.partitions[0]
    node = next(node for node in state.isr if node != state.leader)
    log = simulated.follower_log()
    known = log.high_watermark
    world.operate(lambda: world.controls.move_leader("t0", 0, node))
    assert not world.violations
    assert known > 0
    log.high_watermark = 0
    simulated.truth.look()
    assert f"went back from {known} to 0" in world.violations[0]


def test_an_in_sync_replica_that_lacks_committed_records_is_noticed(
    simulated: SimulatedCluster,
) -> None:
    follower = simulated.follower_log()
    follower.truncate_to(follower.log_end_offset - 1)
    simulated.truth.look()
    assert "lacks some of" in simulated.world.violations[0]


def test_what_a_broker_has_written_in_its_last_step_is_known(simulated: SimulatedCluster) -> None:
    truth, node, log = simulated.truth.find("t0", 0), simulated.follower(), simulated.follower_log()
    assert truth is not None
    batch = build_batch([Record(log.log_end_offset, 0, None, b"last", [])])

    def stop() -> None:
        log.append_as_follower(batch, 0)
        simulated.world.controls.stop(node)

    simulated.world.operate(stop)
    assert truth.mirrors[node].entries[-1] == (-1, b"=last")


def test_another_record_under_an_offset_and_epoch_is_noticed(simulated: SimulatedCluster) -> None:
    follower = simulated.follower_log()
    epoch = follower.latest_epoch
    follower.truncate_to(follower.log_end_offset - 1)
    simulated.truth.look()
    simulated.world.violations.clear()
    follower.append_as_leader(records(b"other"), epoch, 0)
    simulated.truth.look()
    assert "others have" in simulated.world.violations[0]


def test_what_was_not_committed_is_neither_acknowledged_nor_read(
    simulated: SimulatedCluster,
) -> None:
    simulated.truth.acknowledged("t0", 0, 0, [b"nobody"])
    simulated.truth.was_read("reader", "t0", 0, 10_000, b"producer:1")
    assert len(simulated.world.violations) == 2


def test_what_all_in_sync_have_was_committed(simulated: SimulatedCluster) -> None:
    """Also where the leader that passed it is gone before anybody looked at it."""
    truth = simulated.truth.find("t0", 0)
    assert truth is not None
    (value,) = truth.ever.pop(0)
    assert truth.was_committed(0, value)
    assert not truth.was_committed(0, b"another")
    end = len(truth.mirrors[truth.state.leader].entries)
    assert not truth.was_committed(end, value)
    truth.mirrors[truth.state.isr[-1]].entries[0] = None
    assert not truth.was_committed(0, value)


def test_what_a_leader_of_before_tells_counts_though_it_is_cut_off_in_the_same_step(
    simulated: SimulatedCluster,
) -> None:
    world, truth = simulated.world, simulated.truth
    found = truth.find("t0", 0)
    assert found is not None
    leader = found.state.leader
    partition = simulated.partition_at(leader)
    world.operate(lambda: world.controls.isolate(leader))
    simulated.leader_log().append_as_leader(records(b"v"), partition.leader_epoch, 0)
    truth.look()
    before, end = partition.high_watermark, simulated.leader_log().log_end_offset
    moved = HighWatermarkMoved(leader, "t0", 0, before, end, end)
    world.cluster.journal.record_high_watermark(moved)
    assert before not in found.ever  # its leader: looked at after the step
    world.operate(lambda: world.controls.move_leader("t0", 0, simulated.follower()))
    world.cluster.journal.record_high_watermark(moved)
    assert found.ever[before] == {b"v"}


def test_an_unclean_leader_takes_back_what_it_does_not_have() -> None:
    truth = PartitionTruth("t-0", PartitionState(1, [1, 2], [1, 2]))
    truth.committed = [(0, b"a"), (0, b"b"), (0, b"c")]
    truth.keep_common([(0, b"a"), (1, b"x")])
    assert truth.committed == [(0, b"a")]
    truth.mirrors[1] = Mirror()
    assert not truth.has_committed(1)
    truth.mirrors[1].entries = [(0, b"a")]
    assert truth.has_committed(1)


def test_what_a_leader_has_deleted_may_differ() -> None:
    truth = PartitionTruth("t-0", PartitionState(1, [1, 2], [1, 2]))
    truth.committed = [(0, b"a"), (0, b"b")]
    truth.mirrors[1] = Mirror()
    truth.mirrors[1].entries = [(4, b"x"), (4, b"y")]
    for start, holds in ((1, False), (2, True)):
        truth.log_start_offset = start
        assert truth.has_committed(1) is holds
    truth.mirrors[1].entries.pop()
    assert not truth.has_committed(1)


def test_the_epoch_in_force_is_of_the_leader_that_has_heard_of_it(
    simulated: SimulatedCluster,
) -> None:
    world, truth = simulated.world, simulated.truth
    state = world.cluster.metadata.topics["t0"].partitions[0]
    leader, follower = state.leader, simulated.follower()
    assert truth.led_epoch("t0", 0, leader) == state.leader_epoch
    assert truth.led_epoch("t0", 0, follower) == -1
    world.operate(lambda: world.controls.isolate(leader))
    world.operate(lambda: world.controls.move_leader("t0", 0, follower))
    assert truth.led_epoch("t0", 0, leader) == -1
    assert truth.led_epoch("t0", 0, follower) == state.leader_epoch + 1
    world.operate(lambda: world.controls.kill(follower))
    assert truth.led_epoch("t0", 0, follower) == -1


def test_below_its_start_a_leaders_log_counts_where_it_is_committed() -> None:
    truth = PartitionTruth("d0-0", PartitionState(1, [1], [1], 1, 0))
    mirror = truth.mirrors[1] = Mirror()
    truth.committed = [(0, b"=a"), (1, b"=b"), (1, b"=c")]
    mirror.entries = [(0, b"=a"), (0, b"=c"), (1, b"=c"), None, (1, b"=d")]
    mirror.log_start_offset = 2
    assert truth.led() == [(0, b"=a"), (1, b"=c"), (1, b"=d")]
    mirror.log_start_offset = 0
    assert (0, b"=c") in truth.led()


def test_a_value_is_outdated_by_what_an_unclean_election_took_back_alone() -> None:
    truth = PartitionTruth("c0-0", PartitionState(1, [1], [1], 2, 0))
    truth.canonical = {
        (3, 0): (None, b"k=old"),
        (5, 0): (None, b"k=new"),
        (6, 0): (None, b"other=tail"),
    }
    truth.ever = {3: {b"old"}, 5: {b"new"}}
    truth.committed = [None, None, None, (0, b"k=old")]
    assert not truth.outdated(b"k", 3)  # nobody took it back
    truth.unclean_floor = 2
    assert truth.outdated(b"k", 3)
    assert not truth.outdated(b"k", 5)
    assert not truth.outdated(b"other", 3)  # no high watermark had passed that
    truth.committed += [None, (0, b"k=new")]
    assert not truth.outdated(b"k", 3)  # it is there


def test_a_change_that_keeps_the_partition_epoch_is_noticed(simulated: SimulatedCluster) -> None:
    store = simulated.world.cluster.metadata
    topic = store.topics["t0"]
    state = topic.partitions[0]
    same = PartitionState(
        state.leader, state.replicas, state.isr, state.leader_epoch, state.partition_epoch
    )
    store.apply(LeaderChanged("t0", topic.id, 0, same))
    assert "partition epoch" in simulated.world.violations[0]
