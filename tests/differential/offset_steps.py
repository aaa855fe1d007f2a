"""Committed offsets: OffsetCommit, OffsetFetch, OffsetDelete, from inside a group and outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
)
from mockbroker_protocol.schema import ZERO_UUID
from tests.differential.steps import NotLearnedError, ask
from tests.differential.topic_steps import UNKNOWN_ID

if TYPE_CHECKING:
    from random import Random

    from tests.differential.steps import Known, Step

COMMIT_VERSIONS, FETCH_VERSIONS = range(2, 11), range(1, 11)


def topic_id(known: Known, name: str) -> bytes:
    """Unknown names get an id that no topic has."""
    try:
        found: bytes = known[f"id of {name}"]
    except NotLearnedError:
        return UNKNOWN_ID if name else ZERO_UUID
    return found


def commit(
    group: str,
    *offsets: tuple[str, int, int],
    member: str = "",
    generation: int | None = None,
    metadata: str | None = "",
    leader_epoch: int = -1,
) -> Any:
    """Offsets as (topic, partition, offset); `member` is a learned one or an id as it is."""

    def build(known: Known) -> OffsetCommitRequest:
        member_id, number = member, -1 if generation is None else generation
        if member.endswith(" member"):
            member_id = known[member]
            number = known["generation"] if generation is None else generation
        topics = [
            OffsetCommitRequestTopic(
                name,
                topic_id(known, name),
                [OffsetCommitRequestPartition(index, offset, leader_epoch, metadata)],
            )
            for name, index, offset in offsets
        ]
        return OffsetCommitRequest(group, number, member_id, None, -1, topics)

    return build


def fetch(
    group: str,
    topics: dict[str, list[int]] | None,
    *,
    stable: bool = False,
    member: str | None = None,
    epoch: int = -1,
) -> Any:
    def build(known: Known) -> OffsetFetchRequest:
        old = new = None
        if topics is not None:
            old = [OffsetFetchRequestTopic(name, list(parts)) for name, parts in topics.items()]
            new = [
                OffsetFetchRequestTopics(name, topic_id(known, name), list(parts))
                for name, parts in topics.items()
            ]
        wanted = OffsetFetchRequestGroup(group, member, epoch, new)
        return OffsetFetchRequest(group, old, [wanted], stable)

    return build


def commit_steps(random: Random) -> list[Step]:
    steps: list[Step] = []
    for version in COMMIT_VERSIONS:
        offset = random.randrange(1, 1000)
        steps += ask("OffsetCommit", version, commit("alone", ("records", version % 4, offset)))
    versions = (2, 6, 9, 10)
    return [
        *steps,
        *ask("OffsetCommit with metadata", versions, commit(
            "alone", ("records", 0, 7), metadata="note", leader_epoch=3)),
        *ask("OffsetCommit with null metadata", versions, commit(
            "alone", ("records", 1, 8), metadata=None)),
        *ask("OffsetCommit with much metadata", versions, commit(
            "alone", ("records", 1, 9), metadata="m" * 5000)),
        *ask("OffsetCommit of a negative offset", versions, commit("alone", ("records", 2, -5))),
        *ask("OffsetCommit to unknown topics", versions, commit(
            "alone", ("nowhere", 0, 1), ("records", 3, 4))),
        *ask("OffsetCommit to an unknown partition", versions, commit("alone", ("records", 9, 1))),
        *ask("OffsetCommit of nothing", versions, commit("alone")),
        *ask("OffsetCommit of no group", versions, commit("", ("records", 0, 1))),
        *ask("OffsetCommit by nobody", versions, commit(
            "alone", ("records", 0, 1), member="nobody", generation=3)),
        *ask("OffsetCommit in no group's generation", versions, commit(
            "unheard-of", ("records", 0, 1), member="nobody", generation=3)),
    ]  # fmt: skip


def fetch_steps() -> list[Step]:
    many = [
        OffsetFetchRequestGroup("alone", None, -1, None),
        OffsetFetchRequestGroup("unheard-of", None, -1, None),
        OffsetFetchRequestGroup("", None, -1, None),
    ]
    return [
        *ask("OffsetFetch", FETCH_VERSIONS, fetch("alone", {"records": [0, 1, 2, 3]})),
        *ask("OffsetFetch of all", (2, 5, 7, 8, 9, 10), fetch("alone", None)),
        *ask("OffsetFetch of none", (1, 2, 7, 8, 10), fetch("alone", {})),
        *ask("OffsetFetch of unknown ones", (1, 5, 8, 10), fetch(
            "alone", {"nowhere": [0], "records": [9, 0]})),
        *ask("OffsetFetch of an unknown group", (1, 5, 8, 10), fetch(
            "unheard-of", {"records": [0]})),
        *ask("OffsetFetch of no group", (1, 2, 8), fetch("", {"records": [0]})),
        *ask("OffsetFetch of stable offsets", (7, 8, 10), fetch(
            "alone", {"records": [0]}, stable=True)),
        *ask("OffsetFetch of several groups", (8, 10), OffsetFetchRequest("", [], many, False)),
        *ask("OffsetFetch by nobody", (9, 10), fetch(
            "alone", {"records": [0]}, member="nobody", epoch=3)),
    ]  # fmt: skip


def delete_steps() -> list[Step]:
    def delete(group: str, name: str, *indexes: int) -> OffsetDeleteRequest:
        parts = [OffsetDeleteRequestPartition(index) for index in indexes]
        return OffsetDeleteRequest(group, [OffsetDeleteRequestTopic(name, parts)])

    return [
        *ask("OffsetDelete", 0, delete("alone", "records", 0, 1)),
        *ask("OffsetDelete again", 0, delete("alone", "records", 0)),
        *ask("OffsetDelete of unknown ones", 0, delete("alone", "nowhere", 0)),
        *ask("OffsetDelete of an unknown partition", 0, delete("alone", "records", 9)),
        *ask("OffsetDelete of an unknown group", 0, delete("unheard-of", "records", 0)),
        *ask("OffsetDelete of no group", 0, delete("", "records", 0)),
        *ask("OffsetFetch after the deletion", (5, 9), fetch("alone", {"records": [0, 1, 2]})),
    ]


def offset_steps(random: Random) -> list[Step]:
    return [*commit_steps(random), *fetch_steps(), *delete_steps()]
