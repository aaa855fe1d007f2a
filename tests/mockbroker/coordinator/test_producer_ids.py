"""Producer ids are given out once."""

from __future__ import annotations

from mockbroker.coordinator.producer_ids import (
    PRODUCER_ID_BLOCK_SIZE,
    ProducerIdBlocks,
    ProducerIdManager,
)


def test_ids_count_from_zero_over_blocks() -> None:
    ids = ProducerIdManager(ProducerIdBlocks())
    assert [ids.generate() for _ in range(PRODUCER_ID_BLOCK_SIZE + 2)] == list(
        range(PRODUCER_ID_BLOCK_SIZE + 2)
    )


def test_brokers_take_blocks_of_their_own() -> None:
    blocks = ProducerIdBlocks()
    one, two = ProducerIdManager(blocks), ProducerIdManager(blocks)
    assert (one.generate(), two.generate(), one.generate()) == (0, PRODUCER_ID_BLOCK_SIZE, 1)
