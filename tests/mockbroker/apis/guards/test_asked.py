"""A request before its authorizer."""

from __future__ import annotations

from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from tests.support.acls import TOPIC, deny, guarded_core


def test_refused_topics_are_told_beside_the_others_or_alone() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", AclOperation.DESCRIBE)
    for names, expected in ((("open", "shut"), {"open": 0, "shut": 29}), (("shut",), {"shut": 29})):
        topics = [ListOffsetsTopic(name, [ListOffsetsPartition(0, -1, -1)]) for name in names]
        asked = ListOffsetsRequest(-1, 0, topics, 1000)
        answer = core.client().call(asked, 5, ListOffsetsResponse)
        assert {one.name: one.partitions[0].error_code for one in answer.topics} == expected
