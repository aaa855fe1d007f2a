"""A broker's way to the controller: requests are carried out there, their outcome heard at once.

Handlers and coordinators call it as they would call the controller itself (Kafka:
ForwardingManager). What is decided has reached this broker's own image when a call returns; the
others hear of it at the end of the step. A broker that is cut off, or whose link is held or slow,
is told that its request took too long.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, TypeVar

from mockbroker.metadata.controller import MAX_RECORDS_PER_REQUEST, Controller
from mockbroker.metadata.topic_requests import (
    UNREACHABLE,
    CreatedTopic,
    DeletedTopic,
    Refusal,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence
    from random import Random

    from mockbroker.cluster.links.link import Link
    from mockbroker.cluster.links.metadata_feed import MetadataFeed
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.acl_control import DeletedAcls
    from mockbroker.metadata.acls import Acl, AclFilter
    from mockbroker.metadata.changes import Entity, PartitionState
    from mockbroker.metadata.client_quotas import QuotaAlteration
    from mockbroker.metadata.elections import Election
    from mockbroker.metadata.features import Feature, FeatureUpdate
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.metadata.topic_requests import (
        ConfigAlteration,
        NewPartitions,
        NewTopic,
        TopicReference,
    )

T = TypeVar("T")


class ForwardingController(Controller):
    """The controller as one broker sees it."""

    __slots__ = ("_feed", "_links")

    def __init__(
        self,
        store: MetadataStore,
        config: BrokerConfig,
        rng: Random,
        feed: MetadataFeed,
        links: tuple[Link, Link],
    ) -> None:
        super().__init__(store, config, rng)
        self._feed = feed
        self._links = links

    @property
    def _reachable(self) -> bool:
        return all(link.open and link.delay_ms <= 0 for link in self._links)

    def _forward(self, carry_out: Callable[[], T], unreachable: T) -> T:
        """Let the controller carry a request out, and hear what became of it."""
        if not self._reachable:
            return unreachable
        answer = carry_out()
        self._feed.deliver()
        return answer

    def _forward_in_slices(
        self, steps: Generator[None, None, T], unreachable: Callable[[], T]
    ) -> Generator[None, None, T]:
        """As `_forward`; cut off halfway, what was done is done, and nothing is heard of it."""
        while self._reachable:
            try:
                next(steps)
            except StopIteration as end:
                self._feed.deliver()
                answer: T = end.value
                return answer
            self._feed.deliver()
            yield
        return unreachable()

    def creating_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        max_records: int = MAX_RECORDS_PER_REQUEST,
    ) -> Generator[None, None, list[CreatedTopic]]:
        return self._forward_in_slices(
            super().creating_topics(topics, validate_only=validate_only, max_records=max_records),
            lambda: [CreatedTopic(name, UNREACHABLE) for name in {t.name: None for t in topics}],
        )

    def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> list[tuple[str, Refusal]]:
        create = super().create_partitions
        return self._forward(
            lambda: create(requests, validate_only=validate_only),
            [(name, UNREACHABLE) for name in dict.fromkeys(each.name for each in requests)],
        )

    def deleting_topics(
        self, references: Sequence[TopicReference]
    ) -> Generator[None, None, list[DeletedTopic]]:
        return self._forward_in_slices(
            super().deleting_topics(references),
            lambda: [DeletedTopic(each.name, each.topic_id, UNREACHABLE) for each in references],
        )

    def alter_configs(
        self, alterations: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> list[Refusal]:
        from mockbroker.metadata.config_control import alter_configs

        image, store = self._feed.image, self._store
        return self._forward(
            lambda: alter_configs(
                image, alterations, validate_only=validate_only, controller=store
            ),
            [UNREACHABLE for _ in alterations],
        )

    def alter_client_quotas(
        self, alterations: Sequence[QuotaAlteration], *, validate_only: bool
    ) -> dict[Entity, Refusal]:
        alter = super().alter_client_quotas
        entities = (tuple(sorted(dict(each.entity).items())) for each in alterations)
        return self._forward(
            lambda: alter(alterations, validate_only=validate_only),
            dict.fromkeys(entities, UNREACHABLE),
        )

    def carry_out(
        self, decide: Callable[[MetadataStore], T], unreachable: T, *, imposed: bool = False
    ) -> T:
        carry_out = partial(super().carry_out, decide, unreachable)
        if imposed and not self._reachable:
            return carry_out()
        return self._forward(carry_out, unreachable)

    def create_acls(self, acls: Sequence[Acl]) -> list[Refusal]:
        return self._forward(partial(super().create_acls, acls), [UNREACHABLE for _ in acls])

    def delete_acls(self, filters: Sequence[AclFilter]) -> list[DeletedAcls]:
        from mockbroker.metadata.acl_control import DeletedAcls

        delete = partial(super().delete_acls, filters)
        return self._forward(delete, [DeletedAcls(UNREACHABLE, ()) for _ in filters])

    def update_features(
        self,
        updates: Sequence[FeatureUpdate],
        features: Sequence[Feature],
        node_id: int,
        *,
        validate_only: bool,
    ) -> Refusal:
        update = super().update_features
        return self._forward(
            lambda: update(updates, features, node_id, validate_only=validate_only), UNREACHABLE
        )

    def unregister_broker(self, node_id: int) -> Refusal:
        return self._forward(partial(super().unregister_broker, node_id), UNREACHABLE)

    def elect_leader(self, name: str, index: int, election: Election) -> Refusal:
        return self._forward(partial(super().elect_leader, name, index, election), UNREACHABLE)

    def reassign(
        self, name: str, index: int, target: Sequence[int] | None, *, may_change_factor: bool
    ) -> Refusal:
        reassign = super().reassign
        return self._forward(
            lambda: reassign(name, index, target, may_change_factor=may_change_factor), UNREACHABLE
        )

    def reassignments(
        self, wanted: Iterable[tuple[str, Sequence[int]]] | None
    ) -> list[tuple[str, int, PartitionState]] | Refusal:
        return super().reassignments(wanted) if self._reachable else UNREACHABLE
