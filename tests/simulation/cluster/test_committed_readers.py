"""Readers of committed records keep what they were given, and tell the ledger."""

from __future__ import annotations

import pytest

from tests.support.transaction_run import transaction_run

pytestmark = pytest.mark.sim


def test_a_reader_keeps_the_order_and_begins_again() -> None:
    run, crew = transaction_run()
    (reader,) = crew.readers
    transaction = crew.ledger.begin(crew.ledger.lineages["txn0"], "txn0.1")
    crew.ledger.sends(transaction, ("t0", 0), [b"open"])
    reader.given(("t0", 0), b"a")
    reader.given(("t0", 0), b"open")
    assert reader.taken["t0", 0] == [b"a", b"open"]
    assert "reader0 read b'open'" in run.world.violations[0]
    reader.begins_again(("t0", 0))
    assert reader.taken["t0", 0] == []


def test_a_reader_is_given_what_is_committed() -> None:
    run, crew = transaction_run(transactors=2)
    run.live()
    assert run.world.violations == []
    assert {value.partition(b".")[0] for value in crew.readers[0].taken["t0", 0]} > {b"txn0"}
