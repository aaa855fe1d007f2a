from __future__ import annotations

from mockbroker_protocol.messages.controller_apis import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from mockbroker_protocol.messages.metadata_records import ProducerIdsRecord
from tests.support.metadata_logs import QuorumCore, records_in
from tests.support.outside_brokers import NODE_ID, start


def test_each_block_is_given_out_once() -> None:
    core = QuorumCore()
    client = core.observer()
    epoch = start(core, client)
    request = AllocateProducerIdsRequest(NODE_ID, epoch)
    first = client.call(request, 0, AllocateProducerIdsResponse)
    second = client.call(request, 0, AllocateProducerIdsResponse)
    assert (first.error_code, first.producer_id_len) == (0, 1000)
    assert second.producer_id_start == first.producer_id_start + 1000
    last = records_in(core.quorum.log, core.quorum.log.log_end_offset - 1)
    assert last == [ProducerIdsRecord(NODE_ID, epoch, second.producer_id_start + 1000)]


def test_strangers_get_none() -> None:
    answer = (
        QuorumCore()
        .observer()
        .call(AllocateProducerIdsRequest(NODE_ID, 0), 0, AllocateProducerIdsResponse)
    )
    assert (answer.error_code, answer.producer_id_len) == (102, 0)
