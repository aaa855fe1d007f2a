"""What differs between two snapshots, topic by topic. Called by the admin API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.metadata.acls import Acl
    from mockbroker.state.snapshot import Snapshot, TopicImage

    Entries = Mapping[object, object] | tuple[Acl, ...]


OF_THE_CLUSTER: Final = (
    "broker_configs",
    "client_quotas",
    "acls",
    "scram_credentials",
    "delegation_tokens",
    "next_producer_id",
)
"""What a snapshot has beside its topics: how many there are is told, and no secret of any."""


class Difference(NamedTuple):
    """One thing that differs; `partition` is None of a whole topic, `topic` of the cluster."""

    topic: str | None
    partition: int | None
    what: str
    before: str
    after: str


def differences(before: Snapshot, after: Snapshot) -> list[Difference]:
    """All of them, by topic; none when both are alike."""
    old = {topic.name: topic for topic in before.topics}
    new = {topic.name: topic for topic in after.topics}
    found: list[Difference] = []
    for name in sorted(old.keys() | new.keys()):
        found += _of_topic(name, old.get(name), new.get(name))
    for what in OF_THE_CLUSTER:
        was, now = getattr(before, what), getattr(after, what)
        if was != now:
            plain = what == "next_producer_id"
            texts = (str(was), str(now)) if plain else (_counted(was, now), _counted(now, was))
            found.append(Difference(None, None, what, *texts))
    return found


def _counted(entries: Entries, others: Entries) -> str:
    """How many there are, and how many of them are not, or not so, among the others."""
    if isinstance(entries, Mapping):
        assert isinstance(others, Mapping)
        own = sum(others.get(key) != value for key, value in entries.items())
    else:
        own = len(set(entries) - set(others))
    return f"{len(entries)} entries, {own} of them here alone" if own else f"{len(entries)} entries"


def _of_topic(name: str, old: TopicImage | None, new: TopicImage | None) -> Iterator[Difference]:
    if old is None or new is None:
        yield Difference(name, None, "topic", _there(old), _there(new))
        return
    if old.topic_id != new.topic_id:
        yield Difference(name, None, "topic", "was there", "made anew")
    if len(old.partitions) != len(new.partitions):
        counts = str(len(old.partitions)), str(len(new.partitions))
        yield Difference(name, None, "partitions", *counts)
    for key in sorted(old.configs.keys() | new.configs.keys()):
        was, now = old.configs.get(key, "default"), new.configs.get(key, "default")
        if was != now:
            yield Difference(name, None, key, was, now)
    for index, (was_log, now_log) in enumerate(zip(old.partitions, new.partitions, strict=False)):
        if was_log.replicas != now_log.replicas:
            replicas = str(list(was_log.replicas)), str(list(now_log.replicas))
            yield Difference(name, index, "replicas", *replicas)
        for what in ("log_start_offset", "high_watermark", "log_end_offset"):
            was_at, now_at = getattr(was_log.log, what), getattr(now_log.log, what)
            if was_at != now_at:
                yield Difference(name, index, what, str(was_at), str(now_at))
        if was_log.log[1:] == now_log.log[1:] and was_log.log.batches != now_log.log.batches:
            yield Difference(name, index, "records", "these", "others")


def _there(topic: TopicImage | None) -> str:
    return "not there" if topic is None else f"{len(topic.partitions)} partition(s)"
