"""Those who follow the metadata log of the simulated cluster at its controller's listener.

Where a seed draws "quorum" the cluster keeps that log (`Cluster.start_quorum`), its commits are
held back and its epochs end now and then, and followers read it over connections that break.

- What a follower is given goes on where it is, is what the log holds, and is told within max_wait;
  a high watermark never goes back in an epoch, nor past the log's end, and is there once a record
  of that epoch is replicated (LeaderState.maybeUpdateHighWatermark).
- Whoever waits when a leader resigns is told so. Who has not fetched for long is forgotten.
- A reader of v18 does not wait while a high watermark above its own is known (KIP-1166).
- Who asks in another epoch is refused, and told who leads in which; a log that has parted from the
  leader's is told where (KIP-595).
- The records add up to the controller's store, after scopes and restores too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.clock import Clock
from mockbroker.cluster.links.link import CONTROLLER
from mockbroker.metadata.names import CLUSTER_METADATA_TOPIC_ID
from mockbroker.quorum.observers import OBSERVER_SESSION_TIMEOUT_MS, Observers
from mockbroker.quorum.registrations import ListenerAddress
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.fetch import (
    FetchRequest,
    FetchRequestPartition,
    FetchRequestTopic,
    FetchResponse,
    FetchResponsePartition,
    ReplicaState,
)
from mockbroker_protocol.records.batch import iterate_batches
from simulation.checkers import TOLERANCE_MS
from simulation.cluster.clients import ClusterClient
from simulation.cluster.crews import Crew
from simulation.cluster.metadata_image import MetadataImage
from simulation.cluster.outside_brokers import OutsideBroker
from simulation.session_handler import UNKNOWN_HIGH_WATERMARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from random import Random

    from mockbroker.quorum.quorum import MetadataQuorum, ParkedFetch
    from simulation.cluster.crews import CrewSetting
    from simulation.cluster.plan import ClusterPlan
    from simulation.cluster.truth import Truth
    from simulation.cluster.world import ClusterWorld

ADDRESS: Final = ListenerAddress("CONTROLLER", "controller", 9093)
BROKER_LISTENER: Final = "PLAINTEXT"
VERSIONS: Final = (13, 15, 16, 17, 18)
TELLS_HIGH_WATERMARK: Final = 18
BY_STATE: Final = 15
FIRST_ID: Final = 100
PAUSE_MS: Final = 60.0
FETCHES: Final = 12
OBSERVERS: Final = 3
OTHER_EPOCHS: Final = frozenset(
    (
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    )
)


def start_quorum(world: ClusterWorld) -> None:
    """Keep a metadata log from now on."""
    brokers = {
        node: [ListenerAddress(BROKER_LISTENER, f"broker{node}", 9092)] for node in world.nodes
    }
    world.operate(lambda: world.cluster.start_quorum(ADDRESS, brokers))


class MetadataFollower(ClusterClient):
    """Reads the log from its start on, as an observer does."""

    reads_on = True

    def __init__(
        self, world: ClusterWorld, name: str, rng: Random, truth: Truth, plan: ClusterPlan
    ) -> None:
        super().__init__(world, name, rng, truth, plan.topics)
        self._id = FIRST_ID + rng.randrange(100)
        self._version = rng.choice(VERSIONS)
        self._max_bytes = rng.choice((1, 2_000, 1 << 20))
        self._directory = bytes(rng.randrange(1, 256) for _ in range(16))
        self.data = b""
        self.offset = self.last_epoch = 0
        self.leader_epoch = 1
        self.high_watermark = -1
        self.answers = 0

    @property
    def quorum(self) -> MetadataQuorum:
        """Whom it follows."""
        return self.world.cluster.quorum()

    def begin(self) -> None:
        rng = self.rng
        lies = rng.random() < 0.05
        offset, last_epoch = self.offset, self.last_epoch
        if lies:
            offset, last_epoch = offset + rng.randint(1, 9), rng.randint(0, self.leader_epoch)
        asked = FetchRequestPartition(0, self.leader_epoch, offset, last_epoch)
        asked.replica_directory_id = self._directory
        if self._version >= TELLS_HIGH_WATERMARK:
            asked.high_watermark = self.high_watermark
        request = FetchRequest(
            max_wait_ms=rng.choice((0, 100, 400)),
            max_bytes=self._max_bytes,
            topics=[FetchRequestTopic(topic_id=CLUSTER_METADATA_TOPIC_ID, partitions=[asked])],
        )
        if self._version >= BY_STATE:
            request.replica_state = ReplicaState(self._id, -1)
        else:
            request.replica_id = self._id
        if rng.random() < 0.5:
            request.cluster_id = self.world.cluster.metadata.cluster_id

        def answered(answer: FetchResponse | None) -> None:
            if answer is None:
                self.later()
                return
            self.answers += 1
            self._take(answer, asked, lies=lies)
            self.later(rng.random() * PAUSE_MS if rng.random() < 0.3 else 0.0)

        self.ask(CONTROLLER, request, self._version, FetchResponse, answered)

    def _take(self, answer: FetchResponse, asked: FetchRequestPartition, *, lies: bool) -> None:
        data = answer.responses[0].partitions[0]
        leader = data.current_leader
        assert leader is not None
        if data.error_code in OTHER_EPOCHS:
            if leader.leader_epoch < self.leader_epoch:
                self._wrong(f"epoch {leader.leader_epoch} after {self.leader_epoch}")
            if leader.leader_epoch == self.leader_epoch and leader.leader_id >= 0:
                self._wrong(f"error {data.error_code} in its own epoch {self.leader_epoch}")
            self.leader_epoch, self.high_watermark = leader.leader_epoch, -1
        elif data.error_code:
            self._wrong(f"error {data.error_code}")
        elif data.diverging_epoch is not None:
            told = data.diverging_epoch
            if not lies:
                self._wrong(f"that it parts at {told}, being at {self.offset}")
            elif told.epoch > self.quorum.epoch or told.end_offset > self.quorum.log.log_end_offset:
                self._wrong(f"that an epoch ends at {told}")
        elif not lies:
            self._append(data, asked)

    def _append(self, data: FetchResponsePartition, asked: FetchRequestPartition) -> None:
        chunks = data.records or b""
        given = b"".join(map(bytes, chunks)) if isinstance(chunks, list) else bytes(chunks)
        for pos, header in iterate_batches(given):
            if header.base_offset != self.offset:
                self._wrong(f"a batch at {header.base_offset}, being at {self.offset}")
                return
            self.offset, self.last_epoch = header.last_offset + 1, header.partition_leader_epoch
            self.data += given[pos : pos + header.size_in_bytes]
        mark = data.high_watermark
        end = self.quorum.log.log_end_offset
        if not -1 <= mark <= end or 0 <= mark < self.high_watermark:
            self._wrong(f"high watermark {mark} after {self.high_watermark}, the log ends at {end}")
        told = asked.high_watermark != UNKNOWN_HIGH_WATERMARK and mark > self.high_watermark
        self.high_watermark = max(mark, self.high_watermark)
        if given or told:
            self.note(f"has {self.offset} in epoch {self.last_epoch}, {mark} are committed")

    def _wrong(self, what: str) -> None:
        self.world.violate(f"{self.name} of v{self._version} is told {what}")

    @property
    def is_behind(self) -> bool:
        """Whether it does not know all that there is."""
        return self.offset < self.quorum.log.log_end_offset


def wrong_observers(rng: Random) -> Iterator[str]:
    """Some who fetch now and then, for longer than a run lasts, and whom a leader knows of."""
    clock, heard_ms = Clock(), dict[int, int]()
    observers = Observers(clock)
    for _ in range(FETCHES):
        clock.now_ms += rng.random() * OBSERVER_SESSION_TIMEOUT_MS
        replica_id = FIRST_ID + rng.randrange(OBSERVERS)
        observers.fetched(replica_id, bytes(16), 0, 1)
        heard_ms[replica_id] = clock.wall_ms()
        wanted = [
            each
            for each, at_ms in sorted(heard_ms.items())
            if clock.wall_ms() - at_ms <= OBSERVER_SESSION_TIMEOUT_MS
        ]
        told = [one.replica_id for one in observers.current()]
        if told != wanted:
            yield f"observers {told} are told at {clock.now_ms:.0f}, and {wanted} have fetched"


class QuorumCrew(Crew):
    """Two who follow, and a broker from outside when all is at rest."""

    def __init__(self, setting: CrewSetting) -> None:
        super().__init__(setting)
        self._is_on = self.plan.on["quorum"]
        self._committed = (0, -1)
        """Epoch of the log and its high watermark."""
        self._begins = 0
        """Where the epoch begins in the log."""
        self._parked: frozenset[ParkedFetch] = frozenset()
        """Who waited at the log."""
        self._untold: dict[ParkedFetch, float] = {}
        """Who still does, and when it moved: they are told within a turn."""
        self._operator = setting.operator
        self._rng = setting.stream("quorum")
        self._observers_rng = setting.stream("observers")
        self.followers = setting.hire(MetadataFollower, "follower", 2 * self._is_on)
        self.clients = [*self.followers]
        if self._is_on:
            start_quorum(self.world)
            self.world.on_step.append(self._watch)
            self._operator.acts["quorum"] = self._trouble
            verbs = self._operator.verbs
            verbs.add("hold_commits", self._quorum.hold)
            verbs.add("release_commits", self._release)
            verbs.add("resign", self._resign)

    @property
    def _quorum(self) -> MetadataQuorum:
        return self.world.cluster.quorum()

    def counts(self) -> Mapping[str, int]:
        return {"metadata fetches": sum(follower.answers for follower in self.followers)}

    def _release(self) -> None:
        """Commit what was written in two steps by now, of which each may be committed later."""
        for _ in range(2):
            self._quorum.append_no_op()
        self._quorum.release()

    def _resign(self) -> None:
        """Begin an epoch right after something was written, and while some wait."""
        quorum = self._quorum
        quorum.append_no_op()
        waited = [*quorum._parked]  # noqa: SLF001 -- for the audit alone
        quorum.begin_epoch()
        if not quorum._parked.keys().isdisjoint(waited):  # noqa: SLF001
            self.world.violate(f"who waits at the metadata log is not told of {quorum.epoch}")

    def _watch(self) -> None:
        """In one epoch the high watermark does not go back, and nobody waits on when it moved."""
        quorum = self._quorum
        committed = quorum.epoch, -1 if quorum.high_watermark is None else quorum.high_watermark
        if committed < self._committed:
            self.world.violate(f"the metadata log is at {committed} after {self._committed}")
        if quorum.epoch != self._committed[0]:
            self._begins = dict(quorum.log.leader_epochs())[quorum.epoch]
        if 0 <= committed[1] <= self._begins:
            self.world.violate(f"the metadata log is at {committed}, which begins {self._begins}")
        now_ms, parked = self.world.now_ms, quorum._parked  # noqa: SLF001 -- for the audit alone
        if committed != self._committed and quorum._advance_wakes:  # noqa: SLF001
            for fetch in self._parked.intersection(parked):
                self._untold.setdefault(fetch, now_ms)
        late_ms = TOLERANCE_MS + self.world.slack_ms + 1
        self._untold = {fetch: at for fetch, at in self._untold.items() if fetch in parked}
        if any(now_ms > moved_ms + late_ms for moved_ms in self._untold.values()):
            self.world.violate(f"the metadata log is at {committed}, and who waits is not told")
        self._committed, self._parked = committed, frozenset(parked)

    def _trouble(self) -> None:
        if self._rng.random() < 0.5:
            self._operator.disturb("hold_commits", "release_commits", 200.0)
        else:
            self._operator.do("resign")

    def stop(self) -> None:
        super().stop()
        if self._is_on:
            self.world.operate(self._quorum.release)

    def behind(self) -> str:
        """A follower that has not read all."""
        return next((each.name for each in self.followers if each.is_behind), "")

    def check(self) -> None:
        if self._is_on:
            for wrong in wrong_observers(self._observers_rng):
                self.world.violate(wrong)
            OutsideBroker(self.world, self._rng).live()
            self.check_again()

    def check_again(self) -> None:
        """What followers have, and what the log adds up to."""
        if not self._is_on:
            return
        log = self._quorum.log
        whole = b"".join(map(bytes, log.read_uncommitted(0, 1 << 30)))
        for follower in self.followers:
            if not whole.startswith(follower.data):
                self.world.violate(f"{follower.name} does not have what the metadata log holds")
        image = MetadataImage()
        image.take_batches(whole)
        for wrong in image.differences(self.world.cluster.metadata):
            self.world.violate(wrong)
