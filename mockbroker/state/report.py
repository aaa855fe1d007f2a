"""What a broker knows about a test that failed, as text: requests, rules, topics and groups.

The pytest plugin puts it into the test's report; `MockBroker.report()` gives it to others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.journal import LoopBlocked
from mockbroker.state.groups import committed_offsets, describe_group, group_ids, lag
from mockbroker.state.partitions import leading_partition
from mockbroker.state.request_lines import tail, topic_names
from mockbroker_protocol.subjects import subjects_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.journal import Event

MAX_NAMES: Final = 8
MAX_PARTITIONS: Final = 12


def report(cluster: Cluster, since: int, lines: int) -> str:
    """The last requests from a cursor on, then the rules, and the topics and groups concerned."""
    topics, groups = _concerned(cluster, since)
    parts = [
        *tail(cluster.journal, since, lines),
        *blocked(cluster.journal.events()),
        *_faults(cluster),
        *(line for name in topics[:MAX_NAMES] for line in _topic(cluster, name)),
        *_left_out("topics", len(topics)),
        *(line for group in groups[:MAX_NAMES] for line in _group(cluster, group)),
        *_left_out("groups", len(groups)),
    ]
    return "\n".join(parts)


def blocked(events: Iterable[Event]) -> list[str]:
    """A line for each time that the broker served nobody for a while."""
    return [
        f"the loop was blocked for {event.blocked_ms:.0f} ms"
        + (
            f" by {event.api_name} of client {event.client_id!r}, {event.request_bytes} bytes"
            if event.api_name
            else ""
        )
        for event in events
        if isinstance(event, LoopBlocked)
    ]


def _concerned(cluster: Cluster, since: int) -> tuple[list[str], list[str]]:
    """The topics and groups that requests named, as far as they are there; the newest first."""
    topics: dict[str, None] = {}
    groups: dict[str, None] = {}
    for served in reversed(list(cluster.journal.requests(since))):
        request = served.request
        if request is not None:
            subjects = subjects_of(request)
            topics.update(dict.fromkeys(topic_names(subjects, cluster.journal)))
            groups.update(dict.fromkeys(subjects.groups))
    known = set(group_ids(cluster))
    return (
        [name for name in topics if name in cluster.metadata.topics],
        [group for group in groups if group in known],
    )


def _left_out(what: str, count: int) -> list[str]:
    return [f"and {count - MAX_NAMES} more {what}"] if count > MAX_NAMES else []


def _faults(cluster: Cluster) -> Iterator[str]:
    for armed in cluster.faults.list() if cluster.has_faults else ():
        rule = ", ".join(f"{name}={value!r}" for name, value in armed.fault.to_dict().items())
        held = f", {len(armed.waiting)} held back" if armed.waiting else ""
        problem = f", when: {armed.problem}" if armed.problem else ""
        yield f"fault {armed.id} ({rule}): {armed.hits} hit(s){held}{problem}"


def _topic(cluster: Cluster, name: str) -> Iterator[str]:
    partitions = cluster.metadata.topics[name].partitions
    for index, state in enumerate(partitions[:MAX_PARTITIONS]):
        partition = leading_partition(cluster, name, index)
        log = None if partition is None else partition.log
        where = ""
        if len(cluster.metadata.brokers) > 1:
            where = f", leader {state.leader}, in-sync {list(state.isr)}"
        if log is None:
            yield f"topic {name}-{index}: nothing written{where}"
            continue
        offsets = f"offsets {log.log_start_offset} to {log.log_end_offset}"
        watermark = ""
        if log.high_watermark != log.log_end_offset:
            watermark += f", high watermark {log.high_watermark}"
        if log.last_stable_offset != log.high_watermark:
            watermark += f", last stable offset {log.last_stable_offset}"
        yield f"topic {name}-{index}: {offsets}{watermark}{where}"
    if len(partitions) > MAX_PARTITIONS:
        yield f"topic {name}: {len(partitions) - MAX_PARTITIONS} more partitions"


def _group(cluster: Cluster, group_id: str) -> Iterator[str]:
    group = describe_group(cluster, group_id)
    members = ", ".join(member.client_id for member in group.members) or "none"
    yield f"group {group_id}: {group.state}, generation {group.generation_id}, members: {members}"
    committed = committed_offsets(cluster, group_id)
    for (topic, index), behind in list(lag(cluster, group_id).items())[:MAX_PARTITIONS]:
        offset = committed.get((topic, index), "nothing")
        yield f"  {topic}-{index}: committed {offset}, {behind} behind"
