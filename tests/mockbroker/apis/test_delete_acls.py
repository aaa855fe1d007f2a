"""DeleteAcls with an authorizer and without one."""

from __future__ import annotations

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.acls import (
    DeleteAclsFilter,
    DeleteAclsRequest,
    DeleteAclsResponse,
)
from tests.support.acls import TOPIC, deny, guarded_core
from tests.support.core import Core

ASKED = DeleteAclsRequest([DeleteAclsFilter(1, None, 1, None, None, 1, 1)])


def test_without_an_authorizer_security_is_disabled() -> None:
    answer = Core().client().call(ASKED, 3, DeleteAclsResponse)
    assert answer.filter_results[0].error_code == 54


def test_with_one_it_is_done() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", AclOperation.READ)
    answer = core.client().call(ASKED, 3, DeleteAclsResponse)
    assert answer.filter_results[0].error_code == 0
    assert len(answer.filter_results[0].matching_acls) == 2
    assert not core.broker.services.metadata.acls
