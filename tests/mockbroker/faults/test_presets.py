"""Every preset is made of rules that a broker takes, and does on the wire what its name says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.faults import Fault, FaultError
from mockbroker.faults.presets import PRESETS, parse, preset
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.records.batch import read_batch_header, verify_crc
from tests.support.core import Core
from tests.support.fetch_world import batch
from tests.support.transactions import Transactional

if TYPE_CHECKING:
    from tests.support.core import CoreClient


@pytest.fixture
def core() -> Core:
    return Core(topics={"orders": 1})


def arm(core: Core, name: str, **arguments: object) -> None:
    core.cluster.faults.add({"preset": name, **arguments})


def produce(client: CoreClient) -> ProduceResponse:
    partitions = [ProduceRequestPartition(0, batch(10))]
    topics = [ProduceRequestTopic("orders", partition_data=partitions)]
    return client.call(ProduceRequest(None, 1, 1000, topics), 9, ProduceResponse)


def produce_error(client: CoreClient) -> int:
    return produce(client).responses[0].partition_responses[0].error_code


def fetch(client: CoreClient, session: tuple[int, int] = (0, -1)) -> FetchResponse:
    asked = [FetchRequestPartition(0, -1, 0, -1, -1, 1 << 20)]
    topics = [] if session[1] > 0 else [FetchRequestTopic("orders", partitions=asked)]
    request = FetchRequest(-1, 0, 1, 1 << 20, 0, *session, topics)
    return client.call(request, 11, FetchResponse)


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_armed_as_it_comes(core: Core, name: str) -> None:
    ids = core.cluster.faults.add(preset(name))
    assert len(core.cluster.faults.list()) == len(ids) > 0
    assert [Fault.from_dict(fault.to_dict()) for fault in preset(name)] == preset(name)


def test_leader_moved(core: Core) -> None:
    arm(core, "leader_moved", topic="orders")
    client = core.client()
    assert [produce_error(client) for _ in range(2)] == [6, 0]
    errors = [fetch(client).responses[0].partitions[0].error_code for _ in range(2)]
    assert errors == [6, 0]


def test_coordinator_loading(core: Core) -> None:
    arm(core, "coordinator_loading", group="g", count=2)
    client = core.client()

    def beat(group: str) -> int:
        return client.call(HeartbeatRequest(group, 1, "m"), 4, HeartbeatResponse).error_code

    assert [beat("other"), beat("g"), beat("g"), beat("g")] == [25, 14, 14, 25]


def test_not_enough_replicas(core: Core) -> None:
    arm(core, "not_enough_replicas", count=2)
    client = core.client()
    assert [produce_error(client) for _ in range(3)] == [19, 19, 0]


def test_fenced_producer(core: Core) -> None:
    producer = Transactional.begin(core)
    arm(core, "fenced_producer", transactional_id="tx")
    assert producer.send("orders", 0, "a") == 47
    assert producer.end(commit=True).error == 90


def test_session_evicted(core: Core) -> None:
    client = core.client()
    first = fetch(client, (0, 0))
    arm(core, "session_evicted")
    assert fetch(client, (first.session_id, 1)).error_code == 70
    assert fetch(client, (0, 0)).error_code == 0


def test_throttled(core: Core) -> None:
    arm(core, "throttled", throttle_ms=300)
    client = core.client()
    assert (produce(client).throttle_time_ms, fetch(client).throttle_time_ms) == (300, 300)


def test_slow_disk(core: Core) -> None:
    arm(core, "slow_disk", mean_ms=100, deviation_ms=10)
    client = core.client()
    client.send(FetchRequest(-1, 0, 1, 100, 0, 0, -1, []), 11)
    core.advance(50)
    assert client.answered == 0
    core.advance(100)
    assert client.answered == 1


def test_poison_batch(core: Core) -> None:
    client = core.client()
    produce(client)
    arm(core, "poison_batch", topic="orders")
    good = []
    for _ in range(2):
        records = fetch(client).responses[0].partitions[0].records
        data = b"".join(records) if isinstance(records, list) else bytes(records or b"")
        good.append(verify_crc(data, 0, read_batch_header(data, 0)))
    assert good == [False, True]


def test_rolling_restart_goes_from_broker_to_broker() -> None:
    rules = preset("rolling_restart", brokers=[1, 2], down_ms=100, pause_ms=50)
    assert [(r.broker, r.after_ms, r.refuse) for r in rules] == [
        (1, 0, True),
        (1, 100, False),
        (2, 150, True),
        (2, 250, False),
    ]


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ({"preset": "thunder"}, "preset"),
        ({"preset": "throttled", "colour": 1}, "colour"),
        ({"preset": "throttled", "throttle_ms": "x"}, "throttle_ms"),
        ({"preset": "rolling_restart", "down_ms": "x"}, "preset"),
        ("drop", "fault"),
        ([{"drop": True}, 5], "fault"),
    ],
)
def test_a_mistake_in_plain_data_is_told(data: object, field: str) -> None:
    with pytest.raises(FaultError) as caught:
        parse(data)
    assert caught.value.field in {field, "for_ms"}
