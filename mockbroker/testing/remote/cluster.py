"""The brokers of a cluster, and its time, over the admin API."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, cast

from mockbroker.admin.client import AdminClient, segment
from mockbroker.cluster.actions import ACTIONS
from mockbroker.cluster.controls import ClusterControls
from mockbroker.cluster.node_controls import ControlError
from mockbroker.metadata.changes import PartitionState
from mockbroker.testing.clock_view import ClockView
from mockbroker.testing.cluster_view import ClusterView
from mockbroker.testing.remote.refusals import refused_as
from mockbroker.testing.remote.topics import read_records

if TYPE_CHECKING:
    from collections.abc import Callable

    from mockbroker.network.timekeeper import TimeKeeper
    from mockbroker.state.reading import Record

__tracebackhide__ = True


class RemoteControls:
    """`ClusterControls` over the admin API: the same verbs, each an action sent there."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name not in ACTIONS:
            raise AttributeError(name)
        signature = inspect.signature(getattr(ClusterControls, name))

        def act(*args: object, **kwargs: object) -> None:
            arguments = signature.bind(None, *args, **kwargs).arguments
            del arguments["self"]
            plain = {
                field: list(value) if isinstance(value, tuple) else value
                for field, value in arguments.items()
            }
            body = {"actions": [{"action": name, **plain}]}
            with refused_as(ControlError):
                self._client.send("POST", "/v1/cluster/actions", body)

        return act

    def coordinator(self, group_id: str) -> int:
        """Who coordinates a group."""
        path = f"/v1/cluster/coordinators/{segment(group_id)}"
        node_id: int = self._client.get(path)["node_id"]
        return node_id

    def partition_state(self, topic: str, partition: int) -> PartitionState:
        """Leader, replicas and in-sync set."""
        found = self._client.find(f"/v1/topics/{segment(topic)}")
        partitions = [] if found is None else found["partition_list"]
        if not 0 <= partition < len(partitions):
            raise ControlError(f"there is no partition {topic}-{partition}")
        state = partitions[partition]
        return PartitionState(
            state["leader"],
            state["replicas"],
            state["isr"],
            state["leader_epoch"],
            adding=state["adding"],
        )


class RemoteClusterView(ClusterView[AdminClient]):
    """The brokers of a cluster elsewhere."""

    def _controls(self, source: AdminClient) -> ClusterControls:
        return cast("ClusterControls", RemoteControls(source))

    def _running(self, source: AdminClient) -> list[int]:
        brokers: list[dict[str, Any]] = source.get("/v1/cluster")["brokers"]
        return [one["node_id"] for one in brokers if one["running"]]

    def _stored(
        self, source: AdminClient, topic: str, partition: int, node_id: int
    ) -> list[Record]:
        if source.find(f"/v1/topics/{segment(topic)}") is None:
            return []
        with refused_as(ControlError):
            return list(read_records(source, topic, partition, 0, node_id=node_id))


class RemoteTimeKeeper:
    """`TimeKeeper` over the admin API, as far as a view of the clock needs it."""

    def __init__(self, client: AdminClient) -> None:
        self._client = client

    def freeze(self) -> None:
        self._move("freeze")

    def unfreeze(self) -> None:
        self._move("unfreeze")

    def advance(self, by_ms: float, *, wall: bool = True) -> None:
        self._move("advance", {"ms": by_ms, "wall": wall})

    def jump(self, by_ms: float) -> None:
        self._move("jump", {"ms": by_ms})

    def set_rate(self, rate: float) -> None:
        with refused_as(ValueError):
            self._client.send("PUT", "/v1/clock/rate", {"rate": rate})

    @property
    def rate(self) -> float:
        return float(self._look("rate"))

    @property
    def frozen(self) -> bool:
        return bool(self._look("frozen"))

    def now_ms(self) -> float:
        return float(self._look("now_ms"))

    @property
    def wall_ms(self) -> int:
        return int(self._look("wall_ms"))

    def _look(self, field: str) -> Any:  # noqa: ANN401 -- a number or a yes
        return self._client.get("/v1/clock")[field]

    def _move(self, verb: str, body: dict[str, object] | None = None) -> None:
        with refused_as(ValueError):
            self._client.send("POST", f"/v1/clock/{verb}", body, wait_seconds=600)


class RemoteClockView(ClockView[AdminClient]):
    """The time of a broker elsewhere."""

    def _timekeeper(self, source: AdminClient) -> TimeKeeper:
        return cast("TimeKeeper", RemoteTimeKeeper(source))
