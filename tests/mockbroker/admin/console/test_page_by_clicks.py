"""What people do in the console's views does it to the broker: each button, in a real Chromium."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING

import pytest
from fastavro import schemaless_writer

from mockbroker import MockBroker
from tests.support.fake_registry import fake_registry, framed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Page, Route

    from tests.mockbroker.admin.console.conftest import Tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

ORDER = {"type": "record", "name": "Order", "fields": [{"name": "id", "type": "long"}]}


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    with MockBroker(admin_port=0, brokers=3, topics={"orders": 1}) as made:
        made.topic("orders").put("first", key="k")
        yield made


def opened(tab: Tab, broker: MockBroker, view: str) -> Page:
    tab.page.goto(f"{broker.admin_url}/#/{view}")
    tab.page.wait_for_selector("main:not(:has-text('Loading …'))")
    return tab.page


def until(page: Page, true: Callable[[], bool]) -> None:
    for _ in range(400):
        if true():
            return
        page.wait_for_timeout(50)
    raise AssertionError("it did not come true")


def test_brokers_are_killed_revived_fenced_and_isolated(tab: Tab, broker: MockBroker) -> None:
    page = opened(tab, broker, "cluster")
    card = ".card:has-text('Broker 3')"
    page.click(f"{card} >> text=Kill")
    page.click(f"{card} >> text=Yes")
    page.wait_for_selector(f"{card} >> text=down")
    page.click(f"{card} >> text=Revive")
    page.wait_for_selector(f"{card} >> text=up")
    page.click(f"{card} >> text=Fence")
    page.wait_for_selector(f"{card} >> text=fenced")
    page.click(f"{card} >> text=Unfence")
    page.wait_for_selector(f"{card} >> text=fenced", state="detached")
    page.click(f"{card} >> text=Isolate")
    page.wait_for_selector("td >> text=cut")
    page.click(f"{card} >> text=Reconnect")
    page.wait_for_selector("td .badge:has-text('cut')", state="detached")
    page.click("[aria-label='Link from 1 to 2: open. Cut']")
    page.click("[aria-label='Link from 1 to 2: cut. Restore']")
    page.wait_for_selector("[aria-label='Link from 1 to 2: open. Cut']")
    assert tab.errors == []


def test_leaders_move_and_high_watermarks_are_held(tab: Tab, broker: MockBroker) -> None:
    page = opened(tab, broker, "cluster/orders/0")
    row = "[aria-label=Replicas] tr:has-text('leader')"
    page.wait_for_selector(row)
    leader = page.inner_text(f"{row} >> td >> nth=0")
    button = "button:has-text('Lead from') >> nth=0"
    new = page.inner_text(button).rpartition(" ")[2]
    assert new != leader
    page.click(button)
    page.wait_for_selector(f"[aria-label=Replicas] tr:has-text('leader') >> td >> text='{new}'")
    page.click("text=Hold high watermark")
    page.click("text=Release high watermark")
    page.wait_for_selector("text=Hold high watermark")
    held = "button:has-text('Hold follower') >> nth=0"
    follower = page.inner_text(held).rpartition(" ")[2]
    page.click(held)
    page.click(f"text=Release follower {follower}")
    page.wait_for_selector(f"text=Hold follower {follower}")
    assert "epoch" in (page.get_attribute(".log-part", "title") or "")
    assert tab.errors == []


def test_what_is_done_shows_at_once_though_the_page_rests(tab: Tab, broker: MockBroker) -> None:
    def costly(route: Route) -> None:
        """An answer that the broker had a minute of work with."""
        answer = route.fetch()
        headers = {**answer.headers, "server-timing": "cpu;dur=60000, total;dur=60000"}
        route.fulfill(response=answer, headers=headers)

    tab.page.route("**/v1/**", costly)
    page = opened(tab, broker, "cluster/orders/0")
    page.click("text=Hold high watermark")
    page.wait_for_selector("[aria-label=Replicas] >> text=high watermark held")
    page.click("text=Release high watermark")
    page.wait_for_selector("[aria-label=Replicas] >> text=high watermark held", state="detached")
    page.click("[aria-label='Link from 1 to 2: open. Cut']")
    page.click("[aria-label='Link from 1 to 2: cut. Restore']")
    page.wait_for_selector("[aria-label='Link from 1 to 2: open. Cut']")
    assert tab.errors == []


def test_who_is_not_in_sync_is_not_offered_as_leader(tab: Tab) -> None:
    with MockBroker(admin_port=0, brokers=3, topics={"orders": 1}) as broker:
        _, first, second = broker.cluster.replicas("orders", 0)
        broker.cluster.hold_follower("orders", 0, first)
        broker.cluster.shrink_isr("orders", 0, without=first)
        page = opened(tab, broker, "cluster/orders/0")
        page.wait_for_selector(f"button:has-text('Lead from {second}')")
        assert page.locator("button:has-text('Lead from')").count() == 1


def test_records_are_produced_found_and_traced_to_their_request(
    tab: Tab, broker: MockBroker
) -> None:
    page = opened(tab, broker, "topics/orders")
    page.click("summary:has-text('Produce')")
    page.fill("label:has-text('Key; empty') input", "made")
    page.fill("label:has-text('Headers') textarea", "from: a person")
    page.fill("label.wide:has-text('Value') textarea", '{"id": 9007199254740993}')
    page.click("button:has-text('Produce')")
    page.wait_for_selector("text=Written at")
    page.wait_for_selector("td:has-text('9007199254740993')")
    record = broker.topic("orders").records()[-1]
    assert (record.key, dict(record.headers)) == (b"made", {"from": b"a person"})
    page.fill("label:has-text('Key is') input", "made")
    page.press("label:has-text('Key is') input", "Enter")
    page.wait_for_selector("text=1 found in")
    page.click("tr:has-text('9007199254740993') >> text=Request")
    page.wait_for_selector("text=not kept")  # of the admin API's records none is a request
    assert tab.errors == []


def test_the_clock_and_snapshots_do_what_they_say(tab: Tab, broker: MockBroker) -> None:
    page = opened(tab, broker, "snapshots")
    page.fill("label:has-text('Name') input", "before")
    page.click("button:has-text('Take')")
    page.wait_for_selector("td >> text=before")
    broker.topic("orders").put("later")
    page.click("text=Compare")
    page.wait_for_selector("[aria-label=Differences] td:has-text('orders')")
    page.click("tr:has-text('before') >> text=Restore")
    page.click("text=Yes")
    page.wait_for_selector("text=Restored: before")
    assert b"later" not in [one.value for one in broker.topic("orders").records()]
    page.click("tr:has-text('before') >> text=Forget")
    page.wait_for_selector("text=None was taken")
    page = opened(tab, broker, "clock")
    page.click("button:has-text('Freeze')")
    page.wait_for_selector("text=it stands still")
    before = broker.clock.now_ms
    page.fill("label:has-text('By') input", "7")
    page.click("button:has-text('Advance')")
    until(page, lambda: broker.clock.now_ms == before + 7 * 60_000)
    page.click("text=Let it run")
    page.wait_for_selector("text=it runs")
    assert tab.errors == []


def test_a_value_of_a_registry_is_shown_by_its_schema_and_as_data(tab: Tab) -> None:
    file = BytesIO()
    schemaless_writer(file, ORDER, {"id": 2**60 + 1})
    with fake_registry() as registry:
        registry.avro(7, ORDER)
        with MockBroker(admin_port=0, topics={"orders": 1}, schema_registry=registry.url) as broker:
            broker.topic("orders").put(framed(7, file.getvalue()), key=framed(9, b"\x02"))
            page = opened(tab, broker, "topics/orders")
            page.wait_for_selector("text=AVRO Order schema 7")
            assert str(2**60 + 1) in page.inner_text(".record-value")
            page.wait_for_selector("td:has-text('has no schema 9')")
            page.select_option("label:has-text('Show values as') select", "hex")
            page.wait_for_selector(".record-value:has-text('00 00 00 00 07')")
    assert tab.errors == []


def test_no_page_of_another_origin_reads_or_frames_it(tab: Tab, broker: MockBroker) -> None:
    with MockBroker(admin_port=0) as other:
        page = opened(tab, other, "requests")
        asked = page.evaluate(
            "url => fetch(url, {mode: 'no-cors'}).then(found => found.type, () => 'refused')",
            f"{broker.admin_url}/v1/topics",
        )
        assert asked == "refused"  # by the policy of the page itself
    tab.page.goto("about:blank")
    refused = tab.page.evaluate(
        "url => fetch(url).then(found => found.status, () => 'refused')",
        f"{broker.admin_url}/v1/topics",
    )
    assert refused == "refused"
    tab.page.set_content(f"<iframe src='{broker.admin_url}/'></iframe>")
    tab.page.wait_for_timeout(500)
    assert tab.page.frames[-1].query_selector("nav.views") is None
