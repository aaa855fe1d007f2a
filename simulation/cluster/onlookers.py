"""Somebody who looks into the simulated cluster as a test or the console does, while it runs.

Where a seed draws "views": what is told of sessions, of requests that wait, of replicas, links and
of the requests so far is held against connections, caches, logs and the journal between two events.
At rest records are put into a topic without a producer, found by their keys, and the difference
of two snapshots is just that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.journal.dissection import dissect_request, dissect_response
from mockbroker.journal.lines import line_of
from mockbroker.state import (
    fetching,
    record_search,
    replicas,
    report,
    request_lines,
    request_rows,
    requests,
    snapshot,
    snapshot_compare,
    verdict,
    writing,
)
from mockbroker.state.reading import TopicReader
from mockbroker_protocol.api_keys import ApiKey
from simulation.cluster.crews import Crew
from simulation.cluster.watchers import wrong_in

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from mockbroker.journal.request import RequestServed
    from simulation.cluster.crews import CrewSetting

EVERY_MS: Final = 60.0
LATEST: Final = 10
"""Of the requests so far, so many are looked at."""
EXPLAINED: Final = 100
"""So many are held against each rule that has not fired."""
LINES: Final = 10
SETTLED_MS: Final = 1_000.0
"""By then nobody waits for an answer any more, and followers have all there is."""
KEYS: Final = (b"a", b"b", None)


class OnlookerCrew(Crew):
    """Has no clients: whoever looks in asks nobody."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._rng = setting.stream("views")
        self._is_on = self.plan.on["views"]
        self._stopped = False
        self._cluster = self.world.cluster
        self._views: tuple[Callable[[], None], ...] = (
            self._look_at_sessions,
            self._look_at_waits,
            self._look_at_replicas,
            self._look_at_links,
            self._look_at_requests,
            self._look_at_queries,
            self._look_at_lines,
        )
        self.looks = 0

    def counts(self) -> Mapping[str, int]:
        return {"looks in": self.looks}

    def start(self) -> None:
        if self._is_on:
            self._look_later()

    def stop(self) -> None:
        self._stopped = True

    def _look_later(self) -> None:
        self.world.at(self._rng.random() * EVERY_MS, self._look)

    def _look(self) -> None:
        if not self._stopped:
            self.looks += 1
            if not self.world.unfinished:
                self._rng.choice(self._views)()
            self._look_later()

    def _expect(self, what: str, told: object, wanted: object) -> None:
        if told != wanted:
            self.world.violate(f"of {what} is told {told}, not {wanted}")

    # -- who reads and waits -------------------------------------------------------------------

    def _look_at_sessions(self) -> None:
        there = {
            (broker.broker_id, session_id): session
            for broker in self._cluster.brokers
            for shard in broker.services.fetch.cache.shards
            for session_id, session in shard.sessions.items()
        }
        told = {(one.broker, one.session_id): one for one in fetching.sessions(self._cluster)}
        self._expect("sessions", set(told), set(there))
        for (broker_id, session_id), session in there.items():
            found = fetching.session_partitions(self._cluster, broker_id, session_id) or []
            wanted = [(one.index, one.fetch_offset) for one in session.partitions()]
            has = [(one.partition, one.fetch_offset) for one in found]
            self._expect(f"session {session_id}", has, wanted)
            for one in found:
                if (one.log_end_offset or 0) < (one.high_watermark or 0):
                    self.world.violate(f"of session {session_id} is told {one}")
        for saved in fetching.savings(self._cluster):
            count = sum(broker_id == saved.broker for broker_id, _ in there)
            self._expect(f"sessions of {saved.broker}", saved.sessions, count)
        self._expect("no session", fetching.session_partitions(self._cluster, 1, -9), None)

    def _look_at_waits(self) -> None:
        there = sorted(
            (broker.broker_id, connection.id)
            for broker in self._cluster.brokers
            for connection in broker.connections()
            if connection.in_work is not None
        )
        waits = fetching.waits(self._cluster)
        told = sorted((one.broker, one.connection) for one in waits)
        self._expect("requests that wait", told, there)
        since = [one.since_ms for one in waits]
        self._expect("since when", since, sorted(since))
        slow = self.plan.on["memory"] or self.plan.on["rules"] or self.plan.on["coop"]
        for one in waits if not slow else ():
            end_ms = self.world.now_ms - 1 - self.world.slack_ms
            if one.until_ms is not None and one.until_ms < end_ms:
                self.world.violate(f"{one} waits for too long")

    # -- logs and links ------------------------------------------------------------------------

    def _look_at_replicas(self) -> None:
        metadata, controls = self._cluster.metadata, self._cluster.controls
        name = self._rng.choice(sorted(metadata.topics))
        for index, state in enumerate(metadata.topics[name].partitions):
            for one in replicas.replica_logs(self._cluster, name, index):
                log = controls.log(name, index, one.node_id)
                what = f"{name}-{index} at {one.node_id}"
                ends = None if log is None else (log.log_start_offset, log.log_end_offset)
                told = one.log_start_offset, one.log_end_offset
                self._expect(what, None if log is None else told, ends)
                has_role = one.is_leader, one.in_sync
                role = one.node_id == state.leader, one.node_id in state.isr
                self._expect(f"the role of {what}", has_role, role)

    def _look_at_links(self) -> None:
        told = {
            (one.source, one.target): (one.cut, one.held, one.delay_ms)
            for one in replicas.faulty_links(self._cluster)
        }
        for source in (*self.world.nodes, -1):
            for target in (*self.world.nodes, -1):
                link = self.world.peers.links.get(source, target)
                has = link.cut, link.held, link.delay_ms
                wanted = has if any(has) else None
                self._expect(f"link {source} to {target}", told.get((source, target)), wanted)

    # -- requests ------------------------------------------------------------------------------

    def _latest(self) -> list[tuple[int, RequestServed]]:
        journal = self._cluster.journal
        return request_rows.numbered(journal, journal.cursor() - LATEST)

    def _look_at_requests(self) -> None:
        journal = self._cluster.journal
        for number, served in self._latest():
            if request_rows.find(journal, number) is not served:
                self.world.violate(f"request {number} is not found again")
            row = request_rows.row_of(number, served, journal)
            has = row.api, row.broker, row.connection, row.errors
            errors = sorted({*served.error_codes} - {0})
            wanted = served.api_name, served.broker_id, served.connection_id, errors
            self._expect(f"request {number}", has, wanted)
        written = [row for row in self._latest() if row[1].api_key == ApiKey.PRODUCE]
        if written:
            self._look_at_the_writer(*self._rng.choice(written))

    def _look_at_the_writer(self, number: int, served: RequestServed) -> None:
        """The request that wrote a record is found by the record."""
        journal = self._cluster.journal
        for topic in getattr(served.response, "responses", ()):
            for data in topic.partition_responses:
                name = topic.name or journal.topic_name(topic.topic_id)
                if name is None or data.error_code or data.base_offset < 0:
                    continue
                found = request_rows.writer_of(journal, name, data.index, data.base_offset)
                # Written again since, after an election or as a duplicate: that one tells so too.
                if found is None or found < number:
                    self.world.violate(
                        f"{name}-{data.index} at {data.base_offset} is of {found}, not {number}"
                    )

    def _look_at_queries(self) -> None:
        journal = self._cluster.journal
        since = journal.cursor() - LATEST
        for _, served in self._latest()[-3:]:
            fits: dict[str, object] = {
                "api": self._rng.choice((served.api_name, served.api_key)),
                "client": f"{served.client_id[:3]}*",
                "connection": served.connection_id,
                "error": bool(served.error_codes),
                "fault": bool(served.fault),
                "where": lambda one, served=served: one is served,
            }
            chosen = {name: fits[name] for name in fits if self._rng.random() < 0.5}
            query = requests.RequestQuery(**chosen)  # type: ignore[arg-type]
            if served not in query.find(journal, since):
                why = [*query.mismatches(served, journal)]
                self.world.violate(f"{query} does not find {served}: {why}")
            other = requests.RequestQuery(topic="of-nobody", error="INVALID_RECORD", fault="no")
            self._expect("nobody's requests", other.find(journal, since), [])
            if not other.explain(journal, since):
                self.world.violate("nothing explains why no request was found")

    def _look_at_lines(self) -> None:
        journal = self._cluster.journal
        since = journal.cursor() - LATEST
        for _, served in self._latest():
            line = request_lines.summary(served, journal)
            wrong = wrong_in(served, line_of(served, journal.topic_name))
            if wrong is not None:
                self.world.violate(f"the journal tells {wrong} of {served}")
            for part in (dissect_request(served), dissect_response(served)):
                if part is None or served.fault is not None:
                    continue  # a rule may have mangled its bytes
                if part.problem or not part.fields:
                    self.world.violate(f"the bytes of {served} are told as {part.problem}")
            if f" {served.api_name} v{served.api_version}" not in line:
                self.world.violate(f"{served} is told as {line}")
        lines = request_lines.tail(journal, since, LINES)
        if len(lines) > 2 * LINES or not lines:
            self.world.violate(f"{len(lines)} lines are told of {LINES}")
        if not report.report(self._cluster, since, LINES):
            self.world.violate("there is nothing to report")

    # -- at rest -------------------------------------------------------------------------------

    def check_again(self) -> None:
        if not self._is_on:
            return
        since = max(0, self._cluster.journal.cursor() - EXPLAINED)
        told = verdict.verdict(self._cluster, since=since, strict=False)
        self._expect("refused requests", told.refused, [])
        writing_to = self._rng.choice(
            sorted(set(self.plan.topics) & set(self._cluster.metadata.topics))
        )
        self._put_some(writing_to)

    def _put_some(self, name: str) -> None:
        """Records come where they are told to, and a snapshot from before differs by them."""
        cluster, rng = self._cluster, self._rng
        self.world.run_for(SETTLED_MS)
        before = snapshot.take(cluster)
        made = [
            writing.new_record(
                {"n": number}, key=rng.choice(KEYS), headers={"by": "onlooker"}, timestamp=None
            )
            for number in range(rng.randint(1, 9))
        ]
        put = writing.Put(name, made)
        self.world.operate(lambda: put.begin(cluster))
        if not put.is_ready(cluster):
            self.world.violate(put.explain(cluster))
            return
        placed: list[writing.Position] = []
        self.world.operate(lambda: placed.extend(put.append(cluster)))
        self.world.run_for(SETTLED_MS)
        records = {(one.partition, one.offset): one for one in TopicReader(name).read(cluster)}
        for position, record in zip(placed, made, strict=True):
            found = records.get((position.partition, position.offset))
            has = None if found is None else (found.key, found.value, found.timestamp)
            self._expect(f"{position}", has, (record.key, record.value, position.timestamp))
        wanted = record_search.Wanted(key=rng.choice(KEYS), contains=b"onlooker")
        found_records = record_search.search(cluster, name, wanted, 0, 0, limit=1 << 20).records
        by_hand = [one for one in records.values() if wanted.fits(one)]
        self._expect("what is searched", len(found_records), len(by_hand))
        after = snapshot.take(cluster)
        differ = {(one.topic, one.partition) for one in snapshot_compare.differences(before, after)}
        parts = {(name, position.partition) for position in placed}
        of_topic = {one for one in differ if one[0] == name}
        self._expect("what differs", of_topic, parts)
        self._expect("two alike", snapshot_compare.differences(after, snapshot.take(cluster)), [])
