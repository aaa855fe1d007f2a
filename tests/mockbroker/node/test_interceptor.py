"""Each act of a rule on the wire of the core, on virtual time."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from mockbroker.faults import Delay, Fault
from mockbroker.faults.armed_fault import ArmedFault
from mockbroker.metadata.changes import TopicCreated
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.primitives import ZERO_UUID
from mockbroker_protocol.records.batch import read_batch_header, verify_crc
from tests.support.core import Core
from tests.support.fetch_world import batch

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

    from tests.support.core import CoreClient

BEAT = HeartbeatRequest("g", 1, "m")
BATCH = batch(100)


@pytest.fixture
def core() -> Core:
    return Core(topics={"orders": 3, "logs": 1})


def arm(core: Core, **fields: object) -> ArmedFault:
    (fault_id,) = core.cluster.faults.add(Fault.from_dict(fields))
    return next(armed for armed in core.cluster.faults.list() if armed.id == fault_id)


def beat(client: CoreClient) -> int:
    return client.call(BEAT, 4, HeartbeatResponse).error_code


def produce_request(*partitions: int, topic: str = "orders", acks: int = 1) -> ProduceRequest:
    data = [ProduceRequestPartition(index, BATCH) for index in partitions]
    return ProduceRequest(None, acks, 1000, [ProduceRequestTopic(topic, partition_data=data)])


def produce(client: CoreClient, *partitions: int, topic: str = "orders") -> dict[int, int]:
    answer = client.call(produce_request(*partitions, topic=topic), 9, ProduceResponse)
    return {p.index: p.error_code for t in answer.responses for p in t.partition_responses}


def fetch_request(
    *partitions: int, session: tuple[int, int] = (0, -1), max_wait_ms: int = 0
) -> FetchRequest:
    asked = [FetchRequestPartition(index, -1, 0, -1, -1, 1 << 20) for index in partitions]
    topics = [FetchRequestTopic("orders", partitions=asked)] if asked else []
    return FetchRequest(-1, max_wait_ms, 1, 1 << 20, 0, *session, topics)


def told(answer: FetchResponse) -> dict[int, tuple[int, int]]:
    """Error and size of records by partition."""
    return {
        p.partition_index: (
            p.error_code,
            len(b"".join(r) if isinstance(r := p.records, list) else r or b""),
        )
        for t in answer.responses
        for p in t.partitions
    }


def end_offset(core: Core, partition: int = 0) -> int:
    found = core.broker.services.replicas.partition("orders", partition)
    assert found is not None
    return found.log.log_end_offset if found.log is not None else 0


# -- errors ---------------------------------------------------------------------------------


def test_an_error_is_answered_and_nothing_processed(core: Core) -> None:
    armed = arm(core, api="Produce", error="NOT_ENOUGH_REPLICAS", count=1)
    client = core.client()
    assert produce(client, 0) == {0: ErrorCode.NOT_ENOUGH_REPLICAS}
    assert end_offset(core) == 0
    assert produce(client, 0) == {0: 0}
    assert (end_offset(core), armed.hits, armed.exhausted) == (1, 1, True)


def test_an_error_after_processing_hides_what_was_done(core: Core) -> None:
    arm(core, api="Produce", error=7, stage="after")
    assert produce(core.client(), 0) == {0: 7}
    assert end_offset(core) == 1


def test_only_the_partition_of_a_rule_is_refused(core: Core) -> None:
    arm(core, api="Produce", topic="ord*", partition=1, error="NOT_LEADER_OR_FOLLOWER")
    client = core.client()
    assert produce(client, 0, 1, 2) == {0: 0, 1: 6, 2: 0}
    assert [end_offset(core, index) for index in range(3)] == [1, 0, 1]
    assert produce(client, 1) == {1: 6}
    assert produce(client, 0, topic="logs") == {0: 0}


def test_an_error_to_acks_0_closes_as_a_real_one_does(core: Core) -> None:
    arm(core, api="Produce", error="NOT_LEADER_OR_FOLLOWER")
    client = core.client()
    client.send(produce_request(0, acks=0), 9)
    assert client.closed
    assert client.answered == 0


def test_a_fetch_is_told_at_once_and_reads_on_afterwards(core: Core) -> None:
    client = core.client()
    produce(client, 0, 1)
    arm(core, api="Fetch", partition=1, error="NOT_LEADER_OR_FOLLOWER", count=1)
    answer = client.call(fetch_request(0, 1, session=(0, 0)), 11, FetchResponse)
    assert told(answer) == {0: (0, len(BATCH)), 1: (6, 0)}
    again = client.call(fetch_request(session=(answer.session_id, 1)), 11, FetchResponse)
    assert told(again)[1] == (0, len(BATCH))


def test_an_incremental_fetch_is_told_of_partitions_without_news(core: Core) -> None:
    client = core.client()
    first = client.call(fetch_request(0, 1, session=(0, 0)), 11, FetchResponse)
    arm(core, api="Fetch", topic="orders", partition=1, error="FENCED_LEADER_EPOCH")
    request = fetch_request(session=(first.session_id, 1), max_wait_ms=500)
    assert told(client.call(request, 11, FetchResponse)) == {1: (74, 0)}


def test_session_errors_are_told_at_the_top(core: Core) -> None:
    arm(core, api="Fetch", error="FETCH_SESSION_ID_NOT_FOUND")
    answer = core.client().call(fetch_request(0, session=(0, 0)), 11, FetchResponse)
    assert (answer.error_code, answer.responses) == (70, [])


def test_an_evicted_session_is_not_found(core: Core) -> None:
    client = core.client()
    first = client.call(fetch_request(0, session=(0, 0)), 11, FetchResponse)
    arm(core, api="Fetch", evict_session=True, count=1)
    request = fetch_request(session=(first.session_id, 1))
    assert client.call(request, 11, FetchResponse).error_code == 70
    assert core.broker.services.fetch.cache.num_sessions == 0


def test_metadata_keeps_its_brokers_beside_the_error(core: Core) -> None:
    arm(core, api="Metadata", topic="orders", error="LEADER_NOT_AVAILABLE")
    topics = [MetadataRequestTopic(name=name) for name in ("orders", "logs")]
    answer = core.client().call(MetadataRequest(topics), 9, MetadataResponse)
    assert {topic.name: topic.error_code for topic in answer.topics} == {"orders": 5, "logs": 0}
    assert len(answer.brokers) == 1


# -- time -----------------------------------------------------------------------------------


def test_a_delay_before_holds_the_processing_back(core: Core) -> None:
    arm(core, api="Produce", delay_ms=100)
    client = core.client()
    client.send(produce_request(0), 9)
    core.advance(99)
    assert (client.answered, end_offset(core)) == (0, 0)
    core.advance(1)
    assert (client.answered, end_offset(core)) == (1, 1)


def test_a_delay_after_holds_the_answer_back(core: Core) -> None:
    arm(core, api="Produce", delay_ms=100, stage="after")
    client = core.client()
    client.send(produce_request(0), 9)
    assert (client.answered, end_offset(core)) == (0, 1)
    core.advance(100)
    assert client.answered == 1
    (served,) = core.cluster.journal.requests()
    assert (served.cause, served.completed_ms) == ("fault", 100.0)


@pytest.mark.parametrize("delay", [{"low": 50, "high": 60}, {"mean": 55, "deviation": 1}])
def test_delays_are_drawn_anew_and_alike_from_one_seed(delay: dict[str, float]) -> None:
    def times() -> list[float]:
        core = Core()
        arm(core, api="Heartbeat", delay_ms=delay, id="slow")
        client = core.client()
        for _ in range(5):
            client.send(BEAT, 4)
            core.advance(200)
            client.receive(HeartbeatResponse)
        served = core.cluster.journal.requests()
        return [one.completed_ms - one.arrived_ms for one in served]

    first = times()
    assert all(45 < took <= 65 for took in first)
    assert len(set(first)) > 1
    assert times() == first


def test_what_is_parked_goes_on_when_it_is_released(core: Core) -> None:
    armed = arm(core, api="Heartbeat", park=True)
    client = core.client()
    client.send(BEAT, 4)
    client.send(BEAT, 4)
    core.advance(10_000)
    assert client.answered == 0
    assert core.cluster.faults.release(armed.id) == 1
    core.advance(0)
    assert client.answered == 1
    core.act(lambda: core.cluster.faults.remove(armed.id))
    core.deliver()
    assert client.answered == 2


def test_what_is_held_back_falls_with_its_client(core: Core) -> None:
    arm(core, api="Produce", delay_ms=100)
    client = core.client()
    client.send(produce_request(0), 9)
    client.disconnect()
    core.advance(200)
    assert end_offset(core) == 0
    (served,) = core.cluster.journal.requests()
    assert (served.cause, served.fault) == ("disconnect", "fault-1")


# -- ends -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("when", "appended"), [("before", 0), ("after", 1)])
def test_a_dropped_request_leaves_its_connection_silent(
    core: Core, when: str, appended: int
) -> None:
    arm(core, api="Produce", drop=True, stage=when)
    client, other = core.client(), core.client()
    client.send(produce_request(0), 9)
    client.send(BEAT, 4)
    core.advance(60_000)
    assert (client.answered, client.closed, end_offset(core)) == (0, False, appended)
    assert beat(other) == 25


@pytest.mark.parametrize("ending", ["disconnect", "reset", "half_close"])
@pytest.mark.parametrize(("when", "appended"), [("before", 0), ("after", 1)])
def test_a_connection_is_cut_off(core: Core, ending: str, when: str, appended: int) -> None:
    arm(core, **{"api": "Produce", ending: True, "stage": when})
    client = core.client()
    client.send(produce_request(0), 9)
    assert client.closed
    assert end_offset(core) == appended
    # Half-closed after processing: the answer is out before the end.
    assert client.answered == (ending == "half_close" and when == "after")
    assert core.broker.connections()[0].ending == ending


# -- answers --------------------------------------------------------------------------------


def test_an_answer_is_cut_at_a_byte(core: Core) -> None:
    arm(core, api="Heartbeat", truncate_at=9)
    client = core.client()
    client.send(BEAT, 4)
    assert client.closed
    assert client.answered == 0
    (served,) = core.cluster.journal.requests()
    assert served.response_bytes == 9


def test_a_byte_of_an_answer_is_corrupted(core: Core) -> None:
    arm(core, api="Heartbeat", corrupt_at=-2)
    client = core.client()
    client.send(BEAT, 4)
    frame = client.receive_bytes()
    assert frame[-2] == 25 ^ 0xFF


def test_a_correlation_id_is_wrong(core: Core) -> None:
    arm(core, api="Heartbeat", correlation_shift=-2)
    client = core.client()
    client.send(BEAT, 4)
    assert int.from_bytes(client.receive_bytes()[:4], "big", signed=True) == -1


def test_a_client_is_told_to_wait(core: Core) -> None:
    arm(core, throttle_ms=250)
    answer = core.client().call(BEAT, 4, HeartbeatResponse)
    assert (answer.throttle_time_ms, answer.error_code) == (250, 25)


def test_a_batch_arrives_with_a_false_checksum_and_is_kept_whole(core: Core) -> None:
    client = core.client()
    armed = arm(core, api="Fetch", bad_crc=True, count=1)
    assert told(client.call(fetch_request(0), 11, FetchResponse)) == {0: (0, 0)}
    assert armed.hits == 0
    produce(client, 0)
    good = []
    for _ in range(2):
        answer = client.call(fetch_request(0), 11, FetchResponse)
        records = answer.responses[0].partitions[0].records
        data = b"".join(records) if isinstance(records, list) else bytes(records or b"")
        good.append(verify_crc(data, 0, read_batch_header(data, 0)))
    assert (good, armed.hits) == ([False, True], 1)


def test_a_request_is_processed_twice_and_answered_once(core: Core) -> None:
    arm(core, api="Produce", twice=True, count=1)
    client = core.client()
    client.send(produce_request(0), 9)
    assert (client.answered, end_offset(core)) == (1, 2)


# -- whom, and how often --------------------------------------------------------------------


def test_rules_find_their_requests(core: Core) -> None:
    arm(core, api=["Heartbeat", "LeaveGroup"], group="g*", client="app-*", versions="0-3", error=16)
    app, other = core.client("app-1"), core.client("other")
    assert app.call(BEAT, 3, HeartbeatResponse).error_code == 16
    assert app.call(BEAT, 4, HeartbeatResponse).error_code == 25
    assert app.call(HeartbeatRequest("h", 1, "m"), 3, HeartbeatResponse).error_code == 25
    assert other.call(BEAT, 3, HeartbeatResponse).error_code == 25


def test_the_nth_match_alone(core: Core) -> None:
    armed = arm(core, api="Heartbeat", nth=3, error=16)
    client = core.client()
    assert [beat(client) for _ in range(5)] == [25, 25, 16, 25, 25]
    assert armed.exhausted


def test_a_probability_repeats_with_its_seed() -> None:
    def errors(seed: int) -> list[int]:
        core = Core(seed=7)
        arm(core, api="Heartbeat", probability=0.5, seed=seed, error=16)
        client = core.client()
        return [beat(client) for _ in range(40)]

    assert errors(1) == errors(1) != errors(2)
    assert 8 < errors(1).count(16) < 32


def test_a_rule_has_its_time(core: Core) -> None:
    arm(core, api="Heartbeat", after_ms=100, for_ms=50, error=16)
    client = core.client()
    seen = []
    for _ in range(4):
        seen.append(beat(client))
        core.advance(50)
    assert seen == [25, 25, 16, 25]


def test_several_rules_act_together(core: Core) -> None:
    arm(core, api="Heartbeat", delay_ms=Delay(30).to_json(), id="slow")
    arm(core, api="Heartbeat", throttle_ms=5, stage="after", delay_ms=20, id="quota")
    client = core.client()
    client.send(BEAT, 4)
    core.advance(49)
    assert client.answered == 0
    core.advance(1)
    assert client.receive(HeartbeatResponse).throttle_time_ms == 5
    (served,) = core.cluster.journal.requests()
    assert served.fault == "slow,quota"


@pytest.mark.parametrize("partitions", [3, 30])
@pytest.mark.parametrize("rule", [{"topic": "logs"}, {"topic": "orders", "partition": 99}])
def test_a_rule_on_other_topics_looks_at_a_session_when_it_changes(
    monkeypatch: pytest.MonkeyPatch, partitions: int, rule: dict[str, object]
) -> None:
    core = Core(topics={"orders": 60, "logs": 1})
    client = core.client()
    first = fetch_request(*range(partitions), session=(0, 0))
    sid = client.call(first, 12, FetchResponse).session_id
    arm(core, error="OFFSET_OUT_OF_RANGE", maybe=True, **rule)
    arm(core, error="OFFSET_OUT_OF_RANGE", maybe=True, api="Produce", topic="orders")
    asked: list[list[str | None]] = []
    selects = ArmedFault.selects_topic

    def counted(self: ArmedFault, name: str | None, topic_id: bytes | None) -> bool | None:
        asked[-1].append(name)
        return selects(self, name, topic_id)

    monkeypatch.setattr(ArmedFault, "selects_topic", counted)
    for epoch in range(1, 6):
        asked.append([])
        request = fetch_request(*([partitions] if epoch == 3 else []), session=(sid, epoch))
        client.call(request, 12, FetchResponse)
    looked = [] if "partition" in rule else ["orders"]
    named = ["orders"]  # in the third request, before its session has it too
    assert asked == [looked, [], named, looked, []]


def test_a_rule_meets_what_its_session_has_then() -> None:
    core = Core(topics={"orders": 3, "logs": 1})
    client = core.client()
    armed = arm(core, topic="orders", partition=2, observe=True)
    sid = client.call(fetch_request(0, session=(0, 0)), 12, FetchResponse).session_id
    client.call(fetch_request(session=(sid, 1)), 12, FetchResponse)
    assert armed.hits == 0
    client.call(fetch_request(2, session=(sid, 2)), 12, FetchResponse)
    client.call(fetch_request(session=(sid, 3)), 12, FetchResponse)
    assert armed.hits == 2
    gone = FetchRequest(
        -1, 0, 1, 1 << 20, 0, sid, 4, [], [FetchRequestForgottenTopic("orders", ZERO_UUID, [2])]
    )
    client.call(gone, 12, FetchResponse)
    assert armed.hits == 3, "the request names it"
    client.call(fetch_request(session=(sid, 5)), 12, FetchResponse)
    assert armed.hits == 3
    core.cluster.faults.clear()
    again = arm(core, topic="ord*", observe=True)
    client.call(fetch_request(session=(sid, 6)), 12, FetchResponse)
    assert again.hits == 1


def test_a_topic_that_gets_its_name_later_is_met_then() -> None:
    core = Core(topics={"orders": 1})
    client = core.client()
    armed = arm(core, topic="late", observe=True)
    asked = FetchRequest(-1, 0, 1, 1 << 20, 0, 0, 0, [])
    unknown = b"u" * 16
    asked.topics = [
        FetchRequestTopic("", unknown, [FetchRequestPartition(0, -1, 0, -1, -1, 1 << 20)])
    ]
    sid = client.call(asked, 13, FetchResponse).session_id
    client.call(fetch_request(session=(sid, 1)), 13, FetchResponse)
    assert armed.hits == 0
    state = core.cluster.metadata.topics["orders"].partitions[0]
    core.cluster.metadata.apply(TopicCreated("late", unknown, [state], {}))
    client.call(fetch_request(session=(sid, 2)), 13, FetchResponse)
    assert armed.hits == 1


def rooms_called(work: Callable[[], object]) -> set[str]:
    """The modules whose functions run during `work`."""
    called: set[str] = set()

    def note(frame: FrameType, event: str, _argument: object) -> None:
        if event == "call":
            called.add(str(frame.f_globals.get("__name__")))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return called


def test_without_an_armed_rule_nobody_is_asked(core: Core) -> None:
    client = core.client()
    beat(client)
    quiet = rooms_called(lambda: beat(client))
    armed = arm(core, api="Produce", error=7)
    other = rooms_called(lambda: beat(client))
    mine = arm(core, api="Heartbeat", group="another", error=7, maybe=True)
    asked = rooms_called(lambda: beat(client))
    core.cluster.faults.remove(mine.id)
    core.cluster.faults.remove(armed.id)
    again = rooms_called(lambda: beat(client))
    assert "mockbroker.node.interceptor" in asked
    assert "mockbroker.node.interceptor" not in other
    ours = ("mockbroker.faults", "mockbroker.node.interceptor")
    assert not [room for room in quiet | again if room.startswith(ours)]
