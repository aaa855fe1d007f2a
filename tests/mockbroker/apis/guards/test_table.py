"""What is asked of the cluster."""

from __future__ import annotations

from mockbroker.metadata.acls import CLUSTER_NAME
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    CreateAclsResponse,
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
    DescribeAclsRequest,
    DescribeAclsResponse,
)
from mockbroker_protocol.messages.metadata import DescribeClusterRequest, DescribeClusterResponse
from mockbroker_protocol.messages.quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
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


def test_who_may_not_see_or_change_acls_is_told_so_in_words() -> None:
    core = guarded_core()
    client = core.client()
    deny(core, CLUSTER, CLUSTER_NAME, AclOperation.DESCRIBE, AclOperation.ALTER)
    before = list(core.broker.services.metadata.acls)
    described = client.call(
        DescribeAclsRequest(1, None, 1, None, None, 1, 1), 3, DescribeAclsResponse
    )
    wanted = AclCreation(2, "open", 3, "User:x", "*", 3, 3)
    created = client.call(CreateAclsRequest([wanted, wanted]), 3, CreateAclsResponse)
    every = DeleteAclsFilter(1, None, 1, None, None, 1, 1)
    deleted = client.call(DeleteAclsRequest([every]), 3, DeleteAclsResponse)
    told = (31, "The request is not authorized.")
    assert (described.error_code, described.error_message) == told
    assert [(one.error_code, one.error_message) for one in created.results] == [told, told]
    assert [(one.error_code, one.error_message) for one in deleted.filter_results] == [told]
    assert list(core.broker.services.metadata.acls) == before
