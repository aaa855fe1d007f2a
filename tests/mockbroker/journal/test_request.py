"""A request's record says what completed it, and decodes itself when someone looks."""

from __future__ import annotations

from mockbroker.journal import DISCONNECT, IMMEDIATE, PEER, TIMEOUT, RequestServed
from mockbroker_protocol.messages.group_membership import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from tests.support.core import Core


def test_a_request_that_never_waited_was_immediate() -> None:
    served = RequestServed(3, 12, 1, "app", 1, arrived_ms=5.0, completed_ms=5.0)
    assert (served.api_name, served.parked, served.cause) == ("Metadata", False, IMMEDIATE)
    assert served.request is None
    assert served.response is None


def test_a_request_of_a_controllers_listener_has_a_name_too() -> None:
    """Else looking for other requests among them would fail."""
    assert RequestServed(62, 4, 1, "2", 1).api_name == "BrokerRegistration"


def test_the_context_of_a_request_becomes_its_record() -> None:
    core = Core(topics={"orders": 2})
    client = core.client("app")
    topics = [MetadataRequestTopic(name="orders"), MetadataRequestTopic(name="no such topic!")]
    answer = client.call(MetadataRequest(topics), 9, MetadataResponse)
    (served,) = core.cluster.journal.requests()
    assert (served.api_name, served.api_version, served.client_id) == ("Metadata", 9, "app")
    assert served.broker_id == core.broker.broker_id
    assert served.request == MetadataRequest(topics)
    assert served.response == answer
    assert served.error_codes == [17]
    assert served.answered


def join(member_id: str = "") -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol("range", b"")]
    return JoinGroupRequest("g", 10_000, 10_000, member_id, None, "consumer", protocols)


def test_a_join_is_completed_by_the_member_that_joins_last() -> None:
    core = Core()
    first, second = core.client("a"), core.client("b")
    member = first.call(join(), 3, JoinGroupResponse)
    first.call(SyncGroupRequest("g", member.generation_id, member.member_id), 2, SyncGroupResponse)
    second.send(join(), 3)
    core.advance(5)
    first.call(join(member.member_id), 3, JoinGroupResponse)
    causes = {s.client_id: s.cause for s in core.cluster.journal.requests() if s.api_key == 11}
    assert causes == {"a": IMMEDIATE, "b": PEER}


def test_a_join_whose_time_is_over_says_so() -> None:
    core = Core(config={"group.initial.rebalance.delay.ms": "1000"})
    core.client("a").send(join(), 3)
    core.advance(2_000)
    (served,) = core.cluster.journal.requests()
    assert (served.cause, served.parked, served.completed_ms) == (TIMEOUT, True, 1_000.0)


def test_a_request_whose_client_left_ends_without_an_answer() -> None:
    core = Core(config={"group.initial.rebalance.delay.ms": "1000"})
    client = core.client("a")
    client.send(join(), 3)
    core.now_ms += 5
    client.disconnect()
    (served,) = core.cluster.journal.requests()
    assert (served.cause, served.answered, served.completed_ms) == (DISCONNECT, False, 5.0)


def test_a_request_gives_the_line_that_a_file_would_have() -> None:
    core = Core(topics={"t": 1})
    core.client("client").call(
        MetadataRequest([MetadataRequestTopic(name="t")]), 9, MetadataResponse
    )
    (served,) = core.cluster.journal.requests(0)
    line = served.line()
    assert (line["api"], line["client_id"], line["topics"]) == ("Metadata", "client", ["t"])
    assert (line["kind"], line["broker"], line["error"]) == ("request", 1, 0)


def test_it_prints_what_it_was() -> None:
    core = Core()
    core.client("app").call(MetadataRequest([]), 9, MetadataResponse)
    (served,) = core.cluster.journal.requests(0)
    assert repr(served) == ("<RequestContext Metadata v9 of 'app', connection 1, correlation id 1>")
