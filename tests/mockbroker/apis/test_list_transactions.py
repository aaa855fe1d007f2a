"""ListTransactions over the wire; the filters are `coordinator.txn.views`'."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.transaction_admin import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from tests.support.core import Core
from tests.support.transactions import Transactional


@pytest.mark.parametrize("version", range(3))
def test_every_id_of_the_node_is_listed(version: int) -> None:
    core = Core(topics={"t": 1})
    Transactional.begin(core, "idle")
    Transactional.begin(core, "busy").write("t", 0, "a")
    answer = core.client().call(ListTransactionsRequest(), version, ListTransactionsResponse)
    found = {one.transactional_id: one.transaction_state for one in answer.transaction_states}
    assert found == {"idle": "Empty", "busy": "Ongoing"}


def test_without_transactions_there_are_none() -> None:
    answer = Core().client().call(ListTransactionsRequest(), 2, ListTransactionsResponse)
    assert (answer.error_code, answer.transaction_states) == (0, [])
