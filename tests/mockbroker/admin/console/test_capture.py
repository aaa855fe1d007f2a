"""The answers of a report: those that the console asks for, of a broker without an admin port."""

from __future__ import annotations

import asyncio
from typing import Any

from mockbroker import MockBroker
from mockbroker.admin.console.capture import captured, in_process, segment


def capture(broker: MockBroker, since: int = 0) -> dict[str, Any]:
    running = broker._started()
    asking = captured(in_process(running), since, {"test": "t", "failure": "f"})
    return asyncio.run_coroutine_threadsafe(asking, running.loop).result(60)


def test_what_the_broker_holds_is_told_under_the_consoles_paths() -> None:
    with MockBroker(topics={"orders": 2}) as broker:
        broker.topic("orders").put("paid", partition=1)
        broker.group("billing").commit({("orders", 1): 1})
        found = capture(broker)
    assert found["facts"] == {"test": "t", "failure": "f"}
    answers = found["answers"]
    assert [one["name"] for one in answers["/v1/topics"]["topics"]] == ["orders"]
    assert len(answers["/v1/topics?internal=true"]["topics"]) == 2
    records = answers["/v1/topics/orders/records?partition=1"]["records"]
    assert [one["value"] for one in records] == ["paid"]
    assert answers["/v1/groups/billing"]["offsets"][0]["offset"] == 1
    assert answers["/v1/replicas/orders/1"]["replicas"][0]["log_end_offset"] == 1
    for path in ("/v1/cluster", "/v1/journal/rows", "/v1/waits", "/v1/protocol", "/v1/faults"):
        assert path in answers


def test_a_group_with_a_slash_is_told_too() -> None:
    with MockBroker(topics={"orders": 1}) as broker:
        broker.group("team/billing").commit({("orders", 0): 1})
        answers = capture(broker)["answers"]
    assert answers["/v1/groups/team%2Fbilling"]["group_id"] == "team/billing"


def test_names_are_in_paths_as_in_javascript() -> None:
    assert segment("a b/c'(é)") == "a%20b%2Fc'(%C3%A9)"
