"""Groups and transactional ids that are denied."""

from __future__ import annotations

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.transactions import InitProducerIdRequest, InitProducerIdResponse
from tests.support.acls import GROUP, TRANSACTIONAL_ID, deny, guarded_core


def test_members_of_a_denied_group_are_told_30() -> None:
    core = guarded_core()
    deny(core, GROUP, "shut", AclOperation.READ)
    for name, expected in (("open", 25), ("shut", 30)):
        answer = core.client().call(HeartbeatRequest(name, 1, "m"), 4, HeartbeatResponse)
        assert answer.error_code == expected


def test_producers_of_a_denied_id_are_told_53() -> None:
    core = guarded_core()
    deny(core, TRANSACTIONAL_ID, "shut", AclOperation.WRITE)
    asked = InitProducerIdRequest("shut", 1000, -1, -1)
    answer = core.client().call(asked, 4, InitProducerIdResponse)
    assert (answer.error_code, answer.producer_id, answer.producer_epoch) == (53, -1, -1)
