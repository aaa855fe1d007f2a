"""InitProducerId over the wire."""

from __future__ import annotations

import pytest

from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from tests.support.core import Core
from tests.support.transactions import Transactional


@pytest.mark.parametrize("version", range(6))
def test_each_call_gets_an_id_of_its_own(version: int) -> None:
    client = Core().client()
    request = InitProducerIdRequest(None, 60_000)
    answers = [client.call(request, version, InitProducerIdResponse) for _ in range(3)]
    assert {(one.error_code, one.producer_epoch) for one in answers} == {(0, 0)}
    ids = [one.producer_id for one in answers]
    assert len(set(ids)) == 3
    assert min(ids) >= 0


def test_a_known_producer_gets_a_fresh_id_too() -> None:
    client = Core().client()
    first = client.call(InitProducerIdRequest(None), 5, InitProducerIdResponse)
    again = InitProducerIdRequest(None, 0, first.producer_id, first.producer_epoch)
    second = client.call(again, 5, InitProducerIdResponse)
    assert second.producer_id != first.producer_id
    assert second.producer_epoch == 0


@pytest.mark.parametrize(
    ("request_message", "error"),
    [
        (InitProducerIdRequest(None, 0, 5, -1), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest(None, 0, -1, 5), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("", 60_000), ErrorCode.INVALID_REQUEST),
        (InitProducerIdRequest("tx", 900_001), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerIdRequest("tx", 0), ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        (InitProducerIdRequest("tx", 60_000), ErrorCode.NOT_COORDINATOR),
    ],
    ids=repr,
)
def test_refusals(request_message: InitProducerIdRequest, error: ErrorCode) -> None:
    response = Core().client().call(request_message, 5, InitProducerIdResponse)
    assert response.error_code == error
    assert (response.producer_id, response.producer_epoch) == (-1, -1)


@pytest.mark.parametrize("version", range(6))
def test_a_transactional_id_keeps_its_producer_id_and_gets_epochs(version: int) -> None:
    producer = Transactional.begin(Core())
    for epoch in (1, 2, 3):
        assert producer.init(version=version) == (0, producer.producer_id, epoch)


@pytest.mark.parametrize(("version", "error"), [(3, 47), (4, 90), (5, 90)])
def test_a_stale_epoch_has_an_older_name_before_version_4(version: int, error: int) -> None:
    producer = Transactional.begin(Core())
    producer.init()
    producer.init()
    assert producer.init(producer.producer_id, 0, version=version) == (error, -1, -1)
    assert producer.init(producer.producer_id, 2, version=version) == (0, producer.producer_id, 3)
    assert producer.init(producer.producer_id, 2, version=version) == (0, producer.producer_id, 3)


def test_an_open_transaction_is_aborted_first_and_the_epoch_grows_twice() -> None:
    core = Core(topics={"t": 1})
    first = Transactional.begin(core)
    first.write("t", 0, "a")
    second = Transactional(core)
    assert second.init() == (51, -1, -1)
    assert second.state == "CompleteAbort"
    assert second.init() == (0, first.producer_id, 2)
    assert first.send("t", 0, "b") == 47
    assert first.end(commit=True) == (90, -1, -1)


def test_epochs_that_are_used_up_bring_another_producer_id() -> None:
    core = Core(topics={"t": 1})
    producer = Transactional.begin(core)
    shard = core.broker.services.transactions.service.runtime.shard_for("tx")
    assert shard is not None
    shard.transactions["tx"].producer_epoch = 32765
    before = producer.producer_id
    producer.become(producer.init())
    assert producer.epoch == 32766
    producer.write("t", 0, "a")
    producer.finish(commit=True)
    assert producer.epoch == 0
    assert producer.producer_id != before
    producer.write("t", 0, "b")
    producer.finish(commit=True)
    shard.transactions["tx"].producer_epoch = 32766
    assert producer.init().epoch == 0
