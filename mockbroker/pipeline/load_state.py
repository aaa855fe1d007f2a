"""What a resumable load remembers: one small text in its checkpoint folder, on any Spark path.

Called by `load` alone. The first note is written before the first record is sent; the second says
that all was. A note is a folder of its own, written and committed by Spark, so that half of one is
never read.
"""

from __future__ import annotations

import json
import threading
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.broker_client import BrokerClient
from mockbroker.pipeline.errors import PipelineError, condition_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from mockbroker.pipeline.topic_range import Broker

NOTES: Final = ("started", "done")
SETTLE_SECONDS: Final = 1.0
MAX_LOOKS: Final = 60


@dataclass(frozen=True, slots=True)
class LoadState:
    """`starts`: partition → its end offset before the first record of this load."""

    topic: str
    spec: dict[str, object]
    starts: dict[int, int]
    done: bool = False
    resumed: bool = False

    def finished(self) -> LoadState:
        return replace(self, done=True)

    def bound(self, offsets: dict[int, int]) -> str:
        """Offsets as the Kafka source wants them."""
        return json.dumps({self.topic: {str(p): offset for p, offset in offsets.items()}})

    def check_same(self, topic: str, spec: dict[str, object]) -> None:
        """Raise PipelineError unless it is a note of the same load."""
        if topic != self.topic:
            raise PipelineError(f"--checkpoint belongs to a load into {self.topic}, not {topic}")
        now = json.loads(json.dumps(spec))
        differing = sorted(name for name in now if now[name] != self.spec.get(name))
        if differing:
            raise PipelineError(f"--checkpoint belongs to a load with another {differing[0]}")


def read_state(spark: SparkSession, folder: str) -> LoadState | None:
    """The last note in a checkpoint folder; None in a new one."""
    notes = {name: _read(spark, f"{folder}/{name}") for name in NOTES}
    text = notes["started"]
    if text is None:
        return None
    fields = json.loads(text)
    starts = {int(p): int(offset) for p, offset in fields["starts"].items()}
    done = notes["done"] is not None
    return LoadState(fields["topic"], fields["spec"], starts, done=done, resumed=True)


def write_state(spark: SparkSession, folder: str, state: LoadState) -> None:
    """Add the note that fits the state."""
    fields = {"topic": state.topic, "spec": state.spec, "starts": state.starts}
    name = NOTES[state.done]
    text = spark.range(1).select(F.lit(json.dumps(fields)).alias("value"))
    text.coalesce(1).write.mode("overwrite").text(f"{folder}/{name}")


def _read(spark: SparkSession, path: str) -> str | None:
    try:
        row = spark.read.text(path).first()
    except AnalysisException as error:
        if condition_of(error) == "PATH_NOT_FOUND":
            return None
        raise
    return None if row is None else str(row["value"])


def settled_ends(broker: Broker, topic: str) -> dict[int, int]:
    """The ends of a topic's partitions, once two looks a second apart agree.

    What a killed run had sent may still be on its way. Raises PipelineError when it never ends.
    """
    pause = threading.Event()
    with BrokerClient(broker.bootstrap, broker.conf) as client:
        ends = client.offsets(topic)
        for _ in range(MAX_LOOKS):
            pause.wait(SETTLE_SECONDS)
            later = client.offsets(topic)
            if later == ends:
                return ends
            ends = later
    raise PipelineError(f"topic {topic} keeps growing: another run of this load is still going on")
