"""Fetches under way: what comes of them, and which count."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop_client.fetches import Fetches
from mockbroker.coop_client.reading import TopicPartition, read_records
from mockbroker.coop_client.share import Committed, Share

if TYPE_CHECKING:
    from mockbroker import MockBroker
    from tests.support.sharing import Links

T0 = TopicPartition("t", 0)


async def fetches(links: Links, broker: MockBroker) -> Fetches:
    made = Fetches(await links.to(broker), only_committed=False, lease_ms=None)
    await made.refresh(["t"])
    return made


def share(*ranges: KeyRange) -> Share:
    made = Share(ranges)
    made.begin(Committed(0, ()))
    return made


async def test_a_filter_goes_out_with_its_partition(links: Links, broker: MockBroker) -> None:
    of, low = await fetches(links, broker), share(KeyRange(0, 2**30 - 1))
    of.send({T0: low}, None, 1, seconds=0.2, max_records=10)
    ((place, answer),) = await of.take(1, 5)
    assert place == T0
    found = read_records(T0, answer, low, 1, only_committed=False)
    assert {one.key for one in found} == {b"a", b"b", b"c"}
    assert low.position == 30
    assert not isinstance(answer.records, list)
    assert b"foobar" not in bytes(answer.records or b"")
    await of.close()


async def test_an_answer_of_another_turn_is_thrown_away(links: Links, broker: MockBroker) -> None:
    of = await fetches(links, broker)
    of.send({T0: share()}, None, 1, seconds=0.2, max_records=10)
    assert await of.take(2, 5) == []
    of.send({T0: share()}, None, 2, seconds=0.2, max_records=10)
    assert len(await of.take(2, 5)) == 1
    await of.close()


async def test_without_a_position_or_a_leader_nothing_is_asked(
    links: Links, broker: MockBroker
) -> None:
    of = await fetches(links, broker)
    nowhere = {T0: Share(()), TopicPartition("none", 0): share()}
    of.send(nowhere, None, 1, seconds=0.1, max_records=1)
    assert await of.take(1, 0) == []
    await of.close()


async def test_the_edges_of_a_partition(links: Links, broker: MockBroker) -> None:
    of = await fetches(links, broker)
    assert await of.edge(T0, earliest=True) == 0
    assert await of.edge(T0, earliest=False) == 30
    assert await of.edge(TopicPartition("none", 0), earliest=True) is None
    await of.close()
