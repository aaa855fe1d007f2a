"""The bit fields are those that Apache Kafka answers when nobody is denied anything."""

from __future__ import annotations

from mockbroker.metadata.authorized_operations import (
    CLUSTER_OPERATIONS,
    GROUP_OPERATIONS,
    NOT_ASKED,
    TOPIC_OPERATIONS,
)


def test_bit_fields() -> None:
    assert TOPIC_OPERATIONS == 3576
    assert CLUSTER_OPERATIONS == 8096
    assert GROUP_OPERATIONS == 3400
    assert NOT_ASKED == -2147483648
