"""Changes are values; the store's tests show what each does."""

from __future__ import annotations

from mockbroker.metadata.changes import PartitionState


def test_a_new_partition_starts_in_epoch_zero() -> None:
    state = PartitionState(1, [1, 2], [1])
    assert (state.leader_epoch, state.partition_epoch) == (0, 0)
