"""Requests as rows: numbers that stay, what they are about, who wrote a record."""

from __future__ import annotations

from mockbroker.state.request_rows import find, numbered, row_of, writer_of
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.requests import produce


def written(times: int) -> Core:
    core = Core(topics={"orders": 2})
    client = core.client("writer")
    for _ in range(times):
        client.call(produce("orders", index=1), 9, ProduceResponse)
    return core


def test_a_row_tells_topics_offsets_and_outcome() -> None:
    core = written(2)
    journal = core.cluster.journal
    rows = [row_of(number, served, journal) for number, served in numbered(journal)]
    assert [(row.number, row.api, row.topics, row.about) for row in rows] == [
        (1, "Produce", ["orders"], "orders-1 1 record(s) at 0"),
        (2, "Produce", ["orders"], "orders-1 1 record(s) at 1"),
    ]
    assert rows[0].answered
    assert rows[0].errors == []
    assert numbered(journal, 1)[0][0] == 2


def test_a_number_finds_its_request_while_it_is_kept() -> None:
    journal = written(2).cluster.journal
    assert find(journal, 2) is numbered(journal)[1][1]
    assert find(journal, 3) is None
    journal._requests.popleft()
    assert find(journal, 1) is None
    assert find(journal, 2) is not None


def test_the_writer_of_a_record_is_found_by_its_answer() -> None:
    journal = written(3).cluster.journal
    assert [writer_of(journal, "orders", 1, offset) for offset in range(4)] == [1, 2, 3, None]
    assert writer_of(journal, "orders", 0, 0) is None
    assert writer_of(journal, "none", 1, 0) is None
