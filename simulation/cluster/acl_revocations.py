"""A fault rule that takes ACLs away, met by a principal that they are about.

What is gone then are the ACLs by which the principal, by its name, was allowed the operation on
what it asked for (`revoke_acl`); those of everybody, those that deny and those of others stay. The
rule fires once, and only where there is something to lose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Protocol, TypeVar

from mockbroker.faults.presets import parse
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from simulation.cluster import acl_rules as rules

if TYPE_CHECKING:
    from mockbroker.metadata.acls import Acl
    from mockbroker.node.broker import Broker
    from simulation.cluster.world import ClusterWorld

T = TypeVar("T")
OPERATIONS: Final = ("ANY", "READ", "DESCRIBE", "ALTER_CONFIGS")
VERSION: Final = 9


class Asker(rules.Asker, Protocol):
    """An ACL checker, as far as rules are met: its client id, and as whom it reads."""

    world: ClusterWorld
    name: str
    reader: str


def revoke(checker: Asker, broker: Broker) -> None:
    """Arm a rule at a broker, have the checker's reader meet it, and see which ACLs are gone."""
    world, rng, reader = checker.world, checker.rng, checker.reader
    name = rng.choice(("la", "lab", *checker.topics))
    operation, stage = rng.choice(OPERATIONS), rng.choice(("before", "after"))
    rule: dict[str, object] = {
        "api": "Metadata", "topic": name, "client": checker.name, "revoke_acl": operation,
        "stage": stage, "count": 1,
    }  # fmt: skip
    made: list[str] = []
    faults = world.cluster.faults
    world.operate(lambda: made.extend(faults.add(*parse([rule]))))
    there = {*world.cluster.metadata.acls}
    lost = {
        acl
        for acl in broker.services.metadata.acls  # those that it has heard of
        if is_lost(acl, reader, operation, name)
    }
    request = MetadataRequest([MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    checker.asked_as(broker, reader, request, VERSION, MetadataResponse)
    world.operate(lambda: None)
    what = f"what {operation} of {name} leaves, {stage}"
    checker.expect(reader, what, {*world.cluster.metadata.acls}, there - lost)
    removed: list[int] = []
    world.operate(lambda: removed.append(faults.remove(made[0]).hits))
    checker.expect(reader, "the hits of the rule", removed, [int(bool(lost))])


def is_lost(acl: Acl, principal: str, operation: str, topic: str) -> bool:
    """Whether a rule takes it from this principal, who asks for a topic."""
    return (
        acl.principal == principal
        and acl.permission == rules.ALLOW
        and acl.resource_type == rules.TOPIC
        and rules.is_about(acl, topic)
        and (operation == "ANY" or acl.operation in (rules.ALL, AclOperation[operation]))
    )
