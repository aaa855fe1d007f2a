"""Filters of fetches by clients that cannot send tagged fields: by their client id.

`coop.client.filters` names some: `client=topic-0:0-1073741823+1500000000-1600000000`, or keys,
`client=topic-0:key=a+key=b`; RegisterKeyRangeFilter sets others. Members of transparent groups have
theirs by their assignment, and are not given what their group has committed. Answers have no tagged
fields: the batches themselves say where to go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.coop.errors import Refusal
from mockbroker.coop.extension import extension_of
from mockbroker.coop.fetch_wants import FetchWants
from mockbroker.coop.handouts import Shared
from mockbroker.coop.key_filter import SPREAD, BadRangeError, KeyFilter, KeyRange
from mockbroker.coop.progress import progress_of
from mockbroker.coop.transparent import ranges_in
from mockbroker.log.offsets import FetchIsolation
from mockbroker_protocol.errors import ErrorCode

if TYPE_CHECKING:
    from mockbroker.apis.context import RequestContext, Services
    from mockbroker.coop.interval_set import IntervalSet
    from mockbroker.coop.transparent import Owner, TransparentGroups
    from mockbroker_protocol.messages.fetch import FetchRequest

_MALFORMED = Refusal(ErrorCode.INVALID_REQUEST)


class ClientFilter(NamedTuple):
    """What one client is given of a partition; a refusal: its config cannot be read."""

    client_id: str
    topic: str
    partition: int
    wanted: KeyFilter | Refusal


class NotDone(KeyFilter):
    """A filter that leaves out what is committed, too; without ranges, that alone."""

    __slots__ = ("_done",)

    def __init__(self, ranges: tuple[KeyRange, ...], done: IntervalSet) -> None:
        super().__init__(ranges)
        self._done = done
        self.is_exact = False
        if not ranges:
            self.reach = None

    def confirms(self, _key: bytes | None, offset: int, _null_keys: str = SPREAD) -> bool:
        """Whether a record in its ranges is not committed."""
        return not self._done.covers(offset, offset)

    def matches(self, key: bytes | None, offset: int, null_keys: str = SPREAD) -> bool:
        """Whether the record passes and is not committed."""
        if self._done.covers(offset, offset):
            return False
        return not self._lows or super().matches(key, offset, null_keys)


def read_filter(text: str) -> ClientFilter:
    """One entry of `coop.client.filters`; what follows an unreadable one's client is refused."""
    place, _, said = text.rpartition(":")
    client_id, _, partition = place.partition("=")
    topic, _, index = partition.rpartition("-")
    parts = said.split("+")
    keys = [one.removeprefix("key=").encode() for one in parts if one.startswith("key=")]
    try:
        ranges = [
            KeyRange(*map(int, one.split("-"))) for one in parts if not one.startswith("key=")
        ]
        return ClientFilter(client_id, topic, int(index), KeyFilter(ranges, keys))
    except (ValueError, TypeError, BadRangeError):
        return ClientFilter(client_id, topic, int(index) if index.isdigit() else 0, _MALFORMED)


def carried_wants(
    services: Services, ctx: RequestContext, request: FetchRequest
) -> FetchWants | None:
    """What this client's fetches are filtered by; None: by nothing."""
    config, client_id = services.config, ctx.client_id
    registered = extension_of(services).registered
    entries, groups = config.list("coop.client.filters"), config.list("coop.transparent.groups")
    if not entries and not groups and not registered.partitions:
        return None
    wants = FetchWants()
    for entry in entries:
        named = read_filter(entry)
        if named.client_id == client_id:
            _add(services, wants, named.topic, named.partition, named.wanted)
    for (topic, index), wanted in registered.of(client_id, ctx.connection_id):
        _add(services, wants, topic, index, wanted)
    for group_id in groups:
        coordinator = services.coordinator_of(group_id)
        if coordinator is not None:
            _add_shared(services, coordinator, group_id, client_id, wants, request)
    return wants if wants.filters else None


def _add_shared(
    services: Services,
    coordinator: Services,
    group_id: str,
    client_id: str,
    wants: FetchWants,
    request: FetchRequest,
) -> None:
    """What a member of a transparent group has, as what coordinates the group knows."""
    transparent = extension_of(coordinator).transparent
    owner = transparent.owners(group_id).get(client_id)
    if owner is None:
        return
    _note_beginnings(services, transparent, owner, request)
    for topic, parts in owner.assignment.items():
        for index, ranges in parts.items():
            done = _done(coordinator, group_id, topic, index)
            if ranges or done:
                _add(services, wants, topic, index, NotDone(ranges, done))


def _add(
    services: Services, wants: FetchWants, topic: str, index: int, wanted: KeyFilter | Refusal
) -> None:
    """By its name and by its id: a fetch has one of them."""
    known = services.metadata.topics.get(topic)
    wants.filters[topic, index] = wanted
    if known is not None:
        wants.filters[known.id, index] = wanted


def _done(services: Services, group: str, topic: str, index: int) -> IntervalSet:
    from mockbroker.coop.interval_set import IntervalSet

    log = services.leader_log(topic, index)
    if log is None:
        return IntervalSet()
    shared = Shared(group, topic, index)
    return progress_of(services, shared, log, FetchIsolation.HIGH_WATERMARK).done


def _note_beginnings(
    services: Services, transparent: TransparentGroups, owner: Owner, request: FetchRequest
) -> None:
    """Where a group that has committed nothing begins: at the lowest that a member asks for."""
    begun = transparent.begun
    for topic in request.topics:
        name = topic.topic or services.metadata.topic_name(topic.topic_id) or ""
        for asked in topic.partitions:
            if ranges_in(owner, name, asked.partition):
                key = owner.group, name, asked.partition
                begun[key] = min(begun.get(key, asked.fetch_offset), asked.fetch_offset)
