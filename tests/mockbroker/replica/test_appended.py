"""Batches are told to who asks for them, and to nobody else."""

from __future__ import annotations

from base64 import b64decode

from mockbroker.journal import Appended, Event
from mockbroker.log.results import AppendOrigin
from mockbroker.what_if.simulate import batch_of
from mockbroker_protocol.records.batch import unpack_header
from tests.support.core import Core


def test_a_batch_is_told_by_its_header_and_a_marker_whole() -> None:
    core = Core(topics={"orders": 1})
    told: list[Event] = []
    cluster = core.cluster
    partition = cluster.brokers[0].services.replicas.partition("orders", 0)
    assert partition is not None
    core.act(lambda: partition.append_batch(batch_of(300), AppendOrigin.CLIENT))
    cluster.journal.listen(told.append, appends=True)
    core.act(lambda: partition.append_batch(batch_of(300), AppendOrigin.CLIENT))
    core.act(lambda: partition.append_end_of_transaction(7, 0, 0, commit=True))
    cluster.journal.unlisten(told.append)
    core.act(lambda: partition.append_batch(batch_of(300), AppendOrigin.CLIENT))
    batch, marker = told
    assert isinstance(batch, Appended)
    assert isinstance(marker, Appended)
    assert (batch.topic, batch.partition, batch.base_offset) == ("orders", 0, 1)
    header = unpack_header(b64decode(batch.batch))
    assert (header.base_offset, header.size_in_bytes) == (1, batch.size_bytes)
    assert len(b64decode(batch.batch)) == 61
    assert len(b64decode(marker.batch)) == marker.size_bytes
