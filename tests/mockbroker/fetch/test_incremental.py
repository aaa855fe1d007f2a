"""An incremental fetch answers what a walk over the whole session would, and looks at less."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from mockbroker.fetch import incremental, long_contexts
from mockbroker.fetch import session as sessions
from mockbroker.fetch.waiting import SessionWait
from mockbroker.log.results import AppendOrigin
from mockbroker.metadata.acls import Acl
from mockbroker.metadata.changes import AclsChanged
from mockbroker.security.authorizer import StandardAuthorizer
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.fetch_world import ZERO, World, ask, reader_gate, told, topic_id
from tests.support.full_walk import FullWalkPoll, FullWalkSession

if TYPE_CHECKING:
    from tests.support.fetch_world import Pending

TOPICS = ("t0", "t1", "t2")
PARTITIONS = 3
UNKNOWN_HIGH_WATERMARK = 2**63 - 1


ALL, READ = 2, 3
ANYTHING = Acl(2, "*", 3, "User:a", "*", READ, 3)
EVERYTHING = ANYTHING._replace(principal="User:*", operation=ALL)


def random_acl(rng: Random) -> Acl:
    name, pattern = rng.choice((("t0", 3), ("t1", 3), ("t", 4), ("t2", 4), ("*", 3)))
    who = rng.choice(("User:a", "User:a", "User:b", "User:*"))
    return Acl(2, name, pattern, who, "*", rng.choice((READ, 4)), rng.choice((2, 2, 3)))


def plain(response: FetchResponse | None) -> FetchResponse | None:
    """The response with its records in one piece and without the leaders that the API adds."""
    if response is not None:
        response.node_endpoints = []
        for topic in response.responses:
            for data in topic.partitions:
                data.current_leader = None
                if isinstance(data.records, list):
                    data.records = b"".join(data.records)
    return response


class Twins:
    """Two worlds with one history: sessions as served, and sessions walked in full."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.version = rng.choice((12, 12, 13, 18))
        self.worlds = (World(), World())
        self.authorizers = [
            StandardAuthorizer(world.config, world.metadata) for world in self.worlds
        ]
        self.change_acls((EVERYTHING,), ())
        self.readers = ("User:a",) if rng.random() < 0.7 else ("User:a", "User:b")
        self.identities: dict[str, bytes] = {name: topic_id(name) for name in TOPICS}
        self.two_replicas = rng.random() < 0.3
        for name in TOPICS[: rng.randint(1, 3)]:
            self.create(name)
        self.session_id = 0
        self.epoch = 0
        self.parked: tuple[Pending, FullWalkPoll] | None = None
        self.open_transactions: set[tuple[str, int]] = set()
        self.full_fetch()

    # -- the history -----------------------------------------------------------------------

    def create(self, name: str) -> None:
        replicas = (1, 2) if self.two_replicas else (1,)
        for world in self.worlds:
            self.identities[name] = world.create_topic(
                name, PARTITIONS, replicas=replicas, configs={"segment.ms": "1000"}
            )

    def somewhere(self) -> tuple[str, int] | None:
        topics = list(self.worlds[0].metadata.topics)
        return (self.rng.choice(topics), self.rng.randrange(PARTITIONS)) if topics else None

    def step(self) -> None:
        action = self.rng.choices(
            (
                self.poll,
                self.append,
                self.disturb,
                self.pass_time,
                self.full_fetch,
                self.change_some_acls,
            ),
            (10, 6, 4, 2, 0.3, 2),
        )[0]
        action()
        self.compare_parked()

    def append(self) -> None:
        where = self.somewhere()
        if where is None:
            return
        name, index = where
        for _ in range(self.rng.randint(1, 3)):
            records = [
                Record(0, self.worlds[0].clock.wall_ms(), None, b"v" * self.rng.randint(0, 300), [])
            ]
            transactional = self.rng.random() < 0.2
            data = build_batch(
                records,
                producer_id=7 if transactional else -1,
                producer_epoch=0 if transactional else -1,
                base_sequence=-1,
                transactional=transactional,
            )
            for world in self.worlds:
                world.partition(name, index).append_batch(data, AppendOrigin.COORDINATOR)
            if transactional:
                self.open_transactions.add(where)
        self.drain()

    def disturb(self) -> None:
        where = self.somewhere()
        kind = self.rng.randrange(8)
        if kind == 0:
            name = self.rng.choice(TOPICS)
            if name in self.worlds[0].metadata.topics:
                for world in self.worlds:
                    world.delete_topic(name)
                self.open_transactions = {w for w in self.open_transactions if w[0] != name}
            return
        if kind in {1, 2}:
            name = self.rng.choice(TOPICS)
            if name not in self.worlds[0].metadata.topics:
                self.create(name)
            return
        if where is None:
            return
        name, index = where
        if kind == 3:
            for world in self.worlds:
                partition = world.partition(name, index)
                if partition.log is not None and partition.log.high_watermark:
                    bound = partition.log.high_watermark
                    partition.delete_records_before(bound // 2 if bound > 3 else bound)
        elif kind == 4 and where in self.open_transactions:
            self.open_transactions.discard(where)
            commit = self.rng.random() < 0.5
            for world in self.worlds:
                world.partition(name, index).append_end_of_transaction(7, 0, 0, commit=commit)
        else:
            self.change_leadership(name, index)
        self.drain()

    def change_acls(self, added: tuple[Acl, ...], removed: tuple[Acl, ...]) -> None:
        for world in self.worlds:
            world.metadata.apply(AclsChanged(added, removed))

    def change_some_acls(self) -> None:
        rng, there = self.rng, list(self.worlds[0].metadata.acls)
        if rng.random() < 0.4:
            self.change_acls((), tuple(rng.sample(there, rng.randint(0, len(there)))))
        else:
            added = ANYTHING if rng.random() < 0.5 else random_acl(rng)
            self.change_acls(() if added in there else (added,), ())

    def stand_at_the_gate(self) -> None:
        """Who polls next may read what the ACLs allow, in both worlds."""
        reader = self.rng.choice(self.readers)
        for world, authorizer in zip(self.worlds, self.authorizers, strict=True):
            world.fetch.gate = reader_gate(authorizer, reader)

    def change_leadership(self, name: str, index: int) -> None:
        leader = self.rng.choice((1, 1, 2)) if self.two_replicas else 1
        isr = self.rng.choice(((1,), (1, 2))) if self.two_replicas else (1,)
        epoch = self.worlds[0].partition(name, index).leader_epoch + self.rng.randint(0, 1)
        for world in self.worlds:
            replicas = (1, 2) if self.two_replicas else (1,)
            world.change_leader(name, index, leader, epoch, replicas, isr)

    def pass_time(self) -> None:
        ms = self.rng.choice((1, 99, 500, 3_000))
        for world in self.worlds:
            world.advance(ms)

    def drain(self) -> None:
        for world in self.worlds:
            world.replicas.drain()

    # -- fetches ---------------------------------------------------------------------------

    def asked(self, share: float) -> list[FetchRequestTopic]:
        topics = []
        log_of = self.worlds[0].replicas.partition
        for name in self.rng.sample(TOPICS, len(TOPICS)):
            partitions = []
            for index in self.rng.sample(range(PARTITIONS + 1), PARTITIONS + 1):
                if self.rng.random() > share:
                    continue
                partition = log_of(name, index)
                log = None if partition is None else partition.log
                end = 0 if log is None else log.log_end_offset
                start = 0 if log is None else log.log_start_offset
                high_watermark = 0 if log is None else log.high_watermark
                partitions.append(
                    FetchRequestPartition(
                        index,
                        self.rng.choice((-1, -1, -1, -1, 0, 1)),
                        self.rng.choice(
                            (start, high_watermark, end, end, self.rng.randint(0, end + 1))
                        ),
                        self.rng.choice((-1, -1, -1, -1, -1, 0, 1)),
                        -1,
                        self.rng.choice((1 << 20, 1 << 20, 1 << 20, 150, 10, 0, -1)),
                        ZERO,
                        self.rng.choice((-1, 0, high_watermark, UNKNOWN_HIGH_WATERMARK))
                        if self.version == 18
                        else UNKNOWN_HIGH_WATERMARK,
                    )
                )
            if partitions:
                identity = self.identities[name] if self.version >= 13 else ZERO
                topics.append(
                    FetchRequestTopic("" if self.version >= 13 else name, identity, partitions)
                )
        return topics

    def request(self, topics: list[FetchRequestTopic], epoch: int) -> FetchRequest:
        return FetchRequest(
            self.rng.choice((-1, -1, -1, -1, -1, -3)),
            self.rng.choice((0, 0, 100, 100, 500)),
            self.rng.choice((1, 1, 1, 200, 1_000)),
            self.rng.choice((1 << 30, 1 << 30, 1_000, 400, 150, 61, 1, 0, -1)),
            self.rng.choice((0, 0, 0, 0, 0, 1)),
            self.session_id,
            epoch,
            topics,
        )

    def full_fetch(self) -> None:
        self.hang_up()
        self.stand_at_the_gate()
        request = self.request(self.asked(0.8), 0)
        request.max_wait_ms = 0
        response = self.worlds[0].fetch_now(request, self.version)
        self.session_id = response.session_id
        self.epoch = 1
        self.walked = FullWalkSession(self.worlds[1], request, response, by_id=self.version >= 13)

    def poll(self) -> None:
        self.hang_up()
        self.stand_at_the_gate()
        request = self.request(self.asked(self.rng.choice((0, 0, 0.1, 0.4))), self.epoch)
        for name in TOPICS:
            if self.rng.random() < 0.05:
                identity = self.identities[name] if self.version >= 13 else ZERO
                request.forgotten_topics_data.append(
                    FetchRequestForgottenTopic(
                        "" if self.version >= 13 else name, identity, [self.rng.randrange(3)]
                    )
                )
        pending = self.worlds[0].send(request, self.version)
        if pending.answered and pending.answer().session_id == 0:
            self.walked.update(request)
            assert not self.walked.entries
            self.full_fetch()
            return
        self.epoch += 1
        self.parked = pending, self.walked.poll(request, self.version)

    def hang_up(self) -> None:
        if self.parked is not None:
            pending, walked = self.parked
            pending.disconnect()
            assert walked.delayed is not None
            walked.delayed.give_up()
            self.parked = None

    def compare_parked(self) -> None:
        if self.parked is not None:
            pending, walked = self.parked
            if pending.answered or walked.response is not None:
                assert plain(pending.answer()) == plain(walked.response)
                self.parked = None


@settings(max_examples=150)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 80))
def test_answers_equal_those_of_a_walk_over_the_whole_session(seed: int, steps: int) -> None:
    twins = Twins(Random(seed))
    with (
        patch.object(incremental, "MANY_READY", seed % 3 or incremental.MANY_READY),
        patch.object(sessions, "_STALE_ENTRIES_ALLOWED", -2 * (seed % 2)),
    ):
        for _ in range(steps):
            twins.step()


@settings(max_examples=60)
@given(seed=st.integers(0, 2**32), steps=st.integers(1, 80))
def test_so_do_those_that_are_made_in_slices(seed: int, steps: int) -> None:
    with (
        patch.object(incremental, "LONG", seed % 4),
        patch.object(long_contexts, "SLICE", 1 + seed % 3),
        patch.object(incremental, "MANY_READY", seed % 5 or incremental.MANY_READY),
    ):
        twins = Twins(Random(seed))
        for step in range(steps):
            twins.worlds[0].request_bytes = 1 << 20 if (seed >> step % 32) & 1 else 0
            twins.step()


# -- what a poll costs -------------------------------------------------------------------------


def opened(partitions: int) -> tuple[World, int]:
    """A world with a session over one topic of this many partitions, all caught up."""
    world = World()
    world.create_topic("t0", partitions)
    request = ask(*(("t0", index, 0) for index in range(partitions)), session=(0, 0))
    return world, world.fetch_now(request).session_id


def looked_at(world: World, request: FetchRequest) -> int:
    before = world.fetch.partitions_looked_at
    world.fetch_now(request)
    return world.fetch.partitions_looked_at - before


def test_an_idle_poll_looks_at_no_partition() -> None:
    world, sid = opened(1_000)
    assert looked_at(world, ask(session=(sid, 1))) == 0


def test_a_poll_looks_at_the_partition_that_changed_and_at_those_named() -> None:
    world, sid = opened(1_000)
    world.append("t0", 500, 50)
    assert looked_at(world, ask(session=(sid, 1))) == 1
    assert looked_at(world, ask(("t0", 500, 1), session=(sid, 2))) == 1
    assert looked_at(world, ask(("t0", 3, 0), ("t0", 4, 0), session=(sid, 3))) == 2
    assert looked_at(world, ask(session=(sid, 4))) == 0


def test_a_poll_leaves_ready_partitions_alone_when_the_budget_is_spent() -> None:
    world, sid = opened(100)
    for index in range(100):
        world.append("t0", index, 50)
    # All their high watermarks moved: each is looked at, and told, once.
    assert looked_at(world, ask(session=(sid, 1), max_bytes=118)) == 100
    assert looked_at(world, ask(session=(sid, 2), max_bytes=118)) == 1
    # What is left now, 64 bytes, could hold a batch: no one has such a small one, as is seen once.
    assert looked_at(world, ask(session=(sid, 3), max_bytes=300)) == 100
    assert looked_at(world, ask(session=(sid, 4), max_bytes=300)) == 2
    world.append("t0", 99, 1)
    assert looked_at(world, ask(("t0", 99, 1), session=(sid, 5), max_bytes=186)) == 2


def test_a_parked_poll_is_weighed_by_what_changes_and_not_by_its_size() -> None:
    world, sid = opened(1_000)
    pending = world.send(ask(session=(sid, 1), wait=500, min_bytes=300))
    session = world.fetch.cache.get(sid)
    assert session is not None
    (wait,) = session.waits
    assert isinstance(wait, SessionWait)
    assert wait.weighed == 0
    assert world.replicas.fetch_purgatory.purgatory_size == 1
    world.append("t0", 7, 50)
    world.append("t0", 7, 50)
    assert wait.weighed == 2
    assert not pending.answered
    world.append("t0", 900, 50)
    assert told(pending.answer()) == [("t0", 7, 0, 236), ("t0", 900, 0, 118)]
    assert session.waits == []


def test_a_heap_of_ready_partitions_stays_within_the_size_of_the_session() -> None:
    world, sid = opened(3)
    for index in range(3):
        world.append("t0", index, 50)
    for epoch in range(1, 150):
        world.fetch_now(ask(session=(sid, epoch), max_bytes=118))
    session = world.fetch.cache.get(sid)
    assert session is not None
    assert len(session.ready) <= 64 + 2 * 3 + 1


# -- what an answer includes, and in which order ------------------------------------------------


def four_partitions() -> tuple[World, int]:
    world = World()
    world.create_topic("t0", 4)
    for index in range(4):
        world.append("t0", index, 50)
    request = ask(*(("t0", index, 0) for index in range(4)), session=(0, 0), max_bytes=118)
    response = world.fetch_now(request)
    assert told(response) == [("t0", 0, 0, 118), *(("t0", index, 0, 0) for index in (1, 2, 3))]
    return world, response.session_id


def test_served_partitions_move_to_the_back_and_a_full_answer_moves_none() -> None:
    world, sid = four_partitions()
    served = [
        told(world.fetch_now(ask(session=(sid, epoch), max_bytes=118)))[0][1]
        for epoch in range(1, 7)
    ]
    assert served == [0, 1, 2, 3, 0, 1]


def test_a_new_offset_keeps_the_place_in_the_order() -> None:
    world, sid = four_partitions()
    world.append("t0", 0, 50)
    response = world.fetch_now(ask(("t0", 0, 1), session=(sid, 1), max_bytes=118))
    assert told(response) == [("t0", 0, 0, 118)]


def test_a_partition_in_error_keeps_its_place() -> None:
    world, sid = four_partitions()
    response = world.fetch_now(ask(("t0", 0, 99), session=(sid, 1), max_bytes=118))
    assert told(response) == [("t0", 0, 1, 0), ("t0", 1, 0, 118)]
    response = world.fetch_now(ask(("t0", 0, 0), session=(sid, 2), max_bytes=118))
    assert told(response) == [("t0", 0, 0, 118)]


def test_forgotten_and_added_partitions_change_the_order() -> None:
    """Case 37."""
    world = World()
    world.create_topic("t0", 2)
    world.create_topic("t1", 1)
    sid = world.fetch_now(ask(("t0", 0, 0), ("t0", 1, 0), session=(0, 0))).session_id
    response = world.fetch_now(ask(("t1", 0, 0), session=(sid, 1), forget=(("t0", 0),)))
    assert told(response) == [("t1", 0, 0, 0)]
    world.append("t0", 1, 50)
    world.append("t1", 0, 50)
    response = world.fetch_now(ask(session=(sid, 2)))
    assert told(response) == [("t0", 1, 0, 118), ("t1", 0, 0, 118)]


def test_a_partition_named_and_forgotten_at_once_is_not_in_the_session() -> None:
    """Case 38."""
    world, sid = opened(2)
    request = ask(("t0", 5, 0), session=(sid, 1), forget=(("t0", 5), ("t9", 0)))
    assert told(world.fetch_now(request)) == []


def test_a_moved_log_start_is_told_once() -> None:
    """Case 53."""
    world, sid = opened(2)
    world.append("t0", 1, 50, 50)
    world.fetch_now(ask(("t0", 1, 2), session=(sid, 1)))
    world.partition("t0", 1).delete_records_before(1)
    response = world.fetch_now(ask(session=(sid, 2)))
    assert told(response) == [("t0", 1, 0, 0)]
    assert response.responses[0].partitions[0].log_start_offset == 1
    assert told(world.fetch_now(ask(session=(sid, 3)))) == []


def test_a_high_watermark_that_moved_without_data_is_told_in_both_directions() -> None:
    """Case 54."""
    world = World()
    world.create_topic("t0", replicas=(1, 2))
    world.append("t0", 0, 50, 50)
    sid = world.fetch_now(ask(("t0", 0, 2), session=(0, 0))).session_id
    world.change_leader("t0", 0, 1, 0, (1, 2), isr=(1,))
    response = world.fetch_now(ask(session=(sid, 1)))
    assert response.responses[0].partitions[0].high_watermark == 2
    log = world.partition("t0").open_log()
    log.set_high_watermark(1)
    world.partition("t0").change_state(world.partition("t0").state)
    log.set_high_watermark(1)
    assert told(world.fetch_now(ask(("t0", 0, 1), session=(sid, 2)))) == [("t0", 0, 0, 0)]


def test_an_error_is_told_each_time_and_its_end_once() -> None:
    """Cases 47 and 56."""
    world = World()
    world.create_topic("t0")
    sid = world.fetch_now(ask(("t1", 0, 0), ("t0", 0, 0), session=(0, 0))).session_id
    for epoch in (1, 2):
        assert told(world.fetch_now(ask(session=(sid, epoch)))) == [("t1", 0, 3, 0)]
    world.create_topic("t1")
    assert told(world.fetch_now(ask(session=(sid, 3)))) == [("t1", 0, 0, 0)]
    assert told(world.fetch_now(ask(session=(sid, 4)))) == []


def test_an_unknown_id_is_served_once_it_is_known_and_stays_resolved() -> None:
    """Case 45: unknown 100, deleted later 3, never 100 again; recreated under another id 103."""
    world = World()
    world.create_topic("t0")
    request = ask(("t1", 0, 0), ("t0", 0, 0), version=13, session=(0, 0))
    response = world.fetch_now(request, 13)
    assert told(response) == [("t0", 0, 0, 0), ("t1", 0, 100, 0)]
    sid = response.session_id
    poll = {epoch: ask(version=13, session=(sid, epoch)) for epoch in range(1, 6)}
    assert told(world.fetch_now(poll[1], 13)) == [("t1", 0, 100, 0)]
    world.create_topic("t1")
    assert told(world.fetch_now(poll[2], 13)) == [("t1", 0, 0, 0)]
    assert told(world.fetch_now(poll[3], 13)) == []
    world.delete_topic("t1")
    assert told(world.fetch_now(poll[4], 13)) == [("t1", 0, 3, 0)]
    world.create_topic("t1")
    assert told(world.fetch_now(poll[5], 13)) == [("t1", 0, 103, 0)]


def test_a_later_epoch_accepted_meanwhile_answers_71_with_the_session_id() -> None:
    world, sid = opened(1)
    parked = world.send(ask(session=(sid, 1), wait=500, min_bytes=1))
    assert told(world.fetch_now(ask(session=(sid, 2)))) == []
    world.append("t0", 0, 50)
    answer = parked.answer()
    assert (answer.error_code, answer.session_id, answer.responses) == (71, sid, [])


def test_a_session_closed_meanwhile_still_answers_with_its_id() -> None:
    world, sid = opened(1)
    parked = world.send(ask(session=(sid, 1), wait=500, min_bytes=1))
    world.fetch_now(ask(session=(sid, -1)))
    world.append("t0", 0, 50)
    answer = parked.answer()
    assert (answer.error_code, answer.session_id) == (0, sid)
    assert told(answer) == [("t0", 0, 0, 118)]
    assert world.fetch_now(ask(session=(sid, 2))).error_code == 70
    assert world.partition("t0").wait_keys() == []


def test_a_closed_session_is_told_of_nothing_any_more() -> None:
    world, sid = opened(1)
    session = world.fetch.cache.get(sid)
    assert session is not None
    world.fetch_now(ask(session=(sid, -1)))
    world.append("t0", 0, 50)
    assert not session.changed


def test_a_reader_with_another_isolation_is_looked_at_anew() -> None:
    world, sid = opened(2)
    assert looked_at(world, ask(session=(sid, 1), isolation=1)) == 2
    assert looked_at(world, ask(session=(sid, 2), isolation=1)) == 0


def test_a_reader_that_knows_less_than_our_high_watermark_is_told_at_once() -> None:
    """KIP-1166, in a session: what was told counts as known."""
    world = World()
    world.create_topic("t0")
    world.append("t0", 0, 50)
    first = ask(("t0", 0, 1), version=18, session=(0, 0), high_watermark=0)
    sid = world.fetch_now(first, 18).session_id
    idle = ask(version=18, session=(sid, 1), wait=500, min_bytes=1)
    parked = world.send(idle, 18)
    assert not parked.answered
    parked.disconnect()
    behind = ask(
        ("t0", 0, 1), version=18, session=(sid, 2), wait=500, min_bytes=1, high_watermark=0
    )
    response = world.fetch_now(behind, 18)
    assert response.responses[0].partitions[0].high_watermark == 1
    parked = world.send(ask(version=18, session=(sid, 3), wait=500, min_bytes=1), 18)
    assert not parked.answered
