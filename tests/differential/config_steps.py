"""Configs changed by request: AlterConfigs, IncrementalAlterConfigs, ListConfigResources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    ListConfigResourcesRequest,
)
from tests.differential.steps import ask
from tests.differential.topic_steps import (
    BROKER_RESOURCE,
    LOGGER_RESOURCE,
    TOPIC_RESOURCE,
    create,
    settled,
    topic,
)

if TYPE_CHECKING:
    from typing import Any

    from tests.differential.steps import Step

SET, DELETE, APPEND, SUBTRACT = range(4)
CLIENT_METRICS_RESOURCE, GROUP_RESOURCE = 16, 32
NAME = "altered"

Op = tuple[str, int, str | None]


def change(
    *ops: Op, kind: int = TOPIC_RESOURCE, name: str = NAME, validate_only: bool = False
) -> IncrementalAlterConfigsRequest:
    return IncrementalAlterConfigsRequest([changed(*ops, kind=kind, name=name)], validate_only)


def changed(
    *ops: Op, kind: int = TOPIC_RESOURCE, name: str = NAME
) -> IncrementalAlterConfigsResource:
    configs = [IncrementalAlterableConfig(*op) for op in ops]
    return IncrementalAlterConfigsResource(kind, name, configs)


def replace(
    *pairs: tuple[str, str | None],
    kind: int = TOPIC_RESOURCE,
    name: str = NAME,
    validate_only: bool = False,
) -> AlterConfigsRequest:
    return AlterConfigsRequest([replaced(*pairs, kind=kind, name=name)], validate_only)


def replaced(
    *pairs: tuple[str, str | None], kind: int = TOPIC_RESOURCE, name: str = NAME
) -> AlterConfigsResource:
    configs = [AlterableConfig(*pair) for pair in pairs]
    return AlterConfigsResource(kind, name, configs)


def see(
    key: str,
    value: str | None,
    kind: int = TOPIC_RESOURCE,
    name: str = NAME,
    *,
    listed: bool = True,
) -> list[Step]:
    """Describes one config once it has the value that was set: a broker applies it later."""
    resource = DescribeConfigsResource(kind, name, [key])

    def until(answer: Any) -> bool:
        values = [config.value for config in answer.results[0].configs]
        return values == ([value] if listed else [])

    return ask(f"see {key}={value} of {name or 'all brokers'}", 4,
               DescribeConfigsRequest([resource], True, False), until=until)  # fmt: skip


def alter_configs_steps() -> list[Step]:
    return [
        *ask("CreateTopics to alter", 7, create(topic(NAME, 1, 1, segment_ms="5000"))),
        *settled(NAME),
        *incremental_topic_steps(),
        *bad_incremental_steps(),
        *incremental_broker_steps(),
        *legacy_steps(),
    ]


def incremental_topic_steps() -> list[Step]:
    retention, policy = "retention.ms", "cleanup.policy"
    return [
        *ask("IncrementalAlterConfigs", (0, 1), change((retention, SET, "1000"))),
        *see(retention, "1000"),
        *ask("IncrementalAlterConfigs, same", 1, change((retention, SET, "1000"))),
        *ask("IncrementalAlterConfigs of two", 1, change(
            (retention, SET, "2000"), ("segment.ms", DELETE, None))),
        *see(retention, "2000"),
        *see("segment.ms", "604800000"),
        *ask("IncrementalAlterConfigs appends to a default", 1, change(
            (policy, APPEND, "compact"))),
        *see(policy, "delete,compact"),
        *ask("IncrementalAlterConfigs appends again", 1, change((policy, APPEND, "compact"))),
        *ask("IncrementalAlterConfigs subtracts", 1, change((policy, SUBTRACT, "delete"))),
        *see(policy, "compact"),
        *ask("IncrementalAlterConfigs subtracts what is not there", 1, change(
            (policy, SUBTRACT, "delete"))),
        *ask("IncrementalAlterConfigs subtracts all", 1, change((policy, SUBTRACT, "compact"))),
        *ask("IncrementalAlterConfigs deletes with a value", 1, change((policy, DELETE, "x"))),
        *see(policy, "delete"),
        *ask("IncrementalAlterConfigs subtracts from a default", 1, change(
            (policy, SUBTRACT, "nothing"))),
        *ask("IncrementalAlterConfigs sets a list", 1, change(
            ("leader.replication.throttled.replicas", SET, "0:1,1:1"))),
        *see("leader.replication.throttled.replicas", "0:1,1:1"),
        *ask("IncrementalAlterConfigs deletes what is not set", 1, change(
            ("flush.ms", DELETE, None))),
        *ask("IncrementalAlterConfigs only validates", 1, change(
            (retention, SET, "3"), validate_only=True)),
        *see(retention, "2000"),
        *ask("IncrementalAlterConfigs of no config", 1, change()),
        *ask("IncrementalAlterConfigs of nothing", (0, 1), IncrementalAlterConfigsRequest()),
    ]  # fmt: skip


def bad_incremental_steps() -> list[Step]:
    retention = "retention.ms"
    good = (retention, SET, "5000")
    bad: dict[str, list[Op]] = {
        "an unknown key": [("no.such.key", SET, "1")],
        "an unknown key deleted": [("no.such.key", DELETE, None)],
        "an unknown key appended to": [("no.such.key", APPEND, "1")],
        "a bad number": [(retention, SET, "soon")],
        "a bad choice": [("cleanup.policy", SET, "shred")],
        "a bad choice appended": [("cleanup.policy", APPEND, "shred")],
        "a value out of range": [(retention, SET, "-2")],
        "a good and a bad one": [good, ("segment.ms", SET, "0")],
        "values in conflict": [("min.compaction.lag.ms", SET, "9"),
                               ("max.compaction.lag.ms", SET, "5")],
        "a key twice": [good, (retention, DELETE, None)],
        "null": [(retention, SET, None)],
        "null appended": [("cleanup.policy", APPEND, None)],
        "an append to a number": [(retention, APPEND, "1")],
        "a subtraction from a number": [(retention, SUBTRACT, "1")],
        "an empty key": [("", SET, "1")],
        "remote storage": [("remote.storage.enable", SET, "true")],
    }  # fmt: skip
    twice = IncrementalAlterConfigsRequest([changed(good), changed(good)], False)
    mixed = [changed(good, name="nowhere"), changed(("segment.ms", SET, "7000"))]
    return [
        *(step for what, ops in bad.items()
          for step in ask(f"IncrementalAlterConfigs with {what}", 1, change(*ops))),
        *ask("IncrementalAlterConfigs of an unknown operation", 1, change((retention, 9, "1"))),
        *ask("IncrementalAlterConfigs of an unknown topic", (0, 1), change(good, name="nowhere")),
        *ask("IncrementalAlterConfigs badly of an unknown topic", 1, change(
            (retention, SET, "soon"), name="nowhere")),
        *ask("IncrementalAlterConfigs of a bad topic", 1, change(good, name="b@d")),
        *ask("IncrementalAlterConfigs of all topics", 1, change(good, name="")),
        *ask("IncrementalAlterConfigs of a topic twice", 1, twice),
        *ask("IncrementalAlterConfigs of a good and a bad topic", 1,
             IncrementalAlterConfigsRequest(mixed, False)),
        *see("segment.ms", "7000"),
        *see(retention, "2000"),
        *(step for kind in (0, 1, 3, 99) for step in ask(
            f"IncrementalAlterConfigs of resource type {kind}", 1, change(good, kind=kind))),
        *ask("IncrementalAlterConfigs of a nonsense type twice", 1, IncrementalAlterConfigsRequest(
            [changed(good, kind=99), changed(good, kind=99)], False)),
    ]  # fmt: skip


def incremental_broker_steps() -> list[Step]:
    def broker(
        *ops: Op, name: str = "1", validate_only: bool = False
    ) -> IncrementalAlterConfigsRequest:
        return change(*ops, kind=BROKER_RESOURCE, name=name, validate_only=validate_only)

    threads = "background.threads"
    good = (threads, SET, "11")
    bad: dict[str, list[Op]] = {
        "a read-only key": [("num.partitions", SET, "3")],
        "two read-only keys": [("num.partitions", SET, "3"), ("node.id", SET, "3")],
        "a read-only key deleted": [("num.partitions", DELETE, None)],
        "a bad number": [(threads, SET, "many")],
        "a number out of range": [(threads, SET, "0")],
        "an append to a number": [(threads, APPEND, "1")],
        "an unknown operation": [(threads, 9, "1")],
        "null": [(threads, SET, None)],
        "a key twice": [good, good],
        "a bad choice": [("log.cleanup.policy", APPEND, "shred")],
        "an unknown key appended to": [("no.such.key", APPEND, "1")],
        "too few threads": [(threads, SET, "4")],
        "too many threads": [(threads, SET, "21")],
        "no retention": [("log.retention.ms", SET, "0")],
        "a negative jitter": [("log.roll.jitter.ms", SET, "-1")],
        "no roll time": [("log.roll.ms", SET, "0")],
        "its own in-sync minimum": [("min.insync.replicas", SET, "2")],
        "a security key": [("ssl.keystore.type", SET, "PEM")],
    }
    return [
        *ask("IncrementalAlterConfigs of a broker", (0, 1), broker(good)),
        *see(threads, "11", BROKER_RESOURCE, "1"),
        *ask("IncrementalAlterConfigs clears a topic's list", 1, change(
            ("cleanup.policy", DELETE, None))),
        *ask("IncrementalAlterConfigs of all brokers", 1, broker(
            ("log.cleanup.policy", APPEND, "compact"), name="")),
        *see("log.cleanup.policy", "delete,compact", BROKER_RESOURCE, ""),
        *see("cleanup.policy", "delete,compact"),
        *ask("IncrementalAlterConfigs appends to the default, not to what brokers set", 1, change(
            ("cleanup.policy", APPEND, "compact"))),
        *ask("IncrementalAlterConfigs subtracts from all brokers", 1, broker(
            ("log.cleanup.policy", SUBTRACT, "delete"), name="")),
        *see("log.cleanup.policy", "compact", BROKER_RESOURCE, ""),
        *ask("IncrementalAlterConfigs deletes of all brokers", 1, broker(
            ("log.cleanup.policy", DELETE, None), name="")),
        *see("log.cleanup.policy", None, BROKER_RESOURCE, "", listed=False),
        *ask("IncrementalAlterConfigs of a topic again", 1, change(
            ("cleanup.policy", DELETE, None))),
        *see("cleanup.policy", "delete"),
        *(step for what, ops in bad.items()
          for step in ask(f"IncrementalAlterConfigs of a broker with {what}", 1, broker(*ops))),
        *ask("IncrementalAlterConfigs of a custom key", 1, broker(("no.such.key", SET, "1"))),
        *see("no.such.key", None, BROKER_RESOURCE, "1"),
        *ask("IncrementalAlterConfigs removes a custom key", 1, broker(
            ("no.such.key", DELETE, None))),
        *ask("IncrementalAlterConfigs of a broker, validated", 1, broker(
            (threads, SET, "12"), validate_only=True)),
        *ask("IncrementalAlterConfigs deletes of a broker", 1, broker((threads, DELETE, None))),
        *see(threads, "10", BROKER_RESOURCE, "1"),
        *ask("IncrementalAlterConfigs of all brokers, one's key", 1, broker(
            ("listener.name.plaintext.ssl.keystore.type", SET, "PEM"), name="")),
        *ask("IncrementalAlterConfigs takes the in-sync minimum away", 1, broker(
            ("min.insync.replicas", DELETE, None), name="")),
        *ask("IncrementalAlterConfigs of another broker", 1, broker(good, name="7")),
        *ask("IncrementalAlterConfigs of a named broker", 1, broker(good, name="one")),
        *ask("IncrementalAlterConfigs of a negative broker", 1, broker(good, name="-1")),
    ]  # fmt: skip


def legacy_steps() -> list[Step]:
    retention = ("retention.ms", "4000")
    bad: dict[str, AlterConfigsRequest] = {
        "an unknown key": replace(("no.such.key", "1")),
        "a bad number": replace(("retention.ms", "soon")),
        "null": replace(("retention.ms", None)),
        "a key twice": replace(retention, retention),
        "an unknown topic": replace(retention, name="nowhere"),
        "a bad topic": replace(retention, name="b@d"),
        "all topics": replace(retention, name=""),
        "nonsense": replace(retention, kind=99),
        "a logger": replace(("root", "INFO"), kind=LOGGER_RESOURCE, name="1"),
        "another broker": replace(("background.threads", "9"), kind=BROKER_RESOURCE, name="7"),
        "a read-only key": replace(("num.partitions", "9"), kind=BROKER_RESOURCE, name="1"),
        "nothing": AlterConfigsRequest(),
    }
    return [
        *ask("AlterConfigs", range(3), replace(retention)),
        *see("retention.ms", "4000"),
        *see("segment.ms", "604800000"),
        *ask("AlterConfigs only validates", 2, replace(validate_only=True)),
        *see("retention.ms", "4000"),
        *(step for what, request in bad.items()
          for step in ask(f"AlterConfigs with {what}", (0, 2), request)),
        *ask("AlterConfigs of a broker", 2, replace(
            ("background.threads", "12"), kind=BROKER_RESOURCE, name="1")),
        *see("background.threads", "12", BROKER_RESOURCE, "1"),
        *ask("AlterConfigs to none of a broker", 2, replace(kind=BROKER_RESOURCE, name="1")),
        *see("background.threads", "10", BROKER_RESOURCE, "1"),
        *ask("AlterConfigs to none", 2, replace()),
        *see("retention.ms", "-1"),
    ]  # fmt: skip


def list_config_resources_steps() -> list[Step]:
    def of(*kinds: int) -> ListConfigResourcesRequest:
        return ListConfigResourcesRequest(list(kinds))

    return [
        *ask("ListConfigResources", (0, 1), of()),
        *(step for kind in (TOPIC_RESOURCE, BROKER_RESOURCE, LOGGER_RESOURCE,
                            CLIENT_METRICS_RESOURCE, GROUP_RESOURCE, 0, 99)
          for step in ask(f"ListConfigResources of type {kind}", 1, of(kind))),
        *ask("ListConfigResources of two types", 1, of(BROKER_RESOURCE, TOPIC_RESOURCE)),
        *ask("ListConfigResources of a type twice", 1, of(BROKER_RESOURCE, BROKER_RESOURCE)),
        *ask("ListConfigResources, one unknown", 1, of(TOPIC_RESOURCE, 99)),
    ]  # fmt: skip
