"""CreateAcls with an authorizer and without one."""

from __future__ import annotations

from mockbroker_protocol.messages.acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from tests.support.acls import guarded_core
from tests.support.core import Core

ASKED = CreateAclsRequest([AclCreation(2, "t", 3, "User:a", "*", 3, 3)])


def test_without_an_authorizer_security_is_disabled() -> None:
    answer = Core().client().call(ASKED, 3, CreateAclsResponse)
    assert answer.results[0].error_code == 54


def test_with_one_it_is_done() -> None:
    core = guarded_core()
    answer = core.client().call(ASKED, 3, CreateAclsResponse)
    assert answer.results[0].error_code == 0
    assert len(core.broker.services.metadata.acls) == 1
