"""What a broker has handed out; how it gets there is in `test_cooperative_fetch`."""

from __future__ import annotations

from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import Shared, is_current
from mockbroker.coop.leases import Holder
from mockbroker_protocol.messages.topics import DeleteTopicsRequest, DeleteTopicsResponse
from tests.mockbroker.coop.test_cooperative_fetch import LEASE_MS, Reader, core_of
from tests.support.coop_groups import SharingGroup


def test_what_is_counted() -> None:
    core = core_of()
    one, two = Reader(core, "A"), Reader(core, "B")
    one.take()
    two.take()
    metrics = core.broker.metrics()
    named = "mockbroker:type=CooperativeMetrics,name=lease."
    assert [metrics[named + each] for each in ("active", "expired", "redelivered")] == [2, 0, 0]
    core.advance(LEASE_MS)
    one.take()
    metrics = core.broker.metrics()
    assert [metrics[named + each] for each in ("active", "expired", "redelivered")] == [1, 2, 1]


def test_a_reset_forgets_it() -> None:
    core = core_of()
    reader = Reader(core, "A")
    reader.take()
    services = core.broker.services
    handouts = extension_of(services).handouts
    assert handouts.tables()
    services.back_to(services.mark())
    assert not handouts.tables()
    assert handouts.of(Shared("g", "t", 0)) is None
    core.advance(2 * LEASE_MS)
    assert reader.take() == [(0, 9, 1)]


def test_a_topic_that_is_gone_takes_its_own_along() -> None:
    core = core_of()
    Reader(core, "A").take()
    deletion = DeleteTopicsRequest(topic_names=["t"], timeout_ms=1000)
    answer = core.client().call(deletion, 5, DeleteTopicsResponse)
    assert answer.responses[0].error_code == 0
    assert not extension_of(core.broker.services).handouts.in_use


def test_who_is_in_a_group_now() -> None:
    core = core_of()
    group = SharingGroup(core, 7)
    services = core.broker.services
    member, generation = group.members[0], group.generation
    assert is_current(services, "g", Holder(member, generation))
    assert not is_current(services, "g", Holder(member, generation - 1))
    assert not is_current(services, "g", Holder("stranger", generation))
    assert not is_current(services, "g", Holder("stranger", -1))
    assert is_current(services, "empty", Holder("stranger", -1))
    assert not is_current(services, "empty", Holder("stranger", 1))
