"""What followers' fetchers ask and take, held against the replicas that they fetch for.

- A fetch tells of each partition where its replica stands: end, epochs, log start, and the high
  watermark by v18 (KIP-1166). What it leaves out, its session knows already: the session at the
  leader is in the epoch of the fetch, and has just what is followed and not put off (KIP-227).
- A leader that has answered takes a replica to have what it told, and not what it had before.
- An answer changes no replica that is elsewhere by then, or in another leader epoch.
- Nothing that is followed is left out of the fetch that is parked, or put off for good.
- Bytes that were damaged on their way, or came twice, are not stored: some are here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from mockbroker.replica.fetcher import FETCH_VERSION
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.records.batch import iterate_batches
from simulation.session_handler import UNKNOWN_HIGH_WATERMARK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from random import Random

    from mockbroker.cluster.links.broker_client import BrokerClient
    from mockbroker.log.unified_log import UnifiedLog
    from mockbroker.replica.fetcher import PartitionFetchState, ReplicaFetcher
    from mockbroker.replica.partition import Partition
    from mockbroker_protocol.messages.fetch import FetchRequest
    from simulation.cluster.world import ClusterWorld

    OnResponse = Callable[..., None]
    Key = tuple[bytes, int]


SPOILT_CHANCE = 0.02


class Stand(NamedTuple):
    """Where a replica is, as its fetcher may rely on it."""

    log: UnifiedLog | None
    end: int
    epoch: int
    leads: bool


class Contents(NamedTuple):
    """What an answer may change."""

    end: int
    last_epoch: int
    start: int
    high_watermark: int


def _stand(partition: Partition) -> Stand:
    log = partition.log
    end = 0 if log is None else log.log_end_offset
    return Stand(log, end, partition.leader_epoch, partition.is_leader)


def _has_moved(partition: Partition, stood: Stand) -> bool:
    """Whether it is elsewhere: as nearly never, so that nothing is made to be compared."""
    log, end, epoch, leads = stood
    return (
        partition.log is not log
        or partition.leader_epoch != epoch
        or partition.is_leader is not leads
        or (log is not None and log.log_end_offset != end)
    )


def _contents(partition: Partition) -> Contents:
    log = partition.log
    if log is None:
        return Contents(0, -1, 0, 0)
    return Contents(log.log_end_offset, log.latest_epoch, log.log_start_offset, log.high_watermark)


class FetcherAudits:
    """Listens to the fetchers of all brokers; `look` now and then finds those that are new."""

    def __init__(self, world: ClusterWorld, rng: Random | None = None) -> None:
        """`rng`: whose answers are spoilt; nobody's without."""
        self._world = world
        self._rng = rng
        self._heard: dict[BrokerClient, None] = {}
        self.asked: dict[ReplicaFetcher, set[Key]] = {}
        """What each followed when it last asked and was due then."""
        self._asked_once: dict[ReplicaFetcher, set[PartitionFetchState]] = {}
        world.on_up.append(self._hear_all)

    def look(self) -> None:
        """Each fetcher, between two steps."""
        for node, leader, fetcher in self._fetchers():
            self._hear(node, leader, fetcher)
            self._check_at_rest(node, leader, fetcher)

    def _hear_all(self) -> None:
        for node, leader, fetcher in self._fetchers():
            self._hear(node, leader, fetcher)

    def _fetchers(self) -> Iterator[tuple[int, int, ReplicaFetcher]]:
        """Of each broker that is up, by the leader that they follow."""
        running = self._world.peers.running
        for node in self._world.nodes:
            if node in running:
                by_leader = running[node].fetchers._by_leader  # noqa: SLF001 -- for the audit alone
                for leader, fetcher in by_leader.items():
                    yield node, leader, fetcher

    def _hear(self, node: int, leader: int, fetcher: ReplicaFetcher) -> None:
        client = fetcher.channel
        if client in self._heard:
            return
        self._heard[client] = None  # type: ignore[index]
        self._asked_once[fetcher] = {*fetcher._by_key.values()}  # noqa: SLF001
        fetch, send = client.fetch, client.send

        def fetches(request: FetchRequest, version: int, on_response: OnResponse) -> None:
            self._check_request(node, leader, fetcher, request, version)
            asked = [fetcher._by_key[key].partition for key in self.asked[fetcher]]  # noqa: SLF001
            stands = _stands(fetcher)

            def answered(response: object) -> None:
                if isinstance(response, FetchResponse) and not response.error_code:
                    self._check_known(node, leader, fetcher, asked, stands)
                on_response(response)

            fetch(request, version, self._watched(node, fetcher, stands, answered))

        def sends(request: object, version: int, on_response: OnResponse) -> None:
            send(request, version, self._watched(node, fetcher, _stands(fetcher), on_response))

        client.fetch, client.send = fetches, sends  # type: ignore[method-assign]

    def _wrong(self, node: int, leader: int, what: str) -> None:
        self._world.violate(f"broker {node} fetches from {leader}: {what}")

    # -- what is asked -----------------------------------------------------------------------

    def _check_request(
        self,
        node: int,
        leader: int,
        fetcher: ReplicaFetcher,
        request: FetchRequest,
        version: int,
    ) -> None:
        followed = fetcher._by_key  # noqa: SLF001
        named: set[Key] = set()
        tells, untold = version >= FETCH_VERSION, UNKNOWN_HIGH_WATERMARK
        for topic in request.topics:
            for asked in topic.partitions:
                key = topic.topic_id, asked.partition
                named.add(key)
                partition = followed[key].partition
                log = partition.log
                if (
                    log is not None
                    and asked.fetch_offset == log.log_end_offset
                    and asked.current_leader_epoch == partition.leader_epoch
                    and asked.last_fetched_epoch == log.latest_epoch
                    and asked.log_start_offset == log.log_start_offset
                    and asked.high_watermark == (log.high_watermark if tells else untold)
                ):
                    continue  # as nearly always: nothing is made to be compared
                of = _contents(partition)
                known = of.high_watermark if tells else untold
                wanted = of.end, partition.leader_epoch, of.last_epoch, of.start, known
                told = (
                    asked.fetch_offset,
                    asked.current_leader_epoch,
                    asked.last_fetched_epoch,
                    asked.log_start_offset,
                    asked.high_watermark,
                )
                if told != wanted:
                    self._wrong(node, leader, f"it tells {told} of {partition}, not {wanted}")
        due = self.asked[fetcher] = _due(fetcher)
        self._asked_once[fetcher].update(followed[key] for key in due)
        if request.session_epoch > 0:
            self._check_session(node, leader, fetcher, request, named)
        elif named != due:
            self._wrong(node, leader, f"a full fetch has {len(named)} partitions of {len(due)}")

    def _check_session(
        self,
        node: int,
        leader: int,
        fetcher: ReplicaFetcher,
        request: FetchRequest,
        named: set[Key],
    ) -> None:
        broker, due = self._world.cluster.broker(leader), self.asked[fetcher]
        session = None if broker is None else broker.services.fetch.cache.get(request.session_id)
        if session is None:
            return
        if session.epoch != request.session_epoch:
            what = f"epoch {request.session_epoch} of a session in {session.epoch}"
            self._wrong(node, leader, what)
        has = {(one.topic.topic_id, one.index): one for one in session.partitions()}
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                has.pop((topic.topic_id, index), None)
        if has.keys() | named != due:
            extra, missing = len(has.keys() - due), len(due - has.keys() - named)
            self._wrong(node, leader, f"its session has {extra} too many, and lacks {missing}")
        for key in (due - named).intersection(has):
            partition, known = fetcher._by_key[key].partition, has[key]  # noqa: SLF001
            of = _contents(partition)
            # A log start that retention moved here is told with what changes next.
            now = of.end, partition.leader_epoch, of.last_epoch
            told = known.fetch_offset, known.current_leader_epoch, known.last_fetched_epoch
            if told != now:
                self._wrong(node, leader, f"{partition} is at {now}, its session told {told}")

    def _check_at_rest(self, node: int, leader: int, fetcher: ReplicaFetcher) -> None:
        """Between two steps it has asked for all, or an alarm is set."""
        if fetcher._busy:  # noqa: SLF001
            # One that was put off once, and need not be any more, waits for what is parked.
            missing = {*fetcher._by_key.values()} - self._asked_once[fetcher]  # noqa: SLF001
            if missing:
                self._wrong(node, leader, f"{len(missing)} new partitions wait for what is parked")
        elif len(fetcher):
            alarm = fetcher._alarm  # noqa: SLF001
            if alarm is None or not alarm.pending:
                self._wrong(node, leader, "it has asked nothing, and nothing wakes it")

    def _check_known(
        self,
        node: int,
        leader: int,
        fetcher: ReplicaFetcher,
        asked: Iterable[Partition],
        stands: Mapping[Partition, Stand],
    ) -> None:
        """A leader that has answered does not take a replica to have more than it was told."""
        broker = self._world.cluster.broker(leader)
        for partition in asked if broker is not None else ():
            assert broker is not None
            stood = stands[partition]
            led = broker.services.replicas.partition(partition.topic, partition.index)
            if led is None or led.topic_id != partition.topic_id:
                continue
            follower = None if led.followers is None else led.followers.get(node)
            if (
                follower is not None
                and led.leader_epoch == stood.epoch
                and follower.broker_epoch == fetcher.broker_epoch
                and follower.log_end_offset > stood.end
            ):
                self._wrong(
                    node,
                    leader,
                    f"it has told {stood.end} of {partition}, and is taken to have "
                    f"{follower.log_end_offset}",
                )

    # -- what is taken -----------------------------------------------------------------------

    def _watched(
        self,
        node: int,
        fetcher: ReplicaFetcher,
        stands: Mapping[Partition, Stand],
        on_response: OnResponse,
    ) -> OnResponse:
        """`stands`: where all that it follows stood when it asked."""

        def takes(response: object) -> None:
            spoilt = self._spoil(fetcher, response)
            moved = [one for one, stood in stands.items() if _has_moved(one, stood)]
            before = [(one, _contents(one)) for one in moved]
            on_response(response)
            if spoilt is not None and _contents(spoilt[0]).end > spoilt[1]:
                self._world.violate(f"{spoilt[0]} of {node} stores what was damaged on its way")
            for partition, held in before:
                if _contents(partition) != held:
                    self._world.violate(
                        f"{partition} of {node} moved from {stands[partition]} to {held}, and "
                        f"takes an answer that is late: {_contents(partition)}"
                    )

        return takes

    def _spoil(self, fetcher: ReplicaFetcher, response: object) -> tuple[Partition, int] | None:
        """Damage what comes for a partition now and then, and where its log may end at most."""
        rng = self._rng
        if rng is None or not isinstance(response, FetchResponse) or rng.random() >= SPOILT_CHANCE:
            return None
        by_key = fetcher._by_key  # noqa: SLF001
        for topic in response.responses:
            for data in topic.partitions:
                followed = by_key.get((topic.topic_id, data.partition_index))
                chunks = data.records or b""
                sent = b"".join(map(bytes, chunks)) if isinstance(chunks, list) else bytes(chunks)
                if followed is not None and sent:
                    held, last = _contents(followed.partition).end, [*iterate_batches(sent)][-1][1]
                    if rng.random() < 0.5:
                        data.records = sent + sent
                        return followed.partition, max(held, last.last_offset + 1)
                    data.records = sent[:-1] + bytes((sent[-1] ^ 1,))
                    return followed.partition, max(held, last.base_offset)
        return None

    def stop(self) -> None:
        """Spoil nothing more."""
        self._rng = None


def _stands(fetcher: ReplicaFetcher) -> dict[Partition, Stand]:
    """Where each that it follows stands now."""
    followed = fetcher._by_key.values()  # noqa: SLF001
    return {each.partition: _stand(each.partition) for each in followed}


def _due(fetcher: ReplicaFetcher) -> set[Key]:
    """What it follows and is not put off."""
    now_ms = fetcher._clock.now_ms  # noqa: SLF001
    return {key for key, each in fetcher._by_key.items() if each.retry_ms <= now_ms}  # noqa: SLF001
