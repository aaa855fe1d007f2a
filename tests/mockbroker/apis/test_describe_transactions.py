"""DescribeTransactions over the wire."""

from __future__ import annotations

from mockbroker_protocol.messages.transaction_admin import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from tests.support.core import EPOCH_MS, Core
from tests.support.transactions import Transactional


def test_ids_are_described_in_their_order() -> None:
    core = Core(topics={"t": 2})
    producer = Transactional.begin(core)
    core.advance(5)
    producer.write("t", 1, "a")
    request = DescribeTransactionsRequest(["nope", "", "tx"])
    answer = producer.client.call(request, 0, DescribeTransactionsResponse)
    unknown, empty, known = answer.transaction_states
    assert (unknown.error_code, empty.error_code, known.error_code) == (105, 42, 0)
    assert (known.transactional_id, known.transaction_state) == ("tx", "Ongoing")
    assert known.transaction_start_time_ms == EPOCH_MS + 5
    assert [(one.topic, one.partitions) for one in known.topics] == [("t", [1])]


def test_nobody_coordinates_before_the_topic_is_there() -> None:
    assert Transactional(Core()).describe().error_code == 16
