"""What coordinators tell of offsets that are pending, or belong to a topic that was.

- Who insists on stable offsets is told none that an open transaction may change (KIP-447).
- A position that was committed in a topic of one id is none in a topic of another (KIP-848).

Both are asked past the network, of what a coordinator has at that instant.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.coordinator.group.offsets import NO_OFFSET, TopicPartitions
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.group_offsets import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
)
from mockbroker_protocol.primitives import ZERO_UUID
from simulation.cluster.refusals import Refusal

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from mockbroker.coordinator.group.shard import GroupShard
    from mockbroker.node.broker import Broker

VERSION = 7
ANOTHER = b"\x07" * 16
"""The id of a topic that there never was."""


def of_pending(shard: GroupShard) -> Iterator[Refusal]:
    """Questions about what transactions have pending, by who insists."""
    for groups in shard.offsets._pending.values():  # noqa: SLF001 -- for the audit alone
        for group, topics in groups.items():
            for topic, partitions in topics.items():
                for index in partitions:
                    asked = [OffsetFetchRequestTopic(topic, [index])]
                    yield Refusal(
                        "an OffsetFetch of what is pending",
                        OffsetFetchRequest(group, asked, require_stable=True),
                        VERSION,
                        ErrorCode.UNSTABLE_OFFSET_COMMIT,
                        lambda answer: answer.topics[0].partitions[0].error_code,
                        may_wait=True,  # for the ranges of a group that has some
                    )


def wrong_ids(broker: Broker, rng: Random) -> Iterator[str]:
    """Offsets that are told of another topic than they were committed in; one group is looked at.

    One that was committed by the topic's name alone is told whatever the id.
    """
    groups = broker.services.groups
    if not groups.in_use:
        return
    service = groups.service
    known = [
        (group, topic, index, one)
        for shard in service.runtime.committed_shards()
        for group, topics in shard.offsets._committed.items()  # noqa: SLF001
        for topic, partitions in topics.items()
        for index, one in partitions.items()
        if group not in shard.consumer_groups
    ]
    if not known:
        return
    group, topic, index, one = rng.choice(known)
    if service.runtime.shard_for(group) is None:
        return
    belongs = one.topic_id not in (ZERO_UUID, ANOTHER)
    for topic_id, wanted in ((ANOTHER, NO_OFFSET if belongs else one.offset), (one.topic_id, None)):
        asked = [TopicPartitions(topic, [index], topic_id)]
        error, found = service.offsets.fetch(group, asked, require_stable=False)
        told = None if error is not ErrorCode.NONE else found[0][1][0].offset
        if told not in (None, one.offset if wanted is None else wanted):
            yield (
                f"of {topic}-{index} with id {topic_id.hex()} {group} is told {told}, and has "
                f"committed {one.offset} with id {one.topic_id.hex()}"
            )
