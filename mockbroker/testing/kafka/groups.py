"""A group of a Kafka cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.testing.group_view import GroupView
from mockbroker.testing.kafka.client import KafkaClient
from mockbroker.testing.not_supported import NotSupported

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.state.groups import Group, Sharing

    Offsets = dict[tuple[str, int], int]

__tracebackhide__ = True

_ALONE = "in Kafka a partition is read by one member of a group"


class KafkaGroupView(GroupView[KafkaClient]):
    """A group of a Kafka cluster."""

    def _describe(self, source: KafkaClient) -> Group:
        return source.describe_group(self.group_id)

    def _committed(self, source: KafkaClient) -> Offsets:
        return source.committed(self.group_id)

    def _lag(self, source: KafkaClient) -> Offsets:
        return source.lag(self.group_id)

    def _sharing(self, _: KafkaClient) -> dict[tuple[str, int], Sharing]:
        raise NotSupported("group.sharing", _ALONE)

    def _expire_leases(self, _: KafkaClient) -> int:
        raise NotSupported("group.expire_leases", _ALONE)

    def _group_ids(self, source: KafkaClient) -> list[str]:
        return source.groups()

    def _commit(self, offsets: Mapping[tuple[str, int], int]) -> Offsets:
        def commit(client: KafkaClient) -> Offsets:
            client.commit(self.group_id, offsets)
            return client.committed(self.group_id)

        return self._bridge.call(commit)

    def _delete(self, source: KafkaClient) -> None:
        source.delete_groups([self.group_id])
