"""Who may be dealt records, and read as a group's member, where an authorizer decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.coop.extension import extension_of
from mockbroker.coop.handouts import Shared
from mockbroker.coop.numbers import Tag
from mockbroker.journal import Authorization
from mockbroker.metadata.acls import AclFilter, Permission
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse
from tests.mockbroker.coop.test_cooperative_fetch import (
    LEASE_MS,
    Reader,
    core_of,
    leases_of,
    request,
)
from tests.mockbroker.coop.test_fetch import HALF, asking, batches, parts_of, put
from tests.support.acls import GROUP, TOPIC, add, deny
from tests.support.coop_groups import SharingGroup
from tests.support.keyed_log import LOW

if TYPE_CHECKING:
    from mockbroker.metadata.acls import ResourceType
    from tests.support.core import Core, CoreClient

READ = AclOperation.READ
ALLOW = Permission.ALLOW
GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DELETE_ALL = AclFilter(1, None, 1, None, None, 1, 1)


def guarded(batches: int = 4) -> Core:
    """Four batches in t; everybody may do what no ACL is about."""
    return core_of(
        batches,
        authorizer_class_name=STANDARD_AUTHORIZER,
        **{"allow.everyone.if.no.acl.found": "true"},
    )


def forget_acls(core: Core) -> None:
    core.act(lambda: core.broker.services.controller.delete_acls([DELETE_ALL]))


def denials(core: Core) -> list[tuple[str, str, str, str]]:
    return [
        (one.api_name, one.operation, one.resource_type, one.resource_name)
        for one in core.cluster.journal.events()
        if isinstance(one, Authorization)
    ]


def has_handed_out(core: Core) -> bool:
    return extension_of(core.broker.services).handouts.of(Shared("g", "t", 0)) is not None


def whole_error(reader: Reader) -> int:
    return reader.client.call(request(reader.identity), 12, FetchResponse).error_code


def test_read_on_group_and_topic_is_all_that_it_takes() -> None:
    core = guarded()
    add(core, GROUP, "g", (READ, ALLOW))
    add(core, TOPIC, "t", (READ, ALLOW))
    reader = Reader(core, "A")
    assert reader.take() == [(0, 9, 1)]
    assert reader.commits.commit((0, 9))[2:] == (10, 0)
    assert denials(core) == []


@pytest.mark.parametrize(("kind", "name"), [(GROUP, "g"), (TOPIC, "t")], ids=["group", "topic"])
def test_without_either_nothing_is_dealt_and_the_journal_tells_why(
    kind: ResourceType, name: str
) -> None:
    core = guarded()
    deny(core, kind, name, READ)
    reader = Reader(core, "A")
    answer = reader.client.call(request(reader.identity), 12, FetchResponse)
    (part,) = answer.responses[0].partitions
    assert part.records in (None, b"")
    if kind is GROUP:
        assert (answer.error_code, part.error_code) == (GROUP_DENIED, GROUP_DENIED)
    else:
        assert (answer.error_code, part.error_code) == (0, TOPIC_DENIED)
    assert not has_handed_out(core)
    assert denials(core) == [("Fetch", "READ", kind.name.title(), name)]
    assert core.broker.metrics()["mockbroker:type=AuthorizerMetrics,name=AuthorizationsDenied"] == 1


def test_who_loses_the_group_amid_its_work_is_refused_and_its_leases_end_in_time() -> None:
    core = guarded()
    reader = Reader(core, "A")
    assert reader.take() == [(0, 9, 1)]
    deny(core, GROUP, "g", READ)
    assert whole_error(reader) == GROUP_DENIED
    assert reader.commits.commit((0, 9)).error == GROUP_DENIED
    assert reader.say(Tag.RENEW_RANGES, (0, 9)) == GROUP_DENIED
    assert reader.say(Tag.RELEASE_RANGES, (0, 9)) == GROUP_DENIED
    assert [lease[:2] for lease in leases_of(core).leased] == [(0, 9)]
    core.advance(LEASE_MS)
    assert [piece[:2] for piece in leases_of(core).free] == [(0, 9)]
    forget_acls(core)
    assert reader.take() == [(0, 9, 2)]
    assert denials(core) == [
        ("Fetch", "READ", "Group", "g"),
        *[("OffsetCommit", "READ", "Group", "g")] * 3,
    ]


def test_who_loses_the_topic_amid_its_work_commits_nothing_of_it() -> None:
    core = guarded()
    reader = Reader(core, "A")
    assert reader.take() == [(0, 9, 1)]
    deny(core, TOPIC, "t", READ)
    assert reader.fetch().error == TOPIC_DENIED
    assert reader.commits.commit((0, 9)).error == TOPIC_DENIED
    forget_acls(core)
    assert reader.commits.fetch().stable == -1
    assert reader.take() == [(10, 19, 1)]


def test_a_fetch_that_waits_is_answered_as_it_was_allowed_and_the_next_is_refused() -> None:
    """As Apache Kafka answers any fetch: what was asked for is decided when it is asked for."""
    core = guarded(0)
    reader = Reader(core, "A")
    reader.wait(60_000)
    deny(core, GROUP, "g", READ)
    put(core.client(), "k")
    assert reader.got().pieces == [(0, 0, 1)]
    assert whole_error(reader) == GROUP_DENIED


class Member:
    """One of two members, with a fetch session on its half of the partition."""

    def __init__(self, core: Core) -> None:
        self.group = SharingGroup(core, 3)
        self.group.sync({"t": {0: (LOW,)}})
        self.client: CoreClient = self.group.clients[0]
        self.session, self.epoch = 0, 0

    def poll(self) -> FetchResponse:
        first = self.epoch == 0
        parts = [("t", 0, HALF)] if first else []
        own = self.group.identity(0) if first else None
        asked: FetchRequest = asking(*parts, session=(self.session, self.epoch), own_tags=own)
        answer = self.client.call(asked, 12, FetchResponse)
        if not answer.error_code:
            self.session, self.epoch = answer.session_id, self.epoch + 1
        return answer


def test_a_session_of_a_member_is_refused_once_its_group_is_lost_and_goes_on_afterwards() -> None:
    core = guarded(0)
    put(core.client(), "a")
    member = Member(core)
    (part,) = parts_of(member.poll())
    assert batches(part) == [(0, 0, [0])]
    deny(core, GROUP, "g", READ)
    put(core.client(), "b")
    assert member.poll().error_code == GROUP_DENIED
    assert denials(core)[-1] == ("Fetch", "READ", "Group", "g")
    forget_acls(core)
    (part,) = parts_of(member.poll())
    assert [offset for _, _, offsets in batches(part) for offset in offsets][-1] == 1


def test_who_reads_through_a_filter_and_is_nobodys_member_needs_no_group() -> None:
    core = guarded(0)
    put(core.client(), "a")
    deny(core, GROUP, "g", READ)
    (part,) = parts_of(core.client().call(asking(("t", 0, HALF)), 12, FetchResponse))
    assert batches(part) == [(0, 0, [0])]
    assert denials(core) == []


def test_an_identity_that_cannot_be_read_is_refused_as_such() -> None:
    core = guarded(0)
    deny(core, GROUP, "g", READ)
    asked = asking(("t", 0, HALF), own_tags={Tag.GROUP_IDENTITY: b"\x09g"})
    (part,) = parts_of(core.client().call(asked, 12, FetchResponse))
    assert part.error_code == ErrorCode.INVALID_REQUEST


def test_ranges_of_a_group_that_may_not_be_read_are_not_committed() -> None:
    core = guarded()
    reader = Reader(core, "A")
    deny(core, GROUP, "g", READ)
    assert reader.commits.commit((0, 4), initial=0).error == GROUP_DENIED
    forget_acls(core)
    assert reader.commits.fetch().ranges == []
