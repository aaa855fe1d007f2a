"""Three nodes of Apache Kafka and three of ours answer alike: who leads, who follows, who refuses.

A short script of its own: each probe asks all three nodes, and what it gives is compared. Ports,
topic ids and times are left out.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

import pytest

from mockbroker.coordinator.runtime import partition_for
from mockbroker.testing.mock_broker import MockBroker
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
)
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_admin import (
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    ListGroupsRequest,
    ListGroupsResponse,
)
from mockbroker_protocol.messages.group_membership import HeartbeatRequest, HeartbeatResponse
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from mockbroker_protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mockbroker_protocol.messages.transaction_admin import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from tests.clients.server import ROOT
from tests.differential.conftest import KAFKA_VERSION
from tests.support.blocking import BlockingConnection
from tests.support.jvm import SHORT_LIVED_JVM

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(300)]
NODES = (1, 2, 3)
OFFSETS = "__consumer_offsets"
PARTITIONS = 5
_NOTHING = MetadataRequest([])
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
        self.nodes = dict(sorted(self.nodes.items()))
        assert tuple(self.nodes) == NODES

    def close(self) -> None:
        for connection in self.nodes.values():
            connection.close()

    def create(self, name: str, replicas: list[int], **configs: str) -> list[int]:
        settings = [CreatableTopicConfig(key.replace("_", "."), configs[key]) for key in configs]
        wanted = CreatableTopic(name, -1, -1, [CreatableReplicaAssignment(0, replicas)], settings)
        # Any node takes it.
        answer = self.nodes[2].call(CreateTopicsRequest([wanted], 10_000), 5, CreateTopicsResponse)
        return [each.error_code for each in answer.topics]

    def another(self, node: int) -> BlockingConnection:
        """One more connection to a node."""
        host, port = self.nodes[node].socket.getpeername()
        return BlockingConnection(f"{host}:{port}")

    def leave(self, node: int) -> None:
        """The node was stopped."""
        self.nodes.pop(node).close()

    def brokers(self) -> list[list[int]]:
        """Who is there, as each node tells it."""
        return [
            sorted(each.node_id for each in node.call(_NOTHING, 9, MetadataResponse).brokers)
            for node in self.nodes.values()
        ]

    def coordinator(self, group: str) -> int:
        """Who all nodes say coordinates the group, once they say so."""
        found: set[tuple[int, int]] = set()

        def is_found() -> bool:
            request = FindCoordinatorRequest(key=group, key_type=0)
            answers = [
                node.call(request, 3, FindCoordinatorResponse) for node in self.nodes.values()
            ]
            found.clear()
            found.update((answer.error_code, answer.node_id) for answer in answers)
            return len(found) == 1 and min(found)[0] == 0

        until(is_found)
        return min(found)[1]

    def heartbeat(self, group: str) -> list[tuple[bool, int]]:
        """Whether a node coordinates the group, and what it answers a stranger's heartbeat."""
        coordinator = self.coordinator(group)
        request = HeartbeatRequest(group, 1, "stranger")
        told: list[tuple[bool, int]] = []

        def is_loaded() -> bool:
            told[:] = sorted(
                (node == coordinator, connection.call(request, 3, HeartbeatResponse).error_code)
                for node, connection in self.nodes.items()
            )
            # Until it has loaded, it does not know of its office, or lets every heartbeat pass.
            return (True, int(ErrorCode.UNKNOWN_MEMBER_ID)) in told

        until(is_loaded)
        return told

    def find(self, key_type: int, version: int, *keys: str) -> list[list[tuple[str, int]]]:
        """Key and error of each coordinator that each node is asked for in one request."""
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=list(keys))
        return [
            [
                (each.key, each.error_code)
                for each in node.call(request, version, FindCoordinatorResponse).coordinators
            ]
            for node in self.nodes.values()
        ]

    def states(self, name: str) -> list[tuple[object, ...]]:
        """Error, leader, epoch, replicas, in-sync set and who is not there, as each node tells."""
        told: list[tuple[object, ...]] = []
        for node in self.nodes:
            request = MetadataRequest([MetadataRequestTopic(name=name)])
            topic = self.nodes[node].call(request, 9, MetadataResponse).topics[0]
            told.extend(
                (
                    each.error_code,
                    each.leader_id,
                    each.leader_epoch,
                    tuple(each.replica_nodes),
                    tuple(sorted(each.isr_nodes)),
                    tuple(sorted(each.offline_replicas)),
                )
                for each in topic.partitions
            )
        return told

    def settled(
        self, name: str, replicas: list[int], leader: int, in_sync: list[int] | None = None
    ) -> list[tuple[object, ...]]:
        """The states once all nodes tell of this leader and these replicas, in sync."""

        def is_there() -> bool:
            isr = replicas if in_sync is None else in_sync
            wanted = (leader, tuple(replicas), tuple(sorted(isr)))
            told = [(each[1], *each[3:5]) for each in self.states(name)]
            return told == [wanted] * len(self.nodes)

        until(is_there)
        return self.states(name)

    def produce(self, name: str, acks: int) -> list[tuple[int, int]]:
        """Error and offset when each node is asked to append."""
        told = []
        for node in self.nodes:
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
        for node in self.nodes:
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


def transcript(cluster: Cluster, nodes: Nodes) -> dict[str, object]:
    """What the probes gave, by name; `stop` ends a node cleanly."""
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
    told["heartbeat of a stranger"] = cluster.heartbeat("readers")
    told["find two groups"] = cluster.find(0, 4, "readers", "writers")
    told["find a coordinator of no kind"] = cluster.find(7, 4, "readers")
    told |= unreplicated(cluster, nodes)
    told |= without_a_node(cluster, nodes.stop)
    return told


def unreplicated(cluster: Cluster, nodes: Nodes) -> dict[str, object]:
    """A coordinator whose followers stand still tells what they have, and no more."""
    told: dict[str, object] = {}
    coordinator = cluster.coordinator("readers")
    connections = [cluster.another(coordinator) for _ in range(6)]
    first, commits, waits, reads, deletes, markers = connections
    commit(first, 10)
    told["commit"] = committed(first)
    told["read it"] = [position(reads, stable=stable) for stable in (False, True)]
    nodes.hold(coordinator)
    try:
        commit(commits, 20)
        topic = WritableTxnMarkerTopic(OFFSETS, [partition_for("readers", PARTITIONS)])
        marker = WritableTxnMarker(7, 0, True, [topic])
        markers.send(WriteTxnMarkersRequest([marker]), 1)
        until(lambda: is_held_up(waits))
        told["read what is replicated"] = position(reads, stable=False)
        deletes.send(DeleteGroupsRequest(["readers"]), 2)
        told["list what is replicated"] = listed(reads)
        told["still read what is replicated"] = position(reads, stable=False)
        told["late commit"] = committed(commits)
        answer = waits.receive(OffsetFetchResponse)
        told["late stable read"] = (answer.error_code, answer.topics)
        deleted = deletes.receive(DeleteGroupsResponse)
        told["late deletion"] = [each.error_code for each in deleted.results]
        told["read what is replicated after that"] = position(reads, stable=False)
        told["marker waits"] = not markers.readable_within(0)
    finally:
        nodes.heal()
    until(lambda: position(reads, stable=False) != (0, 10))
    told["replicated later"] = [position(reads, stable=stable) for stable in (False, True)]
    told["listed later"] = listed(reads)
    (result,) = markers.receive(WriteTxnMarkersResponse).markers
    told["marker"] = result.topics[0].partitions[0].error_code
    for each in connections:
        each.close()
    return told


def commit(connection: BlockingConnection, offset: int) -> None:
    partition = OffsetCommitRequestPartition(0, offset)
    topic = OffsetCommitRequestTopic("moving", partitions=[partition])
    connection.send(OffsetCommitRequest("readers", -1, topics=[topic]), 8)


def committed(connection: BlockingConnection) -> int:
    answer = connection.receive(OffsetCommitResponse)
    return answer.topics[0].partitions[0].error_code


def positions(*, stable: bool) -> OffsetFetchRequest:
    return OffsetFetchRequest("readers", None, require_stable=stable)


def position(connection: BlockingConnection, *, stable: bool) -> tuple[int, int | None]:
    """The group's one position, and the error."""
    answer = connection.call(positions(stable=stable), 7, OffsetFetchResponse)
    found = [each.committed_offset for topic in answer.topics for each in topic.partitions]
    return answer.error_code, found[0] if found else None


def is_held_up(connection: BlockingConnection) -> bool:
    """Whether a stable read waits, which it does once the commit is written."""
    connection.send(positions(stable=True), 7)
    if connection.readable_within(0.5):
        connection.receive(OffsetFetchResponse)
        return False
    return True


def listed(connection: BlockingConnection) -> list[str]:
    answer = connection.call(ListGroupsRequest(), 4, ListGroupsResponse)
    return [each.group_state for each in answer.groups if each.group_id == "readers"]


def without_a_node(cluster: Cluster, stop: Callable[[int], None]) -> dict[str, object]:
    """Node 3, which leads, stops: the controller fences it."""
    told: dict[str, object] = {}
    cluster.create("led", [3, 1, 2])
    cluster.settled("led", [3, 1, 2], 3)
    cluster.create("whole", [1, 2, 3], min_insync_replicas="3")
    cluster.settled("whole", [1, 2, 3], 1)
    cluster.create("alone", [3])
    cluster.settled("alone", [3], 3)
    cluster.leave(3)
    stop(3)
    until(lambda: cluster.brokers() == [[1, 2], [1, 2]])
    told["the lead moved"] = cluster.settled("led", [3, 1, 2], 1, [1, 2])
    until(lambda: {each[1] for each in cluster.states("alone")} == {-1})
    told["nobody leads"] = cluster.states("alone")
    told["produce to the others"] = cluster.produce("led", -1)
    told["produce below the minimum without it"] = cluster.produce("whole", -1)
    told["produce to nobody"] = cluster.produce("alone", -1)
    told["elect it"] = cluster.elect("led")
    told["create on it too"] = cluster.create("behind", [3, 1])
    told["created without it"] = cluster.settled("behind", [3, 1], 1, [1])
    told["create on it alone"] = cluster.create("nowhere", [3])
    told["reassign to it"] = cluster.reassign("led", [1, 3])
    told["reassign to it alone"] = cluster.reassign("behind", [3])
    told["heartbeat of a stranger without it"] = cluster.heartbeat("readers")
    return told


class Nodes(Protocol):
    """What is done to three nodes."""

    def stop(self, node: int) -> None:
        """End it cleanly."""

    def hold(self, coordinator: int) -> None:
        """Nobody follows that node's groups until `heal`."""

    def heal(self) -> None:
        """All go on."""


class OurNodes:
    def __init__(self, broker: MockBroker) -> None:
        self.cluster = broker.cluster
        self.stop = self.cluster.stop
        self.held: list[tuple[int, int]] = []

    def hold(self, coordinator: int) -> None:
        self.held = [
            (at, node) for at in range(PARTITIONS) for node in NODES if node != coordinator
        ]
        for at, node in self.held:
            self.cluster.hold_follower(OFFSETS, at, node)

    def heal(self) -> None:
        for at, node in self.held:
            self.cluster.release_follower(OFFSETS, at, node)


class KafkaNodes:
    """Processes that `scripts/kafka` started; the first one is the controller too."""

    def __init__(self, run: Path) -> None:
        self.run = run

    def signal(self, node: int, number: signal.Signals) -> None:
        own = self.run if node == 1 else self.run / f"node-{node}"
        os.kill(int((own / "pid").read_text()), number)

    def stop(self, node: int) -> None:
        # Who asks for it waits for its traces.
        self.signal(node, signal.SIGTERM)

    def hold(self, coordinator: int) -> None:
        for node in NODES:
            if node != coordinator:
                self.signal(node, signal.SIGSTOP)

    def heal(self) -> None:
        for node in NODES:
            self.signal(node, signal.SIGCONT)


@contextmanager
def kafka() -> Iterator[tuple[str, Nodes]]:
    if not (shutil.which("java") and shutil.which("mvn")):
        pytest.skip("needs a JRE and Maven")
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    command = str(ROOT / "scripts" / "kafka")
    environment = os.environ | {
        "KAFKA_VERSION": KAFKA_VERSION,
        "KAFKA_NODES": "3",
        "KAFKA_HEAP_OPTS": "-Xmx256m",
        "KAFKA_JVM_PERFORMANCE_OPTS": SHORT_LIVED_JVM,
    }
    configs = (
        "log.retention.ms=-1",
        "auto.leader.rebalance.enable=false",
        "offsets.topic.replication.factor=3",
        f"offsets.topic.num.partitions={PARTITIONS}",
        "broker.session.timeout.ms=30000",  # while they stand still
    )
    subprocess.run([command, "start", port, *configs], env=environment, check=True)
    try:
        yield f"127.0.0.1:{port}", KafkaNodes(ROOT / ".tools/run" / f"kafka-{port}")
    finally:
        subprocess.run([command, "stop", port], check=True)


def told_by(bootstrap: str, nodes: Nodes) -> dict[str, object]:
    cluster = Cluster(bootstrap)
    try:
        return transcript(cluster, nodes)
    finally:
        cluster.close()


def test_three_nodes_answer_as_three_of_apache_kafka() -> None:
    configs: dict[str, str | bool] = {
        "mockbroker.version.profile": "4.4",
        "auto.leader.rebalance.enable": False,
        "offsets.topic.num.partitions": str(PARTITIONS),
    }
    with MockBroker(brokers=3, config=configs) as ours:
        of_ours = told_by(ours.bootstrap_servers.split(",")[0], OurNodes(ours))
    with kafka() as (bootstrap, nodes):
        of_kafka = told_by(bootstrap, nodes)
    assert of_ours == of_kafka
