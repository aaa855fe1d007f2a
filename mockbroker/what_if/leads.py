"""Where the log of a broker began to be its own: what it took over as it came to lead a partition.

A journal's lines of a broker tell of what it appended as leader, and not of what it had copied
from the leaders before: that is in these brokers' lines. How far it reached, and of which leader
epoch its end was, follows from what was appended behind it and from what was asked for.
"""

from __future__ import annotations

from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.what_if.recording import RecordedBatch, RecordedTopic, Recording

    Ref = bytes | str
    Key = tuple[Ref, int]


class TakenOver(NamedTuple):
    """The log up to `end_offset`, whose last records are of `leader_epoch`."""

    end_offset: int
    leader_epoch: int


class _Ask(NamedTuple):
    at_ms: float
    offset: int
    epoch: int


class Leads:
    """Of the recorded broker."""

    def __init__(self, recording: Recording) -> None:
        self._recording = recording

    def taken_over(self, moved: RecordedTopic) -> TakenOver:
        """What the broker held of the partition `moved.first`, which it leads from then on."""
        state, until_ms = moved.states[0], self._until(moved)
        asks = [ask for ask in self._asks_of(moved) if moved.at_ms <= ask.at_ms < until_ms]
        appended = next(
            (
                batch.base_offset
                for batch in self._appended.get((moved.name, moved.first), ())
                if (moved.at_ms, moved.seq) < (batch.at_ms, batch.seq) < (until_ms, inf)
            ),
            None,
        )
        end = max((ask.offset for ask in asks), default=0) if appended is None else appended
        epochs = [ask.epoch for ask in asks if 0 <= ask.epoch < state.leader_epoch]
        # A leader that nobody wrote to has an epoch at its end that others never heard of.
        return TakenOver(end, min(epochs, default=max(0, state.leader_epoch - 1)))

    def _until(self, moved: RecordedTopic) -> float:
        later = (
            each.at_ms
            for each in self._recording.topics
            if each.name == moved.name
            and (each.at_ms, each.seq) > (moved.at_ms, moved.seq)
            and each.first <= moved.first < each.first + len(each.states)
        )
        return min(later, default=inf)

    def _asks_of(self, topic: RecordedTopic) -> list[_Ask]:
        refs: tuple[Ref, Ref] = topic.topic_id, topic.name
        return [ask for ref in refs for ask in self._asks.get((ref, topic.first), ())]

    @cached_property
    def _appended(self) -> dict[tuple[str, int], list[RecordedBatch]]:
        found: dict[tuple[str, int], list[RecordedBatch]] = {}
        for batch in self._recording.batches:
            found.setdefault((batch.topic, batch.partition), []).append(batch)
        return found

    @cached_property
    def _asks(self) -> dict[Key, list[_Ask]]:
        found: dict[Key, list[_Ask]] = {}
        for key, ask in self._all_asks():
            found.setdefault(key, []).append(ask)
        return found

    def _all_asks(self) -> Iterator[tuple[Key, _Ask]]:
        for connection in self._recording.readers():
            for poll in connection.polls:
                for topic in poll.request().topics:
                    ref = topic.topic_id if any(topic.topic_id) else topic.topic
                    for one in topic.partitions:
                        ask = _Ask(poll.arrived_ms, one.fetch_offset, one.last_fetched_epoch)
                        yield (ref, one.partition), ask
