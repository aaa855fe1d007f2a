"""A log of committed, aborted and plain records with an open transaction, and who must see what.

A read_committed reader gets what stands before the first record of the open transaction, without
what was aborted, and no more however long it waits: what came later, though committed, is not for
it yet. Once the transaction ends it gets the rest, in order.
"""

from __future__ import annotations

import json
from typing import IO, TYPE_CHECKING, Protocol

import confluent_kafka

if TYPE_CHECKING:
    from collections.abc import Callable

DEADLINE_S = 30.0
BEFORE = ["plain 0", "a 0", "a 1", "a 2", "plain 1"]
AFTER = {True: ["open 0", "a 3", "open 1", "plain 2"], False: ["a 3", "plain 2"]}


class Follower(Protocol):
    """A read_committed reader from the start of partition 0."""

    def read(self, count: int) -> list[str]:
        """What has come since the last call: at least so many records, and then no more."""


class OpenTransaction:
    """The log; `end` ends its open transaction."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self.topic = topic
        # It outlives the broker, and would tell so.
        connect = {"bootstrap.servers": bootstrap, "log_level": 2}
        self.plain = confluent_kafka.Producer(connect)
        self.one, self.other = (
            confluent_kafka.Producer({**connect, "transactional.id": f"{topic}-{name}"})
            for name in ("one", "other")
        )
        for producer in (self.one, self.other):
            producer.init_transactions(DEADLINE_S)
        self.send(self.plain, "plain 0")
        self.one.begin_transaction()
        self.send(self.one, "a 0")
        self.other.begin_transaction()
        self.send(self.other, "aborted 0")
        self.send(self.one, "a 1")
        self.one.commit_transaction(DEADLINE_S)
        self.send(self.other, "aborted 1")
        self.other.abort_transaction(DEADLINE_S)
        self.commit("a 2")
        self.send(self.plain, "plain 1")
        self.other.begin_transaction()
        self.send(self.other, "open 0")
        self.commit("a 3")
        self.send(self.other, "open 1")
        self.send(self.plain, "plain 2")

    def send(self, producer: confluent_kafka.Producer, value: str) -> None:
        """A batch of its own."""
        producer.produce(self.topic, value=value.encode(), partition=0)
        assert producer.flush(DEADLINE_S) == 0

    def commit(self, value: str) -> None:
        self.one.begin_transaction()
        self.send(self.one, value)
        self.one.commit_transaction(DEADLINE_S)

    def end(self, *, commit: bool) -> None:
        if commit:
            self.other.commit_transaction(DEADLINE_S)
        else:
            self.other.abort_transaction(DEADLINE_S)


def check(bootstrap: str, topic: str, follow: Callable[[], Follower], *, commit: bool) -> None:
    """The whole scenario with one reader."""
    log = OpenTransaction(bootstrap, topic)
    follower = follow()
    assert follower.read(len(BEFORE)) == BEFORE
    log.end(commit=commit)
    assert follower.read(len(AFTER[commit])) == AFTER[commit]


class Lines:
    """A program that prints each record as JSON, and "idle" when some time brought none."""

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream

    def read(self, count: int) -> list[str]:
        found: list[str] = []
        for line in self.stream:
            if line == '"idle"\n':
                if len(found) >= count:
                    return found
            else:
                found.append(json.loads(line))
        raise AssertionError(f"the program ended after {found}")
