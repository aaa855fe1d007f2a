"""What coordinators cannot take over is told before anything is changed."""

from __future__ import annotations

import pytest

from mockbroker.metadata.names import TRANSACTION_STATE_TOPIC
from mockbroker.state.groups import commit_offsets
from mockbroker.state.snapshot import LogImage, PartitionImage, Snapshot, TopicImage, take
from mockbroker.state.snapshot_fields import FieldError
from mockbroker.state.snapshot_rehearsal import rehearse
from mockbroker_protocol.messages.transaction_records import TransactionLogKey, TransactionLogValue
from mockbroker_protocol.plan import encode
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.support.inside import make_cluster


def test_what_a_broker_wrote_can_be_taken_over() -> None:
    cluster = make_cluster({"orders": 1})
    commit_offsets(cluster, "g", {("orders", 0): 1})
    rehearse(take(cluster))


def test_records_that_no_coordinator_writes_are_refused() -> None:
    key = encode(TransactionLogKey("tx"), 0)
    value = encode(TransactionLogValue(transaction_status=99), 0)
    record = Record(0, 0, b"\x00\x00" + b"".join(key), b"\x00\x00" + b"".join(value))
    log = LogImage((build_batch([record]),), 0, 1, 1)
    partition = PartitionImage((1,), 0, log)
    topic = TopicImage(TRANSACTION_STATE_TOPIC, bytes(15) + b"x", {}, (partition,))
    with pytest.raises(FieldError, match=r"cannot be taken over.*99 is not") as refused:
        rehearse(Snapshot((topic,), {}, 0, 0, {}, ()))
    assert str(refused.value).isprintable()
