"""The jobs as functions on a session that is there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.pipeline import notebook
from mockbroker.pipeline.errors import PipelineError
from tests.support.whole_topics import consume

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from mockbroker import MockBroker


def test_options_become_words() -> None:
    assert notebook.words_of(
        {
            "key": ["a", "b"],
            "keep_order": True,
            "overwrite": False,
            "rate": 5.5,
            "checkpoint": None,
            "kafka": {"client.id": "c", "acks": "1"},
            "from_": "earliest",
        }
    ) == [
        "--key=a,b",
        "--keep-order",
        "--rate=5.5",
        "--kafka=client.id=c",
        "--kafka=acks=1",
        "--from=earliest",
    ]


@pytest.mark.spark
def test_a_job_on_a_session_that_stays_open(
    spark: SparkSession, broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    source = str(tmp_path / "in.parquet")
    spark.range(5).write.parquet(source)
    bootstrap = broker.bootstrap_servers
    done = notebook.run(spark, "load", source, bootstrap=bootstrap, topic=topic, create=1, key="id")
    assert (done.rows, done.status) == (5, 0)
    assert len(consume(bootstrap, topic)) == 5
    done = notebook.run(spark, "verify", source, bootstrap=bootstrap, topic=topic, key="id")
    assert done.figures["missing"] == 0
    assert spark.range(1).count() == 1


@pytest.mark.spark
def test_a_mistake_is_an_exception(spark: SparkSession, broker: MockBroker) -> None:
    bootstrap = broker.bootstrap_servers
    with pytest.raises(PipelineError, match="unknown topic nowhere"):
        notebook.run(spark, "dump", "out", bootstrap=bootstrap, topic="nowhere")
    with pytest.raises(PipelineError, match="unrecognized arguments: --colour=blue"):
        notebook.run(spark, "dump", "out", topic="t", colour="blue")
    with pytest.raises(PipelineError, match="no such file"):
        notebook.run(spark, "load", "no.parquet", bootstrap=bootstrap, topic="t", create=1)
