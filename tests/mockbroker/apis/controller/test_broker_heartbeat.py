from __future__ import annotations

from mockbroker_protocol.messages.controller_apis import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
)
from tests.support.metadata_logs import QuorumCore
from tests.support.outside_brokers import NODE_ID, start


def test_a_broker_asks_to_go_and_may() -> None:
    core = QuorumCore()
    client = core.observer()
    epoch = start(core, client)
    request = BrokerHeartbeatRequest(NODE_ID, epoch, epoch, want_shut_down=True)
    assert client.call(request, 2, BrokerHeartbeatResponse) == BrokerHeartbeatResponse(
        0, 0, True, True, True
    )


def test_another_epoch_is_stale() -> None:
    core = QuorumCore()
    client = core.observer()
    epoch = start(core, client)
    answer = client.call(BrokerHeartbeatRequest(NODE_ID, epoch + 1), 0, BrokerHeartbeatResponse)
    assert (answer.error_code, answer.is_fenced) == (77, True)
