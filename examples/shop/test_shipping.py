"""Shipments of what was paid, and the three services together."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from shipping import Shipping

if TYPE_CHECKING:
    from collections.abc import Callable

    from names import Names
    from orders import Orders
    from payments import Payments

pytestmark = pytest.mark.asyncio


def payment(order: str, *, approved: bool = True) -> str:
    return json.dumps({"order": order, "approved": approved, "amount": 1})


async def shipped(broker: Any, names: Names, *, count: int) -> list[str]:
    """Let the service handle so many payments; the orders that it shipped."""
    async with Shipping(broker.bootstrap_servers, names) as service:
        assert await service.work(count) == count
    records = await broker.aio.topic(names.shipments).records(decode=json.loads)
    return sorted(record.value["order"] for record in records)


async def test_what_was_paid_is_shipped(mockbroker: Any, names: Names) -> None:
    await mockbroker.aio.topic(names.payments).put(payment("1"))
    assert await shipped(mockbroker, names, count=1) == ["1"]


async def test_what_was_declined_stays(mockbroker: Any, names: Names) -> None:
    await mockbroker.aio.topic(names.payments).put_all(
        [payment("1", approved=False), payment("2", approved=True)]
    )
    assert await shipped(mockbroker, names, count=2) == ["2"]


@pytest.mark.parametrize("times", [2, 3, 5])
async def test_an_order_is_shipped_once_however_often_it_is_paid(
    mockbroker: Any, names: Names, times: int
) -> None:
    await mockbroker.aio.topic(names.payments).put_all([payment("1")] * times)
    assert await shipped(mockbroker, names, count=times) == ["1"]


@pytest.mark.parametrize("count", [1, 7, 30])
async def test_as_many_are_shipped_as_were_paid(mockbroker: Any, names: Names, count: int) -> None:
    await mockbroker.aio.topic(names.payments).put_all([payment(str(n)) for n in range(count)])
    assert len(await shipped(mockbroker, names, count=count)) == count


async def test_a_shipment_is_under_its_order(mockbroker: Any, names: Names) -> None:
    await mockbroker.aio.topic(names.payments).put(payment("order-7"))
    await shipped(mockbroker, names, count=1)
    (record,) = await mockbroker.aio.topic(names.shipments).wait_for(1)
    assert record.key == b"order-7"


async def test_it_has_caught_up(mockbroker: Any, names: Names) -> None:
    await mockbroker.aio.topic(names.payments).put(payment("1"))
    await shipped(mockbroker, names, count=1)
    group = mockbroker.aio.group(names.group("shipping"))
    assert set((await group.wait_caught_up()).values()) == {0}
    assert (await group.wait_empty()).members == []


@pytest.mark.mockbroker_needs("faults")
async def test_a_coordinator_that_loads_is_waited_for(mockbroker: Any, names: Names) -> None:
    await mockbroker.aio.topic(names.payments).put(payment("1"))
    loading = {
        "api": "JoinGroup", "group": names.group("shipping"), "count": 1,
        "error": "COORDINATOR_LOAD_IN_PROGRESS",
    }  # fmt: skip
    async with mockbroker.aio.faults.armed(loading) as (rule,):
        assert await shipped(mockbroker, names, count=1) == ["1"]
        assert (await rule.wait()).hits == 1


async def test_an_order_goes_through_all_three(
    mockbroker: Any, names: Names, orders: Orders, payments: Callable[..., Payments]
) -> None:
    await asyncio.to_thread(orders.place, "1", "ada", 10)
    await asyncio.to_thread(orders.place, "2", "bob", 1000)
    assert await asyncio.to_thread(payments().work, 2) == 2
    assert await shipped(mockbroker, names, count=2) == ["1"]


async def test_many_orders_go_through_all_three(
    mockbroker: Any, names: Names, orders: Orders, payments: Callable[..., Payments]
) -> None:
    for number in range(20):
        await asyncio.to_thread(orders.place, str(number), f"customer-{number}", 1 + number * 10)
    assert await asyncio.to_thread(payments().work, 20) == 20
    assert len(await shipped(mockbroker, names, count=20)) == 10
