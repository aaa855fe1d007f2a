"""Which transactions were aborted, for the list in a read_committed answer (KIP-98).

The log adds an entry when an ABORT marker is appended and asks at each read_committed read.
Kafka keeps one TransactionIndex per segment and walks on until an entry says that nothing later
can matter; markers are appended in offset order, so one list per log gives the same answers.

Invariant: `last_offset` grows along the list.
"""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from mockbroker_protocol.named_tuple import NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence


class CompletedTransaction(NamedTuple):
    """A transaction that the marker at `last_offset` ended (Kafka: CompletedTxn, AbortedTxn).

    `last_stable_offset` is that of the moment after.
    """

    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class AbortedIndex:
    """The aborted transactions of one log, in the order of their markers."""

    __slots__ = ("_entries", "_last_offsets")

    def __init__(self) -> None:
        self._entries: list[CompletedTransaction] = []
        self._last_offsets: list[int] = []

    def __len__(self) -> int:
        return len(self._entries)

    def copy(self) -> AbortedIndex:
        """The same transactions, to change on their own."""
        made = AbortedIndex()
        made._entries = self._entries[:]
        made._last_offsets = self._last_offsets[:]
        return made

    def append(self, entry: CompletedTransaction) -> None:
        """An ABORT marker was appended."""
        assert not self._last_offsets or self._last_offsets[-1] < entry.last_offset
        self._entries.append(entry)
        self._last_offsets.append(entry.last_offset)

    def collect(self, fetch_offset: int, upper_bound_offset: int) -> list[CompletedTransaction]:
        """What a read from `fetch_offset` must know (Kafka: TransactionIndex.collectAbortedTxns).

        Transactions whose marker is not before the fetch offset and that began before the bound.
        """
        found: list[CompletedTransaction] = []
        for entry in self._entries[bisect_left(self._last_offsets, fetch_offset) :]:
            if entry.first_offset < upper_bound_offset:
                found.append(entry)
            if entry.last_stable_offset >= upper_bound_offset:
                break  # all that follow began later still
        return found

    def truncate_to(self, offset: int) -> None:
        """Forget markers at or above `offset`."""
        keep = bisect_left(self._last_offsets, offset)
        del self._entries[keep:]
        del self._last_offsets[keep:]

    def replace_before(self, offset: int, kept: Sequence[CompletedTransaction]) -> None:
        """Of the markers below `offset` only those of `kept` are left, in their order."""
        cut = bisect_left(self._last_offsets, offset)
        self._entries[:cut] = kept
        self._last_offsets[:cut] = [entry.last_offset for entry in kept]

    def delete_before(self, offset: int) -> None:
        """Forget markers below `offset`: no read can begin there any more."""
        gone = bisect_left(self._last_offsets, offset)
        del self._entries[:gone]
        del self._last_offsets[:gone]
