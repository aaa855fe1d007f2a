"""Who watches the simulated cluster's journal and its metrics: all must add up.

- Each request of a client is told once, in the order of its connection, and its line says what its
  bytes say: errors, records, times; a fetch's has what runs it again. The line of any other event
  says what the event does.
- The ring ends with what was told last, and a broker counts no fewer requests than were told.
"""

from __future__ import annotations

import json
from base64 import b64decode, urlsafe_b64decode
from collections import Counter
from typing import TYPE_CHECKING, Final
from uuid import UUID

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.journal import RequestServed
from mockbroker.journal.lines import event_of, line_of
from mockbroker.journal.replay import add_replay
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.errors import ProtocolError
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.records.batch import iterate_batches
from mockbroker_protocol.schema import is_declared, schema_of
from simulation.cluster.crews import Crew

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mockbroker.journal import Event
    from mockbroker_protocol.primitives import Buffer
    from simulation.cluster.crews import CrewSetting

Line = dict[str, object]
SHARE = 0.1
"""Of the requests, so many have their line looked at."""
LATEST = 20
TOPIC_IDS: Final = 13
"""From this version on Fetch names topics by id."""
SMALLEST_BATCH, MAGIC = 61, 2


class WatcherCrew(Crew):
    """Listens where a seed draws "journal"."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._rng = setting.stream("watcher")
        self._listens = self.plan.on["journal"]
        self._journal = self.world.cluster.journal
        self._told: Counter[tuple[int, int, str]] = Counter()
        self._latest: dict[tuple[int, int, int], int] = {}
        self._requests: list[RequestServed] = []
        self.lines = 0

    def start(self) -> None:
        if self._listens:
            self._journal.replication = self._rng.random() < 0.5
            self._journal.listen(self._hear, requests=True, high_watermarks=True)
        super().start()

    def counts(self) -> Mapping[str, int]:
        return {"lines": self.lines}

    def check(self) -> None:
        if not self._listens:
            return
        self._journal.unlisten(self._hear)
        if [*self._journal.requests()][-LATEST:] != self._requests:
            self.world.violate("the journal's ring does not end with what was told last")
        for node in self.world.cluster.nodes:
            if node.broker is None:
                continue
            counted = node.broker.metrics()
            for (at, incarnation, name), count in self._told.items():
                metric = counted.get(f"mockbroker:type=RequestMetrics,name=Requests,request={name}")
                if (at, incarnation) == (node.node_id, node.incarnations) and count > (metric or 0):
                    self.world.violate(f"broker {at} counts {metric} {name}, {count} were told")

    # -- the journal ---------------------------------------------------------------------------

    def _hear(self, event: Event) -> None:
        if isinstance(event, RequestServed):
            self._requests = [*self._requests[1 - LATEST :], event]
            if event.broker_id != CONTROLLER:
                self._count(event)
        if self._rng.random() < SHARE:
            self.lines += 1
            line = line_of(event, self._topic_name)
            if json.loads(json.dumps(line)) != line:
                self.world.violate(f"a line changes on its way: {line}")
            wrong = wrong_in(event, line) or wrong_replay(event, line)
            if wrong is not None:
                self.world.violate(f"the journal tells {wrong}: {str(line)[:300]}")

    def _count(self, request: RequestServed) -> None:
        node = self.world.cluster.nodes[request.broker_id - 1]
        at = request.broker_id, node.incarnations
        self._told[*at, request.api_name] += 1
        if request.connection_id > 0 and not request.client_id.startswith("victim"):
            connection = *at, request.connection_id
            if self._latest.get(connection, 0) >= request.correlation_id:
                self.world.violate(f"the journal tells {request} again, or too late")
            self._latest[connection] = request.correlation_id

    def _topic_name(self, topic_id: bytes) -> str | None:
        topic = self.world.cluster.metadata.topics_by_id.get(topic_id)
        return None if topic is None else topic.name


def wrong_in(event: Event, line: Line) -> str | None:
    """What a line does not say as it was, or None."""
    if isinstance(event, RequestServed):
        return _wrong_in_request(event, line)
    again = event_of(line)
    assert not isinstance(again, RequestServed)
    for name, value in event.values().items():
        told = again.values()[name]
        if isinstance(value, float) and isinstance(told, int | float):
            if abs(told - value) > 0.001:
                return f"{name} {told}, not {value}"
        elif not isinstance(value, Exception) and told != value:
            return f"{name} {told}, not {value}"
    return None


def wrong_replay(event: Event, line: Line) -> str | None:
    """What a fetch's line has not that one needs who runs it again, or None."""
    if not isinstance(event, RequestServed) or event.api_key != ApiKey.FETCH or event.fault:
        return None
    if event.frame is None or not isinstance(event.response, FetchResponse):
        return None
    add_replay(line, event.frame, event.chunks)
    fetch = line["fetch"]
    assert isinstance(fetch, dict)
    replay, answer = fetch["replay"], event.response
    told = {
        (topic.topic or UUID(bytes=bytes(topic.topic_id)), data.partition_index): (
            _end_of(data.records),
            data.error_code,
        )
        for topic in answer.responses
        for data in topic.partitions
    }
    wanted = {(str(name), index): one for (name, index), one in told.items() if any(one)}
    found = {
        (name if event.api_version < TOPIC_IDS else str(UUID(bytes=_id_of(name))), index): (
            offset or 0,
            error,
        )
        for name, index, offset, error in replay["told"]
    }
    if b64decode(replay["frame"]) != bytes(event.frame) or replay["error"] != answer.error_code:
        return "another request to be run again"
    return None if found == wanted else f"to be run again {found}, not {wanted}"


def _id_of(text: str) -> bytes:
    return urlsafe_b64decode(f"{text}==")


def _end_of(records: Buffer | list[Buffer] | None) -> int:
    """The offset behind the last whole batch of magic 2; 0 without one."""
    data = b"".join(records) if isinstance(records, list) else bytes(records or b"")
    end = place = 0
    while len(data) - place >= SMALLEST_BATCH and data[place + 16] == MAGIC:
        size = 12 + int.from_bytes(data[place + 8 : place + 12], "big")
        if len(data) - place < size:
            break
        base = int.from_bytes(data[place : place + 8], "big")
        end = base + int.from_bytes(data[place + 23 : place + 27], "big") + 1
        place += size
    return end


def _wrong_in_request(event: RequestServed, line: Line) -> str | None:
    errors = sorted({code for code in errors_of(event.response) if code})
    if line["errors"] != errors or line["error"] not in (errors or [0]):
        return f"errors {line['errors']}, not {errors}"
    if event.completed_ms < event.arrived_ms or line["parked"] is not event.parked:
        return "another time"
    if event.api_key != ApiKey.PRODUCE or event.request is None:
        return None
    count = 0
    try:
        for data in record_data_of(event.request):
            count += sum(header.record_count for _, header in iterate_batches(data))
    except ProtocolError:
        return None  # a batch that is broken has no count
    produce = line["produce"]
    assert isinstance(produce, dict)
    return None if produce["records"] == count else f"{produce['records']} records, not {count}"


def errors_of(message: object) -> list[int]:
    """Every error in an answer, at all levels."""
    found: list[int] = []
    if is_declared(type(message)):
        for name in schema_of(type(message)).field_names:
            value = getattr(message, name)
            if name.endswith("error_code"):
                found.append(value)
            elif isinstance(value, list):
                for child in value:
                    found += errors_of(child)
            elif not isinstance(value, int | str | bytes):
                found += errors_of(value)
    return found


def record_data_of(request: object) -> Iterator[bytes]:
    """The batches of a Produce, of magic 2 alone."""
    for topic in request.topic_data:  # type: ignore[attr-defined]
        for data in topic.partition_data:
            if data.records is not None and bytes(data.records[16:17]) == b"\x02":
                yield bytes(data.records)
