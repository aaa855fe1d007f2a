"""The controllers' endpoints of the brokers that cases run against, and what moves their logs.

Ours is a process with `--controller-port`, Apache Kafka a combined node that `scripts/kafka` runs.
Neither writes no-op records meanwhile: a log moves when a case creates a topic.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from mockbroker.metadata.names import CLUSTER_METADATA_TOPIC_ID
from tests.clients.server import ROOT
from tests.fetch_cases.asking import Reader, Topic
from tests.fetch_cases.target import Target

if TYPE_CHECKING:
    from pathlib import Path

    from tests.fetch_cases.asking import Answer, Part

METADATA = Topic("__cluster_metadata", CLUSTER_METADATA_TOPIC_ID)
MAX_FETCHES = 5


class RaftTarget(Target):
    """A node that is broker and controller; `controller` is where its metadata log is served."""

    def __init__(self, kind: str, address: str, controller: str) -> None:
        super().__init__(kind, address)
        self.controller = controller

    def observer(self) -> Reader:
        """A connection to the controller's listener, closed when the test is over."""
        reader = Reader(self.controller)
        self._readers.append(reader)
        return reader

    def epoch(self) -> int:
        """The leader's epoch, as an answer to a stranger names it."""
        answer = self.observer().fetch(part(0, 0, 0), version=18)
        leader = answer.only.data.current_leader
        assert leader is not None
        return leader.leader_epoch

    def end(self) -> tuple[int, int]:
        """Epoch, and the log's end once all of it is committed."""
        epoch = self.epoch()
        reader = self.observer()
        for _ in range(MAX_FETCHES):
            answer = reader.fetch(part(0, epoch, 0), version=18)
            high_watermark = answer.only.high_watermark
            # One past the end diverges: where, is the end.
            beyond = reader.fetch(part(high_watermark + 1, epoch, epoch), version=18).only.data
            if beyond.diverging_epoch is not None:
                assert beyond.diverging_epoch.end_offset == high_watermark
                return epoch, high_watermark
        raise AssertionError("the metadata log does not come to rest")

    def grow(self) -> None:
        """Append to the metadata log: a topic's records are one batch."""
        self.topic()


def part(offset: int, epoch: int, last_epoch: int, limit: int = 1 << 20, **values: Any) -> Part:
    """The metadata partition as a raft replica asks for it."""
    return METADATA.at(
        0, offset, limit, current_leader_epoch=epoch, last_fetched_epoch=last_epoch, **values
    )


def controller_of_ours(folder: Path) -> str:
    """Where the process that `serving` started in `folder` has its controller's listener."""
    return str(json.loads((folder / "ready.json").read_text())["controller"])


def controller_of_kafka(address: str) -> str | None:
    """Where the Apache Kafka that `scripts/kafka` started has it; None for any other."""
    port = address.rpartition(":")[2]
    properties = ROOT / ".tools" / "run" / f"kafka-{port}" / "server.properties"
    if not properties.exists():
        return None
    for line in properties.read_text().splitlines():
        if line.startswith("listeners="):
            return line.rpartition("CONTROLLER://")[2]
    return None


def raft_error(answer: Answer) -> tuple[int, list[int]]:
    """Top-level error and the partitions' errors."""
    return answer.error, answer.errors
