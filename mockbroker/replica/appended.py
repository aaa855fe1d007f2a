"""What the journal is told of a batch that a leader appended, where somebody asked for that.

Records stay untold: what reads cost depends on sizes, offsets and producers, and all that is in a
batch's header. A control batch is told whole, as its record says how a transaction ended.
"""

from __future__ import annotations

from binascii import b2a_base64
from typing import TYPE_CHECKING, Any

from mockbroker.journal.events import Appended
from mockbroker_protocol.records.batch import RECORD_BATCH_OVERHEAD

if TYPE_CHECKING:
    from mockbroker.journal import Journal
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.hosted_log import HostedLog


def tell_appended(
    journal: Journal, broker_id: int, hosted: HostedLog[Any], log: UnifiedLog, base_offset: int
) -> None:
    """Tell of the last batch of a partition's log, which begins at `base_offset`."""
    header, batch = next(log.iterate_batches(base_offset))
    told = batch if header.is_control else memoryview(batch)[:RECORD_BATCH_OVERHEAD]
    text = b2a_base64(told, newline=False).decode()
    size = header.size_in_bytes
    topic, index = hosted.topic, hosted.index
    journal.record_append(Appended(broker_id, topic, index, base_offset, size, text))
