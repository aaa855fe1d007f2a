"""InitProducerId over the wire."""

from __future__ import annotations

import pytest

from protocol.errors import ErrorCode
from protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from tests.support.core import Core


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
        (InitProducerIdRequest("tx", 60_000), ErrorCode.UNSUPPORTED_VERSION),
    ],
    ids=repr,
)
def test_refusals(request_message: InitProducerIdRequest, error: ErrorCode) -> None:
    response = Core().client().call(request_message, 5, InitProducerIdResponse)
    assert response.error_code == error
    assert (response.producer_id, response.producer_epoch) == (-1, -1)
