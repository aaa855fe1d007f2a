"""Which APIs have guards, and answers that come later."""

from __future__ import annotations

from mockbroker.apis.authorization import OPEN
from mockbroker.apis.guards.table import GUARDS
from mockbroker.apis.registry import SERVED
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.produce import ProduceRequest, ProduceResponse
from tests.mockbroker.apis.test_produce import request
from tests.support.acls import TOPIC, deny, guarded_core
from tests.support.core import Core
from tests.support.fetch_world import batch

NOW = 1_700_000_000_000


def test_every_api_is_guarded_or_open_to_all() -> None:
    assert set(SERVED) - set(GUARDS) - OPEN == set()


def test_a_broker_without_an_authorizer_knows_no_guards() -> None:
    api = Core().broker.registry.get(0)
    assert api is not None
    assert not api.guarded


def test_refused_and_handled_topics_are_in_one_answer() -> None:
    core = guarded_core()
    deny(core, TOPIC, "shut", AclOperation.WRITE)
    asked = ProduceRequest(None, -1, 1000, [])
    for name in ("open", "shut"):
        asked.topic_data += request(batch(5, 1, NOW), name=name).topic_data
    answer = core.client().call(asked, 9, ProduceResponse)
    told = {one.name: one.partition_responses[0].error_code for one in answer.responses}
    assert told == {"open": 0, "shut": 29}
