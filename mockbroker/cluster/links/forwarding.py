"""A broker's way to the controller: requests are carried out there, their outcome heard at once.

Handlers and coordinators call it as they would call the controller itself (Kafka:
ForwardingManager). What is decided has reached this broker's own image when a call returns; the
others hear of it at the end of the step. A broker that is cut off, or whose link is held or slow,
is told that its request took too long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.controller import MAX_RECORDS_PER_REQUEST, Controller
from mockbroker.metadata.topic_requests import CreatedTopic, DeletedTopic, Refusal
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from random import Random

    from mockbroker.cluster.links.link import Link
    from mockbroker.cluster.links.metadata_feed import MetadataFeed
    from mockbroker.config.broker import BrokerConfig
    from mockbroker.metadata.changes import PartitionState
    from mockbroker.metadata.elections import Election
    from mockbroker.metadata.store import MetadataStore
    from mockbroker.metadata.topic_requests import (
        ConfigAlteration,
        NewPartitions,
        NewTopic,
        TopicReference,
    )

UNREACHABLE = Refusal(
    ErrorCode.REQUEST_TIMED_OUT, "The controller cannot be reached from this broker."
)


class ForwardingController(Controller):
    """The controller as one broker sees it."""

    __slots__ = ("_feed", "_from", "_to")

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
        self._to, self._from = links

    @property
    def _reachable(self) -> bool:
        return all(link.open and link.delay_ms <= 0 for link in (self._to, self._from))

    def create_topics(
        self,
        topics: Sequence[NewTopic],
        *,
        validate_only: bool = False,
        max_records: int = MAX_RECORDS_PER_REQUEST,
    ) -> list[CreatedTopic]:
        if not self._reachable:
            return [CreatedTopic(name, UNREACHABLE) for name in {each.name: 0 for each in topics}]
        answers = super().create_topics(
            topics, validate_only=validate_only, max_records=max_records
        )
        self._feed.deliver()
        return answers

    def create_partitions(
        self, requests: Sequence[NewPartitions], *, validate_only: bool = False
    ) -> list[tuple[str, Refusal]]:
        if not self._reachable:
            return [(name, UNREACHABLE) for name in {each.name: 0 for each in requests}]
        answers = super().create_partitions(requests, validate_only=validate_only)
        self._feed.deliver()
        return answers

    def delete_topics(self, references: Sequence[TopicReference]) -> list[DeletedTopic]:
        if not self._reachable:
            return [DeletedTopic(each.name, each.topic_id, UNREACHABLE) for each in references]
        answers = super().delete_topics(references)
        self._feed.deliver()
        return answers

    def alter_configs(
        self, alterations: Sequence[ConfigAlteration], *, validate_only: bool = False
    ) -> list[Refusal]:
        from mockbroker.metadata.config_control import alter_configs

        if not self._reachable:
            return [UNREACHABLE for _ in alterations]
        image = self._feed.image
        answers = alter_configs(
            image, alterations, validate_only=validate_only, apply=self._store.apply
        )
        self._feed.deliver()
        return answers

    def unregister_broker(self, node_id: int) -> Refusal:
        if not self._reachable:
            return UNREACHABLE
        answer = super().unregister_broker(node_id)
        self._feed.deliver()
        return answer

    def elect_leader(self, name: str, index: int, election: Election) -> Refusal:
        if not self._reachable:
            return UNREACHABLE
        answer = super().elect_leader(name, index, election)
        self._feed.deliver()
        return answer

    def reassign(
        self, name: str, index: int, target: Sequence[int] | None, *, may_change_factor: bool
    ) -> Refusal:
        if not self._reachable:
            return UNREACHABLE
        answer = super().reassign(name, index, target, may_change_factor=may_change_factor)
        self._feed.deliver()
        return answer

    def reassignments(
        self, wanted: Iterable[tuple[str, Sequence[int]]] | None
    ) -> list[tuple[str, int, PartitionState]] | Refusal:
        return super().reassignments(wanted) if self._reachable else UNREACHABLE
