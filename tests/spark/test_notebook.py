"""A session of the user's own, as a notebook has one: here without the connector."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from mockbroker.pipeline.broker_client import BrokerClient
from tests.spark.conftest import summaries

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker import MockBroker

PROGRAM = """
import json, sys
from pyspark.sql import SparkSession
from mockbroker.pipeline import notebook
from mockbroker.pipeline.errors import PipelineError
session = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
for words, options in json.loads(sys.argv[1]):
    try:
        notebook.run(session, *words, **options)
    except PipelineError as error:
        print(json.dumps({"error": str(error)}))
session.stop()
"""


def test_nothing_is_made_where_there_is_no_connector(
    broker: MockBroker, topic: str, tmp_path: Path
) -> None:
    source, state = tmp_path / "in.csv", tmp_path / "state"
    source.write_text("id\n1\n")
    new = {"bootstrap": broker.bootstrap_servers, "topic": topic, "create": 1}
    there = {"bootstrap": broker.bootstrap_servers, "topic": f"{topic}-there"}
    with BrokerClient(broker.bootstrap_servers) as client:
        client.create_topic(there["topic"], 1)
        before = client.topics()
    jobs = [
        (["load", str(source)], {**new, "checkpoint": str(state)}),
        (["synth"], {**new, "rows": 3}),
        (["dump", str(tmp_path / "out")], there),
        (["verify", str(source)], there),
    ]
    told, _ = summaries([sys.executable, "-c", PROGRAM, json.dumps(jobs)])
    assert len(told) == len(jobs)
    for line in told:
        assert line["error"].startswith("this Spark session has no Kafka connector: start it")
        assert "spark.jars.packages=org.apache.spark:spark-sql-kafka-0-10_2.1" in line["error"]
    with BrokerClient(broker.bootstrap_servers) as client:
        assert client.topics() == before
    assert not state.exists()
    assert not (tmp_path / "out").exists()
