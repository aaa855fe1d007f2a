"""The note of a resumable load: written before the first record, read by the next run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.load_state import LoadState, read_state, settled_ends, write_state
from mockbroker.pipeline.topic_range import Broker

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mockbroker import MockBroker

STATE = LoadState("orders", {"key": ["a"], "value": []}, {0: 5, 1: 7})


def test_another_load_is_refused() -> None:
    STATE.check_same("orders", {"key": ("a",), "value": ()})
    with pytest.raises(PipelineError, match="belongs to a load into orders, not logs"):
        STATE.check_same("logs", STATE.spec)
    with pytest.raises(PipelineError, match="another key"):
        STATE.check_same("orders", {"key": ("b",), "value": ()})


def test_offsets_as_the_source_wants_them() -> None:
    assert STATE.bound({0: 5}) == '{"orders": {"0": 5}}'


@pytest.mark.spark
def test_notes_are_read_back(spark: SparkSession, tmp_path: Path) -> None:
    folder = str(tmp_path)
    assert read_state(spark, folder) is None
    write_state(spark, folder, STATE)
    assert read_state(spark, folder) == replace(STATE, resumed=True)
    write_state(spark, folder, STATE.finished())
    found = read_state(spark, folder)
    assert found == replace(STATE, resumed=True, done=True)


@pytest.mark.spark
def test_ends_are_settled_when_two_looks_agree(broker: MockBroker, topic: str) -> None:
    with BrokerClient(broker.bootstrap_servers) as client:
        client.create_topic(topic, 2)
    assert settled_ends(Broker(broker.bootstrap_servers), topic) == {0: 0, 1: 0}
