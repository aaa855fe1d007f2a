"""What classic members put into each other's bytes, and how their leader assigns.

An eager group is dealt out anew in each generation. A cooperative one keeps what members say that
they have, and what must go from one to another is of nobody for one generation (KIP-429).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from mockbroker_protocol.messages.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    ConsumerProtocolTopicPartition,
)
from mockbroker_protocol.plan import decode, encode

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mockbroker_protocol.messages.group_membership import JoinGroupResponseMember
    from simulation.cluster.group_book import Part

T = TypeVar("T")
VERSION = 3
COOPERATIVE = "cooperative-sticky"
EAGER = "range"


def subscription_bytes(topics: Iterable[str], owned: Iterable[Part], generation: int) -> bytes:
    """A member's metadata."""
    return _bytes(ConsumerProtocolSubscription(list(topics), None, _by_topic(owned), generation))


def assignment_bytes(parts: Iterable[Part]) -> bytes:
    """What a leader gives to a member."""
    return _bytes(ConsumerProtocolAssignment(_by_topic(parts)))


def read_assignment(data: bytes) -> list[Part]:
    """What a member was given; no bytes are no partitions."""
    if not data:
        return []
    return _parts(_read(ConsumerProtocolAssignment, data).assigned_partitions)


def assign(
    protocol: str, members: list[JoinGroupResponseMember], parts: list[Part]
) -> dict[str, list[Part]]:
    """The leader's answer to who joined."""
    ids = sorted(member.member_id for member in members)
    dealt = {part: ids[number % len(ids)] for number, part in enumerate(sorted(parts))}
    if protocol == COOPERATIVE:
        _keep(dealt, members)
    assignment: dict[str, list[Part]] = {member_id: [] for member_id in ids}
    for part, member_id in dealt.items():
        assignment[member_id].append(part)
    return assignment


def _keep(dealt: dict[Part, str], members: list[JoinGroupResponseMember]) -> None:
    """What somebody else has is dealt to nobody now; of two who say so the later one has it."""
    owners: dict[Part, tuple[int, str]] = {}
    for member in members:
        told = _read(ConsumerProtocolSubscription, member.metadata)
        for part in _parts(told.owned_partitions):
            owners[part] = max(owners.get(part, (-2, "")), (told.generation_id, member.member_id))
    for part, (_, owner) in owners.items():
        if part in dealt and dealt[part] != owner:
            del dealt[part]


def _by_topic(parts: Iterable[Part]) -> list[ConsumerProtocolTopicPartition]:
    topics: dict[str, list[int]] = {}
    for topic, index in parts:
        topics.setdefault(topic, []).append(index)
    return [ConsumerProtocolTopicPartition(topic, indexes) for topic, indexes in topics.items()]


def _parts(topics: list[ConsumerProtocolTopicPartition]) -> list[Part]:
    return [(topic.topic, index) for topic in topics for index in topic.partitions]


def _bytes(message: object) -> bytes:
    return VERSION.to_bytes(2, "big") + b"".join(encode(message, VERSION))


def _read(kind: type[T], data: bytes) -> T:
    return decode(kind, int.from_bytes(data[:2], "big"), data, 2)[0]
