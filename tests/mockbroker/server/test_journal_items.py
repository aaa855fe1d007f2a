"""What is packed for the process that makes a journal's lines has all that they tell."""

from __future__ import annotations

import json
import marshal
from typing import TYPE_CHECKING

import pytest

from mockbroker.journal.events import Appended, LoopBlocked
from mockbroker.journal.high_watermark import HighWatermarkMoved
from mockbroker.journal.lines import line_of
from mockbroker.server.journal_encoder import line_of_item
from mockbroker.server.journal_items import event_item, request_item
from tests.support.core import Core
from tests.support.journal_items import nobody, packed, poll

if TYPE_CHECKING:
    from mockbroker.journal import Event


def test_a_request_that_was_packed_has_the_line_that_it_had() -> None:
    core = Core(topics={"orders": 1})
    poll(core, core.client("app"), "orders")
    (served,) = core.cluster.journal.requests()
    served.woken_by, served.fault = "data", "f1"
    item = request_item(served, served.frame, served.chunks, (4, 2.5, 1_002, 0))
    copied = marshal.loads(packed(item))
    topic_name = core.cluster.metadata.topic_name
    expected = json.dumps(line_of(served, topic_name))
    assert json.dumps(line_of_item(copied, topic_name)) == expected
    assert json.loads(expected)["broker"] == 1


@pytest.mark.parametrize(
    ("event", "is_line"),
    [
        (HighWatermarkMoved(1, "orders", 2, 3, 5, 8, 2), False),
        (Appended(1, "orders", 2, 3, 90, "AAAA"), False),
        (LoopBlocked(300.5, "Fetch", "app", 90, 1), True),
    ],
)
def test_an_event_that_was_packed_has_the_line_that_it_had(event: Event, is_line: bool) -> None:
    item = event_item(event, 4, 2.5, 1_002, 0)
    assert isinstance(item[5], dict) is is_line
    found = line_of_item(marshal.loads(packed(item)), nobody)
    assert json.dumps(found) == json.dumps(line_of(event, nobody))


def test_what_was_let_go_has_no_bytes() -> None:
    core = Core(topics={"orders": 1})
    poll(core, core.client("app"), "orders")
    (served,) = core.cluster.journal.requests()
    served.frame = served.chunks = None
    item = request_item(served, None, None, (4, 2.5, 1_002, 0))
    assert line_of_item(item, nobody)["api"] == "Fetch"
