"""What each view is for, in a real Chromium: what stands in it, and what its buttons give."""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Final

import pytest
from confluent_kafka import Consumer, Producer

from mockbroker import MockBroker
from mockbroker_protocol.api_keys import ApiKey

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.mockbroker.admin.console.conftest import Tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

ROW: Final = ".grid-row:not(.grid-head):not(.gap-row)"
FILTERS: Final = (
    "api=Produce", "client=till", "client=t*", "client=t?ll", "client=[a-t]ill", "client=[!t]*",
    "topic=orders", "group=billing", "transactional_id=ledger", "error=true", "error=false",
    "error=19", "error=NOT_ENOUGH_REPLICAS", "fault=true", "fault=false", "fault=lame",
    "connection=1", "api=Produce&error=false&topic=orders",
)  # fmt: skip


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    """With a request of each kind that filters tell apart."""
    with MockBroker(admin_port=0, topics={"orders": 1}) as made:
        servers = {"bootstrap.servers": made.bootstrap_servers, "retry.backoff.ms": 10}
        made.faults.add(
            {"id": "lame", "api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "count": 1}
        )
        till = Producer({**servers, "client.id": "till"})
        till.produce("orders", '{"id": 1}', key="7")
        assert till.flush(30) == 0
        ledger = Producer({**servers, "transactional.id": "ledger"})
        ledger.init_transactions(30)
        ledger.begin_transaction()
        ledger.produce("orders", "entry")
        ledger.commit_transaction(30)
        group = {"group.id": "billing", "auto.offset.reset": "earliest"}
        consumer = Consumer({**servers, **group, "client.id": "billing-1"})
        consumer.subscribe(["orders"])
        assert len(consumer.consume(2, 30)) == 2
        yield made
        consumer.close()


def opened(tab: Tab, broker: MockBroker, view: str) -> Page:
    tab.page.goto(f"{broker.admin_url}/#/{view}")
    tab.page.wait_for_selector("main:not(:has-text('Loading …'))")
    return tab.page


def test_filters_of_requests_mean_what_the_journals_do(tab: Tab, broker: MockBroker) -> None:
    page = opened(tab, broker, "clock")
    found = page.evaluate(
        """async filters => {
          const { loadErrorNames, rowFilter } = await import("/console/journal.js");
          const ask = path => fetch(path).then(answer => answer.json());
          await loadErrorNames();
          const { rows, newest } = await ask("/v1/journal/rows?limit=1000&budget_ms=1000");
          const told = {};
          for (const filter of filters) {
            const { requests } = await ask(`/v1/journal?limit=1000&${filter}`);
            const test = rowFilter(Object.fromEntries(new URLSearchParams(filter)));
            told[filter] = [
              rows.filter(test).map(row => row.number),
              requests.map(line => line.number).filter(number => number <= newest),
            ];
          }
          return told;
        }""",
        FILTERS,
    )
    assert {name: here for name, (here, _) in found.items()} == {
        name: there for name, (_, there) in found.items()
    }
    assert [name for name, (here, _) in found.items() if not here] == []
    assert tab.errors == []


def test_frozen_rows_stand_still_and_go_on(tab: Tab, broker: MockBroker) -> None:
    page = opened(tab, broker, "requests?api=ApiVersions")
    page.wait_for_selector(ROW)
    page.click("text=Freeze")
    before = page.inner_text(".count")
    Producer({"bootstrap.servers": broker.bootstrap_servers}).list_topics(timeout=30)
    page.wait_for_function(
        "async () => { const { journal } = await import('/console/journal.js');"
        " return journal.rows.at(-1).api === 'Metadata'; }"
    )
    page.wait_for_timeout(300)  # a drawing later
    assert page.inner_text(".count").split()[0] == before.split()[0]
    page.click("text=Frozen")
    shown = int(before.split()[0]) + 1
    page.wait_for_function(
        "least => Number(document.querySelector('.count').innerText.split(' ')[0]) >= least",
        arg=shown,
    )
    assert tab.errors == []


@pytest.mark.parametrize("width", [1160, 1280, 2560])
def test_beside_an_opened_request_the_rows_are_whole(
    tab: Tab, broker: MockBroker, width: int
) -> None:
    tab.page.set_viewport_size({"width": width, "height": 800})
    page = opened(tab, broker, "requests?api=Produce")
    page.click(f"{ROW} >> nth=0")
    page.wait_for_selector(".detail .field-row")
    grid = page.locator("[role=grid]")
    assert grid.evaluate("grid => grid.scrollWidth - grid.clientWidth") == 0


def test_a_row_is_copied_as_a_fault_rule_and_as_a_curl(tab: Tab, broker: MockBroker) -> None:
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = opened(tab, broker, "requests?api=Produce&error=true")
    page.click(f"{ROW} >> nth=0")
    page.click("text=Copy as fault rule")
    page.wait_for_selector("text=Copied")
    (rule,) = json.loads(page.evaluate("navigator.clipboard.readText()"))["rules"]
    (armed,) = broker.faults.add({**rule, "maybe": True})
    armed.remove()
    assert (rule["api"], rule["error"]) == ("Produce", "NOT_ENOUGH_REPLICAS")
    page.wait_for_selector("text=Copied", state="detached")
    page.click("text=Copy as curl")
    page.wait_for_selector("text=Copied")
    command = page.evaluate("navigator.clipboard.readText()")
    told = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True, check=True)
    (line,) = json.loads(told.stdout)["requests"]
    assert (line["api"], line["errors"]) == ("Produce", [19])
    assert tab.errors == []


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_fetch_tells_who_waits_and_what_a_session_knows(tab: Tab) -> None:
    from kafka import KafkaConsumer

    with MockBroker(admin_port=0, topics={"orders": 2}) as broker, ExitStack() as stack:
        broker.topic("orders").put("paid", partition=1)
        consumer = KafkaConsumer(
            "orders",
            bootstrap_servers=broker.bootstrap_servers,
            client_id="reader",
            auto_offset_reset="earliest",
            fetch_max_wait_ms=20_000,
            request_timeout_ms=60_000,
        )
        stack.callback(consumer.close)
        assert next(consumer).value == b"paid"
        consumer.poll(500)
        page = opened(tab, broker, "fetch")
        waits = "[aria-label='Requests that wait'] tr:has-text('reader#')"
        page.wait_for_selector(f"{waits} >> text=Fetch v")
        page.click(f"{waits} >> a:has-text('session')")
        page.wait_for_selector("[aria-label='Partitions of the session'] tr:has-text('orders-1')")
        cells = page.locator("tr:has-text('orders-1') >> td").all_inner_texts()
        assert (cells[0], cells[2]) == ("orders-1", "1")
        assert cells[-2:] == ["1", "1"]
        assert page.locator("tbody tr").count() == 2
    assert tab.errors == []


def test_records_are_tailed_searched_by_value_and_time_and_lead_to_their_writer(
    tab: Tab, broker: MockBroker
) -> None:
    page = opened(tab, broker, "topics/orders?tail=true")
    page.wait_for_selector("td.record-value >> text=entry")
    broker.topic("orders").put("tailed")
    page.wait_for_selector("td.record-value >> text=tailed")
    page = opened(tab, broker, "topics/orders?contains=%22id%22")
    page.wait_for_selector("text=1 found in")
    page.click("td >> text=Request")
    page.wait_for_selector(".detail h2:has-text('Produce')")
    page.wait_for_selector(".field-row")
    assert "till" in page.inner_text(".detail .facts")
    page = opened(tab, broker, "topics/orders?since=2999-01-01T00%3A00%3A00")
    page.wait_for_selector("text=0 found in")
    assert tab.errors == []


def test_a_group_has_members_lag_with_its_course_and_rebalances(
    tab: Tab, broker: MockBroker
) -> None:
    page = opened(tab, broker, "groups/billing")
    page.wait_for_selector("[aria-label=Members] tr:has-text('billing-1')")
    page.wait_for_selector("svg.spark[aria-label^='Lag, now']")
    page.wait_for_selector("li:has-text('generation 1: billing-1 came')")
    page.wait_for_selector("[aria-label=Offsets] tr:has-text('orders-0')")
    assert tab.errors == []


def test_of_a_member_by_the_newer_protocol_it_is_told_how_it_came_and_went(
    tab: Tab, broker: MockBroker
) -> None:
    consumer = Consumer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "client.id": "newer",
            "group.id": "shipping",
            "group.protocol": "consumer",
        }
    )
    with closing(consumer):
        consumer.subscribe(["orders"])
        while not consumer.assignment():
            consumer.poll(0.05)
    page = opened(tab, broker, "groups/shipping")
    page.wait_for_selector("li:has-text('newer joined, epoch')")
    page.wait_for_selector("li:has-text('newer left')")
    assert tab.errors == []


def test_groups_of_other_kinds_are_not_served_and_that_is_said(
    tab: Tab, broker: MockBroker
) -> None:
    """The page, its documentation and what ApiVersions advertises."""
    page = opened(tab, broker, "groups")
    said = page.inner_text("main p.quiet")
    assert "does not serve share groups (KIP-932) and streams groups (KIP-1071)" in said
    apis = page.evaluate("fetch('/v1/protocol').then(answer => answer.json())")["apis"]
    keys = {one["key"] for one in apis}
    others = {key for key in ApiKey if "SHARE" in key.name or "STREAMS" in key.name}
    assert others
    assert keys.isdisjoint(map(int, others))
    assert int(ApiKey.CONSUMER_GROUP_HEARTBEAT) in keys


def test_a_transaction_has_its_states_steps_and_what_was_decided(
    tab: Tab, broker: MockBroker
) -> None:
    page = opened(tab, broker, "transactions/ledger")
    page.wait_for_selector("[aria-current=true]:has-text('CompleteCommit')")
    page.wait_for_selector("li:has-text('EndTxn of')")
    page.wait_for_selector("text=The coordinator decided: commit, because its client asked for it")
    assert tab.errors == []


def test_a_preset_is_armed_and_what_a_rule_holds_back_is_let_go(tab: Tab) -> None:
    with MockBroker(admin_port=0, topics={"orders": 1}) as broker:
        page = opened(tab, broker, "faults")
        page.select_option("label:has-text('Preset') select", "leader_moved")
        page.click("main button[type=submit]")
        page.wait_for_selector("text=Armed:")
        assert {rule.fault.error for rule in broker.faults.list()} == {"NOT_LEADER_OR_FOLLOWER"}
        page.click("text=Disarm all")
        page.click("text=Yes")
        page.wait_for_selector("text=No rule is armed")
        page.fill("textarea", '{"api": "Produce", "park": true}')
        page.click("main button[type=submit]")
        page.wait_for_selector("text=Armed:")
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
        producer.produce("orders", b"paid")
        producer.poll(0)
        page.click("text=Let go")
        assert producer.flush(30) == 0
        broker.reset()  # the preset's rules were not to fire
    assert tab.errors == []


def test_the_wall_time_jumps_and_time_runs_faster(tab: Tab) -> None:
    with MockBroker(admin_port=0) as broker:
        page = opened(tab, broker, "clock")
        before = broker.clock.wall_ms
        page.fill("label:has-text('By') input", "-2")
        page.select_option("label:has-text('Unit') select", "d")
        page.click("text=Jump (wall time alone)")
        page.wait_for_function("() => !document.querySelector('button:disabled[title=Jump]')")
        page.fill("label:has-text('Rate') input", "50")
        page.click("button:has-text('Set')")
        page.wait_for_selector("text=50 times as fast")
        assert broker.clock.wall_ms < before
        assert broker.clock.rate == 50
    assert tab.errors == []


def test_configs_tell_where_they_come_from(tab: Tab) -> None:
    with MockBroker(admin_port=0, config={"log.retention.ms": 60_000}) as broker:
        page = opened(tab, broker, "config?search=log.retention.ms")
        cells = page.locator("tbody tr >> td").all_inner_texts()
        assert cells[:3] == ["log.retention.ms", "60000", "STATIC_BROKER_CONFIG"]
    assert tab.errors == []


def test_compatibility_tells_versions_libraries_and_what_was_asked(
    tab: Tab, broker: MockBroker
) -> None:
    page = opened(tab, broker, "compatibility?used=true")
    page.wait_for_selector(".badge:has-text('confluent-kafka-python')")
    names = page.locator("tbody tr >> td:nth-child(2)").all_inner_texts()
    assert {"ApiVersions", "Fetch", "EndTxn"} <= set(names)
    assert "ElectLeaders" not in names
    assert tab.errors == []
