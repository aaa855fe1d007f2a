"""What a session saves equals what encoding the full request and the full answer would show."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mockbroker.fetch.contexts import INCREMENTAL
from mockbroker.fetch.savings import WireSize
from mockbroker_protocol.fetch_codec import encode_fetch_request, encode_fetch_response
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestForgottenTopic,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from tests.support.fetch_world import ZERO, World, ask, topic_id

if TYPE_CHECKING:
    from mockbroker.fetch.session import FetchSession, SessionTopic

# Short, two bytes a letter, and too long for a length of one byte; one that nobody creates.
NAMES = ("t", "größe", "long" * 40, "unknown")
UNKNOWN_HIGH_WATERMARK = 2**63 - 1


def length(chunks: object) -> int:
    assert isinstance(chunks, list)
    return sum(map(len, chunks))


def full_request(session: FetchSession, request: FetchRequest) -> FetchRequest:
    """The request as it would be without a session behind it."""
    topics = [
        FetchRequestTopic(
            *_key(topic),
            [
                FetchRequestPartition(
                    cached.index,
                    cached.current_leader_epoch,
                    cached.fetch_offset,
                    cached.last_fetched_epoch,
                    cached.log_start_offset,
                    cached.max_bytes,
                    ZERO,
                    cached.high_watermark,
                )
                for cached in topic.partitions.values()
            ],
        )
        for topic in session.topics.values()
        if topic.partitions
    ]
    return FetchRequest(
        request.replica_id,
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        topics,
        [],
        request.rack_id,
    )


def full_response(session: FetchSession, response: FetchResponse) -> FetchResponse:
    """The answer as it would be without a session: the others are there too, with no news."""
    told = {
        ("" if session.uses_topic_ids else topic.topic, topic.topic_id, data.partition_index): data
        for topic in response.responses
        for data in topic.partitions
    }
    topics = [
        FetchResponseTopic(
            *_key(topic),
            [
                told.get(
                    (*_key(topic), index), FetchResponsePartition(index, 0, 7, 7, 0, None, -1, b"")
                )
                for index in topic.partitions
            ],
        )
        for topic in session.topics.values()
        if topic.partitions
    ]
    return FetchResponse(0, 0, response.session_id, topics, response.node_endpoints)


def _key(topic: SessionTopic) -> tuple[str, bytes]:
    return ("", topic.topic_id) if topic.topic_id != ZERO else (topic.name or "", ZERO)


class Poller:
    """A session that is polled at random, and each poll recomputed by encoding."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.by_id = rng.random() < 0.5
        self.world = World()
        self.sizes = {name: rng.choice((1, 3, 3, 130)) for name in NAMES}
        for name in NAMES[:3]:
            self.world.create_topic(name, self.sizes[name])
        request = FetchRequest(session_epoch=0, topics=self.named(0.7) or self.named(1))
        self.session_id = self.world.fetch_now(request, self.version()).session_id
        self.epoch = 0

    def version(self) -> int:
        return self.rng.randint(13, 18) if self.by_id else self.rng.randint(7, 12)

    def _id(self, name: str) -> tuple[str, bytes]:
        return ("", topic_id(name)) if self.by_id else (name, ZERO)

    def named(self, share: float) -> list[FetchRequestTopic]:
        topics = []
        for name in self.rng.sample(NAMES, len(NAMES)):
            size = self.sizes[name]
            partitions = [
                FetchRequestPartition(
                    index,
                    fetch_offset=self.rng.randint(0, 2),
                    partition_max_bytes=self.rng.choice((100, 1 << 20)),
                    high_watermark=self.rng.choice((-1, UNKNOWN_HIGH_WATERMARK)),
                )
                for index in self.rng.choices(range(size), k=self.rng.randint(0, 2 * size))
            ]
            if self.rng.random() < share:
                topics.append(FetchRequestTopic(*self._id(name), partitions))
        return topics

    def forgotten(self) -> list[FetchRequestForgottenTopic]:
        return [
            FetchRequestForgottenTopic(
                *self._id(name), self.rng.sample(range(140), self.rng.randint(0, 140))
            )
            for name in NAMES
            if self.rng.random() < 0.1
        ]

    def poll(self) -> bool:
        """Poll once and compare; False when there is no session any more."""
        if self.rng.random() < 0.5:
            name = self.rng.choice(NAMES[:3])
            self.world.append(name, self.rng.randrange(self.sizes[name]), 50)
        self.epoch += 1
        idle = self.rng.random() < 0.4
        request = FetchRequest(
            max_bytes=self.rng.choice((150, 1 << 20)),
            session_id=self.session_id,
            session_epoch=self.epoch,
            topics=[] if idle else self.named(0.4),
            forgotten_topics_data=[] if idle else self.forgotten(),
            rack_id=self.rng.choice(("", "rack")),
        )
        version = self.version()
        fetch = self.world.fetch
        before = fetch.request_bytes_saved, fetch.response_bytes_saved
        pending = self.world.send(request, version)
        session = fetch.cache.get(self.session_id)
        assert pending.ctx is not None
        context = pending.ctx.fetch
        assert context is not None
        if session is None:
            assert (context.request_bytes_saved, context.response_bytes_saved) == (0, 0)
            return False
        response = pending.answer()
        fetch.note_answered(context)
        full = full_response(session, response)
        assert context.request_bytes_saved == len(
            encode_fetch_request(full_request(session, request), version)
        ) - len(encode_fetch_request(request, version))
        assert context.response_bytes_saved == length(
            encode_fetch_response(full, version)
        ) - length(encode_fetch_response(response, version))
        assert fetch.request_bytes_saved == before[0] + context.request_bytes_saved
        assert fetch.response_bytes_saved == before[1] + context.response_bytes_saved
        # One session has saved all that there is to be told.
        assert session.request_bytes_saved == fetch.request_bytes_saved
        assert session.response_bytes_saved == fetch.response_bytes_saved
        return True


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 2**32))
def test_savings_equal_what_encoding_the_full_messages_shows(seed: int) -> None:
    poller = Poller(Random(seed))
    for _ in range(12):
        if not poller.poll():
            break


def test_an_idle_poll_saves_all_of_its_session() -> None:
    world = World()
    world.create_topic("t0", 10)
    opening = ask(*(("t0", index, 0) for index in range(10)), session=(0, 0))
    sid = world.fetch_now(opening).session_id
    pending = world.send(ask(session=(sid, 1)))
    assert pending.ctx is not None
    assert pending.ctx.fetch is not None
    assert pending.ctx.fetch.fetch_class == INCREMENTAL
    # By name in v12: the topic's name, two lengths and tags, and ten partitions.
    assert pending.ctx.fetch.request_bytes_saved == 5 + 10 * 33
    assert pending.ctx.fetch.response_bytes_saved == 5 + 10 * 37


@pytest.mark.parametrize("request_for", ["sessionless", "full", "refused"])
def test_other_fetches_save_nothing(request_for: str) -> None:
    world = World()
    world.create_topic("t0")
    session = {"sessionless": (0, -1), "full": (0, 0), "refused": (7, 1)}[request_for]
    pending = world.send(ask(("t0", 0, 0), session=session))
    assert pending.ctx is not None
    assert pending.ctx.fetch is not None
    assert pending.ctx.fetch.request_bytes_saved == 0
    assert pending.ctx.fetch.response_bytes_saved == 0
    assert (world.fetch.request_bytes_saved, world.fetch.response_bytes_saved) == (0, 0)


def test_forgetting_may_cost_more_than_it_leaves_unsaid() -> None:
    world = World()
    world.create_topic("t0", 3)
    opening = ask(*(("t0", index, 0) for index in range(3)), session=(0, 0))
    sid = world.fetch_now(opening).session_id
    world.fetch_now(ask(("t0", 0, 0), session=(sid, 1), forget=(("t0", 1), ("t0", 2))))
    assert world.fetch.request_bytes_saved == -(2 * 5 + 2 * 4)


def test_an_answer_saves_nothing_when_its_session_was_emptied_meanwhile() -> None:
    world = World()
    world.create_topic("t0")
    sid = world.fetch_now(ask(("t0", 0, 0), session=(0, 0))).session_id
    parked = world.send(ask(session=(sid, 1), wait=500, min_bytes=1))
    world.fetch_now(ask(session=(sid, 2), forget=(("t0", 0),)))
    world.advance(500)
    assert parked.answered
    assert world.fetch.request_bytes_saved == 5 + 33
    assert world.fetch.response_bytes_saved == 0


def test_a_size_is_measured_again_only_after_a_change() -> None:
    size = WireSize()
    size.resize_topic("t0", 0, 2)
    size.measure(12)
    assert (size.request_bytes, size.version) == (5 + 2 * 33, 12)
    size.resize_topic("t0", 2, 2)
    size.retag(UNKNOWN_HIGH_WATERMARK, UNKNOWN_HIGH_WATERMARK)
    assert size.version == 12
    size.resize_topic("t0", 2, 0)
    assert size.version != 12
    size.measure(12)
    assert (size.topics, size.request_bytes, size.response_bytes) == (0, 0, 0)
