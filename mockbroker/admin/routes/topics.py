"""Topics: list, make, look at, alter, delete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from mockbroker.admin.deps import Body, Cursor, Limit, Prefix, TheHost, TopicName
from mockbroker.admin.paging import page_of
from mockbroker.admin.problems import ApiError, problems
from mockbroker.state import topics
from mockbroker.state.partitions import leading_partition
from mockbroker.state.writing import create_topic, delete_topic, no_topic
from mockbroker_protocol.primitives import uuid_text

if TYPE_CHECKING:
    from mockbroker.cluster.cluster import Cluster
    from mockbroker.metadata.changes import PartitionState

router = APIRouter(tags=["topics"])

MAX_PARTITIONS = 100_000
Configs = dict[str, str | None]
_OF_THE_LOG: Final = (
    "log_start_offset",
    "last_stable_offset",
    "high_watermark",
    "log_end_offset",
    "size_bytes",
)


class PartitionOut(BaseModel):
    """One partition. Offsets are those of its leader, null while it has none."""

    partition: int
    leader: int = Field(description="Node id of the leader, -1 without one")
    leader_epoch: int
    replicas: list[int]
    isr: list[int]
    adding: list[int] = Field(description="Replicas that a reassignment adds")
    log_start_offset: int | None
    last_stable_offset: int | None
    high_watermark: int | None
    log_end_offset: int | None
    size_bytes: int | None


class TopicOut(BaseModel):
    """One topic in a list; `records` counts offsets between log start and high watermark."""

    name: str
    topic_id: str
    internal: bool
    partitions: int
    replication_factor: int
    records: int


class TopicDetails(TopicOut):
    """One topic with its partitions, and the configs that were set on it."""

    configs: dict[str, str]
    partition_list: list[PartitionOut]


class TopicPage(BaseModel):
    """A page of topics, by name."""

    topics: list[TopicOut]
    next_cursor: str | None


class TopicIn(Body):
    """A topic to make; what is left out is the broker's default."""

    name: str = Field(min_length=1, max_length=249, examples=["orders"])
    partitions: int | None = Field(None, ge=1, le=MAX_PARTITIONS)
    replication_factor: int | None = Field(None, ge=1, le=32_767)
    configs: dict[str, str] = Field(default_factory=dict, examples=[{"retention.ms": "60000"}])


class TopicChange(Body):
    """What to change: a larger number of partitions, configs (null: back to the default)."""

    partitions: int | None = Field(None, ge=1, le=MAX_PARTITIONS)
    configs: Configs = Field(default_factory=dict)


@router.get("/topics")
async def list_topics(
    host: TheHost,
    prefix: Prefix = None,
    internal: Annotated[bool, Query(description="The coordinators' topics too")] = False,
    limit: Limit = 100,
    cursor: Cursor = None,
) -> TopicPage:
    """List topics by name."""

    def look(cluster: Cluster) -> TopicPage:
        names = topics.names(cluster, internal=internal)
        page, following = page_of(names, cursor, limit, prefix)
        found = [TopicOut(**_summary(cluster, name)) for name in page]
        return TopicPage(topics=found, next_cursor=following)

    return host.act(look)


@router.post("/topics", status_code=201, responses=problems(409))
async def make_topic(host: TheHost, topic: TopicIn) -> TopicDetails:
    """Make a topic. 409 when there is one of that name, or it cannot be made as asked."""

    def make(cluster: Cluster) -> TopicDetails:
        create_topic(cluster, topic.name, topic.partitions, topic.replication_factor, topic.configs)
        return _details(cluster, topic.name)

    return host.act(make)


@router.get("/topics/{name:name}", responses=problems(404))
async def get_topic(host: TheHost, name: TopicName) -> TopicDetails:
    """One topic with its partitions and configs."""
    return host.act(lambda cluster: _details(cluster, name))


@router.patch("/topics/{name:name}", responses=problems(404, 409))
async def change_topic(host: TheHost, name: TopicName, change: TopicChange) -> TopicDetails:
    """Add partitions, alter configs: all of it or nothing."""

    def alter(cluster: Cluster) -> TopicDetails:
        _check(cluster, name)
        topics.alter(cluster, name, change.partitions, change.configs)
        return _details(cluster, name)

    return host.act(alter)


@router.delete("/topics/{name:name}", status_code=204, responses=problems(404, 409))
async def remove_topic(host: TheHost, name: TopicName) -> None:
    """Delete a topic with its records."""

    def remove(cluster: Cluster) -> None:
        _check(cluster, name)
        delete_topic(cluster, name)

    host.act(remove)


def _check(cluster: Cluster, name: str) -> None:
    if name not in cluster.metadata.topics:
        raise ApiError(404, no_topic(cluster, name), "name")


def _details(cluster: Cluster, name: str) -> TopicDetails:
    _check(cluster, name)
    topic = cluster.metadata.topics[name]
    return TopicDetails(
        **_summary(cluster, name),
        configs=dict(topic.configs),
        partition_list=[
            _partition(cluster, name, index, state) for index, state in enumerate(topic.partitions)
        ],
    )


def _summary(cluster: Cluster, name: str) -> dict[str, Any]:
    """The fields of a TopicOut."""
    topic = cluster.metadata.topics[name]
    leaders = [leading_partition(cluster, name, index) for index in range(len(topic.partitions))]
    logs = [one.log for one in leaders if one is not None and one.log is not None]
    return {
        "name": name,
        "topic_id": uuid_text(topic.id),
        "internal": topic.internal,
        "partitions": len(topic.partitions),
        "replication_factor": len(topic.partitions[0].replicas),
        "records": sum(log.high_watermark - log.log_start_offset for log in logs),
    }


def _partition(cluster: Cluster, name: str, index: int, state: PartitionState) -> PartitionOut:
    leading = leading_partition(cluster, name, index)
    log = None if leading is None else leading.log
    # A log is made by the first write: until then all offsets are 0 at the leader.
    nothing = None if state.leader < 0 else 0
    return PartitionOut(
        partition=index,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        replicas=list(state.replicas),
        isr=list(state.isr),
        adding=list(state.adding),
        **{field: nothing if log is None else getattr(log, field) for field in _OF_THE_LOG},
    )
