"""What the extension costs a broker that has it and does not use it."""

from __future__ import annotations

from mockbroker import MockBroker
from mockbroker.coop import tags
from mockbroker.coop.commit_tags import commit_fields
from mockbroker.coop.extension import extension_of
from mockbroker.metadata.names import INDIVIDUAL_COMMITS_TOPIC
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from tests.support.blocking import BlockingConnection
from tests.support.core import Core
from tests.support.range_group import ON, Committed, RangeGroup, fill


def test_nothing_is_made_before_ranges_are_committed() -> None:
    core = Core(topics={"t": 1}, config=ON)
    extension = extension_of(core.broker.services)
    group = RangeGroup(core.client())
    fill(group.client, 100)
    assert group.plain(7) == Committed(0)
    assert not extension.coordinators[INDIVIDUAL_COMMITS_TOPIC].in_use
    assert set(extension.metrics().values()) == {0}
    group.commit((9, 9))
    assert extension.metrics()["mockbroker:type=CooperativeMetrics,name=ic.ranges"] == 1


def test_without_the_extension_there_is_none() -> None:
    assert Core().broker.services.extension is None


def test_scopes_snapshots_and_resets_bring_ranges_back_or_away() -> None:
    with (
        MockBroker(topics={"t": 1}, config={"coop.extension.enable": True}) as broker,
        BlockingConnection(broker.bootstrap_servers) as client,
    ):
        broker.topic("t").put_all([str(n) for n in range(20)])

        def commit(*ranges: tuple[int, int]) -> None:
            part = OffsetCommitRequestPartition(0)
            tags.tag(part, commit_fields(ranges))
            topic = OffsetCommitRequestTopic("t", partitions=[part])
            answer = client.call(OffsetCommitRequest("g", topics=[topic]), 8, OffsetCommitResponse)
            assert answer.topics[0].partitions[0].error_code == 0

        def ranges() -> list[tuple[int, int]]:
            return broker.group("g").sharing()["t", 0].ranges

        commit((5, 6))
        snapshot = broker.snapshot()
        with broker.scope():
            commit((8, 9))
            assert ranges() == [(5, 6), (8, 9)]
        assert ranges() == [(5, 6)]
        commit((0, 4))
        assert broker.group("g").committed() == {("t", 0): 7}
        broker.reset()
        assert broker.group("g").sharing() == {}
        broker.restore(snapshot)
        assert ranges() == [(5, 6)]
        commit((1, 2))
        assert ranges() == [(1, 2), (5, 6)]
