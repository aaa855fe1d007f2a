"""Three nodes of Apache Kafka and three of ours answer alike: who leads, who follows, who refuses.

A short script of its own: each probe asks all three nodes, and what it gives is compared. Ports,
topic ids and times are left out.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from protocol.records.batch import build_batch
from protocol.records.record_codec import Record
from tests.clients.server import ROOT, serving
from tests.differential.conftest import KAFKA_VERSION
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
NODES = (1, 2, 3)
READY_SECONDS = 20.0
FETCH_VERSIONS = (10, 12)


class Cluster:
    """A connection to each node, by its id."""

    def __init__(self, bootstrap: str) -> None:
        with BlockingConnection(bootstrap) as first:
            brokers = first.call(MetadataRequest([]), 9, MetadataResponse).brokers
        self.nodes = {
            each.node_id: BlockingConnection(f"{each.host}:{each.port}") for each in brokers
        }
        assert tuple(sorted(self.nodes)) == NODES

    def close(self) -> None:
        for connection in self.nodes.values():
            connection.close()

    def create(self, name: str, replicas: list[int], **configs: str) -> list[int]:
        settings = [CreatableTopicConfig(key.replace("_", "."), configs[key]) for key in configs]
        wanted = CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(0, replicas)], settings)
        # Any node takes it.
        answer = self.nodes[3].call(CreateTopicsRequest([wanted], 10_000), 5, CreateTopicsResponse)
        return [each.error_code for each in answer.topics]

    def states(self, name: str) -> list[tuple[object, ...]]:
        """Error, leader, epoch, replicas and in-sync set, as each node tells them."""
        told: list[tuple[object, ...]] = []
        for node in NODES:
            request = MetadataRequest([MetadataRequestTopic(name=name)])
            topic = self.nodes[node].call(request, 9, MetadataResponse).topics[0]
            told.extend(
                (
                    each.error_code,
                    each.leader_id,
                    each.leader_epoch,
                    tuple(each.replica_nodes),
                    tuple(sorted(each.isr_nodes)),
                )
                for each in topic.partitions
            )
        return told

    def settled(self, name: str, replicas: list[int], leader: int) -> list[tuple[object, ...]]:
        """The states once all nodes tell of this leader and these replicas, in sync."""

        def is_there() -> bool:
            wanted = (leader, tuple(replicas), tuple(sorted(replicas)))
            return [(each[1], *each[3:]) for each in self.states(name)] == [wanted] * len(NODES)

        until(is_there)
        return self.states(name)

    def produce(self, name: str, acks: int) -> list[tuple[int, int]]:
        """Error and offset when each node is asked to append."""
        told = []
        for node in NODES:
            data = [ProduceRequestPartition(0, build_batch([Record(0, 1, None, b"v")]))]
            request = ProduceRequest(
                None, acks, 10_000, [ProduceRequestTopic(name, partition_data=data)]
            )
            answer = self.nodes[node].call(request, 9, ProduceResponse)
            (part,) = answer.responses[0].partition_responses
            told.append((part.error_code, part.base_offset))
        return told

    def fetch(self, name: str, version: int) -> list[tuple[int, int]]:
        """Error and bytes when each node is asked to read from the start."""
        told = []
        for node in NODES:
            asked = FetchRequestTopic(
                name, partitions=[FetchRequestPartition(0, partition_max_bytes=1 << 20)]
            )
            request = FetchRequest(-1, 0, 0, 1 << 20, 0, 0, -1, [asked])
            (part,) = self.nodes[node].call(request, version, FetchResponse).responses[0].partitions
            records = part.records if isinstance(part.records, list) else [part.records or b""]
            told.append((part.error_code, sum(len(each) for each in records)))
        return told

    def fetched(self, name: str, version: int) -> list[tuple[int, int]]:
        """The same once followers have heard of the high watermark."""
        deadline = time.monotonic() + READY_SECONDS
        while True:
            told = self.fetch(name, version)
            if len({size for error, size in told if error == 0}) == 1:
                return told
            assert time.monotonic() < deadline, told

    def reassign(self, name: str, replicas: list[int]) -> list[int]:
        topic = ReassignableTopic(name, [ReassignablePartition(0, replicas)])
        request = AlterPartitionReassignmentsRequest(10_000, topics=[topic])
        answer = self.nodes[2].call(request, 0, AlterPartitionReassignmentsResponse)
        return [each.error_code for each in answer.responses[0].partitions]

    def elect(self, name: str) -> list[int]:
        request = ElectLeadersRequest(0, [TopicPartitions(name, [0])], 10_000)
        answer = self.nodes[2].call(request, 2, ElectLeadersResponse)
        return [each.error_code for each in answer.replica_election_results[0].partition_result]


def until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + READY_SECONDS
    while not holds():
        assert time.monotonic() < deadline, "the nodes do not agree"


def transcript(cluster: Cluster) -> dict[str, object]:
    """What the probes gave, by name."""
    told: dict[str, object] = {}
    told["create"] = cluster.create("moving", [1, 2, 3])
    told["created"] = cluster.settled("moving", [1, 2, 3], 1)
    told["twice"] = cluster.create("moving", [1, 2, 3])
    told["unknown node"] = cluster.create("nowhere", [1, 9])
    told["same node twice"] = cluster.create("nowhere", [1, 1])
    for acks in (1, -1):
        told[f"produce, acks {acks}"] = cluster.produce("moving", acks)
    for version in FETCH_VERSIONS:
        told[f"fetch v{version}"] = cluster.fetched("moving", version)
    told["no election needed"] = cluster.elect("moving")
    told["reorder"] = cluster.reassign("moving", [2, 3, 1])
    told["reordered"] = cluster.settled("moving", [2, 3, 1], 1)
    told["elect"] = cluster.elect("moving")
    told["elected"] = cluster.settled("moving", [2, 3, 1], 2)
    told["produce to the new leader"] = cluster.produce("moving", -1)
    told["take one away"] = cluster.reassign("moving", [2, 3])
    told["taken away"] = cluster.settled("moving", [2, 3], 2)
    until(lambda: cluster.fetch("moving", 10)[0][0] != 0)
    told["produce to two"] = cluster.produce("moving", -1)
    for version in FETCH_VERSIONS:
        told[f"fetch from two, v{version}"] = cluster.fetched("moving", version)
    told["elsewhere"] = cluster.reassign("moving", [1])
    told["moved"] = [each[1:] for each in cluster.settled("moving", [1], 1)]
    told["produce to one"] = cluster.produce("moving", -1)
    told["create strict"] = cluster.create("strict", [2, 3], min_insync_replicas="3")
    cluster.settled("strict", [2, 3], 2)
    told["produce below the minimum"] = cluster.produce("strict", -1)
    return told


@contextmanager
def kafka() -> Iterator[str]:
    if not (shutil.which("java") and shutil.which("mvn")):
        pytest.skip("needs a JRE and Maven")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    command = str(ROOT / "scripts" / "kafka")
    environment = os.environ | {
        "KAFKA_VERSION": KAFKA_VERSION,
        "KAFKA_NODES": "3",
        "KAFKA_HEAP_OPTS": "-Xmx256m",
    }
    configs = ("log.retention.ms=-1", "auto.leader.rebalance.enable=false")
    subprocess.run([command, "start", port, *configs], env=environment, check=True)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        subprocess.run([command, "stop", port], check=True)


def told_by(bootstrap: str) -> dict[str, object]:
    cluster = Cluster(bootstrap)
    try:
        return transcript(cluster)
    finally:
        cluster.close()


def test_three_nodes_answer_as_three_of_apache_kafka(tmp_path: Path) -> None:
    configs = ("mockbroker.version.profile=4.4", "auto.leader.rebalance.enable=false")
    with serving(tmp_path, "--brokers=3", *(f"--set={config}" for config in configs)) as ours:
        of_ours = told_by(ours.split(",")[0])
    with kafka() as bootstrap:
        of_kafka = told_by(bootstrap)
    assert of_ours == of_kafka
