from __future__ import annotations

import pytest

from mockbroker_protocol.messages.controller_apis import BrokerRegistrationResponse
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.metadata_logs import QuorumCore
from tests.support.outside_brokers import registration, start


@pytest.mark.parametrize("version", [2, 3, 4])
def test_a_broker_registers_and_clients_are_told_once_it_serves(version: int) -> None:
    core = QuorumCore()
    client = core.observer()
    answer = client.call(registration(core), version, BrokerRegistrationResponse)
    assert (answer.error_code, answer.broker_epoch) == (0, core.quorum.log.log_end_offset - 1)
    everything = MetadataRequest(None)
    known = core.client().call(everything, 12, MetadataResponse).brokers
    assert [broker.node_id for broker in known] == [1]
    start(core, client)
    known = core.client().call(everything, 12, MetadataResponse).brokers
    assert [(broker.node_id, broker.host, broker.port) for broker in known][1:] == [
        (2, "outside", 19092)
    ]


def test_without_directories_there_is_no_registration() -> None:
    core = QuorumCore()
    answer = core.observer().call(registration(core), 1, BrokerRegistrationResponse)
    assert (answer.error_code, answer.broker_epoch) == (119, -1)
