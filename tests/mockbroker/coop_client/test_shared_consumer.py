"""The consumer as a program has it, on a broker of the test's own process."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Literal

import pytest

from mockbroker.coop_client import (
    Committed,
    ConsumerRangeFetchNotAccepted,
    IndividualCommitNotAllowed,
    KeyRange,
    NotInGroupError,
    RefusedError,
    SharedConsumer,
    TopicPartition,
    TopicRangeFetchNotAllowed,
)
from mockbroker.metadata.acls import Permission
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
)
from tests.support.sharing import sharing_broker
from tests.support.sockets import RawConnection

if TYPE_CHECKING:
    from mockbroker import MockBroker
    from mockbroker.coop_client import Record
    from mockbroker.coop_client.classic_member import ClassicMember
    from mockbroker.coop_client.consumer_member import ConsumerMember

T0 = TopicPartition("t", 0)
LOW, HIGH = KeyRange(0, 2**30 - 1), KeyRange(2**30, 2**31 - 1)


def consumer(
    broker: MockBroker,
    *,
    mode: Literal["key_range", "round_robin"] = "key_range",
    protocol: Literal["classic", "consumer"] = "classic",
    session_timeout_ms: int = 45_000,
) -> SharedConsumer:
    return SharedConsumer(
        broker.bootstrap_servers,
        group_id="g",
        topics=["t"],
        mode=mode,
        group_protocol=protocol,
        auto_offset_reset="earliest",
        heartbeat_ms=20,
        session_timeout_ms=session_timeout_ms,
    )


async def silenced(one: SharedConsumer) -> ClassicMember | ConsumerMember:
    """Its member, with no heartbeat under way: one that comes after time was moved keeps it."""
    assert one._beating is not None
    assert one._member is not None
    one._beating.cancel()
    one._beating = None
    await one._member.beat()  # answered after all that were sent before it
    return one._member


async def together(*consumers: SharedConsumer) -> list[list[Record]]:
    """Poll until each has a part of t-0; what each was given of it."""

    async def its_part(one: SharedConsumer) -> list[Record]:
        found: list[Record] = []
        while len(one.assignment().get(T0, ())) != 1:
            found = await one.poll(0.05)
        return found

    return await asyncio.gather(*map(its_part, consumers))


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
async def test_members_of_either_protocol_share_a_partition(
    broker: MockBroker, protocol: Literal["classic", "consumer"]
) -> None:
    async with AsyncExitStack() as stack:
        both = [
            await stack.enter_async_context(consumer(broker, protocol=protocol)) for _ in range(2)
        ]
        parts = await together(*both)
        keys: list[set[bytes | None]] = []
        for one, first in zip(both, parts, strict=True):
            found = list(first)
            while len(found) < 15:
                found += await one.poll(1.0, 4)
            keys.append({record.key for record in found})
            assert [record.offset for record in found] == sorted(r.offset for r in found)
            for record in found:
                one.ack(record)
            await one.commit()
        assert {b"a", b"b", b"c"} in keys
        assert {b"foobar", b"21", b"user-1"} in keys
        assert await both[0].committed(T0) == Committed(30, ())


async def test_what_is_not_acknowledged_comes_again_and_nothing_else(broker: MockBroker) -> None:
    async with consumer(broker) as one:
        found = await one.poll(5.0)
        for record in found:
            if record.offset not in {4, 9}:
                one.ack(record)
        await one.commit()
        assert await one.committed(T0) == Committed(4, ((5, 8), (10, 29)))
    async with consumer(broker) as other:
        assert [record.offset for record in await other.poll(5.0)] == [4, 9]
        assert broker.group("g").committed() == {("t", 0): 4}


async def test_a_rebalance_commits_what_was_acknowledged(broker: MockBroker) -> None:
    async with consumer(broker) as one:
        first = await one.poll(5.0, 10)
        for record in first[:6]:
            one.ack(record)
        async with consumer(broker) as other:
            await together(one, other)
            one.ack(first[8])  # somebody may have been given it by now
            await one.commit()
            assert (await one.committed(T0)).stable == 6


async def test_the_iterator_gives_one_after_another(broker: MockBroker) -> None:
    async with consumer(broker) as one:
        seen = []
        async for record in one:
            one.ack(record)
            seen.append(record.offset)
            if len(seen) == 30:
                break
    assert seen == list(range(30))
    assert broker.group("g").committed() == {("t", 0): 30}


async def test_batches_are_dealt_round_and_leases_end(broker: MockBroker) -> None:
    async with (
        consumer(broker, mode="round_robin") as one,
        consumer(broker, mode="round_robin", protocol="classic") as other,
    ):
        await asyncio.gather(one.poll(0.3, 1), other.poll(0.3, 1))
        mine = await one.poll(5.0, 1)
        theirs = await other.poll(5.0, 1)
        assert mine[0].offset != theirs[0].offset
        await one.release(*mine)
        again = await other.poll(5.0, 1)
        assert (again[0].offset, again[0].deliveries) == (mine[0].offset, 2)
        with pytest.raises(RefusedError, match="121"):
            await one.renew(*mine)
        await other.renew(*again)
        one.ack(mine[0])
        await one.commit()  # it is not one's any more: nothing is committed
        other.ack(again[0])
        await other.commit()
        standing = await other.committed(T0)
        assert standing.stable == again[0].offset + 1 or standing.ranges


async def test_standalone_it_reads_what_it_is_told(broker: MockBroker) -> None:
    async with SharedConsumer(broker.bootstrap_servers, auto_offset_reset="earliest") as alone:
        alone.assign({T0: [HIGH]})
        assert {record.key for record in await alone.poll(5.0)} == {b"foobar", b"21", b"user-1"}
        with pytest.raises(ValueError, match="commits are a group's"):
            await alone.commit()


@pytest.mark.parametrize("hears_first", [False, True])
async def test_a_member_that_was_forgotten_says_so_and_joins_again(
    broker: MockBroker, hears_first: bool
) -> None:
    async with consumer(broker) as one:
        found = await one.poll(5.0, 3)
        for record in found:
            one.ack(record)
        member = await silenced(one)
        broker.clock.advance(50_000)
        if hears_first:
            await member.beat()
        with pytest.raises(NotInGroupError):
            await one.commit()
        again = await one.poll(5.0, 3)
        assert [record.offset for record in again] == [0, 1, 2]


async def test_a_member_that_was_forgotten_commits_nothing_as_it_closes(broker: MockBroker) -> None:
    async with consumer(broker) as one:
        for record in await one.poll(5.0, 3):
            one.ack(record)
        member = await silenced(one)
        broker.clock.advance(50_000)
        await member.beat()
    assert broker.group("g").committed() == {("t", 0): 0}


async def test_a_member_that_is_forgotten_before_it_begins_begins_again() -> None:
    # The broker has forgotten nobody: the new member is placed when the old one is overdue.
    with sharing_broker(group_min_session_timeout_ms=100) as broker:
        async with consumer(broker, session_timeout_ms=500) as one:
            await one.poll(0.01, 1)
            member = one._member
            assert member is not None
            one._start_turn({T0: ()})
            member.note_refusal(ErrorCode.UNKNOWN_MEMBER_ID)
            await one._place()
            assert one._shares[T0].position == 0
            assert [record.offset for record in await one.poll(5.0, 3)] == [0, 1, 2]


async def test_refusals_have_the_drafts_names() -> None:
    with sharing_broker(accept_individual_commit=False) as broker:
        with pytest.raises(IndividualCommitNotAllowed):
            async with consumer(broker) as one:
                await one.poll(5.0)
        broker.topic("closed").create(1, config={"range.fetch.enable": "false"})
        async with SharedConsumer(broker.bootstrap_servers) as alone:
            alone.assign({TopicPartition("closed", 0): [LOW]})
            with pytest.raises(TopicRangeFetchNotAllowed):
                await alone.poll(5.0)
    with sharing_broker(range_fetch_standalone_allow=False) as broker:
        async with SharedConsumer(broker.bootstrap_servers) as alone:
            alone.assign({T0: [LOW]})
            with pytest.raises(ConsumerRangeFetchNotAccepted):
                await alone.poll(5.0)


def test_what_makes_no_sense_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="group_id"):
        SharedConsumer("x:1", topics=["t"])
    with pytest.raises(ValueError, match="name topics"):
        SharedConsumer("x:1", group_id="g", mode="round_robin")
    with pytest.raises(ValueError, match="60000"):
        SharedConsumer("x:1", group_id="g", max_ranges_per_commit=60_001)
    with pytest.raises(ValueError, match="assigned by its group"):
        SharedConsumer("x:1", group_id="g", topics=["t"]).assign({})


async def lose_group(broker: MockBroker) -> None:
    """An ACL comes that denies who is nobody else READ on its group."""
    acl = AclCreation(3, "g", 3, "User:ANONYMOUS", "*", AclOperation.READ, Permission.DENY)
    async with await RawConnection.open(broker.bootstrap_servers) as connection:
        answer = await connection.call(CreateAclsRequest([acl]), 3, CreateAclsResponse)
    assert [one.error_code for one in answer.results] == [0]


@pytest.mark.parametrize("mode", ["key_range", "round_robin"])
async def test_who_loses_its_group_is_told_at_a_poll(
    mode: Literal["key_range", "round_robin"],
) -> None:
    guarded: dict[str, str | int | bool] = {
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "allow.everyone.if.no.acl.found": True,
    }
    with sharing_broker(**guarded) as broker:
        async with consumer(broker, mode=mode) as one:
            while not await one.poll(0.1):
                pass
            await lose_group(broker)

            async def poll_on() -> None:
                while True:
                    await one.poll(0.1)

            with pytest.raises(RefusedError) as caught:
                await poll_on()
            assert caught.value.code == ErrorCode.GROUP_AUTHORIZATION_FAILED
