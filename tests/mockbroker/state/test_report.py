"""What a broker knows of a failed test."""

from __future__ import annotations

from mockbroker.faults import Fault
from mockbroker.state.groups import commit_offsets
from mockbroker.state.report import report
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.requests import produce


def test_requests_rules_topics_and_groups_are_told() -> None:
    core = Core(topics={"orders": 2, "silent": 1})
    client = core.client("app")
    client.call(produce("orders", index=1), 9, ProduceResponse)
    commit_offsets(core.cluster, "billing", {("orders", 1): 0})
    core.cluster.faults.add(Fault(api="Heartbeat", park=True, when="body.nothing == 1"))
    client.call(HeartbeatRequest("billing", 1, "m"), 4, HeartbeatResponse)
    core.cluster.faults.add(Fault(api="Heartbeat", group="billing", park=True))
    client.send(HeartbeatRequest("billing", 1, "m"), 4)
    lines = report(core.cluster, 0, 20).splitlines()
    assert [line.partition(" ms ")[2] for line in lines[:2]] == [
        "app#1 Produce v9 [orders-1 1 record(s) at 0] ok",
        "app#1 Heartbeat v4 [billing] UNKNOWN_MEMBER_ID",
    ]
    assert lines[2].startswith("fault fault-1 (api='Heartbeat', when='body.nothing == 1', park=")
    assert ": 0 hit(s), when: HeartbeatRequest has no 'nothing'; allowed: " in lines[2]
    assert lines[3:] == [
        "fault fault-2 (api='Heartbeat', group='billing', park=True): 1 hit(s), 1 held back",
        "topic orders-0: nothing written",
        "topic orders-1: offsets 0 to 1",
        "group billing: Empty, generation 0, members: none",
        "  orders-1: committed 0, 1 behind",
    ]


def test_what_was_before_the_cursor_and_what_is_too_much_is_left_out() -> None:
    core = Core(topics={f"t{at}": 1 for at in range(10)} | {"wide": 20})
    client = core.client("app")
    for at in range(10):
        client.call(produce(f"t{at}"), 9, ProduceResponse)
    cursor = core.cluster.journal.cursor()
    assert report(core.cluster, cursor, 20) == ""
    lines = report(core.cluster, 0, 1).splitlines()
    assert lines[-1] == "and 2 more topics"
    client.call(produce("wide"), 9, ProduceResponse)
    assert report(core.cluster, cursor, 1).splitlines()[-1] == "topic wide: 8 more partitions"
