"""Answers about markers that come late: after their coordinator gave the transaction up.

A coordinator that lost its partition and has it again ends anew what is prepared; one that was told
of somebody newer has stopped: neither sends markers of before again. An answer of before is about
other requests: it must change nothing.
Here the network holds such answers back until the coordinator is there again, and tells them then
as if all had been written. Where a seed draws "dawdlers", leaders say now and then that they are
none: the coordinator asks again later, if it is the coordinator still.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.txn.markers import _PendingCompletion
from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from random import Random

    from mockbroker.coordinator.txn.marker_writer import WritesMarkers
    from mockbroker.coordinator.txn.markers import TransactionMarkers
    from mockbroker.coordinator.txn.metadata import TopicPartition
    from mockbroker.node.broker import Broker
    from mockbroker.replica.append_entry import TransactionMarker

    Errors = dict[TopicPartition, ErrorCode]
    OnErrors = Callable[[Errors], None]

REFUSED_CHANCE = 0.3


class _Sent:
    """Markers that were asked for; `left` are those without an answer."""

    def __init__(
        self, pending: _PendingCompletion, partitions: Iterable[TopicPartition], told: OnErrors
    ) -> None:
        self.pending = pending
        self.left = {*partitions}
        self.told = told


class _Writer:
    """Stands before a writer of markers, and keeps answers that come late."""

    def __init__(
        self, markers: TransactionMarkers, writer: WritesMarkers, refuses: Callable[[], bool]
    ) -> None:
        self._markers = markers
        self._writer = writer
        self._refuses = refuses
        self.sent: list[_Sent] = []
        self.wrong: list[str] = []

    def is_late(self, pending: _PendingCompletion) -> bool:
        """Whether its coordinator has given it up."""
        known = self._markers._pending  # noqa: SLF001 -- for the audit alone
        return known.get(pending.metadata.transactional_id) is not pending

    def write(
        self,
        marker: TransactionMarker,
        partitions: Iterable[TopicPartition],
        on_complete: OnErrors,
    ) -> None:
        """As `WritesMarkers.write`."""
        wanted = [*partitions]
        sent = _Sent(_pending_of(on_complete), wanted, on_complete)
        if self.is_late(sent.pending):
            self.wrong.append(
                f"markers of {sent.pending.metadata.transactional_id} go out for {wanted}, and "
                "were given up"
            )
        if self._refuses():
            on_complete(dict.fromkeys(wanted, ErrorCode.NOT_LEADER_OR_FOLLOWER))
            return
        self.sent.append(sent)

        def answered(errors: Errors) -> None:
            if not self.is_late(sent.pending):
                sent.left -= errors.keys()
                if not sent.left:
                    self.sent.remove(sent)
                on_complete(errors)

        self._writer.write(marker, wanted, answered)


def _pending_of(on_complete: OnErrors) -> _PendingCompletion:
    """Of which transaction an answer is."""
    cells = getattr(on_complete, "__closure__", None) or ()
    return next(
        cell.cell_contents for cell in cells if isinstance(cell.cell_contents, _PendingCompletion)
    )


class LateMarkers:
    """Listens to the coordinators of transactions; `look` tells what late answers change."""

    def __init__(self, rng: Random | None = None) -> None:
        """`rng`: when leaders say that they are none; never without."""
        self._rng = rng
        self._writers: dict[TransactionMarkers, _Writer] = {}
        self.told = 0

    def look(self, broker: Broker) -> Iterator[str]:
        """Tell a broker, between two steps, what it does not wait for any more."""
        transactions, replicas = broker.services.transactions, broker.services.replicas
        if not transactions.in_use or broker.requests.unfinished or replicas.has_ready:
            return
        service = transactions.service
        writer = self._writers.get(service.markers)
        if writer is None:
            writer = self._writers[service.markers] = _Writer(
                service.markers,
                service.markers._writer,  # noqa: SLF001
                lambda: self._rng is not None and self._rng.random() < REFUSED_CHANCE,
            )
            service.markers._writer = writer  # noqa: SLF001
            return
        yield from writer.wrong
        writer.wrong.clear()
        for sent in [one for one in writer.sent if writer.is_late(one.pending)]:
            index = sent.pending.shard.partition_index
            shard = service.runtime.shard_at(index)
            name = sent.pending.metadata.transactional_id
            if shard is None or not shard.is_settled or name not in shard.transactions:
                continue  # not yet, or never again
            writer.sent.remove(sent)
            before = self._state(broker, index, name)
            sent.told(dict.fromkeys(sent.left, ErrorCode.NONE))
            self.told += 1
            after = self._state(broker, index, name)
            if after != before:
                yield f"a late answer about markers of {name} makes {after} of {before}"

    def stop(self) -> None:
        """Refuse nothing more."""
        self._rng = None

    def _state(self, broker: Broker, index: int, name: str) -> tuple[object, ...]:
        """What the coordinator knows of a transaction, and where its log ends."""
        service = broker.services.transactions.service
        shard = service.runtime.shard_at(index)
        assert shard is not None
        known = shard.transactions[name]
        partition = broker.services.replicas.partition(TRANSACTION_STATE_TOPIC, index)
        log = None if partition is None else partition.log
        return (
            known.state,
            known.pending_state,
            frozenset(known.partitions),
            id(service.markers._pending.get(name)),  # noqa: SLF001
            0 if log is None else log.log_end_offset,
        )
