"""A client whose producer and members each have a thread of its program."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Protocol

from tests.clients.failover.ledger import DEADLINE_S, PAUSE_S, WINDOW

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.clients.failover.teller import Teller

POLL_S = 0.2


class Producer(Protocol):
    """One library's producer; it tells what became of each record."""

    def send(self, number: int) -> None: ...

    def poll(self) -> None:
        """Let the library tell, if it does so in our threads only."""

    def flush(self) -> None:
        """Wait until all that was sent is acknowledged or given up."""

    def close(self) -> None: ...


class Member(Protocol):
    """One library's consumer in a group. `poll` tells what it got."""

    def poll(self, timeout_s: float) -> dict[int, int]:
        """Where each partition is read to, of those that brought something."""

    def commit(self, ends: dict[int, int]) -> bool:
        """False: a rebalance took the partitions away first, or the coordinator is lost."""

    def close(self) -> None: ...


class ThreadedClient:
    """What a program does with what makes a producer and a member."""

    def __init__(
        self,
        teller: Teller,
        make_producer: Callable[[], Producer],
        make_member: Callable[[int], Member],
    ) -> None:
        self.teller = teller
        self.make_producer = make_producer
        self.make_member = make_member
        self.producer: Producer | None = None
        self.paused = threading.Event()
        self.sender: threading.Thread | None = None
        self.members: dict[int, tuple[threading.Thread, threading.Event]] = {}
        self.sent = 0

    def produce(self) -> None:
        self.paused.clear()
        self.sender = self._start(self._send)

    def pause(self) -> None:
        self.paused.set()

    def join(self, member: int) -> None:
        left = threading.Event()
        self.members[member] = self._start(lambda: self._read(member, left)), left

    def leave(self, member: int) -> None:
        self.members[member][1].set()

    def close(self) -> None:
        """Whatever state it is in."""
        self.paused.set()
        threads = [] if self.sender is None else [self.sender]
        for thread, left in self.members.values():
            left.set()
            threads.append(thread)
        for thread in threads:
            thread.join(DEADLINE_S)
        if self.producer is not None:
            self.producer.close()

    def _start(self, work: Callable[[], None]) -> threading.Thread:
        def run() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001 - raised where the scenario waits
                self.teller.fail(repr(error))

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        return thread

    def _send(self) -> None:
        if self.producer is None:
            self.producer = self.make_producer()
        while not self.paused.wait(PAUSE_S):
            if self.sent - self.teller.answered < WINDOW:
                self.producer.send(self.sent)
                self.sent += 1
            self.producer.poll()
        self.producer.flush()
        self.teller.paused()

    def _read(self, member: int, left: threading.Event) -> None:
        consumer = self.make_member(member)
        try:
            while not left.is_set():
                ends = consumer.poll(POLL_S)
                if ends:
                    self.teller.try_commit(ends)
                    if consumer.commit(ends):
                        self.teller.committed(ends)
        finally:
            consumer.close()
        self.teller.left(member)
