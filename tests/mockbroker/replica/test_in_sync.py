"""What a leader concludes from its followers' fetches."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged, PartitionState
from mockbroker.metadata.store import MetadataStore
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.replica.in_sync import Follower, Followers
from mockbroker_protocol.messages.fetch import FetchRequestPartition
from tests.support.cluster_core import ClusterCore

LAG_MS = 30_000.0


def entry(offset: int) -> FetchEntry:
    return FetchEntry(FetchTopic("t", bytes(16)), FetchRequestPartition(fetch_offset=offset))


class Polling(FetchEntry):
    """An entry of a session that polled without being met."""

    def polled_ms(self) -> float:
        return 900.0


@pytest.fixture
def metadata() -> MetadataStore:
    store = MetadataStore("cluster", BrokerConfig({}))
    for node in (1, 2, 3):
        store.apply(BrokerChanged(BrokerInfo(node)))
    return store


def followers(metadata: MetadataStore, *isr: int) -> Followers:
    return Followers(1, PartitionState(1, [1, 2, 3], list(isr)), metadata, 0.0)


def fetch(known: Followers, node: int, offset: int, leader_end: int, now_ms: float) -> None:
    follower = known.get(node)
    assert follower is not None
    follower.fetched(entry(offset), leader_end, now_ms)


def test_a_follower_that_never_fetched_holds_the_high_watermark(metadata: MetadataStore) -> None:
    known = followers(metadata, 1, 2, 3)
    assert known.high_watermark(5, 0.0, LAG_MS) == -1
    fetch(known, 2, 5, 5, 10.0)
    fetch(known, 3, 4, 5, 10.0)
    assert known.high_watermark(5, 10.0, LAG_MS) == 4


def test_one_that_is_out_of_sync_does_not_unless_it_has_caught_up(metadata: MetadataStore) -> None:
    known = followers(metadata, 1, 2)
    fetch(known, 2, 5, 5, 0.0)
    assert known.high_watermark(5, 0.0, LAG_MS) == 5
    fetch(known, 3, 4, 4, 0.0)
    assert known.high_watermark(5, 1.0, LAG_MS) == 4
    metadata.apply(BrokerChanged(BrokerInfo(3, fenced=True)))
    assert known.high_watermark(5, 1.0, LAG_MS) == 5


def test_a_proposed_member_counts_already(metadata: MetadataStore) -> None:
    known = followers(metadata, 1, 2)
    fetch(known, 2, 9, 9, 0.0)
    fetch(known, 3, 4, 9, 0.0)
    assert known.high_watermark(9, 50_000.0, LAG_MS) == 9
    known.proposed = [1, 2, 3]
    assert known.high_watermark(9, 50_000.0, LAG_MS) == 4


def test_catching_up_is_being_where_the_leader_was_at_the_last_fetch() -> None:
    follower = Follower(2, 0.0)
    follower.fetched(entry(0), 10, 100.0)
    follower.fetched(entry(10), 20, 200.0)
    assert follower.caught_up_ms == 100.0
    follower.fetched(entry(20), 20, 300.0)
    assert follower.caught_up_ms == 300.0
    assert follower.is_caught_up(20, 10e6, LAG_MS)
    assert not follower.is_caught_up(21, 10e6, LAG_MS)


def test_one_record_short_is_not_caught_up() -> None:
    follower = Follower(2, 0.0)
    follower.fetched(entry(9), 10, 100.0)
    assert follower.caught_up_ms == 0.0
    follower.fetched(entry(9), 20, 200.0)
    assert follower.caught_up_ms == 0.0
    follower.fetched(entry(20), 21, 300.0)
    assert follower.caught_up_ms == 200.0


def test_idle_polls_of_a_session_count_when_the_leader_goes_on() -> None:
    follower = Follower(2, 0.0)
    polling = Polling(FetchTopic("t", bytes(16)), FetchRequestPartition(fetch_offset=4))
    follower.fetched(polling, 4, 100.0)
    follower.leader_appended(4)
    assert follower.caught_up_ms == 900.0
    for offset in (2, 3):
        behind = Follower(3, 0.0)
        behind.fetched(Polling(polling.topic, FetchRequestPartition(fetch_offset=offset)), 4, 100.0)
        behind.leader_appended(4)
        assert behind.caught_up_ms == 0.0


def test_an_idle_follower_one_record_short_does_not_return(metadata: MetadataStore) -> None:
    known = followers(metadata, 1, 2)
    fetch(known, 3, 4, 4, 100.0)
    assert known.caught_up_idle(3, 4) is known.get(3)
    assert known.caught_up_idle(3, 5) is None


def test_who_has_the_high_watermark_and_the_epochs_start_may_join(metadata: MetadataStore) -> None:
    known = followers(metadata, 1, 2)
    follower = known.get(3)
    assert follower is not None
    follower.fetched(entry(4), 9, 0.0)
    assert known.expansion(follower, 5, 0) is None
    assert known.expansion(follower, 4, 6) is None
    assert known.expansion(follower, 4, 4) == [1, 2, 3]
    known.proposed = [1, 2, 3]
    assert known.expansion(follower, 4, 4) is None
    known.update(PartitionState(1, [1, 2, 3], [1, 2]))
    metadata.apply(BrokerChanged(BrokerInfo(3, leaving=True)))
    assert known.expansion(follower, 4, 4) is None


def test_who_lags_too_long_is_removed_from_the_set(metadata: MetadataStore) -> None:
    known = followers(metadata, 1, 2, 3)
    fetch(known, 2, 9, 9, 1000.0)
    fetch(known, 3, 4, 9, 1000.0)
    assert known.shrinkage(9, LAG_MS, LAG_MS) is None
    assert known.shrinkage(9, LAG_MS + 1, LAG_MS) == [1, 2]
    known.proposed = [1, 2]
    assert known.shrinkage(9, LAG_MS + 1, LAG_MS) is None


def test_who_was_removed_holds_nothing_back(metadata: MetadataStore) -> None:
    known = followers(metadata, 1, 2, 3)
    fetch(known, 2, 9, 9, 0.0)
    known.update(PartitionState(1, [1, 2, 3], [1, 2]))
    assert known.high_watermark(9, 0.0, LAG_MS) == 9


def test_an_idle_follower_returns_with_its_next_fetch() -> None:
    """Its session names the partition no more, yet each poll says that it is at the end."""
    core = ClusterCore(topics={"t": 1})
    leader, follower, _ = core.state("t").replicas
    core.client(node=leader).produce("t", b"a")
    core.advance(5_000)
    core.controls.shrink_isr("t", 0, follower)
    core.deliver()
    core.advance(1_100)
    assert sorted(core.state("t").isr) == [1, 2, 3]


def test_a_follower_that_does_not_fetch_the_partition_stays_out() -> None:
    core = ClusterCore(topics={"t": 1, "u": 3})
    leader, follower, _ = core.state("t").replicas
    core.client(node=leader).produce("t", b"a")
    core.controls.hold_follower("t", 0, follower)
    core.advance(5_000)
    core.controls.shrink_isr("t", 0, follower)
    core.advance(5_000)
    assert follower not in core.state("t").isr
