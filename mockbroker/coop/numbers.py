"""What the extension has put into numbers: its tags, its errors, its stages.

None of them is Kafka's: the tagged fields 16000 to 16031 lie at the end of what two bytes hold, far
above what Apache Kafka gives out; the errors' numbers were free when the draft was written and are
taken now, so an answer has a standard code that makes clients do what is right, and the draft's
number in the field EXT_ERROR. docs/cooperative-consumption.md has the tables.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

TABLE_VERSION: Final = 1
"""Of these numbers, as peers tell each other."""


class Tag(IntEnum):
    """Tagged fields, by what they say."""

    HELLO = 16000
    KEY_RANGES = 16001
    KEYS = 16002
    GROUP_IDENTITY = 16003
    NEXT_FETCH_OFFSET = 16004
    FILTER_STATS = 16005
    ACQUIRED_RANGES = 16006
    COOPERATIVE = 16007
    LEASE_MS = 16008
    COMMIT_RANGES = 16010
    INITIAL_OFFSET = 16011
    ISOLATION = 16012
    RELEASE_RANGES = 16013
    RENEW_RANGES = 16014
    STABLE_OFFSET = 16015
    RANGE_COUNT = 16016
    WANT_RANGES = 16020
    COMMITTED_RANGES = 16021
    PENDING_RANGES = 16022
    JOIN_CAPS = 16023
    RANGE_FETCH_ALLOWED = 16024
    HEARTBEAT_CAPS = 16025
    HEARTBEAT_RANGES = 16026
    EXT_ERROR = 16031


FIRST_TAG: Final = 16000
LAST_TAG: Final = 16031

INDIVIDUAL_COMMIT_STAGE: Final = 1
KEY_RANGE_STAGE: Final = 2
"""The stage bits of what is there."""
ASSIGNOR_STAGE: Final = 4
TRANSACTION_STAGE: Final = 8
COOPERATIVE_STAGE: Final = 16
STAGES: Final = (
    INDIVIDUAL_COMMIT_STAGE
    | KEY_RANGE_STAGE
    | ASSIGNOR_STAGE
    | TRANSACTION_STAGE
    | COOPERATIVE_STAGE
)


class DraftError(IntEnum):
    """Errors under the numbers that the draft gave them."""

    INDIVIDUAL_COMMIT_NOT_ALLOWED = 88
    TOPIC_RANGE_FETCH_NOT_ALLOWED = 89
    CONSUMER_RANGE_FETCH_NOT_ACCEPTED = 90
    INDIVIDUAL_COMMIT_TOO_OLD = 91
    MAX_INDIVIDUAL_COMMIT_REACHED = 92


PRIVATE_ERRORS: Final = 16000
"""What is added to a draft's number where `coop.error.mode` is `private`."""
