"""With pytest and FastAPI's own client: `pytest` in this folder."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from app import create_app
from fastapi.testclient import TestClient

from mockbroker import MockBroker

pytestmark = pytest.mark.mockbroker_topics(sales=2)


@pytest.fixture
def client(mockbroker: MockBroker) -> Iterator[TestClient]:
    # `with` runs the app's lifespan, so its consumer and producer are there.
    with TestClient(create_app(mockbroker.bootstrap_servers)) as client:
        yield client


def sale(article: str, count: int) -> str:
    return json.dumps({"article": article, "count": count})


def test_what_is_sold_is_counted(mockbroker: MockBroker, client: TestClient) -> None:
    for count in (2, 3):
        mockbroker.topic("sales").put(sale("lamp", count), key="lamp")
    mockbroker.group("counter").wait_caught_up()
    assert client.get("/sold/lamp").json() == 5


def test_what_is_given_back_is_taken_off(mockbroker: MockBroker, client: TestClient) -> None:
    assert client.post("/returns/lamp").status_code == 202
    (event,) = mockbroker.topic("sales").wait_for(1)
    assert event.key == b"lamp"
    mockbroker.group("counter").wait_caught_up()
    assert client.get("/sold/lamp").json() == -1


def test_a_rebalance_loses_nothing(mockbroker: MockBroker, client: TestClient) -> None:
    mockbroker.topic("sales").put(sale("chair", 1), key="chair")
    with TestClient(create_app(mockbroker.bootstrap_servers)) as other:
        mockbroker.group("counter").wait_stable(members=2)
        mockbroker.topic("sales").put(sale("chair", 1), key="chair")
        mockbroker.group("counter").wait_caught_up()
        counts = [each.get("/sold/chair").json() for each in (client, other)]
    assert sum(counts) == 2
