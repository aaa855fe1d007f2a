"""What is committed, agreed on and asked for, against a broker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coop.tags import Identity
from mockbroker.coop_client.errors import (
    IndividualCommitNotAllowed,
    MaxIndividualCommitReached,
    RefusedError,
)
from mockbroker.coop_client.offsets import Offsets, StaleError
from mockbroker.coop_client.reading import TopicPartition
from mockbroker.coop_client.share import Committed, Share
from tests.support.sharing import Links, sharing_broker

if TYPE_CHECKING:
    from mockbroker import MockBroker

T0 = TopicPartition("t", 0)
NOBODY = Identity("g", "", -1, None)


async def offsets(links: Links, broker: MockBroker) -> Offsets:
    return Offsets(await links.to(broker), "g", only_committed=False)


def share(stable: int = 0, *acked: tuple[int, int]) -> Share:
    made = Share(())
    made.begin(Committed(stable, ()))
    for each in acked:
        made.ack(*each)
    return made


async def test_who_says_first_where_a_group_begins_has_it(links: Links, broker: MockBroker) -> None:
    of = await offsets(links, broker)
    assert (await of.fetch([T0]))[T0] == Committed(-1, ())
    assert (await of.begin(T0, 7, NOBODY)).stable == 7
    assert (await of.begin(T0, 3, NOBODY)).stable == 7


async def test_ranges_are_committed_in_requests_of_few(links: Links, broker: MockBroker) -> None:
    of = await offsets(links, broker)
    await of.begin(T0, 0, NOBODY)
    mine = share(0, (2, 3), (5, 5), (8, 9), (0, 0))
    await of.commit({T0: mine}, 2, NOBODY)
    assert (mine.stable, list(mine.acked)) == (1, [])
    assert (await of.fetch([T0]))[T0] == Committed(1, ((2, 3), (5, 5), (8, 9)))
    assert broker.group("g").committed() == {("t", 0): 1}


async def test_an_answer_that_was_lost_is_no_failure_cl_02(
    links: Links, broker: MockBroker
) -> None:
    of = await offsets(links, broker)
    await of.begin(T0, 0, NOBODY)
    await of.commit({T0: share(0, (0, 11))}, 9, NOBODY)
    again = share(0, (3, 5), (20, 21))
    await of.commit({T0: again}, 9, NOBODY)
    assert (again.stable, list(again.acked)) == (12, [])
    assert (await of.fetch([T0]))[T0] == Committed(12, ((20, 21),))


async def test_a_group_that_is_full(links: Links) -> None:
    with sharing_broker(individual_commit_max_ranges_per_group=1) as broker:
        of = await offsets(links, broker)
        with pytest.raises(MaxIndividualCommitReached):
            await of.commit({T0: share(0, (2, 2), (4, 4))}, 1, NOBODY)


async def test_a_coordinator_that_takes_no_ranges(links: Links) -> None:
    with sharing_broker(accept_individual_commit=False) as broker:
        of = await offsets(links, broker)
        with pytest.raises(IndividualCommitNotAllowed):
            await of.commit({T0: share(0, (2, 2))}, 9, NOBODY)


async def test_a_stranger_is_stale_and_nonsense_is_refused(
    links: Links, broker: MockBroker
) -> None:
    of = await offsets(links, broker)
    with pytest.raises(StaleError) as stale:
        await of.commit({T0: share(0, (2, 2))}, 9, Identity("g", "stranger", 3, None))
    assert stale.value.code == 69  # nor is there a group
    with pytest.raises(RefusedError, match="error 42"):
        await of.commit({T0: share(0, (2, 99))}, 9, NOBODY)
