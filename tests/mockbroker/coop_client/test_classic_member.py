"""Members of a classic group: who leads assigns, and what is told is read back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from mockbroker.coop.key_filter import KeyRange
from mockbroker.coop_client.classic_member import ClassicMember, GroupSettings

if TYPE_CHECKING:
    from mockbroker import MockBroker
    from tests.support.sharing import Links

LOW, HIGH = KeyRange(0, 2**30 - 1), KeyRange(2**30, 2**31 - 1)


async def member(
    links: Links, broker: MockBroker, *topics: str, cooperative: bool = False
) -> ClassicMember:
    settings = GroupSettings("g", topics or ("t",), cooperative, 10_000, 10_000, 1000)
    return ClassicMember(await links.to(broker), settings)


async def both_join(first: ClassicMember, second: ClassicMember) -> None:
    joining = asyncio.create_task(second.join())
    while not first.must_join:
        await first.beat()
    await asyncio.gather(first.join(), joining)


async def test_two_members_halve_a_partition(links: Links, broker: MockBroker) -> None:
    first, second = await member(links, broker), await member(links, broker)
    await first.join()
    assert first.assignment == {"t": {0: ()}}
    await both_join(first, second)
    halves = [first.assignment["t"][0], second.assignment["t"][0]]
    assert sorted(halves) == [(LOW,), (HIGH,)]
    await second.leave()
    await first.beat()
    assert first.must_join
    await first.join()
    assert first.assignment == {"t": {0: ()}}
    await first.leave()
    assert broker.group("g").members() == []


async def test_members_that_fetch_cooperatively_have_everything(
    links: Links, broker: MockBroker
) -> None:
    broker.topic("more").create(2)
    first = await member(links, broker, "t", "more", cooperative=True)
    second = await member(links, broker, "t", cooperative=True)
    await first.join()
    await both_join(first, second)
    assert first.assignment == {"t": {0: ()}, "more": {0: (), 1: ()}}
    assert second.assignment == {"t": {0: ()}}


async def test_a_member_that_is_forgotten_joins_as_another(
    links: Links, broker: MockBroker
) -> None:
    first = await member(links, broker)
    await first.join()
    before = first.identity
    broker.clock.advance(11_000)
    await first.beat()
    assert first.must_join
    await first.join()
    assert first.identity.member not in ("", before.member)
