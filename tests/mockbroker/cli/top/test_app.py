"""The screen of `mockbroker top`, without a terminal: keys in, cells out."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from textual.widgets import DataTable, Input, Static

from mockbroker import MockBroker
from mockbroker.admin.client import AdminClient
from mockbroker.cli.top.app import TopApp
from mockbroker.cli.top.views import parse_filter
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator

    from textual.pilot import Pilot

_INTERVAL_S = 0.2
"""Longer than a look takes: a key waits until the process is idle."""


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    with MockBroker(topics={"orders": 2, "paid": 1}, admin_port=0) as running:
        yield running


@asynccontextmanager
async def screen(broker: MockBroker, view: int = 3) -> AsyncIterator[Pilot[None]]:
    """The topics."""
    assert broker.admin_url
    client = AdminClient(broker.admin_url, None)
    app = TopApp(client, interval_s=_INTERVAL_S, view=view, wanted=parse_filter(""))
    async with app.run_test() as pilot:
        yield pilot


def names(pilot: Pilot[None]) -> list[str]:
    """What stands in the first column."""
    table = pilot.app.query_one(DataTable)
    return [str(table.get_row_at(at)[0]) for at in range(table.row_count)]


async def until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    """Let looks come until it is so; the test's time limit ends what never is."""
    while not holds():
        await pilot.pause(0.02)


async def test_the_head_and_the_rows_are_drawn(broker: MockBroker) -> None:
    async with screen(broker) as pilot:
        await until(pilot, lambda: len(names(pilot)) == 2)
        assert names(pilot) == ["orders", "paid"]
        assert broker.bootstrap_servers in str(pilot.app.query_one("#head", Static).content)


async def test_names_of_clients_are_no_markup(broker: MockBroker) -> None:
    with BlockingConnection(broker.bootstrap_servers) as connection:
        request = ApiVersionsRequest(client_software_name="lib", client_software_version="2")
        connection.send(request, 3, client_id="[b]shop\x1b[0m")
        connection.receive(ApiVersionsResponse)
        async with screen(broker, view=2) as pilot:
            await until(pilot, lambda: "[b]shop·[0m" in names(pilot))


async def test_what_changes_is_seen_and_the_row_stays_chosen(broker: MockBroker) -> None:
    async with screen(broker) as pilot:
        await until(pilot, lambda: len(names(pilot)) == 2)
        await pilot.press("down")
        broker.topic("refunds").create()
        await until(pilot, lambda: "refunds" in names(pilot))
        assert pilot.app.query_one(DataTable).cursor_row == 1
        broker.topic("refunds").delete()
        await until(pilot, lambda: "refunds" not in names(pilot))


async def test_keys_go_from_view_to_view(broker: MockBroker) -> None:
    def heading() -> str:
        columns = list(pilot.app.query_one(DataTable).columns.values())
        return str(columns[0].label) if columns else ""

    async with screen(broker) as pilot:
        await until(pilot, lambda: heading() == "TOPIC")
        await pilot.press("right")
        await until(pilot, lambda: heading() == "GROUP")
        await pilot.press("2")
        await until(pilot, lambda: heading() == "API")
        await pilot.press("left")
        await until(pilot, lambda: heading() == "AT")


async def test_a_filter_is_typed_refused_and_taken_back(broker: MockBroker) -> None:
    async with screen(broker) as pilot:
        await until(pilot, lambda: len(names(pilot)) == 2)
        await pilot.press("slash", *"ord", "left", "right", "enter")
        await until(pilot, lambda: names(pilot) == ["orders"])
        await pilot.press("slash", *"x=y", "enter")
        assert pilot.app.query_one(Input).has_focus
        await pilot.press("escape")
        await until(pilot, lambda: len(names(pilot)) == 2)
        assert not pilot.app.query_one(Input).display


async def test_a_field_that_is_not_for_a_view_is_told_beside_it(broker: MockBroker) -> None:
    async with screen(broker) as pilot:
        await pilot.press("slash", *"api=Fetch", "enter")
        problem = pilot.app.query_one("#problem", Static)
        await until(pilot, lambda: bool(problem.display))
        assert "is for the view requests" in str(problem.content)
        await pilot.press("1")
        await until(pilot, lambda: not problem.display)


async def test_a_pause_keeps_what_is_shown(
    broker: MockBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def turn(app: TopApp) -> None:
        """Let the thread that looks come round once more."""
        app._wake.set()
        await until(pilot, lambda: not app._wake.is_set())

    async with screen(broker) as pilot:
        app = pilot.app
        assert isinstance(app, TopApp)
        await until(pilot, lambda: len(names(pilot)) == 2)
        await pilot.press("p")
        await turn(app)
        looks: list[object] = []
        monkeypatch.setattr(app, "_look", looks.append)
        await turn(app)
        assert looks == []


async def test_a_key_that_is_held_leaves_one_notification(broker: MockBroker) -> None:
    async with screen(broker) as pilot:
        await pilot.press(*"ppppp")
        assert [each.message for each in pilot.app._notifications] == ["paused: p goes on"]


async def test_a_broker_that_ended_is_told_and_the_rows_stay() -> None:
    with MockBroker(topics={"orders": 2}, admin_port=0) as mortal:
        assert mortal.admin_url
        async with screen(mortal) as pilot:
            await until(pilot, lambda: len(names(pilot)) == 1)
            await asyncio.to_thread(mortal.stop)
            problem = pilot.app.query_one("#problem", Static)
            await until(pilot, lambda: bool(problem.display))
            assert "does not answer" in str(problem.content)
            assert names(pilot) == ["orders"]


async def test_q_ends_it(broker: MockBroker) -> None:
    async with screen(broker) as pilot:
        await pilot.press("q")
        await until(pilot, lambda: not pilot.app.is_running)
