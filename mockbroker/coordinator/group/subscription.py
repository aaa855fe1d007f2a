"""Which topics a group of consumers reads: the only look into its opaque metadata.

`classic_group` calls this at each generation, for OffsetDelete and for the expiry of offsets
(ClassicGroup.computeSubscribedTopics).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.consumer_protocol import ConsumerProtocolSubscription
from mockbroker_protocol.plan import decode

if TYPE_CHECKING:
    from collections.abc import Iterable

_VERSION_BYTES = 2


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """The union of all topics; None when one of them is no consumer's subscription."""
    topics: set[str] = set()
    for subscription in subscriptions:
        if len(subscription) < _VERSION_BYTES:
            return None
        try:
            # Version 0 is the beginning of every later version.
            decoded, _ = decode(ConsumerProtocolSubscription, 0, subscription, _VERSION_BYTES)
        except ProtocolError:
            return None
        topics.update(decoded.topics)
    return frozenset(topics)
