"""AddOffsetsToTxn over the wire."""

from __future__ import annotations

import pytest

from tests.support.core import Core
from tests.support.transactions import Transactional


@pytest.mark.parametrize("version", range(5))
def test_the_groups_partition_joins(version: int) -> None:
    core = Core()
    producer = Transactional.begin(core)
    assert producer.add_offsets("g", version) == 0
    index = core.broker.services.groups.service.runtime.partition_for("g")
    (topic,) = producer.describe().topics
    assert (topic.topic, topic.partitions) == ("__consumer_offsets", [index])
    producer.finish(commit=True)
    assert producer.state == "CompleteCommit"


@pytest.mark.parametrize(("version", "error"), [(0, 47), (1, 47), (2, 90), (4, 90)])
def test_a_stale_epoch(version: int, error: int) -> None:
    producer = Transactional.begin(Core())
    producer.epoch = 9
    assert producer.add_offsets("g", version) == error


def test_an_empty_transactional_id() -> None:
    producer = Transactional.begin(Core())
    producer.transactional_id = ""
    assert producer.add_offsets("g") == 42
