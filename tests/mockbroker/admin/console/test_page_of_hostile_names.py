"""Names and contents that are markup stay text, in every view and in the file of a failed test.

Kafka takes any text as a group, a client id, a transactional id, a static member, a principal, a
rack; this broker as the id of a rule and the name of a snapshot. Only topics have letters of their
own.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest
from confluent_kafka import Consumer, Producer

from mockbroker import MockBroker
from mockbroker.admin.client import AdminClient, segment
from mockbroker.testing.pytest_plugin.report_page import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Page

    from tests.mockbroker.admin.console.conftest import Tab

pytestmark = [pytest.mark.browser, pytest.mark.timeout(240)]

EVIL: Final = "'\"><img src=x onerror=\"document.title='owned'\"><x-owned>${7*7}"
"""What would be markup, ends an attribute, and looks like an expression."""
CONTENT: Final = f"</script></title>{EVIL}<!--"
AT: Final = quote(EVIL, safe="")
VIEWS: Final = {
    "requests?api=Fetch": 1,
    "requests?api=Fetch&as=ladder": 1,
    f"requests?client={quote('*<img*', safe='')}": 1,
    f"requests?search={AT}": 1,
    "fetch": 1,
    "topics": 0,
    "topics/orders?as=text": 4,
    "topics/orders?as=json": 4,
    "topics/orders?as=hex": 2,
    f"topics/orders?key={AT}": 3,
    f"topics/{AT}": 1,
    "topics/__proto__": 0,
    "groups": 2,
    f"groups/{AT}": 5,
    f"groups/{quote(CONTENT, safe='')}": 1,
    "groups/__proto__": 0,
    "transactions": 1,
    f"transactions/{AT}": 2,
    "cluster/orders/0": 4,
    f"cluster/{AT}/0": 1,
    "faults": 1,
    f"faults?rule={AT}": 1,
    "clock": 0,
    "snapshots": 1,
    f"snapshots?compare={AT}": 2,
    f"config?search={AT}": 1,
    f"compatibility?search={AT}": 0,
    f"{AT}/{AT}?{AT}={AT}": 0,
}
"""Each with how often at least the name is read in it."""
APIS: Final = (
    "Produce", "Fetch", "JoinGroup", "SyncGroup", "Heartbeat", "OffsetFetch", "FindCoordinator",
    "InitProducerId", "AddPartitionsToTxn", "EndTxn", "SaslAuthenticate", "Metadata",
)  # fmt: skip
WATCH: Final = """
window.refused = [];
document.addEventListener("securitypolicyviolation", one => {
  window.refused.push(one.violatedDirective);
});
"""
MARKUP: Final = """
() => [
  ...document.querySelectorAll("img, x-owned, iframe, object, base, form[action]"),
  ...document.querySelectorAll("#console script, #console style, #console link"),
  ...[...document.querySelectorAll("*")].filter(
    one => [...one.attributes].some(attribute => attribute.name.startsWith("on"))
  ),
  ...document.querySelectorAll("#console a[href]:not([href^='#'])"),
].map(one => one.outerHTML.slice(0, 200))
"""
"""Elements that no view of the console makes."""


@pytest.fixture(scope="module")
def broker() -> Iterator[MockBroker]:
    """All that may have such a name has it."""
    config = {
        "listener.security.protocol.map": "IN:PLAINTEXT,OUT:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
    }
    with MockBroker(
        admin_port=0,
        racks=[EVIL],
        listeners=["IN://:0", "OUT://:0"],
        config=config,
        topics={"orders": 1, "__proto__": 1, "constructor": 1},
    ) as made:
        fill(made)
        plain = made.client_config("confluent")
        token = made.token(EVIL, listener="OUT")
        reader = made.client_config("confluent", listener="OUT", token=token)
        consumers = [
            consumer(reader | {"group.id": EVIL, "group.instance.id": EVIL, "client.rack": EVIL}),
            consumer(plain | {"group.id": "__proto__"}),
        ]
        yield made
        for one in consumers:
            one.close()


def fill(broker: MockBroker) -> None:
    config = broker.client_config("confluent") | {"client.id": EVIL}
    producer = Producer(config)
    for topic in ("orders", "__proto__"):
        producer.produce(topic, CONTENT, key=EVIL, headers={EVIL: CONTENT})
        producer.produce(topic, f'{{"{"<x-owned>"}": [{{"__proto__": {{}}}}]}}', key=EVIL)
    assert producer.flush(30) == 0
    ledger = Producer(config | {"transactional.id": EVIL})
    ledger.init_transactions(30)
    ledger.begin_transaction()
    ledger.produce("orders", CONTENT)
    ledger.commit_transaction(30)
    broker.group(CONTENT).commit({("orders", 0): 1})
    broker.faults.add({"id": EVIL, "api": "Fetch", "delay_ms": 1, "maybe": True})
    admin = AdminClient(broker.admin_url or "", None)
    admin.send("PUT", f"/v1/snapshots/{segment(EVIL)}")
    broker.group("later").commit({("orders", 0): 1})


def consumer(config: dict[str, Any]) -> Consumer:
    """In its group, with a session of fetches."""
    made = Consumer(config | {"client.id": EVIL, "auto.offset.reset": "earliest"})
    made.subscribe(["orders", "__proto__"])
    assert made.consume(3, 30)
    return made


def looked_at(tab: Tab, address: str) -> Page:
    """A view that has come to rest."""
    tab.page.goto("about:blank")
    tab.page.goto(address)
    tab.page.wait_for_selector("main:not(:has-text('Loading …'))")
    return tab.page


def check(page: Page, view: str, times: int) -> None:
    """The name is there so often, and nothing came of it."""
    page.wait_for_function(
        "([text, times]) => document.querySelector('main').textContent.split(text).length > times",
        arg=[EVIL, times],
    )
    assert page.evaluate(MARKUP) == [], view
    assert page.evaluate("window.refused") == [], view
    assert page.title() != "owned", view


@pytest.mark.parametrize("view", VIEWS)
def test_in_every_view_it_is_text(tab: Tab, broker: MockBroker, view: str) -> None:
    tab.page.add_init_script(WATCH)
    page = looked_at(tab, f"{broker.admin_url}/#/{view}")
    page.click("footer >> text=Calls")
    check(page, view, VIEWS[view])
    # A name that there is not is told by a status, which browsers note.
    assert [error for error in tab.errors if "404" not in error] == []


@pytest.mark.parametrize("api", APIS)
def test_in_all_that_a_request_shows_it_is_text(tab: Tab, broker: MockBroker, api: str) -> None:
    tab.page.add_init_script(WATCH)
    page = looked_at(tab, f"{broker.admin_url}/#/requests?api={api}")
    row = f".grid-row:not(.grid-head):has-text('{api}') >> nth=-1"
    page.wait_for_selector(row)
    page.click("text=Freeze")
    page.click(row)
    page.wait_for_selector(".field-row")
    for button in ("Answer", "Journal line", "Request"):
        page.click(f".tabs >> text={button}")
        check(page, api, 1)
    for field in range(min(40, page.locator(".field-row").count())):
        page.hover(f".field-row >> nth={field}")
    page.click("text=This connection as a ladder")
    page.wait_for_selector(".ladder-row")
    check(page, api, 1)
    assert tab.errors == []


def test_in_the_file_of_a_failed_test_it_is_text(
    tab: Tab, broker: MockBroker, tmp_path: Path
) -> None:
    path = Path(write(str(tmp_path), broker, f"test_{CONTENT}", CONTENT) or "")
    tab.page.add_init_script(WATCH)
    for view in ("failure", *VIEWS):
        page = looked_at(tab, f"{path.as_uri()}#/{view}")
        # It holds a part of what there was: that part is shown in these.
        check(
            page, view, int(view in ("failure", "groups", f"groups/{AT}", "topics/orders?as=text"))
        )
    assert tab.errors == []
