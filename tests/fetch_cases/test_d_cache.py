"""Part D of the cases: the slots of the session cache, one for each of eight shards here.

Ages in the minutes (cases 66 to 70) are for the module's own tests, where time is an argument.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.fetch_cases.asking import NEW_SESSION, Part, Reader, Topic
from tests.fetch_cases.target import KAFKA, OURS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.fetch_cases.conftest import Brokers
    from tests.fetch_cases.target import Target

SHARDS = 8
NOT_FOUND = 70
FOLLOWER = 2


def parts_of(topic: Topic, count: int) -> list[Part]:
    return [topic.at(index) for index in range(count)]


class Slots:
    """Opens sessions and closes them all, since every test wants the cache empty."""

    def __init__(self, target: Target) -> None:
        self.reader: Reader = target.reader()
        self.topic = target.shared("slots", lambda target: target.topic(4))
        self._open: list[int] = []

    def open(self, size: int = 1, *, replica_id: int = -1) -> int:
        """The id of the new session; 0: refused."""
        answer = self.reader.fetch(
            *parts_of(self.topic, size), session=NEW_SESSION, replica_id=replica_id
        )
        assert answer.error == 0
        assert len(answer.parts) == size
        self._open.append(answer.session_id)
        return answer.session_id

    def close(self, session_id: int) -> None:
        assert self.reader.fetch(session=(session_id, -1)).error == 0

    def close_all(self) -> None:
        for session_id in self._open:
            self.close(session_id)

    def lives(self, session_id: int, epoch: int = 1) -> bool:
        answer = self.reader.fetch(session=(session_id, epoch))
        assert answer.error in (0, NOT_FOUND)
        return answer.error == 0


@pytest.fixture
def slots(small_target: Target) -> Iterator[Slots]:
    found = Slots(small_target)
    yield found
    found.close_all()


def test_72_young_followers_do_not_evict_each_other(slots: Slots) -> None:
    followers = [slots.open(replica_id=FOLLOWER) for _ in range(SHARDS)]
    assert all(followers)
    for size in (1, 4):
        assert slots.open(size, replica_id=FOLLOWER) == 0
    assert all(slots.lives(session_id) for session_id in followers)


def test_72_a_follower_evicts_a_young_consumer(slots: Slots) -> None:
    consumers = [slots.open(4) for _ in range(SHARDS)]
    assert all(consumers)
    assert slots.open(replica_id=FOLLOWER) > 0
    # The attempt was the ninth: the first shard's turn again.
    assert [slots.lives(session_id) for session_id in consumers] == [False] + [True] * 7


def test_72_a_young_consumer_is_evicted_by_no_consumer(slots: Slots) -> None:
    consumers = [slots.open() for _ in range(SHARDS)]
    for size in (1, 2, 4):
        assert slots.open(size) == 0
    assert all(slots.lives(session_id) for session_id in consumers)


def test_74_a_refused_attempt_moves_on_to_the_next_shard(slots: Slots) -> None:
    first = [slots.open() for _ in range(SHARDS)]
    slots.close(first[1])
    # The first shard is full; the free second one does not help this attempt.
    assert slots.open() == 0
    assert slots.open() > 0
    assert [slots.open() for _ in range(6)] == [0] * 6


def test_74_ids_tell_their_shard(slots: Slots) -> None:
    shards = [slots.open() // (2**31 // SHARDS) for _ in range(SHARDS)]
    assert sorted(shards) == list(range(SHARDS))
    assert shards == [(shards[0] + turn) % SHARDS for turn in range(SHARDS)]


def test_75_fewer_slots_than_shards_are_none(slotless_target: Target) -> None:
    topic = slotless_target.topic(1, (50,))
    reader = slotless_target.reader()
    for _ in range(SHARDS + 1):
        answer = reader.fetch(topic.at(0), session=NEW_SESSION)
        assert (answer.status, answer.sizes) == ((0, 0), [118])


def outcomes(target: Target, seed: int) -> list[object]:
    """Opens, polls, resizes and closes sessions at random; what became of each step."""
    random = Random(seed)
    slots = Slots(target)
    epochs: dict[int, tuple[int, int]] = {}
    """By the number of the step that opened it: id and epoch."""
    told: list[object] = []
    for number in range(150):
        dice = random.random()
        if dice < 0.4 or not epochs:
            replica_id = random.choice((-1, -1, FOLLOWER))
            session_id = slots.open(random.randint(1, 4), replica_id=replica_id)
            told.append(session_id > 0)
            if session_id:
                epochs[number] = session_id, 1
            continue
        chosen = random.choice(list(epochs))
        session_id, epoch = epochs[chosen]
        if dice < 0.5:
            slots.close(session_id)
            del epochs[chosen]
            continue
        added = parts_of(slots.topic, random.choice((0, 0, 4)))
        forget = [(slots.topic, index) for index in range(1, 4)] if dice > 0.9 else []
        answer = slots.reader.fetch(*added, session=(session_id, epoch), forget=forget)
        told.append(answer.error)
        if answer.error or not answer.session_id:
            del epochs[chosen]
        else:
            epochs[chosen] = session_id, epoch + 1
    slots.close_all()
    return told


@pytest.mark.kafka
@pytest.mark.parametrize("seed", range(4))
def test_74_random_sessions_live_alike(brokers: Brokers, seed: int) -> None:
    targets = [brokers.get(kind, "small") for kind in (OURS, KAFKA)]
    ours, kafka = (outcomes(target, seed) for target in targets)
    for target in targets:
        target.close_readers()
    assert ours == kafka
