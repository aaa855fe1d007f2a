"""The console in a real Chromium, as a person uses it."""

from __future__ import annotations

import json
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer

from mockbroker import MockBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.mockbroker.admin.console.conftest import Tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

EVIL = "</script><img src=x onerror=\"document.title='owned'\"><b>"
LOADED = "main:not(:has-text('Loading …'))"
VIEWS = (
    "requests", "fetch", "topics", "topics/orders", "groups", "groups/billing", "transactions",
    "transactions/ledger", "cluster/orders/0", "faults", "clock", "snapshots", "config",
    "compatibility",
)  # fmt: skip


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    """With a group, a transaction, hostile names and records, and clients that go on."""
    with MockBroker(admin_port=0, brokers=3, topics={"orders": 3}) as made:
        config = {"bootstrap.servers": made.bootstrap_servers}
        producer = Producer({**config, "client.id": EVIL})
        for n in range(20):
            producer.produce("orders", f"{EVIL}{n}", key=EVIL, headers={EVIL: EVIL})
        producer.flush(30)
        ledger = Producer({**config, "transactional.id": "ledger"})
        ledger.init_transactions(30)
        ledger.begin_transaction()
        ledger.produce("orders", "entry")
        ledger.commit_transaction(30)
        consumer = Consumer({**config, "group.id": "billing", "auto.offset.reset": "earliest"})
        consumer.subscribe(["orders"])
        assert consumer.consume(21, 30)
        consumer.commit(asynchronous=False)
        made.faults.add({"api": "Produce", "client": "nobody", "error": "NOT_LEADER_OR_FOLLOWER"})
        stopped = threading.Event()
        thread = threading.Thread(target=lambda: go_on(producer, consumer, stopped))
        thread.start()
        yield made
        stopped.set()
        thread.join()
        consumer.close()
        made.reset()


def go_on(producer: Producer, consumer: Consumer, stopped: threading.Event) -> None:
    while not stopped.wait(0.05):
        producer.produce("orders", EVIL, key=EVIL)
        producer.poll(0)
        consumer.poll(0)
    producer.flush(30)


def open_view(tab: Tab, broker: MockBroker, view: str) -> Page:
    tab.page.goto(f"{broker.admin_url}/#/{view}")
    tab.page.wait_for_selector("main")
    tab.page.wait_for_selector(LOADED)
    return tab.page


def test_every_view_opens_without_an_error_and_without_what_axe_finds(
    tab: Tab, broker: MockBroker
) -> None:
    axe = axe_source()
    for view in VIEWS:
        page = open_view(tab, broker, view)
        assert page.query_selector(".problem") is None, view
        page.evaluate(axe)
        for scheme in ("light", "dark"):
            page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", scheme)
            found: list[dict[str, Any]] = page.evaluate(
                "axe.run().then(found => found.violations.map(one =>"
                " ({id: one.id, where: one.nodes.map(node => node.html).slice(0, 3)})))"
            )
            assert found == [], f"{view}, {scheme}"
    assert tab.errors == []


def axe_source() -> str:
    import axe_playwright_python

    return (Path(axe_playwright_python.__path__[0]) / "axe.min.js").read_text("utf-8")


def test_the_page_of_analyze_is_linked_to_and_reaches_nothing(tab: Tab, tmp_path: Path) -> None:
    with MockBroker(admin_port=0, journal=tmp_path) as broker:
        page = open_view(tab, broker, "clock")
        assert page.query_selector("text=Analysis of the journal") is None
        script = "fetch('/v1/cluster').catch(() => document.title = document.title + ' alone')"
        (tmp_path / "report.html").write_text(
            f"<!doctype html><title>analysis</title><script>{script}</script>", "utf-8"
        )
        with page.context.expect_page() as opened:
            page.click("text=Analysis of the journal")
        opened.value.wait_for_function("document.title === 'analysis alone'")
    assert tab.errors == []


@pytest.mark.parametrize("width", [360, 2560])
def test_no_view_is_wider_than_its_window(tab: Tab, broker: MockBroker, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 800})
    for view in VIEWS:
        page = open_view(tab, broker, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.evaluate("document.querySelector('main').scrollWidth") <= width, view
        here = page.locator("nav.views [aria-current=page]").bounding_box()
        assert here is not None
        assert 0 <= here["x"] <= width - here["width"] + 1, (view, here)


def test_on_a_telephone_no_text_is_a_column_of_letters(tab: Tab, broker: MockBroker) -> None:
    tab.page.set_viewport_size({"width": 360, "height": 800})
    for view in ("fetch", "config", "compatibility"):
        page = open_view(tab, broker, view)
        page.wait_for_selector("tbody tr")
        highest = "Math.max(...[...document.querySelectorAll('tr')].map(row => row.offsetHeight))"
        assert page.evaluate(highest) < 150, view


def test_what_clients_send_is_text(tab: Tab, broker: MockBroker) -> None:
    page = open_view(tab, broker, "topics/orders?as=text")
    page.wait_for_selector("td.record-value")
    assert EVIL in page.inner_text("td.record-value >> nth=0")
    page = open_view(tab, broker, "requests?api=Produce")
    page.wait_for_selector(".grid-row:not(.grid-head)")
    page.click(".grid-row:not(.grid-head) >> nth=0")
    page.wait_for_selector(".field-row")
    assert EVIL in page.inner_text(".fields")
    assert page.query_selector("#console img") is None
    assert page.title() != "owned"
    assert tab.errors == []


def test_what_is_read_stays_in_sight_while_records_come(tab: Tab, broker: MockBroker) -> None:
    page = open_view(tab, broker, "topics/orders")
    page.wait_for_selector("td.record-value")
    page.evaluate("document.querySelector('[aria-label=Records] table').seen = true")
    seen = "document.querySelector('[aria-label=Records] table').seen"

    def offsets() -> str:
        return page.inner_text("p:has-text('below the high watermark')")

    for _ in range(3):
        page.wait_for_function(
            "before => ![...document.querySelectorAll('p')].some(p => p.innerText === before)",
            arg=offsets(),
        )
        assert page.evaluate(seen)
    assert tab.errors == []


def test_a_request_is_found_opened_and_copied_by_keys_alone(tab: Tab, broker: MockBroker) -> None:
    tab.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = open_view(tab, broker, "requests?api=Heartbeat&group=billing")
    page.wait_for_selector(".grid-row:not(.grid-head)")
    page.focus("[role=grid]")
    page.keyboard.press("End")  # the oldest may be let go any moment
    page.wait_for_selector(".detail .field-row")
    page.wait_for_selector(".fields:has-text('billing')")
    page.focus("text=Copy as Python expectation")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Copied")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied.startswith('broker.journal.expect(api="Heartbeat"')
    eval(copied, {"broker": broker})
    page.focus("[role=grid]")
    page.keyboard.press("Escape")
    page.wait_for_selector(".detail", state="detached")
    assert tab.errors == []


def test_what_it_does_the_admin_api_does_and_it_shows_the_call(
    tab: Tab, broker: MockBroker
) -> None:
    page = open_view(tab, broker, "faults")
    page.fill("textarea", json.dumps({"api": "ListGroups", "error": "COORDINATOR_NOT_AVAILABLE"}))
    page.click("text=Arm >> nth=-1")
    page.wait_for_selector("text=Armed:")
    page.click("footer >> text=Calls")
    page.wait_for_selector(".call-list:has-text('POST /v1/faults')")
    page.wait_for_selector(".table-box:has-text('ListGroups')")
    page.click("tr:has-text('ListGroups') >> text=Disarm")
    page.wait_for_selector("tr:has-text('ListGroups')", state="detached")
    page = open_view(tab, broker, "clock")
    page.click("text=Freeze")
    page.wait_for_selector("text=it stands still")
    page.click("text=Let it run")
    page.wait_for_selector("text=it runs")
    page = open_view(tab, broker, "snapshots")
    page.fill("input", "before")
    page.click("text=Take")
    page.click("tr:has-text('before') >> text=Compare")
    page.wait_for_selector("text=What is compared")
    assert tab.errors == []


def test_a_token_is_asked_for_and_kept_by_the_tab(tab: Tab) -> None:
    with MockBroker(admin_port=0, admin_token="correct-horse") as broker:
        page = tab.page
        page.goto(f"{broker.admin_url}/")
        page.fill("input[type=password]", "wrong-horse")
        page.click("text=Open")
        page.wait_for_selector("text=does not take this token")
        page.fill("input[type=password]", "correct-horse")
        page.click("text=Open")
        page.wait_for_selector("nav.views")
        page.reload()
        page.wait_for_selector("nav.views")
        page.goto("about:blank")
        page.goto(f"{broker.admin_url}/#token=correct-horse")
        page.wait_for_selector("nav.views")
        assert "correct-horse" not in page.url


def test_of_a_hundred_thousand_rows_those_in_sight_are_there(tab: Tab) -> None:
    with MockBroker(admin_port=0, topics={f"t{n}": 10 for n in range(1000)}) as broker:
        page = open_view(tab, broker, "topics?search=t999")
        page.wait_for_selector("tbody tr")
        page.add_init_script(MANY_ROWS)
        page.reload()
        page = open_view(tab, broker, "requests")
        page.wait_for_selector(".count:has-text('100,000')")
        for share in (0.1, 0.5, 0.9, 1.0):
            page.evaluate(
                "share => { const box = document.querySelector('[role=grid]');"
                " box.scrollTop = share * box.scrollHeight; }",
                share,
            )
            number = int(share * 100_000) - 5
            page.wait_for_selector(f".c-about:has-text('needle-{number}')")
            assert page.evaluate("document.querySelectorAll('.grid-row').length") < 100
        page.fill("input[type=search]", "needle-77777")
        page.wait_for_selector(".count:has-text('1 of')")
        page.focus("[role=grid]")
        page.fill("input[type=search]", "")
        page.wait_for_selector(".count:has-text('100,000')")
        page.focus("[role=grid]")
        for _ in range(300):  # a key that is held: browsers take fewer changes of an address
            page.keyboard.press("ArrowUp")
        page.wait_for_url(re.compile("select=99701"))
        page.wait_for_selector("text=The broker has let go of this request")
    assert tab.errors == []


def test_a_filter_looks_at_some_rows_at_a_time(tab: Tab, broker: MockBroker) -> None:
    page = open_view(tab, broker, "clock")
    looked_at: list[int] = page.evaluate(
        """async () => {
          const { Shown } = await import("/console/shown.js");
          const source = { rows: [], dropped: 0, began: 0 };
          for (let n = 1; n <= 100000; n += 1) source.rows.push({ number: n });
          const shown = new Shown(source);
          const even = row => row.number % 2 === 0;
          const found = [];
          const step = () => {
            const before = shown.lookedAt;
            const more = shown.advance("even", even);
            found.push(shown.lookedAt - before);
            return more;
          };
          while (step());
          source.rows.push({ number: 100001 }, { number: 100002 });
          step();
          source.rows = source.rows.slice(1000);
          source.dropped = 1000;
          source.rows.push({ number: 100003 });
          step();
          return [...found, shown.rows.length, shown.rows[0].number, shown.removed];
        }"""
    )
    assert looked_at[:50] == [2000] * 50
    # What came is looked at once, and what the store let go takes nothing else with it.
    assert looked_at[50:] == [2, 1, 49_501, 1002, 500]


def test_what_was_drawn_before_leaves_nothing_behind(tab: Tab, broker: MockBroker) -> None:
    page = open_view(tab, broker, "requests")
    session = page.context.new_cdp_session(page)

    def elements() -> int:
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        return int(session.send("Memory.getDOMCounters")["nodes"])

    def rows_shown() -> int:
        return int(page.inner_text(".count").split()[0].replace(",", ""))

    page.wait_for_selector(".grid-row:not(.grid-head)")
    before, rows = elements(), rows_shown()
    for view in ("Fetch", "Topics", "Groups", "Cluster", "Requests"):
        page.click(f"nav.views >> text={view}")
        page.wait_for_selector(LOADED)
    deadline = 600
    while rows_shown() < rows + 200 and deadline:
        page.wait_for_timeout(100)
        deadline -= 1
    assert deadline, "no rows came"
    # Two hundred rows went by, some twenty elements each.
    assert elements() < before + 1500
    assert tab.errors == []


MANY_ROWS = """
const sent = window.fetch;
window.fetch = (path, options) => {
  if (!String(path).startsWith("/v1/journal/rows")) return sent(path, options);
  const rows = [];
  for (let n = 1; String(path).includes("since=0&") && n <= 100000; n += 1) {
    rows.push({
      number: n, api: "Fetch", version: 18, client_id: "app", broker: 1, connection: 1,
      topics: ["orders"], groups: [], transactional_ids: [], about: `needle-${n}`,
      request_bytes: 80, response_bytes: 120, arrived_ms: n, completed_ms: n + (n % 50),
      cause: "data", answered: true, errors: [], fault: null,
    });
  }
  const page = { rows, first: 100001, next_cursor: 100000, more: false, newest: 100000 };
  return Promise.resolve(new Response(JSON.stringify(page)));
};
"""


def test_the_file_of_a_failed_test_opens_without_a_server(
    tab: Tab, broker: MockBroker, tmp_path: Path
) -> None:
    from mockbroker.testing.pytest_plugin.report_page import write

    path = write(str(tmp_path), broker, f"test_{EVIL}", EVIL)
    for view in ("failure", *VIEWS):
        tab.page.goto(f"file://{path}#/{view}")
        tab.page.wait_for_selector("main")
        tab.page.wait_for_selector(LOADED)
        assert tab.page.query_selector(".problem") is None, view
        assert tab.page.query_selector("#console img") is None
    assert tab.errors == []


def test_the_file_of_a_failed_test_opens_at_why_it_failed(tab: Tab, tmp_path: Path) -> None:
    from mockbroker.testing.pytest_plugin.report_page import write

    with MockBroker(topics={"orders": 1}, admin_port=0) as broker:
        producer = Producer(
            {
                "bootstrap.servers": broker.bootstrap_servers,
                "client.id": "till",
                "retry.backoff.ms": 10,
                "enable.idempotence": False,
            }
        )
        producer.produce("orders", b"first")
        assert producer.flush(30) == 0
        broker.faults.add({"api": "Produce", "error": "NOT_ENOUGH_REPLICAS", "count": 1})
        producer.produce("orders", b"second")
        assert producer.flush(30) == 0
        broker.group("billing").commit({("orders", 0): 0})
        said = "E   assert 1 == 2\nE     no"
        failure = f"def test_it():\n>   assert 1 == 2\n{said}\n\nt.py:2: AssertionError"
        printed = [("Captured stdout call", "to the till")]
        path = write(str(tmp_path), broker, "tests/test_it.py::test_it", failure, printed)
    page = tab.page
    page.goto(f"file://{path}")
    page.wait_for_selector("nav.views [aria-current=page]:has-text('Failure')")
    page.wait_for_selector(LOADED)
    assert page.inner_text("h2 >> nth=0") == "tests/test_it.py::test_it"
    assert page.inner_text(".said") == "assert 1 == 2\n  no"
    assert page.inner_text("[aria-label='The failure in full']") == failure
    assert page.inner_text("[aria-label='Captured stdout call']") == "to the till"
    (row,) = page.query_selector_all("[aria-label='Requests that went wrong or waited'] tbody tr")
    assert all(text in row.inner_text() for text in ("till#", "Produce", "NOT_ENOUGH_REPLICAS"))
    assert page.title() == "Failure – tests/test_it.py::test_it"
    page.evaluate(axe_source())
    for scheme in ("light", "dark"):
        page.evaluate("theme => { document.documentElement.dataset.theme = theme; }", scheme)
        found = page.evaluate("axe.run().then(found => found.violations.map(one => one.id))")
        assert found == [], scheme
    page.set_viewport_size({"width": 360, "height": 800})
    assert page.evaluate("document.querySelector('main').scrollWidth") <= 360
    page.set_viewport_size({"width": 1400, "height": 900})
    page.click("text=Group billing: Empty, 0 members, 2 records behind")
    page.wait_for_selector("h2:has-text('billing')")
    page.go_back()
    page.click("[aria-label='Requests that went wrong or waited'] >> text=Produce")
    page.wait_for_selector(".detail >> text=NOT_ENOUGH_REPLICAS")
    page.wait_for_selector(".field-row")
    assert tab.errors == []


def test_of_a_failure_the_last_lines_that_pytest_marks_are_told(
    tab: Tab, broker: MockBroker
) -> None:
    page = open_view(tab, broker, "clock")
    failures = [
        "E   ValueError: x\n\nDuring handling …\n>   y\nE   KeyError: 'y'\n\nt.py:3: KeyError",
        "Traceback (most recent call last):\n  …\nAssertionError: no",
        "\n".join(["E   assert a == b", *["E     line"] * 30]),
        "",
    ]
    told = page.evaluate(
        """async failures => {
          const { saidIn } = await import("/console/failure.js");
          return failures.map(saidIn);
        }""",
        failures,
    )
    assert told[:2] == ["KeyError: 'y'", "AssertionError: no"]
    assert told[2].splitlines()[-1] == "… 15 lines more below"
    assert told[3] == ""
