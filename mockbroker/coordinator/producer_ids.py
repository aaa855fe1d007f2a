"""Producer ids: each is given out once in the life of a cluster (Kafka: ProducerIdManager).

Kafka's brokers take blocks of 1,000 from the controller; ids count from 0. InitProducerId asks
here, for idempotent producers and, with a transaction coordinator, for transactional ones.
"""

from __future__ import annotations

PRODUCER_ID_BLOCK_SIZE = 1000
_MAX_PRODUCER_ID = (1 << 63) - 1


class ProducerIdBlocks:
    """The controller's half: the next block that no broker has (ProducerIdControlManager)."""

    __slots__ = ("next_producer_id",)

    def __init__(self) -> None:
        self.next_producer_id = 0

    def allocate(self) -> range:
        """A block for one broker."""
        first = self.next_producer_id
        assert first <= _MAX_PRODUCER_ID - PRODUCER_ID_BLOCK_SIZE
        self.next_producer_id = first + PRODUCER_ID_BLOCK_SIZE
        return range(first, self.next_producer_id)


class ProducerIdManager:
    """The broker's half: ids from its block, and a new block when that is used up."""

    __slots__ = ("_block", "_blocks")

    def __init__(self, blocks: ProducerIdBlocks) -> None:
        self._blocks = blocks
        self._block = iter(range(0))

    def generate(self) -> int:
        """An id that nobody has."""
        producer_id = next(self._block, None)
        if producer_id is None:
            self._block = iter(self._blocks.allocate())
            producer_id = next(self._block)
        return producer_id
