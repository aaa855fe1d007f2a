"""What a broker has handed out; how it gets there is in `test_cooperative_fetch`."""

from __future__ import annotations

from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import Shared, is_current
from mockbroker.coop.leases import Holder
from mockbroker.metadata.names import GROUP_METADATA_TOPIC, INDIVIDUAL_COMMITS_TOPIC
from mockbroker.metadata.topic_requests import ConfigAlteration
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.topics import DeleteTopicsRequest, DeleteTopicsResponse
from tests.mockbroker.coop.test_cooperative_fetch import LEASE_MS, Reader, core_of, leases_of
from tests.support.coop_groups import SharingGroup
from tests.support.core import Core
from tests.support.range_group import RangeGroup


def allow(core: Core, topic: str, size: int) -> None:
    """Let no batch of the topic be larger."""
    asked = ConfigAlteration(2, topic, [("max.message.bytes", 0, str(size))])
    core.cluster.controller.alter_configs([asked])


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


def test_a_commit_that_fails_gives_back_what_it_took() -> None:
    core = core_of()
    reader, other = Reader(core, "A"), Reader(core, "B")
    reader.commits.commit(initial=0)
    reader.take()
    allow(core, INDIVIDUAL_COMMITS_TOPIC, 1)
    assert reader.commits.commit((2, 3)).error != ErrorCode.NONE
    allow(core, INDIVIDUAL_COMMITS_TOPIC, 1 << 20)
    assert other.take() == [(2, 3, 2)]
    assert leases_of(core).refuses("A", 2, 3)


def test_a_commit_of_the_first_that_fails_leaves_the_rest_to_who_has_it() -> None:
    core = core_of()
    reader, other = Reader(core, "A"), Reader(core, "B")
    reader.commits.commit(initial=0)
    reader.take()
    allow(core, GROUP_METADATA_TOPIC, 1)
    assert reader.commits.commit((0, 3)).error != ErrorCode.NONE
    allow(core, GROUP_METADATA_TOPIC, 1 << 20)
    assert other.take() == [(0, 3, 2)]
    assert leases_of(core).holds("A", 4, 9)
    assert reader.commits.commit((4, 9)).error == ErrorCode.NONE


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


def test_a_position_from_outside_counts_though_a_member_commits_next() -> None:
    core = core_of()
    one, two = Reader(core, "A"), Reader(core, "B")
    one.take()
    two.take()
    assert RangeGroup(core.client()).plain(15).error == ErrorCode.NONE
    assert two.commits.commit((16, 17)).error == ErrorCode.NONE
    # What was leased behind it is nobody's any more.
    assert one.take() == [(15, 15, 1), (18, 19, 1)]
