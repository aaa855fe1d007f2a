"""What is asked of the cluster."""

from __future__ import annotations

from mockbroker.metadata.acls import CLUSTER_NAME
from mockbroker.metadata.authorized_operations import AclOperation
from protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse
from protocol.messages.quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from tests.support.acls import CLUSTER, deny, guarded_core


def test_cluster_operations_are_denied_one_by_one() -> None:
    core = guarded_core()
    client = core.client()
    asked = DescribeClientQuotasRequest([])
    assert client.call(asked, 1, DescribeClientQuotasResponse).error_code == 0
    deny(core, CLUSTER, CLUSTER_NAME, AclOperation.DESCRIBE_CONFIGS, AclOperation.DESCRIBE)
    assert client.call(asked, 1, DescribeClientQuotasResponse).error_code == 31
    told = client.call(DescribeClusterRequest(True), 0, DescribeClusterResponse)
    assert told.cluster_authorized_operations == 0
