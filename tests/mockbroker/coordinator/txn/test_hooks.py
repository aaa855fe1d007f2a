"""An extension hears of the end of each transaction."""

from __future__ import annotations

from mockbroker.coordinator.txn.hooks import TransactionHooks
from tests.support.core import Core
from tests.support.transactions import Transactional


class Ends(TransactionHooks):
    def __init__(self) -> None:
        self.told: list[tuple[str, int, bool]] = []

    def on_end(self, transactional_id: str, producer_id: int, committed: bool) -> None:
        self.told.append((transactional_id, producer_id, committed))


def test_commits_and_aborts_are_told_once_they_are_done() -> None:
    core = Core(topics={"t": 1})
    ends = Ends()
    core.broker.services.transactions.service.hooks = ends
    producer = Transactional.begin(core)
    producer.write("t", 0, "a")
    assert ends.told == []
    producer.finish(commit=True)
    producer.write("t", 0, "b")
    producer.finish(commit=False)
    assert ends.told == [("tx", producer.producer_id, True), ("tx", producer.producer_id, False)]


def test_the_hooks_that_nobody_replaced_do_nothing() -> None:
    TransactionHooks().on_end("tx", 7, committed=True)
