"""Control records of a raft log: who leads, who votes, by which version (KIP-595, KIP-853).

They lie in control batches; the key of each is a version (0) and its type, both int16
(CONTROL_RECORDS).
"""

# A declared class makes its list defaults anew for each instance.
from __future__ import annotations

from typing import Annotated, Final

from mockbroker_protocol.schema import (
    ZERO_UUID,
    V,
    field,
    int16,
    int32,
    message,
    struct,
    uint16,
    uuid,
)


@message(versions=(0, 1), flexible=0)
class LeaderChangeMessage:
    """A leader begins its epoch."""

    version: int16 = 0
    leader_id: int32 = 0
    voters: list[LeaderChangeVoter] = []
    granting_voters: list[LeaderChangeVoter] = []


@struct
class LeaderChangeVoter:
    """A voter."""

    voter_id: int32 = 0
    voter_directory_id: Annotated[uuid, V(since=1)] = ZERO_UUID


@message(versions=(0, 0), flexible=0)
class KRaftVersionRecord:
    """The raft protocol's version: 1 knows voters by id and directory."""

    version: int16 = 0
    kraft_version: int16 = 0


@struct
class VoterKRaftVersions:
    """The versions of kraft.version that a voter supports."""

    min_supported_version: int16 = 0
    max_supported_version: int16 = 0


@message(versions=(0, 0), flexible=0)
class VotersRecord:
    """The voters, with where they listen."""

    version: int16 = 0
    voters: list[Voter] = []


@struct
class Voter:
    """A voter, where it listens and what it supports."""

    voter_id: int32 = 0
    voter_directory_id: uuid = ZERO_UUID
    endpoints: list[VoterEndpoint] = []
    kraft_version_feature: VoterKRaftVersions = field(default_factory=VoterKRaftVersions)


@struct
class VoterEndpoint:
    """A listener of a voter."""

    name: str = ""
    host: str = ""
    port: uint16 = 0


CONTROL_RECORDS: Final[dict[int, type]] = {
    2: LeaderChangeMessage,
    5: KRaftVersionRecord,
    6: VotersRecord,
}
"""Type of a control record → its class."""
