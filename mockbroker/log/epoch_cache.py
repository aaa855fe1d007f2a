"""At which offset each leader epoch began, to find where two logs part (KIP-101, KIP-279, KIP-320).

The log stamps an epoch when a batch of it is appended and when its broker becomes leader; fetches
with LastFetchedEpoch and OffsetForLeaderEpoch ask. Follows Kafka's LeaderEpochFileCache.

Invariant: epochs and start offsets both grow strictly along the entries.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right

UNDEFINED_EPOCH = -1


class LeaderEpochCache:
    """The epochs of one log, as two parallel lists."""

    __slots__ = ("epochs", "start_offsets")

    def __init__(self) -> None:
        self.epochs: list[int] = []
        self.start_offsets: list[int] = []

    def assign(self, epoch: int, start_offset: int) -> None:
        """Epoch `epoch` begins at `start_offset`, unless it has begun before.

        Later entries that contradict it are dropped.
        """
        epochs, start_offsets = self.epochs, self.start_offsets
        if epochs and epochs[-1] == epoch and start_offsets[-1] <= start_offset:
            return
        while epochs and (epochs[-1] >= epoch or start_offsets[-1] >= start_offset):
            epochs.pop()
            start_offsets.pop()
        epochs.append(epoch)
        start_offsets.append(start_offset)

    def latest_epoch(self) -> int:
        """The newest epoch known; -1 without any."""
        return self.epochs[-1] if self.epochs else UNDEFINED_EPOCH

    def epoch_for_offset(self, offset: int) -> int:
        """The epoch that the record at `offset` was written in; -1 when unknown."""
        at = bisect_right(self.start_offsets, offset)
        return self.epochs[at - 1] if at else UNDEFINED_EPOCH

    def end_offset_for(self, epoch: int, log_end_offset: int) -> tuple[int, int] | None:
        """(epoch, end offset) of the largest known epoch up to `epoch`; None when undefined.

        An epoch older than all known ones ends where the first known one begins.
        """
        if epoch == UNDEFINED_EPOCH or not self.epochs or epoch > self.epochs[-1]:
            return None
        if epoch == self.epochs[-1]:
            return epoch, log_end_offset
        higher = bisect_right(self.epochs, epoch)
        if higher == 0:
            return epoch, self.start_offsets[0]
        return self.epochs[higher - 1], self.start_offsets[higher]

    def truncate_from_end(self, end_offset: int) -> None:
        """Forget epochs that begin at or after `end_offset`."""
        keep = bisect_left(self.start_offsets, end_offset)
        del self.epochs[keep:]
        del self.start_offsets[keep:]

    def truncate_from_start(self, start_offset: int) -> None:
        """Forget epochs that ended before `start_offset`; the one at it begins there now."""
        at = bisect_right(self.start_offsets, start_offset)
        if at == 0:
            return
        del self.epochs[: at - 1]
        del self.start_offsets[: at - 1]
        self.start_offsets[0] = start_offset

    def copy(self) -> LeaderEpochCache:
        """The same epochs, to change on their own."""
        made = LeaderEpochCache()
        made.epochs = self.epochs[:]
        made.start_offsets = self.start_offsets[:]
        return made

    def clear(self) -> None:
        """Forget all."""
        self.epochs.clear()
        self.start_offsets.clear()
