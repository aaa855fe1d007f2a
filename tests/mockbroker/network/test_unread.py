"""Who holds most of what is not read goes, when it is too much in all."""

from __future__ import annotations

from mockbroker.journal import ConnectionClosed, ConnectionRefused
from mockbroker.network.unread import UnreadAnswers
from tests.support.core import Core


class Writer:
    """One connection with something unread."""

    def __init__(self, unread_bytes: int) -> None:
        self.unread_bytes = unread_bytes
        self.aborted = False

    def abort(self) -> None:
        self.aborted = True


class Unread:
    """Clients 1, 2, … of a broker that lets 100 bytes wait."""

    def __init__(self, *sizes: int) -> None:
        self.core = Core(config={"mockbroker.unread.answers.max.bytes": "100"})
        self.answers = UnreadAnswers(self.core.broker.services.config)
        self.writers = {self.core.client().connection_id: Writer(size) for size in sizes}

    def stop(self, *connection_ids: int) -> list[int]:
        """They read no more; those that are cut off."""
        for connection_id in connection_ids:
            self.answers.stopped(connection_id, self.writers, self.core.broker)
        return [number for number, writer in self.writers.items() if writer.aborted]


def test_the_one_with_the_most_goes() -> None:
    unread = Unread(40, 60, 10)
    assert unread.stop(1, 2, 3) == [2]
    assert unread.answers.total == 50
    core = unread.core
    core.broker.disconnect(2, 0.0)
    reason = "mockbroker.unread.answers.max.bytes: it left 60 bytes unread"
    told = [e.reason for e in core.events if isinstance(e, ConnectionRefused | ConnectionClosed)]
    assert told == [reason, reason]
    assert core.broker.connections_refused == 1


def test_as_many_go_as_must() -> None:
    assert Unread(101, 30, 30, 99).stop(2, 3, 1, 4) == [1, 4]


def test_what_was_sent_since_does_not_count() -> None:
    unread = Unread(60, 60)
    assert unread.stop(1) == []
    unread.writers[1].unread_bytes = 40
    assert unread.stop(2) == []
    assert unread.answers.total == 100


def test_who_reads_again_or_is_gone_holds_nothing() -> None:
    unread = Unread(60, 90)
    assert unread.stop(1, 1) == []
    assert unread.answers.total == 60
    for _ in range(2):
        unread.answers.goes_on(1)
    assert unread.answers.total == 0
    assert unread.stop(2) == []
    unread.answers.forget_all()
    unread.answers.goes_on(2)
    assert unread.answers.total == 0
    del unread.writers[1]
    assert unread.stop(1) == []
    assert unread.answers.total == 0
