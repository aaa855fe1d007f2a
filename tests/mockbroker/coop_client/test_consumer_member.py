"""Members of a group of KIP-848: what the coordinator assigns is taken over at a join."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop_client.classic_member import GroupSettings
from mockbroker.coop_client.consumer_member import ConsumerMember

if TYPE_CHECKING:
    from mockbroker import MockBroker
    from tests.support.sharing import Links

LOW, HIGH = KeyRange(0, 2**30 - 1), KeyRange(2**30, 2**31 - 1)


async def member(links: Links, broker: MockBroker, *, cooperative: bool = False) -> ConsumerMember:
    settings = GroupSettings("g", ("t",), cooperative, 10_000, 10_000, 1000)
    return ConsumerMember(await links.to(broker), settings)


async def settle(*members: ConsumerMember) -> None:
    """Each beats and takes over what it is told, until nothing moves."""
    quiet = 0
    while quiet < 3:
        quiet += 1
        for one in members:
            await one.beat()
            if one.must_join:
                await one.join()
                quiet = 0


async def test_two_members_halve_a_partition(links: Links, broker: MockBroker) -> None:
    first, second = await member(links, broker), await member(links, broker)
    await settle(first)
    assert first.assignment == {"t": {0: ()}}
    await second.join()
    await settle(first, second)
    halves = [first.assignment["t"][0], second.assignment["t"][0]]
    assert sorted(halves) == [(LOW,), (HIGH,)]
    assert first.identity.generation == second.identity.generation
    await second.leave()
    await settle(first)
    assert first.assignment == {"t": {0: ()}}


async def test_who_was_fenced_joins_anew(links: Links, broker: MockBroker) -> None:
    first = await member(links, broker)
    await settle(first)
    broker.clock.advance(46_000)
    await first.beat()
    assert (first.must_join, first.identity.generation) == (True, 0)
    await settle(first)
    assert first.assignment == {"t": {0: ()}}


async def test_cooperative_members_read_all_their_topics(links: Links, broker: MockBroker) -> None:
    first, second = (
        await member(links, broker, cooperative=True),
        await member(links, broker, cooperative=True),
    )
    await settle(first)
    await second.join()
    await settle(first, second)
    assert first.assignment == second.assignment == {"t": {0: ()}}
