"""How the controller's decisions reach one broker: its own image, fed by ordered changes.

The controller's store tells every feed of each change; a feed applies them to its broker's image
over the link from the controller (Kafka: the metadata log as a broker's observer replays it). While
that link is cut or held the broker lives on with what it knows, and may lead what others lead by
now; afterwards it gets all that it missed, in order.

Invariant: the image is the controller's store as of some earlier change.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from mockbroker.metadata.changes import (
    AclsChanged,
    BrokerChanged,
    ClientQuotasChanged,
    ConfigsChanged,
    DelegationTokenChanged,
    FeatureChanged,
    ScramCredentialChanged,
    TopicCreated,
)
from mockbroker.metadata.store import RESOURCE_BROKER, RESOURCE_BROKER_LOGGER, MetadataStore

if TYPE_CHECKING:
    from mockbroker.clock import Clock, Timer
    from mockbroker.cluster.links.link import Link
    from mockbroker.metadata.changes import Change


class MetadataFeed:
    """The changes on their way to `image`. `ready` says that `deliver` has something to apply."""

    def __init__(self, link: Link, image: MetadataStore, clock: Clock, timer: Timer) -> None:
        self._link = link
        self._clock = clock
        self._timer = timer
        self.image = image
        self.ready = False
        self._pending: deque[tuple[float, Change]] = deque()
        link.on_open.append(self._wake)

    def publish(self, change: Change) -> None:
        """The controller decided something."""
        due_ms = self._clock.now_ms + self._link.delay_ms
        if self._pending:
            due_ms = max(due_ms, self._pending[-1][0])
        self._pending.append((due_ms, change))
        if due_ms > self._clock.now_ms:
            self._timer.schedule(due_ms, self._wake)
        else:
            self.ready = True

    def deliver(self) -> None:
        """Apply what has arrived by now."""
        self.ready = False
        now_ms = self._clock.now_ms
        pending = self._pending
        while pending and self._link.open and pending[0][0] <= now_ms:
            self.image.apply(pending.popleft()[1])

    @property
    def behind(self) -> int:
        """How many changes this broker has not heard of."""
        return len(self._pending)

    def close(self) -> None:
        """Its broker is gone."""
        self._pending.clear()
        self._link.on_open.remove(self._wake)
        self.ready = False

    def _wake(self) -> None:
        self.ready = True


def copy_of(store: MetadataStore, image: MetadataStore) -> MetadataStore:
    """Bring an empty image to what the store has now, as a snapshot would."""
    for broker in store.brokers.values():
        image.apply(BrokerChanged(broker))
    defaults = store.config.dynamic(cluster_default=True)
    image.apply(ConfigsChanged(RESOURCE_BROKER, "", defaults))
    for resource_type, by_name in store.resource_configs.items():
        for name, configs in by_name.items():
            image.apply(ConfigsChanged(resource_type, name, configs))
    image.apply(ConfigsChanged(RESOURCE_BROKER_LOGGER, "", store.log_levels))
    image.apply(AclsChanged(tuple(store.acls), ()))
    for entity, values in store.client_quotas.items():
        image.apply(ClientQuotasChanged(entity, values))
    for user, credential in store.scram_credentials.items():
        image.apply(ScramCredentialChanged(user, credential))
    for token in store.delegation_tokens.values():
        image.apply(DelegationTokenChanged(token.token_id, token))
    for feature in {**image.features, **store.features}:
        image.apply(FeatureChanged(feature, store.features.get(feature, 0)))
    for topic in store.topics.values():
        image.apply(TopicCreated(topic.name, topic.id, list(topic.partitions), topic.configs))
    # Coordinators write down which version they looked at, and others compare it with theirs.
    image.version = store.version
    return image
