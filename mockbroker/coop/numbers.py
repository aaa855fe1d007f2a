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
    NEXT_FETCH_OFFSET = 16004
    FILTER_STATS = 16005
    COOPERATIVE = 16007
    EXT_ERROR = 16031


FIRST_TAG: Final = 16000
LAST_TAG: Final = 16031

KEY_RANGE_STAGE: Final = 2
"""The stage bit of key-filtered fetches; the other stages are not there yet."""
STAGES: Final = KEY_RANGE_STAGE


class DraftError(IntEnum):
    """Errors under the numbers that the draft gave them."""

    TOPIC_RANGE_FETCH_NOT_ALLOWED = 89
    CONSUMER_RANGE_FETCH_NOT_ACCEPTED = 90
