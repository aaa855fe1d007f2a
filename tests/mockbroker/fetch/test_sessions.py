"""Sessions are opened, evicted and ended; partitions are found by name, by id, or not at all."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from mockbroker.fetch.sessions import Gate
from mockbroker.metadata.acls import Acl
from mockbroker.metadata.changes import AclsChanged
from mockbroker.replica.fetch_entry import FetchEntry, FetchTopic
from mockbroker.security.authorizer import StandardAuthorizer
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import FetchRequestPartition
from tests.support.fetch_world import ZERO, World, ask, reader_gate, told
from tests.support.work_counts import lines_of

if TYPE_CHECKING:
    from mockbroker_protocol.messages.fetch import FetchRequest, FetchResponse


@pytest.fixture
def world() -> World:
    world = World()
    world.create_topic("t0", 2)
    return world


def entry(name: str | None, topic_id: bytes = ZERO, index: int = 1) -> FetchEntry:
    return FetchEntry(FetchTopic(name, topic_id), FetchRequestPartition(index))


def test_partitions_are_found_by_name_and_by_id(world: World) -> None:
    topic_id = world.partition("t0").topic_id
    by_id = entry(None, topic_id)
    for found in (entry("t0"), by_id):
        assert world.fetch.resolve(found) == ErrorCode.NONE
        assert found.partition is world.partition("t0", 1)
    assert by_id.topic.name == "t0"
    assert world.fetch.resolve(entry("t9")) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.fetch.resolve(entry("t0", index=2)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.fetch.resolve(entry(None, b"9" * 16)) == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize("refused", ["t0", None])
def test_what_the_gate_refuses_is_not_found(world: World, refused: str | None) -> None:
    world.fetch.gate = Gate(lambda name: name != refused, "reader")
    found = entry("t0")
    assert world.fetch.resolve(found) == ErrorCode.TOPIC_AUTHORIZATION_FAILED
    assert found.partition is None


def test_a_session_is_evicted_once(world: World) -> None:
    sid = world.fetch_now(ask(("t0", 0, 0), session=(0, 0))).session_id
    assert world.fetch.evict(sid, "test")
    assert not world.fetch.evict(sid, "test")
    assert world.fetch.cache.num_sessions == 0


def test_the_age_for_eviction_is_configured() -> None:
    world = World(
        {
            "max.incremental.fetch.session.cache.slots": "8",
            "min.incremental.fetch.session.eviction.ms": "50",
        }
    )
    world.create_topic("t0", 2)
    for _ in range(8):
        world.fetch_now(ask(("t0", 1, 0), session=(0, 0)))
    full = ask(("t0", 0, 0), session=(0, 0))
    assert world.fetch_now(full).session_id == 0
    world.advance(51)
    assert world.fetch_now(full).session_id > 0
    assert world.fetch.cache.evictions == 1


def test_a_topic_that_comes_late_is_refused_by_a_prefix_too(world: World) -> None:
    changed: list[tuple[str, bool]] = [("x", True)]
    refused: list[str] = []

    def poll(epoch: int, *parts: tuple[str, int, int]) -> FetchResponse:
        world.fetch.gate = Gate(
            lambda name: name not in refused, "reader", epoch, lambda _: changed
        )
        return world.fetch_now(ask(*parts, version=13, session=(sid, epoch)), 13)

    sid = 0
    sid = poll(0, ("t0", 0, 0), ("t1", 0, 0)).session_id
    assert told(poll(1)) == [("t1", 0, ErrorCode.UNKNOWN_TOPIC_ID, 0)]
    world.create_topic("t1", 1)
    assert told(poll(2)) == [("t1", 0, ErrorCode.NONE, 0)]
    changed, refused = [("t", True)], ["t1"]
    assert told(poll(3)) == [("t1", 0, ErrorCode.TOPIC_AUTHORIZATION_FAILED, 0)]


ANYTHING = Acl(2, "*", 3, "User:a", "*", 3, 3)


def authorized(topics: int, *, by_id: bool) -> tuple[World, StandardAuthorizer, FetchRequest]:
    """A world with a session over topics of one partition that "User:a" reads, and its next poll.

    The topics are t0, u1, u2 and so on.
    """
    world = World()
    names = ["t0", *(f"u{index}" for index in range(1, topics))]
    for name in names:
        world.create_topic(name, 1)
    authorizer = StandardAuthorizer(world.config, world.metadata)
    world.metadata.apply(AclsChanged((ANYTHING,), ()))
    world.fetch.gate = reader_gate(authorizer, "User:a")
    version = 13 if by_id else 12
    request = ask(*((name, 0, 0) for name in names), session=(0, 0), version=version)
    sid = world.fetch_now(request, version).session_id
    # A prefix that no topic begins with: the names are sorted once.
    world.metadata.apply(AclsChanged((ANYTHING._replace(resource_name="x", pattern_type=4),), ()))
    world.fetch.gate = reader_gate(authorizer, "User:a")
    world.fetch_now(ask(session=(sid, 1)), version)
    return world, authorizer, ask(session=(sid, 2))


@pytest.mark.parametrize("by_id", [False, True])
@pytest.mark.parametrize(
    ("acl", "refused"),
    [
        (ANYTHING._replace(resource_name="t0", permission=2), ["t0"]),
        (ANYTHING._replace(resource_name="t", pattern_type=4, permission=2), ["t0"]),
        (ANYTHING._replace(resource_name="nowhere", permission=2), []),
        (ANYTHING._replace(principal="User:b", permission=2), []),
        (ANYTHING._replace(operation=4, permission=2), []),
    ],
)
def test_an_acl_that_comes_or_goes_costs_a_session_the_topics_it_is_about(
    acl: Acl, refused: list[str], by_id: bool
) -> None:
    version = 13 if by_id else 12

    def poll(world: World, request: FetchRequest, answers: list[FetchResponse]) -> None:
        answers.append(world.fetch_now(request, version))

    def polls(topics: int) -> list[int]:
        world, authorizer, request = authorized(topics, by_id=by_id)
        lines = []
        for change in (AclsChanged((acl,), ()), AclsChanged((), (acl,))):
            world.metadata.apply(change)
            world.fetch.gate = reader_gate(authorizer, "User:a")
            answers: list[FetchResponse] = []
            lines.append(lines_of(partial(poll, world, request, answers)))
            request.session_epoch += 1
            error = 29 if change.added else 0
            assert told(answers[0]) == [(name, 0, error, 0) for name in refused]
        return lines

    assert polls(5) == polls(100)


def test_an_acl_is_about_all_topics_that_had_its_name() -> None:
    world, authorizer, poll = authorized(1, by_id=True)
    world.delete_topic("t0")
    world.create_topic("t0", 1)
    both = ask(("t0", 0, 0), session=(poll.session_id, 2), version=13)
    both.topics[0].topic_id = world.metadata.topics["t0"].id
    world.fetch_now(both, 13)
    world.metadata.apply(AclsChanged((ANYTHING._replace(resource_name="t0", permission=2),), ()))
    world.fetch.gate = reader_gate(authorizer, "User:a")
    poll.session_epoch = 3
    answer = world.fetch_now(poll, 13)
    errors = [part.error_code for topic in answer.responses for part in topic.partitions]
    assert errors == [ErrorCode.TOPIC_AUTHORIZATION_FAILED] * 2
