"""A group over the admin API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mockbroker.admin.client import AdminClient, segment
from mockbroker.state.groups import DEAD, Group, GroupError, Lease, Member, Piece, Sharing
from mockbroker.testing.group_view import GroupView
from mockbroker.testing.remote.refusals import refused_as

if TYPE_CHECKING:
    from collections.abc import Mapping

    Offsets = dict[tuple[str, int], int]

__tracebackhide__ = True


class RemoteGroupView(GroupView[AdminClient]):
    """A group of a broker elsewhere."""

    @property
    def _path(self) -> str:
        return f"/v1/groups/{segment(self.group_id)}"

    def _describe(self, source: AdminClient) -> Group:
        found = source.find(self._path)
        if found is None:
            return Group(self.group_id, DEAD, -1, "", [])
        return Group(
            self.group_id,
            found["state"],
            found["generation_id"],
            found["protocol"],
            [Member(**member) for member in found["member_list"]],
            found["type"],
        )

    def _committed(self, source: AdminClient) -> Offsets:
        return _offsets(source.find(self._path), "offset")

    def _lag(self, source: AdminClient) -> Offsets:
        return _offsets(source.find(self._path), "lag")

    def _sharing(self, source: AdminClient) -> dict[tuple[str, int], Sharing]:
        return {
            (one.pop("topic"), one.pop("partition")): _sharing_of(one)
            for one in source.get(f"{self._path}/sharing")["partitions"]
        }

    def _expire_leases(self, source: AdminClient) -> int:
        ended: int = source.send("POST", f"{self._path}/leases/expire")["ended"]
        return ended

    def _group_ids(self, source: AdminClient) -> list[str]:
        return group_ids(source)

    def _commit(self, offsets: Mapping[tuple[str, int], int]) -> Offsets:
        body = {
            "offsets": [
                {"topic": topic, "partition": index, "offset": offset}
                for (topic, index), offset in offsets.items()
            ]
        }

        def commit(client: AdminClient) -> Offsets:
            with refused_as(GroupError):
                found = client.send("PUT", f"{self._path}/offsets", body, wait_seconds=10)
            return _offsets(found, "offset")

        return self._bridge.call(commit)

    def _delete(self, source: AdminClient) -> None:
        if source.find(self._path) is not None:
            source.send("DELETE", self._path)


def group_ids(client: AdminClient) -> list[str]:
    """The groups that there are, in order."""
    return [group["group_id"] for group in client.pages("/v1/groups", "groups")]


def _sharing_of(told: Mapping[str, Any]) -> Sharing:
    ranges = {name: [tuple(each) for each in told[name]] for name in ("ranges", "pending")}
    owners = {member: [tuple(each) for each in slots] for member, slots in told["owners"].items()}
    return Sharing(
        told["stable"],
        ranges["ranges"],
        ranges["pending"],
        owners,
        told["marker"],
        [Lease(**each) for each in told["leases"]],
        [Piece(**each) for each in told["free"]],
        [Piece(**each) for each in told["given_up"]],
    )


def _offsets(group: Mapping[str, Any] | None, field: str) -> Offsets:
    """What a group has in a field of each of its partitions."""
    found = () if group is None else group["offsets"]
    return {(one["topic"], one["partition"]): one[field] for one in found if one[field] is not None}
