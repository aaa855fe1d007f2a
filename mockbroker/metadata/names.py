"""Names and ids of topics: what is valid, what collides, what is internal.

Pure functions, called by the controller and by the handlers of Metadata and DescribeConfigs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker_protocol.primitives import ZERO_UUID, uuid_text

if TYPE_CHECKING:
    from random import Random

    from mockbroker.config.broker import BrokerConfig

GROUP_METADATA_TOPIC: Final = "__consumer_offsets"
TRANSACTION_STATE_TOPIC: Final = "__transaction_state"
SHARE_GROUP_STATE_TOPIC: Final = "__share_group_state"
INDIVIDUAL_COMMITS_TOPIC: Final = "__individual_commit_offsets"
BESIDE_GROUPS: Final = (INDIVIDUAL_COMMITS_TOPIC,)
"""Topics whose partitions belong to who coordinates the same partition of the groups' topic."""
CLUSTER_METADATA_TOPIC: Final = "__cluster_metadata"

INTERNAL_TOPICS: Final = frozenset(
    {GROUP_METADATA_TOPIC, TRANSACTION_STATE_TOPIC, SHARE_GROUP_STATE_TOPIC}
)

_MAX_NAME_LENGTH: Final = 249
_PUNCTUATION: Final = str.maketrans("", "", "._-")
NO_TOPIC_ID: Final = ZERO_UUID
CLUSTER_METADATA_TOPIC_ID: Final = bytes(15) + b"\x01"
RESERVED_IDS: Final = frozenset({NO_TOPIC_ID, CLUSTER_METADATA_TOPIC_ID})


def invalid_topic_name(name: str) -> str | None:
    """Why the name is not allowed, in the words that clients are sent; None when it is fine.

    Kafka: Topic.validate.
    """
    if not name:
        return "Topic name is invalid: the empty string is not allowed"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > _MAX_NAME_LENGTH:
        return (
            f"Topic name is invalid: the length of '{name}' is longer than the max allowed "
            f"length {_MAX_NAME_LENGTH}"
        )
    letters = name.translate(_PUNCTUATION)
    if name.isascii() and (not letters or letters.isalnum()):
        return None
    return (
        f"Topic name is invalid: '{name}' contains one or more characters other than "
        "ASCII alphanumerics, '.', '_' and '-'"
    )


def is_internal(name: str, config: BrokerConfig) -> bool:
    """Whether the topic belongs to a coordinator (Kafka: Topic.isInternal).

    That of individual commits does where there are such; elsewhere the name is like any other.
    """
    if name == INDIVIDUAL_COMMITS_TOPIC:
        return config.bool("coop.extension.enable")
    return name in INTERNAL_TOPICS


def unified_name(name: str) -> str:
    """The name with '.' as '_': topics equal in it collide in metric names."""
    return name.replace(".", "_")


def random_uuid(rng: Random) -> bytes:
    """A random id: a version 4 UUID that is not reserved (Kafka: Uuid.randomUuid).

    Its text never begins with '-', so that it can stand on a command line.
    """
    while True:
        bits = rng.getrandbits(128)
        bits = bits & ~(0xF << 76) | 0x4 << 76
        bits = bits & ~(0x3 << 62) | 0x2 << 62
        value = bits.to_bytes(16, "big")
        if value not in RESERVED_IDS and not uuid_text(value).startswith("-"):
            return value
