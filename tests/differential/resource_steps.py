"""Configs of groups, of subscriptions to clients' metrics, and of a broker's loggers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.messages.configs import ListConfigResourcesRequest
from tests.differential.config_steps import (
    APPEND,
    CLIENT_METRICS_RESOURCE,
    DELETE,
    GROUP_RESOURCE,
    SET,
    SUBTRACT,
    change,
    replace,
    see,
)
from tests.differential.steps import ask
from tests.differential.topic_steps import LOGGER_RESOURCE

if TYPE_CHECKING:
    from tests.differential.steps import Step

GROUP, SUBSCRIPTION = "configured-group", "configured-subscription"

# Of each config of a group: values below, at, above and beside what is allowed.
GROUP_VALUES = {
    "consumer.session.timeout.ms": ("abc", "-1", "1", "70000", "45000", "60000", "2147483648"),
    "consumer.heartbeat.interval.ms": ("0", "1", "16000", "5000", "15000"),
    "consumer.assignment.interval.ms": ("-1", "0", "15000", "15001"),
    "share.session.timeout.ms": ("1", "70000", "45000"),
    "share.heartbeat.interval.ms": ("1", "20000", "6000"),
    "share.record.lock.duration.ms": ("1", "1000", "70000", "15000"),
    "share.delivery.count.limit": ("1", "2", "10", "11"),
    "share.partition.max.record.locks": ("99", "100", "5000"),
    "share.auto.offset.reset": ("x", "Earliest", "earliest", "by_duration:PT1H",
                                "by_duration:-PT1H", "by_duration:", "by_duration:P1D",
                                "by_duration:PT", "by_duration:PT1.5S", "by_duration:1h"),
    "share.isolation.level": ("x", "READ_COMMITTED", "read_committed"),
    "share.renew.acknowledge.enable": ("maybe", "FALSE"),
    "share.assignment.interval.ms": ("99999", "5"),
    "streams.session.timeout.ms": ("1", "70000", "50000"),
    "streams.heartbeat.interval.ms": ("1", "99999", "7000"),
    "streams.num.standby.replicas": ("-1", "3", "2"),
    "streams.initial.rebalance.delay.ms": ("-1", "0", "99999"),
    "streams.assignment.interval.ms": ("99999", "1"),
    "streams.assignor.name": ("nope", "sticky"),
    "streams.rack.aware.assignment.tags": ("a,b", ""),
    "errors.deadletterqueue.topic.name": ("dlq", "!!", "__x"),
    "errors.deadletterqueue.copy.record.enable": ("true", "1"),
    "no.such.key": ("1",),
}  # fmt: skip

SUBSCRIPTION_VALUES = {
    "interval.ms": ("99", "100", "3600000", "3600001", "abc", "-5"),
    "metrics": ("org.apache.kafka.,x", "*", ""),
    "match": ("client_id=a.*,client_software_name=x", "client_id", "client_id=", "=x", "foo=x",
              "client_id=[b", "client_id=a=b", "client_id=a=", "client_source_port=1", ""),
    "no.such.key": ("1",),
}  # fmt: skip

LOGGER_OPS = {
    "sets a level": ("root", SET, "DEBUG"),
    "sets no level": ("root", SET, "NOPE"),
    "sets in lower case": ("root", SET, "debug"),
    "sets another logger": ("no.such", SET, "DEBUG"),
    "deletes the root": ("root", DELETE, None),
    "deletes another logger": ("no.such", DELETE, None),
    "appends": ("root", APPEND, "x"),
    "subtracts": ("root", SUBTRACT, "x"),
    "does the unknown": ("root", 9, "x"),
    "sets null": ("root", SET, None),
    "sets again": ("root", SET, "WARN"),
}


def resource_steps() -> list[Step]:
    return [
        *named_steps("group", GROUP_RESOURCE, GROUP, GROUP_VALUES),
        *see("consumer.session.timeout.ms", "60000", GROUP_RESOURCE, GROUP),
        *see("share.auto.offset.reset", "by_duration:PT1.5S", GROUP_RESOURCE, GROUP),
        *see("streams.num.standby.replicas", "2", GROUP_RESOURCE, GROUP),
        *named_steps("subscription", CLIENT_METRICS_RESOURCE, SUBSCRIPTION, SUBSCRIPTION_VALUES),
        *see("interval.ms", "3600000", CLIENT_METRICS_RESOURCE, SUBSCRIPTION),
        *see("match", "", CLIENT_METRICS_RESOURCE, SUBSCRIPTION),
        *logger_steps(),
    ]


def named_steps(what: str, kind: int, name: str, values: dict[str, tuple[str, ...]]) -> list[Step]:
    key = next(iter(values))
    first = "60000" if kind == GROUP_RESOURCE else "1000"
    listed = ListConfigResourcesRequest([kind])
    return [
        *(step for key, texts in values.items() for text in texts
          for step in ask(f"{what} with {key}={text}", 1, change(
              (key, SET, text), kind=kind, name=name))),
        *ask(f"{what} without a name", 1, change((key, SET, first), kind=kind, name="")),
        *ask(f"{what} appends", 1, change((key, APPEND, "1"), kind=kind, name=name)),
        *ask(f"{what} subtracts", 1, change((key, SUBTRACT, "1"), kind=kind, name=name)),
        *ask(f"{what} does the unknown", 1, change((key, 9, "1"), kind=kind, name=name)),
        *ask(f"{what} with null", 1, change((key, SET, None), kind=kind, name=name)),
        *ask(f"{what} with a key twice", 1, change(
            (key, SET, first), (key, SET, first), kind=kind, name=name)),
        *ask(f"{what} with one bad of two", 1, change(
            (key, SET, first), ("no.such.key", SET, "1"), kind=kind, name=name)),
        *ask(f"{what} validated", 1, change(
            (key, SET, first), kind=kind, name=f"{name}-2", validate_only=True)),
        *ask(f"{what} replaced", 2, replace((key, first), kind=kind, name=f"{name}-3")),
        *see(key, first, kind, f"{name}-3"),
        *ask(f"{what} replaced by what is bad", 2, replace(
            ("no.such.key", "1"), kind=kind, name=name)),
        *ask(f"{what}s are listed", 1, listed,
             until=lambda answer: len(answer.config_resources) == 2),
        *ask(f"{what} loses its only config", 1, change(
            (key, DELETE, None), kind=kind, name=f"{name}-3")),
        *ask(f"{what}s are listed again", 1, listed,
             until=lambda answer: len(answer.config_resources) == 1),
    ]  # fmt: skip


def logger_steps() -> list[Step]:
    return [
        *(step for what, op in LOGGER_OPS.items()
          for step in ask(f"a logger's level: {what}", 1, change(
              op, kind=LOGGER_RESOURCE, name="1"))),
        *(step for node in ("2", "", "abc", "-1")
          for step in ask(f"a logger of node {node}", 1, change(
              ("root", SET, "INFO"), kind=LOGGER_RESOURCE, name=node))),
        *ask("a logger's level, validated", 1, change(
            ("root", SET, "TRACE"), kind=LOGGER_RESOURCE, name="1", validate_only=True)),
        *see("root", "WARN", LOGGER_RESOURCE, "1"),
    ]  # fmt: skip
