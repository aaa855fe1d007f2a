"""What fetchers ask and take is held against their replicas; each broken rule is noticed."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

from mockbroker.log import unified_log
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker.replica.fetcher import PartitionFetchState, ReplicaFetcher
from mockbroker.replica.in_sync import Follower
from mockbroker_protocol.errors import ProtocolError
from simulation.cluster.audits import fetcher_audits
from simulation.cluster.audits.fetcher_audits import FetcherAudits
from simulation.cluster.world import EndlessStepError
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

    from mockbroker.replica.hosted_log import PartitionReader
    from mockbroker_protocol.messages.fetch import FetchRequest


def move(simulated: SimulatedCluster) -> None:
    """Let a follower lead."""
    world, follower = simulated.world, simulated.follower()
    world.operate(lambda: world.controls.move_leader("t0", 0, follower))


def told(then: Callable[[SimulatedCluster], None] = move) -> list[str]:
    """What is found while a producer writes, and something happens in the middle."""
    simulated = SimulatedCluster()
    world = simulated.world
    audits = FetcherAudits(world, Random(1))

    def look() -> None:
        audits.look()
        world.at(20, look)

    look()
    simulated.producer.start()
    with suppress(EndlessStepError, ProtocolError):
        world.run_for(300)
        then(simulated)
        world.run_for(700)
    assert audits.asked
    return world.violations


def create(simulated: SimulatedCluster) -> None:
    """One more topic; nobody writes, so that fetches are parked."""
    simulated.producer.stop()
    simulated.world.run_for(100)
    simulated.world.operate(
        lambda: simulated.world.cluster.controller.create_topics([NewTopic("t9", 6)])
    )
    simulated.world.run_for(100)


def test_fetchers_by_the_rules_are_in_order() -> None:
    assert told() == []


def changed(monkeypatch: pytest.MonkeyPatch, change: Callable[[FetchRequest], None]) -> None:
    """Each request is changed before it goes out."""
    build = ReplicaFetcher._request

    def request(self: ReplicaFetcher, asked: list[PartitionFetchState]) -> FetchRequest:
        made = build(self, asked)
        change(made)
        return made

    monkeypatch.setattr(ReplicaFetcher, "_request", request)


def test_a_fetch_that_tells_something_else_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def say_less(request: FetchRequest) -> None:
        for topic in request.topics:
            for asked in topic.partitions:
                asked.high_watermark = 2**63 - 1

    changed(monkeypatch, say_less)
    assert "it tells (" in told()[0]


def test_a_fetch_that_leaves_something_out_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave_out(request: FetchRequest) -> None:
        if request.session_epoch > 0:
            request.topics = []

    changed(monkeypatch, leave_out)
    assert "its session told (" in told()[0]


def test_another_epoch_than_the_session_s_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def stand_still(request: FetchRequest) -> None:
        request.session_epoch = min(request.session_epoch, 1)

    changed(monkeypatch, stand_still)
    assert "epoch 1 of a session in 2" in told()[0]


def test_what_is_followed_no_more_and_stays_in_the_session_is_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def remember(request: FetchRequest) -> None:
        request.forgotten_topics_data = []

    def hold(simulated: SimulatedCluster) -> None:
        create(simulated)
        follower, world = simulated.follower(), simulated.world
        world.operate(lambda: world.controls.hold_follower("t0", 0, follower))

    changed(monkeypatch, remember)
    assert any("its session has 1 too many" in one for one in told(hold))


def test_a_late_answer_that_is_taken_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    take = ReplicaFetcher._process_partition_data

    def as_if_asked(self: ReplicaFetcher, followed: PartitionFetchState, data: object) -> None:
        partition = followed.partition
        log = partition.log
        if log is not None:
            followed.asked = log.log_end_offset, partition.leader_epoch, 0, 0, 0
        take(self, followed, data)  # type: ignore[arg-type]

    monkeypatch.setattr(ReplicaFetcher, "_process_partition_data", as_if_asked)

    def cut(simulated: SimulatedCluster) -> None:
        world = simulated.world
        for _ in range(20):
            world.operate(lambda: simulated.partition_at(simulated.follower()).truncate_to(0))
            world.run_for(10)

    assert any("takes an answer that is late" in one for one in told(cut))


def test_bytes_that_were_damaged_and_are_stored_are_noticed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fetcher_audits, "SPOILT_CHANCE", 0.3)
    assert told() == []
    monkeypatch.setattr(unified_log, "verify_crc", lambda *_: True)
    assert any("stores what was damaged on its way" in one for one in told())


def test_a_fetcher_that_nothing_wakes_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    def put_off(self: ReplicaFetcher, followed: PartitionFetchState, _: object) -> None:
        self._delay_partitions([followed])

    def stop(_: SimulatedCluster) -> None:
        monkeypatch.setattr(ReplicaFetcher, "_process_partition_data", put_off)
        monkeypatch.setattr(ReplicaFetcher, "_wake_at", lambda *_: None)

    assert any("nothing wakes it" in one for one in told(stop))


def test_a_new_partition_that_waits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    add = ReplicaFetcher.add

    def patient(self: ReplicaFetcher, partition: object) -> None:
        add(self, partition)  # type: ignore[arg-type]
        self._interrupt = False

    monkeypatch.setattr(ReplicaFetcher, "add", patient)

    assert any("wait for what is parked" in one for one in told(create))


def lose_a_tail(simulated: SimulatedCluster) -> None:
    """A follower comes back without its records."""
    world, follower = simulated.world, simulated.follower()
    world.operate(lambda: world.controls.kill(follower, lose="unflushed"))
    world.run_for(300)
    world.operate(lambda: world.controls.revive(follower))


def test_a_follower_that_lost_its_tail_is_taken_to_have_what_it_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert told(lose_a_tail) == []
    fetched = Follower.fetched

    def only_up(
        self: Follower, reader: PartitionReader, end: int, now_ms: float, epoch: int = -1
    ) -> None:
        before = self.log_end_offset
        fetched(self, reader, end, now_ms, epoch)
        self.log_end_offset = max(before, self.log_end_offset)

    monkeypatch.setattr(Follower, "fetched", only_up)
    assert any("and is taken to have" in one for one in told(lose_a_tail))
