"""Kafka's tools for whoever runs a cluster: log directories, reassignments, features, telemetry.

Consumer groups of KIP-848 are here as VerifiableConsumer and the tools for groups show them.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import pytest

from tests.clients.java.conftest import TOOLS
from tests.clients.java.test_tools import FORMATTERS, events, read_internal
from tests.clients.server import serving

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.java.conftest import Tool
    from tests.clients.java.jvm import Jvm

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

STATUS = ("describe", "--status")


@pytest.fixture
def filled(tool: Tool, topic: str) -> str:
    """A topic of two partitions, the first with 20 records."""
    tool("TopicCommand", "--create", "--topic", topic, "--partitions", "2")
    lines = "".join(f"{number}\n" for number in range(20))
    tool("ConsoleProducer", "--topic", topic, stdin=lines)
    return topic


def test_log_directories(tool: Tool, filled: str) -> None:
    shown = tool("LogDirsCommand", "--describe", "--topic-list", filled)
    [broker] = json.loads(shown.splitlines()[-1])["brokers"]
    [directory] = broker["logDirs"]
    assert (broker["broker"], directory["error"]) == (1, None)
    partitions = {one["partition"]: one for one in directory["partitions"]}
    assert partitions.keys() == {f"{filled}-0", f"{filled}-1"}
    assert sum(one["size"] for one in partitions.values()) > 20
    assert {(one["offsetLag"], one["isFuture"]) for one in partitions.values()} == {(0, False)}


def test_reassignment(tool: Tool, filled: str, tmp_path: Path) -> None:
    topics, moves = tmp_path / "topics.json", tmp_path / "moves.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": filled}]}))
    generated = tool(
        "reassign.ReassignPartitionsCommand",
        *["--generate", "--broker-list", "1", "--topics-to-move-json-file", str(topics)],
    )
    proposed = generated.rpartition("Proposed partition reassignment configuration\n")[2]
    assert [one["replicas"] for one in json.loads(proposed)["partitions"]] == [[1], [1]]
    moves.write_text(proposed)
    named = ["--reassignment-json-file", str(moves)]
    started = tool("reassign.ReassignPartitionsCommand", "--execute", *named)
    assert f"Successfully started partition reassignments for {filled}-0,{filled}-1" in started
    verified = tool("reassign.ReassignPartitionsCommand", "--verify", *named)
    for index in range(2):
        assert f"Reassignment of partition {filled}-{index} is completed." in verified
    listed = tool("reassign.ReassignPartitionsCommand", "--list")
    assert "No partition reassignments found." in listed


def test_leader_election(tool: Tool, filled: str, tmp_path: Path) -> None:
    partitions = tmp_path / "election.json"
    partitions.write_text(json.dumps({"partitions": [{"topic": filled, "partition": 0}]}))
    named = ["--election-type", "preferred", "--path-to-json-file", str(partitions)]
    elected = tool("LeaderElectionCommand", *named)
    assert f"Valid replica already elected for partitions {filled}-0" in elected


def test_features(tool: Tool) -> None:
    pattern = r"^Feature: (\S+).*FinalizedVersionLevel: (\S+)"
    features = dict(re.findall(pattern, tool("FeatureCommand", "describe"), re.MULTILINE))
    assert features["group.version"] == "1"
    refused = tool("FeatureCommand", "upgrade", "--feature", "transaction.version=99", status=1)
    assert "Could not upgrade transaction.version to 99." in refused


def test_the_metadata_quorum(tool: Tool) -> None:
    told = dict(line.split(":", 1) for line in tool("MetadataQuorumCommand", *STATUS).splitlines())
    assert (told["LeaderId"].strip(), told["LeaderEpoch"].strip()) == ("1", "1")
    end = int(told["HighWatermark"])
    assert end > 0
    assert int(told["MaxFollowerLag"]) == 0
    [voter] = json.loads(told["CurrentVoters"])
    assert (voter["id"], told["CurrentObservers"].strip()) == (1, "[]")
    _, row = tool("MetadataQuorumCommand", "describe", "--replication").splitlines()
    node, _, log_end, lag, *_, status = row.split()
    assert (node, lag, status) == ("1", "0", "Leader")
    assert int(log_end) >= end


def test_a_voter_that_is_no_member_of_a_static_quorum(tool: Tool) -> None:
    voter = ["--controller-id", "7", "--controller-directory-id", "AAECAwQFBgcICQoLDA0ODw"]
    refused = tool("MetadataQuorumCommand", "remove-controller", *voter, status=1)
    assert "Cluster doesn't support removing voter" in refused


def test_a_broker_that_nobody_knows_is_not_unregistered(tool: Tool) -> None:
    refused = tool("ClusterTool", "unregister", "--id", "77", status=1)
    assert "Broker ID 77 is not currently registered" in refused
    [broker] = tool("ClusterTool", "list-endpoints").splitlines()[1:]
    assert broker.split()[0] == "1"


def test_a_broker_that_is_unregistered_is_listed_no_more(jvm: Jvm, tmp_path: Path) -> None:
    with serving(tmp_path, "--brokers", "2") as bootstrap:
        address = ("--bootstrap-server", bootstrap)
        said = jvm.check(f"{TOOLS}.ClusterTool", "unregister", "--id", "2", *address)
        assert "Broker 2 is no longer registered." in said
        listed = jvm.check(f"{TOOLS}.ClusterTool", "list-endpoints", *address)
        assert [line.split()[0] for line in listed.splitlines()[1:]] == ["1"]


def test_client_metrics(tool: Tool, topic: str) -> None:
    prefix = "org.apache.kafka.producer."
    altered = tool(
        *["ClientMetricsCommand", "--alter", "--name", topic],
        *["--metrics", prefix, "--interval", "2000", "--match", "client_id=some.*"],
    )
    assert altered == f"Altered client metrics config for {topic}.\n"
    assert topic in tool("ClientMetricsCommand", "--list").split()
    described = tool("ClientMetricsCommand", "--describe", "--name", topic)
    assert {"interval.ms=2000", "match=client_id=some.*", f"metrics={prefix}"} <= {
        line.strip() for line in described.splitlines()
    }
    tool("ClientMetricsCommand", "--delete", "--name", topic)
    assert topic not in tool("ClientMetricsCommand", "--list").split()


def test_configs_of_a_group(tool: Tool, topic: str) -> None:
    entity = ["--entity-type", "groups", "--entity-name", topic]
    tool("ConfigCommand", "--alter", *entity, "--add-config", "consumer.session.timeout.ms=46000")
    described = tool("ConfigCommand", "--describe", *entity)
    assert "DYNAMIC_GROUP_CONFIG:consumer.session.timeout.ms=46000" in described
    assert "DEFAULT_CONFIG:group.consumer.session.timeout.ms=45000" in described


def test_a_group_of_the_next_generation(tool: Tool, filled: str) -> None:
    group = f"{filled}-readers"
    read = tool(
        "VerifiableConsumer",
        *["--topic", filled, "--group-id", group, "--max-messages", "20"],
        *["--reset-policy", "earliest", "--group-protocol", "consumer"],
    )
    partitions = [{"topic": filled, "partition": index} for index in range(2)]
    # None at first, where it does not know the topic's id yet.
    assigned = max((one["partitions"] for one in events(read, "partitions_assigned")), key=len)
    assert sorted(assigned, key=lambda one: one["partition"]) == partitions
    assert sum(one["count"] for one in events(read, "records_consumed")) == 20
    listed = tool("GroupsCommand", "--list")
    assert re.search(rf"^{group} +Consumer +consumer *$", listed, re.MULTILINE)
    described = tool("consumer.group.ConsumerGroupCommand", "--describe", "--group", group)
    lags = [line.split()[5] for line in described.splitlines() if line.startswith(group)]
    assert set(lags) == {"0"}
    formatter = f"{FORMATTERS}.OffsetsMessageFormatter"
    committed = read_internal(tool, "__consumer_offsets", formatter, group)
    last = {one["key"]["data"]["partition"]: one["value"]["data"]["offset"] for one in committed}
    assert sum(last.values()) == 20
    tool("consumer.group.ConsumerGroupCommand", "--delete", "--group", group)
    assert group not in tool("GroupsCommand", "--list").split()
