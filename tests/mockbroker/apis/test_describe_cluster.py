"""DescribeCluster as a client sees it."""

from __future__ import annotations

import pytest

from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import BrokerChanged
from mockbroker_protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse
from tests.support.core import Core


def ask(core: Core, version: int, request: DescribeClusterRequest) -> DescribeClusterResponse:
    return core.client().call(request, version, DescribeClusterResponse)


@pytest.mark.parametrize("version", range(3))
def test_the_cluster_is_described(version: int) -> None:
    core = Core()
    answer = ask(core, version, DescribeClusterRequest())
    assert (answer.error_code, answer.error_message) == (0, None)
    assert answer.cluster_id == core.cluster.metadata.cluster_id
    assert answer.controller_id == 1
    assert [(each.broker_id, each.host, each.port) for each in answer.brokers] == [
        (1, "127.0.0.1", 9092)
    ]
    assert answer.cluster_authorized_operations == -(2**31)


def test_operations_are_told_when_asked_for() -> None:
    answer = ask(Core(), 0, DescribeClusterRequest(include_cluster_authorized_operations=True))
    assert answer.cluster_authorized_operations == 8096


@pytest.mark.parametrize(
    ("endpoint_type", "error", "message"),
    [
        (
            2,
            114,
            (
                "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of "
                "type CONTROLLER"
            ),
        ),
        (0, 115, "Unsupported endpoint type 0"),
        (7, 115, "Unsupported endpoint type 7"),
    ],
)
@pytest.mark.parametrize("version", [1, 2])
def test_only_brokers_are_described(
    version: int, endpoint_type: int, error: int, message: str
) -> None:
    answer = ask(Core(), version, DescribeClusterRequest(endpoint_type=endpoint_type))
    assert (answer.error_code, answer.error_message) == (error, message)
    assert (answer.cluster_id, answer.controller_id, answer.brokers) == ("", -1, [])


def test_fenced_brokers_are_listed_when_asked_for() -> None:
    core = Core()
    core.cluster.metadata.apply(BrokerChanged(BrokerInfo(2, fenced=True)))
    answer = ask(core, 2, DescribeClusterRequest())
    assert [each.broker_id for each in answer.brokers] == [1]
    answer = ask(core, 2, DescribeClusterRequest(include_fenced_brokers=True))
    assert [(each.broker_id, each.is_fenced) for each in answer.brokers] == [(1, False), (2, True)]
