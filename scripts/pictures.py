"""Takes the pictures of docs/console.md: `python -m scripts.pictures` writes docs/pictures.

A small shop runs on three brokers, and Chromium opens the console on it. The tier `browser` takes
the same pictures (tests/docs/test_pictures.py).
"""

from __future__ import annotations

import base64
import shutil
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from confluent_kafka import Consumer, Producer

from mockbroker import MockBroker
from mockbroker.testing.pytest_plugin.report_page import write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, Page

FOLDER: Final = Path(__file__).resolve().parents[1] / "docs" / "pictures"
WIDTH: Final = 1200
HEIGHT: Final = 640
QUALITY: Final = 72
VIEWS: Final = {
    "requests": "requests",
    "fetch": "fetch",
    "topic": "topics/orders?partition=0",
    "group": "groups/billing",
    "transaction": "transactions/ledger-1",
    "cluster": "cluster/orders/0",
    "faults": "faults",
    "failure": "failure",
}
"""By the name of the picture: the address of the view."""
TEST: Final = "tests/test_billing.py::test_each_order_is_invoiced"
FAILURE: Final = """\
    def test_each_order_is_invoiced(mockbroker):
        sell(mockbroker, orders=40)
>       mockbroker.group("billing").wait_caught_up(timeout=5)
E       WaitTimeoutError: waited 5 s for group billing to catch up: lag {('orders', 0): 7}

tests/test_billing.py:14: WaitTimeoutError
"""
"""Of the page that a failed test opens."""


@contextmanager
def shop() -> Iterator[MockBroker]:
    """Three brokers with topics, a group, a transaction, a fault that fired, a held follower."""
    orders = {"partitions": 3, "replication-factor": 3}
    topics = {"orders": orders, "invoices": orders, "ledger": 1}
    with MockBroker(brokers=3, topics=topics, admin_port=0) as broker, ExitStack() as stack:
        broker.faults.add(
            {"api": "Produce", "client": "shop", "error": "NOT_LEADER_OR_FOLLOWER", "count": 2}
        )
        broker.faults.add({"api": "OffsetCommit", "group": "billing", "delay_ms": 300, "count": 1})
        _sell(broker, stack)
        _book(broker)
        leader = broker.cluster.leader("orders", 0)
        broker.cluster.hold_follower("orders", 0, next(n for n in (1, 2, 3) if n != leader))
        broker.topic("orders").put_all(["late"] * 6, partition=0)
        yield broker


def _sell(broker: MockBroker, stack: ExitStack) -> None:
    """Orders that two workers invoice, all but a few."""
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    shop = Producer({**servers, "client.id": "shop", "retry.backoff.ms": 20})
    for number in range(40):
        customer = ("ann", "bob", "eve")[number % 3]
        sold = f'{{"id": {number}, "of": "{customer}", "what": "tea", "cents": 250}}'
        shop.produce("orders", sold, key=customer)
    shop.flush(30)
    workers = [
        Consumer(
            {
                **servers,
                "client.id": name,
                "group.id": "billing",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "heartbeat.interval.ms": 500,
            }
        )
        for name in ("billing-1", "billing-2")
    ]
    for worker in workers:
        stack.callback(worker.close)
        worker.subscribe(["orders"])
    taken = 0
    while taken < 30:
        for order in (one for worker in workers for one in worker.consume(5, 0.2)):
            taken += 1
            shop.produce("invoices", order.value(), key=order.key())
    for worker in workers:
        if worker.assignment():
            worker.commit(asynchronous=False)
    shop.flush(30)


def _book(broker: MockBroker) -> None:
    """Two transactions that were committed, and one that is open."""
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    ledger = Producer({**servers, "client.id": "ledger", "transactional.id": "ledger-1"})
    ledger.init_transactions(30)
    for entry in ("paid", "refunded", "disputed"):
        ledger.begin_transaction()
        ledger.produce("ledger", entry)
        ledger.flush(30)
        if entry != "disputed":
            ledger.commit_transaction(30)


def take(browser: Browser, folder: Path) -> list[Path]:
    """A picture of each view, in the light theme. Returns the files."""
    with shop() as broker:
        context = browser.new_context(
            viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light"
        )
        page = context.new_page()
        try:
            return [_picture(page, broker, folder, name) for name in VIEWS]
        finally:
            context.close()


def _picture(page: Page, broker: MockBroker, folder: Path, name: str) -> Path:
    if name == "failure":
        with TemporaryDirectory() as reports:
            page.goto(Path(write(reports, broker, TEST, FAILURE) or "").as_uri())
    else:
        page.goto(f"{broker.admin_url}/#/{VIEWS[name]}")
    page.wait_for_selector("main:not(:has-text('Loading …'))")
    if name == "requests":
        page.fill("[type=search]", "shop")
        page.click(".grid-row:has-text('orders-0') >> nth=0")
        page.wait_for_selector(".field-row")
    page.wait_for_timeout(700)
    session = page.context.new_cdp_session(page)
    asked = {"format": "webp", "quality": QUALITY}
    taken = session.send("Page.captureScreenshot", asked)
    path = folder / f"{name}.webp"
    path.write_bytes(base64.b64decode(taken["data"]))
    return path


def main() -> None:
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for path in take(browser, FOLDER):
            print(path, path.stat().st_size)
        browser.close()


if __name__ == "__main__":
    main()
