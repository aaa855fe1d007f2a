"""DescribeAcls with an authorizer and without one."""

from __future__ import annotations

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.acls import DescribeAclsRequest, DescribeAclsResponse
from tests.support.acls import TOPIC, deny, guarded_core
from tests.support.core import Core

ASKED = DescribeAclsRequest(1, None, 1, None, None, 1, 1)


def test_without_an_authorizer_security_is_disabled() -> None:
    answer = Core().client().call(ASKED, 3, DescribeAclsResponse)
    assert answer.error_code == 54


def test_with_one_it_is_done() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", AclOperation.READ)
    answer = core.client().call(ASKED, 3, DescribeAclsResponse)
    assert answer.error_code == 0
    assert [(one.resource_name, len(one.acls)) for one in answer.resources] == [("shut", 2)]
