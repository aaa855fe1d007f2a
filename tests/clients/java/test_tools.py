"""The tools behind Kafka's kafka-*.sh, unmodified: what they print of topics, records, groups."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from tests.clients.login import SECURITY

if TYPE_CHECKING:
    from pathlib import Path

    from tests.clients.java.conftest import Tool

pytestmark = [pytest.mark.java, pytest.mark.timeout(120)]

WAIT_MS = "20000"
FORMATTERS = "org.apache.kafka.tools.consumer"


def json_lines(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def events(text: str, name: str) -> list[dict[str, Any]]:
    """What a Verifiable… tool reports under a name."""
    return [line for line in json_lines(text) if line["name"] == name]


def json_values(text: str) -> list[dict[str, Any]]:
    """JSON objects that follow one another without a separator, as the formatters print them."""
    decoder, values, at = json.JSONDecoder(), [], 0
    while at < len(text.rstrip()):
        value, at = decoder.raw_decode(text, at)
        values.append(value)
    return values


@pytest.fixture
def filled(tool: Tool, topic: str) -> str:
    """A topic of one partition with the records 0 to 19."""
    tool("TopicCommand", "--create", "--topic", topic, "--partitions", "1")
    tool("ConsoleProducer", "--topic", topic, stdin="".join(f"{number}\n" for number in range(20)))
    return topic


# -- topics --------------------------------------------------------------------------------


def test_topics_are_created_described_widened_and_deleted(tool: Tool, topic: str) -> None:
    configured = ["--config", "retention.ms=1000000"]
    created = tool("TopicCommand", "--create", "--topic", topic, "--partitions", "3", *configured)
    assert created == f"Created topic {topic}.\n"
    tool("TopicCommand", "--alter", "--topic", topic, "--partitions", "5")
    head, *partitions = tool("TopicCommand", "--describe", "--topic", topic).splitlines()
    assert "PartitionCount: 5\tReplicationFactor: 1" in head
    assert "retention.ms=1000000" in head
    assert [re.findall(r"Partition: (\d+)\tLeader: (\d+)", line) for line in partitions] == [
        [(str(index), "1")] for index in range(5)
    ]
    assert topic in tool("TopicCommand", "--list").splitlines()
    tool("TopicCommand", "--delete", "--topic", topic)
    assert topic not in tool("TopicCommand", "--list").splitlines()
    missing = tool("TopicCommand", "--describe", "--topic", topic, status=1)
    assert f"Topic '{topic}' does not exist as expected" in missing


def test_a_topic_that_is_there_is_not_created_again(tool: Tool, filled: str) -> None:
    assert f"Topic '{filled}' already exists." in tool(
        "TopicCommand", "--create", "--topic", filled, status=1
    )


def test_configs_of_a_topic(tool: Tool, filled: str) -> None:
    entity = ["--entity-type", "topics", "--entity-name", filled]
    wanted = "max.message.bytes=2000000,cleanup.policy=[compact,delete]"
    assert f"Completed updating config for topic {filled}." in tool(
        "ConfigCommand", "--alter", *entity, "--add-config", wanted
    )
    described = tool("ConfigCommand", "--describe", *entity)
    assert (
        "cleanup.policy=compact,delete sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:"
        "cleanup.policy=compact,delete, DEFAULT_CONFIG:log.cleanup.policy=delete}"
    ) in described
    assert "max.message.bytes=2000000 " in described
    tool("ConfigCommand", "--alter", *entity, "--delete-config", "cleanup.policy")
    described = tool("ConfigCommand", "--describe", *entity)
    assert "cleanup.policy" not in described
    assert "max.message.bytes=2000000 " in described
    every = tool("ConfigCommand", "--describe", "--all", *entity)
    assert "cleanup.policy=delete sensitive=false" in every
    refused = tool("ConfigCommand", "--alter", *entity, "--add-config", "no.such=1", status=1)
    assert "InvalidConfigurationException: Unknown topic config name: no.such" in refused


def test_configs_of_brokers(tool: Tool) -> None:
    default = ["--entity-type", "brokers", "--entity-default"]
    tool("ConfigCommand", "--alter", *default, "--add-config", "log.retention.ms=77777777")
    described = tool("ConfigCommand", "--describe", *default)
    assert "log.retention.ms=77777777 " in described
    every = tool(
        "ConfigCommand", "--describe", "--all", "--entity-type", "brokers", *["--entity-name", "1"]
    )
    assert "DYNAMIC_DEFAULT_BROKER_CONFIG:log.retention.ms=77777777" in every
    tool("ConfigCommand", "--alter", *default, "--delete-config", "log.retention.ms")
    assert "log.retention.ms" not in tool("ConfigCommand", "--describe", *default)


# -- records -------------------------------------------------------------------------------


def test_console_producer_and_consumer(tool: Tool, topic: str) -> None:
    tool("TopicCommand", "--create", "--topic", topic, "--partitions", "1")
    keyed = ["--reader-property", "parse.key=true", "--reader-property", "key.separator=:"]
    tool("ConsoleProducer", "--topic", topic, *keyed, stdin="a:one\nb:two\na:three\n")
    shown = tool(
        "consumer.ConsoleConsumer",
        *["--topic", topic, "--from-beginning", "--max-messages", "3", "--timeout-ms", WAIT_MS],
        *["--formatter-property", "print.key=true", "--formatter-property", "print.offset=true"],
    )
    assert shown == "Offset:0\ta\tone\nOffset:1\tb\ttwo\nOffset:2\ta\tthree\n"


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_compressed_by_the_console_producer(tool: Tool, topic: str, compression: str) -> None:
    lines = "".join(f"line {number} {'x' * number}\n" for number in range(200))
    tool("TopicCommand", "--create", "--topic", topic, "--partitions", "1")
    tool("ConsoleProducer", "--topic", topic, f"--compression-codec={compression}", stdin=lines)
    reading = ["--from-beginning", "--max-messages", "200", "--timeout-ms", WAIT_MS]
    assert tool("consumer.ConsoleConsumer", "--topic", topic, *reading) == lines


def test_verifiable_producer(tool: Tool, topic: str) -> None:
    tool("TopicCommand", "--create", "--topic", topic, "--partitions", "1")
    out = tool("VerifiableProducer", "--topic", topic, "--max-messages", "20", "--acks", "-1")
    sent = events(out, "producer_send_success")
    assert [(one["value"], one["offset"]) for one in sent] == [(str(n), n) for n in range(20)]
    [end] = events(out, "tool_data")
    assert (end["sent"], end["acked"]) == (20, 20)


def test_offsets_and_deleted_records(tool: Tool, filled: str, tmp_path: Path) -> None:
    offsets = ["--topic-partitions", f"{filled}:0"]
    assert tool("GetOffsetShell", *offsets) == f"{filled}:0:20\n"
    assert tool("GetOffsetShell", *offsets, "--time", "earliest") == f"{filled}:0:0\n"
    to_delete = tmp_path / "delete.json"
    partitions = [{"topic": filled, "partition": 0, "offset": 7}]
    to_delete.write_text(json.dumps({"version": 1, "partitions": partitions}))
    deleted = tool("DeleteRecordsCommand", "--offset-json-file", str(to_delete))
    assert f"partition: {filled}-0\tlow_watermark: 7\n" in deleted
    assert tool("GetOffsetShell", *offsets, "--time", "earliest") == f"{filled}:0:7\n"
    shown = tool(
        "consumer.ConsoleConsumer",
        *["--topic", filled, "--from-beginning", "--max-messages", "13", "--timeout-ms", WAIT_MS],
    )
    assert shown.split() == [str(number) for number in range(7, 20)]
    partitions[0]["offset"] = 21
    to_delete.write_text(json.dumps({"version": 1, "partitions": partitions}))
    refused = tool("DeleteRecordsCommand", "--offset-json-file", str(to_delete))
    assert "error: org.apache.kafka.common.errors.OffsetOutOfRangeException" in refused


def test_performance_tools(tool: Tool, filled: str) -> None:
    sizes = ["--record-size", "100", "--throughput", "-1"]
    sent = tool("ProducerPerformance", "--topic", filled, "--num-records", "3000", *sizes)
    assert "3000 records sent, " in sent
    transactional = ["--transaction-duration-ms", "50"]
    sent = tool(
        *["ProducerPerformance", "--topic", filled, "--num-records", "500"], *sizes, *transactional
    )
    assert "500 records sent, " in sent
    read = tool(
        "ConsumerPerformance", "--topic", filled, "--num-records", "3520", "--timeout", WAIT_MS
    )
    columns = read.splitlines()[-1].split(", ")
    # In batches of what a poll brings: at least so many.
    assert int(columns[4]) >= 3520
    latency = tool(
        "EndToEndLatency",
        *["--topic", filled, "--num-records", "20", "--producer-acks", "1", "--record-size", "32"],
    )
    assert re.search(r"^Avg latency: [\d.]+ ms$", latency, re.MULTILINE)
    offset = int(tool("GetOffsetShell", "--topic-partitions", f"{filled}:0").rpartition(":")[2])
    # Each transaction leaves a marker.
    assert offset > 20 + 3000 + 500 + 20


# -- groups --------------------------------------------------------------------------------


def test_a_group_from_its_first_member_to_its_end(tool: Tool, filled: str) -> None:
    group = f"{filled}-readers"
    read = tool(
        "VerifiableConsumer",
        *["--topic", filled, "--group-id", group, "--max-messages", "20"],
        *["--reset-policy", "earliest"],
    )
    partition = {"topic": filled, "partition": 0}
    assert events(read, "partitions_assigned")[0]["partitions"] == [partition]
    assert sum(one["count"] for one in events(read, "records_consumed")) == 20
    assert events(read, "offsets_committed")[-1]["offsets"] == [{**partition, "offset": 20}]

    named = ["--group", group]
    listed = tool("consumer.group.ConsumerGroupCommand", "--list", "--state")
    assert re.search(rf"^{group} +Empty *$", listed, re.MULTILINE)
    assert re.search(
        rf"^{group} +Classic +consumer *$", tool("GroupsCommand", "--list"), re.MULTILINE
    )
    described = tool("consumer.group.ConsumerGroupCommand", "--describe", *named)
    assert described.splitlines()[-1].split()[:6] == [group, filled, "0", "20", "20", "0"]
    reset = tool(
        "consumer.group.ConsumerGroupCommand",
        *["--reset-offsets", *named, "--topic", filled, "--to-offset", "5", "--execute"],
    )
    assert reset.splitlines()[-1].split() == [group, filled, "0", "5"]
    described = tool("consumer.group.ConsumerGroupCommand", "--describe", *named)
    assert described.splitlines()[-1].split()[3:6] == ["5", "20", "15"]
    deleted = tool(
        "consumer.group.ConsumerGroupCommand", "--delete-offsets", *named, "--topic", filled
    )
    assert re.search(rf"^{filled} +0 +Successful *$", deleted, re.MULTILINE)
    gone = tool("consumer.group.ConsumerGroupCommand", "--delete", *named)
    assert f"Deletion of requested consumer groups ('{group}') was successful." in gone
    assert group not in tool("consumer.group.ConsumerGroupCommand", "--list").split()


def test_the_records_of_the_group_coordinator(tool: Tool, filled: str) -> None:
    """What it writes to __consumer_offsets is what Kafka's own formatters can read."""
    group = f"{filled}-readers"
    reading = [
        "--topic",
        filled,
        "--from-beginning",
        "--max-messages",
        "20",
        "--timeout-ms",
        WAIT_MS,
    ]
    tool("consumer.ConsoleConsumer", *reading, "--group", group)
    own = read_internal(tool, "__consumer_offsets", f"{FORMATTERS}.OffsetsMessageFormatter", group)
    committed = [one for one in own if one["value"] is not None]
    assert committed[-1]["key"] == {
        "type": 1,
        "data": {"group": group, "topic": filled, "partition": 0},
    }
    assert committed[-1]["value"]["data"]["offset"] == 20
    name = f"{FORMATTERS}.GroupMetadataMessageFormatter"
    states = [
        one["value"]["data"] for one in read_internal(tool, "__consumer_offsets", name, group)
    ]
    assert {"consumer"} == {state["protocolType"] for state in states if state["members"]}
    assert [len(state["members"]) for state in states if state["generation"] > 0] == [1, 0]


def read_internal(tool: Tool, topic: str, formatter: str, about: str) -> list[dict[str, Any]]:
    """The records of an internal topic whose keys name a group or a transactional id."""
    found: list[dict[str, Any]] = []
    for quiet_ms in ("1500", WAIT_MS):  # on a busy machine a login alone may take the first
        shown = tool(
            "consumer.ConsoleConsumer",
            *["--topic", topic, "--from-beginning", "--timeout-ms", quiet_ms],
            *["--formatter", formatter],
        )
        found = [one for one in json_values(shown) if about in one["key"]["data"].values()]
        if found:
            break
    return found


# -- transactions --------------------------------------------------------------------------


@pytest.mark.skipif(bool(SECURITY), reason="TransactionalMessageCopier takes no file of configs")
def test_transactions(tool: Tool, topic: str, filled: str) -> None:
    target, name = f"{topic}-copy", f"{topic}-copier"
    tool("TopicCommand", "--create", "--topic", target, "--partitions", "1")
    copied = tool(
        "TransactionalMessageCopier",
        *["--input-topic", filled, "--input-partition", "0", "--output-topic", target],
        *["--transactional-id", name, "--consumer-group", name],
        *["--max-messages", "20", "--transaction-size", "10", "--broker-list"],
    )
    assert [one["totalProcessed"] for one in json_lines(copied)] == [0, 10]
    reading = ["--from-beginning", "--max-messages", "20", "--timeout-ms", WAIT_MS]
    read = tool(
        *[
            "consumer.ConsoleConsumer",
            "--topic",
            target,
            *reading,
            "--isolation-level",
            "read_committed",
        ]
    )
    assert read.split() == [str(number) for number in range(20)]
    listed = tool("TransactionsCommand", "list")
    [found] = [line.split() for line in listed.splitlines() if line.startswith(name)]
    assert found[3] == "CompleteCommit"
    described = tool("TransactionsCommand", "describe", "--transactional-id", name)
    assert described.splitlines()[-1].split()[4] == "CompleteCommit"
    producers = tool(
        *["TransactionsCommand", "describe-producers", "--topic", target, "--partition", "0"]
    )
    assert producers.splitlines()[-1].split()[0] == found[2]
    hanging = tool("TransactionsCommand", "find-hanging", "--broker-id", "1")
    assert len(hanging.splitlines()) == 1
    formatter = f"{FORMATTERS}.TransactionLogMessageFormatter"
    written = [
        one["value"]["data"] for one in read_internal(tool, "__transaction_state", formatter, name)
    ]
    assert [state["transactionStatus"] for state in written][-3:] == [1, 2, 4]
    [parts] = written[-3]["transactionPartitions"][:1]
    assert {parts["topic"]} <= {target, "__consumer_offsets"}


# -- the cluster ---------------------------------------------------------------------------


def test_what_the_cluster_is(tool: Tool, server_process: str) -> None:
    cluster_id = tool("ClusterTool", "cluster-id")
    assert re.fullmatch(r"Cluster ID: [\w-]{22}\n", cluster_id)
    _, port = server_process.split(":")
    [broker] = tool("ClusterTool", "list-endpoints").splitlines()[1:]
    assert broker.split() == ["1", "127.0.0.1", port, "null", "unfenced", "broker"]
    features = dict(
        re.findall(
            r"^Feature: (\S+).*FinalizedVersionLevel: (\S+)",
            tool("FeatureCommand", "describe"),
            re.MULTILINE,
        )
    )
    assert features["transaction.version"] == "2"


def test_versions_that_the_client_can_use(tool: Tool) -> None:
    shown = tool("BrokerApiVersionsCommand")
    usable = dict(re.findall(r"^\t(\w+)\(\d+\): .*\[usable: (\d+)\]", shown, re.MULTILINE))
    wanted = {"Produce": "13", "Fetch": "18", "ListOffsets": "11", "TxnOffsetCommit": "5"}
    assert wanted.items() <= usable.items()
