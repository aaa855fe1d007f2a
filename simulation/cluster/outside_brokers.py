"""A broker of another process at the simulated controller: it registers, serves, and goes.

It comes when all is at rest and hosts nothing, so what the controller must answer is known: who
registers is fenced until it has read its own record, is another one with another incarnation, is
unfenced by its heartbeats and fenced when they stop; whoever is refused has changed nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.cluster.links.link import CONTROLLER
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.controller_apis import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
    AlterPartitionRequest,
    AlterPartitionRequestBrokerState,
    AlterPartitionRequestPartitionData,
    AlterPartitionRequestTopicData,
    AlterPartitionResponse,
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationRequestFeature,
    BrokerRegistrationRequestListener,
    BrokerRegistrationResponse,
)
from mockbroker_protocol.messages.quorum import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    DescribeQuorumRequest,
    DescribeQuorumRequestPartitionData,
    DescribeQuorumRequestTopicData,
    DescribeQuorumResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
    UnregisterControllerRequest,
    UnregisterControllerResponse,
    VoterListener,
)
from mockbroker_protocol.messages.raft import (
    FetchSnapshotRequest,
    FetchSnapshotRequestPartitionSnapshot,
    FetchSnapshotRequestTopicSnapshot,
    FetchSnapshotResponse,
)
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
    UserName,
)
from simulation.clients import ask_at_once
from simulation.cluster.metadata_image import MetadataImage
from simulation.cluster.plan import SESSION_TIMEOUT_MS

if TYPE_CHECKING:
    from random import Random

    from mockbroker.quorum.quorum import MetadataQuorum
    from simulation.cluster.world import ClusterWorld

T = TypeVar("T")
LOG: Final = "__cluster_metadata"
NODE_ID: Final = 77
NOBODY: Final = 78
REGISTRATION, HEARTBEAT, ALTER_PARTITION = (1, 2, 3, 4), (0, 1), (2, 3)
SHA_256: Final = 1
WITH_EPOCHS: Final = 3
EVERY_LEVEL: Final = (0, 1_000)


class OutsideBroker:
    """Lives its life in steps, each held against what the controller must say."""

    def __init__(self, world: ClusterWorld, rng: Random) -> None:
        self._world = world
        self._rng = rng
        self._epoch = -1
        self._incarnation = self._id()
        self._log_dirs = [self._id() for _ in range(rng.randint(1, 2))]

    @property
    def _quorum(self) -> MetadataQuorum:
        return self._world.cluster.quorum()

    def _id(self) -> bytes:
        return bytes(self._rng.randrange(1, 256) for _ in range(16))

    def _ask(self, request: object, version: int, kind: type[T]) -> T:
        controller = self._world.core(CONTROLLER)
        assert controller is not None
        answer = ask_at_once(self._world, controller, request, version)
        assert isinstance(answer, kind)
        self._world.operate(lambda: None)  # what it decided reaches the brokers
        return answer

    def _expect(self, what: str, told: object, wanted: object) -> None:
        if told != wanted:
            self._world.violate(f"an outside broker: {what} is {told}, not {wanted}")

    @property
    def _is_fenced(self) -> bool | None:
        known = self._world.cluster.metadata.brokers.get(NODE_ID)
        return None if known is None else known.fenced

    # -- its life ------------------------------------------------------------------------------

    def live(self) -> None:
        """From before its registration to after its end."""
        self._be_refused()
        unknown = ErrorCode.BROKER_ID_NOT_REGISTERED
        self._expect("what a stranger's heartbeat is told", self._beat()[0], unknown)
        self._register()
        self._expect("an older epoch", self._beat(self._epoch - 1)[0], ErrorCode.STALE_BROKER_EPOCH)
        self._catch_up()
        self._propose()
        self._allocate()
        self._fall_silent()
        self._incarnation = self._id()
        self._register()
        self._catch_up()
        self._shut_down()
        self._change_voters()
        self._read_a_snapshot()
        self._change_users()
        self._unregister()

    def _request(self, node_id: int = NODE_ID) -> BrokerRegistrationRequest:
        features = self._world.cluster.metadata.features
        return BrokerRegistrationRequest(
            node_id,
            self._world.cluster.metadata.cluster_id,
            self._incarnation,
            [BrokerRegistrationRequestListener("PLAINTEXT", "outside", 9092, 0)],
            [BrokerRegistrationRequestFeature(name, *EVERY_LEVEL) for name in features],
            "r9",
            log_dirs=[*self._log_dirs],
        )

    def _registered(self, request: BrokerRegistrationRequest) -> tuple[int, int]:
        version = self._rng.choice(REGISTRATION[1:])
        answer = self._ask(request, version, BrokerRegistrationResponse)
        return answer.error_code, answer.broker_epoch

    def _be_refused(self) -> None:
        """Of another cluster, with a broker's id, without a directory, of another release."""
        end = self._quorum.log.log_end_offset
        other, taken, nowhere, old = (self._request() for _ in range(4))
        other.cluster_id = "another"
        taken.broker_id = self._world.nodes[0]
        nowhere.log_dirs = self._log_dirs[:1] * 2
        old.features.clear()
        for request, wanted in (
            (other, ErrorCode.INCONSISTENT_CLUSTER_ID),
            (taken, ErrorCode.DUPLICATE_BROKER_REGISTRATION),
            (nowhere, ErrorCode.INVALID_REGISTRATION),
            (old, ErrorCode.UNSUPPORTED_VERSION),
        ):
            self._expect("the refusal", self._registered(request), (wanted, -1))
        self._expect("the end of the log", self._quorum.log.log_end_offset, end)

    def _register(self) -> None:
        end = self._quorum.log.log_end_offset
        self._expect("the registration", self._registered(self._request()), (0, end))
        self._epoch = end
        self._expect("again, the registration", self._registered(self._request()), (0, end))
        self._expect("fenced", self._is_fenced, True)
        other = self._request()
        other.incarnation_id = self._id()
        refused = ErrorCode.DUPLICATE_BROKER_REGISTRATION, -1
        self._expect("another incarnation", self._registered(other), refused)

    def _beat(
        self, epoch: int | None = None, *, offset: int = 0, fence: bool = False, stop: bool = False
    ) -> tuple[int, bool, bool, bool]:
        epoch = self._epoch if epoch is None else epoch
        request = BrokerHeartbeatRequest(NODE_ID, epoch, offset, fence, stop)
        answer = self._ask(request, self._rng.choice(HEARTBEAT), BrokerHeartbeatResponse)
        told = answer.is_caught_up, answer.is_fenced, answer.should_shut_down
        return (answer.error_code, *told)

    def _catch_up(self) -> None:
        behind, there = max(self._epoch - 1, 0), self._quorum.log.log_end_offset
        self._expect("behind", self._beat(offset=behind), (0, behind >= self._epoch, True, False))
        told = self._beat(offset=there, fence=True)
        self._expect("caught up and wanting to be fenced", told, (0, True, True, False))
        self._expect("caught up", self._beat(offset=there), (0, True, False, False))
        self._expect("unfenced", self._is_fenced, False)
        told = self._beat(offset=there, fence=True)
        self._expect("wanting to be fenced again", told, (0, True, True, False))
        self._expect("fenced again", self._is_fenced, True)
        self._expect("back", self._beat(offset=there), (0, True, False, False))

    def _propose(self) -> None:
        """It leads nothing: no in-sync set is its to change."""
        metadata = self._world.cluster.metadata
        topic = metadata.topics[self._rng.choice(sorted(metadata.topics))]
        version, before = self._rng.choice(ALTER_PARTITION), topic.partitions[0]
        asked = AlterPartitionRequestPartitionData(
            0, before.leader_epoch, partition_epoch=before.partition_epoch
        )
        if version >= WITH_EPOCHS:
            told_isr = [AlterPartitionRequestBrokerState(node, -1) for node in before.isr]
            asked.new_isr_with_epochs = told_isr
        else:
            asked.new_isr = list(before.isr)
        for epoch, wanted, of_partitions in (
            (self._epoch - 1, ErrorCode.STALE_BROKER_EPOCH, []),
            (self._epoch, ErrorCode.NONE, [ErrorCode.INVALID_REQUEST]),
        ):
            topics = [AlterPartitionRequestTopicData(topic.id, [asked])]
            request = AlterPartitionRequest(NODE_ID, epoch, topics)
            answer = self._ask(request, version, AlterPartitionResponse)
            self._expect("the error of a proposal", answer.error_code, wanted)
            told = [one.error_code for of in answer.topics for one in of.partitions]
            self._expect("what becomes of it", told, of_partitions)
        self._expect("the partition", topic.partitions[0], before)

    def _allocate(self) -> None:
        ends: list[int] = []
        for _ in range(2):
            request = AllocateProducerIdsRequest(NODE_ID, self._epoch)
            answer = self._ask(request, 0, AllocateProducerIdsResponse)
            self._expect("the error of a block", answer.error_code, ErrorCode.NONE)
            if ends and answer.producer_id_start < ends[-1]:
                self._expect("a block's start", answer.producer_id_start, ends[-1])
            ends.append(answer.producer_id_start + answer.producer_id_len)

    def _fall_silent(self) -> None:
        self._world.run_for(SESSION_TIMEOUT_MS - 50)
        self._expect("fenced in its session", self._is_fenced, False)
        self._world.run_for(100)
        self._expect("fenced after its session", self._is_fenced, True)

    def _shut_down(self) -> None:
        told = self._beat(offset=self._quorum.log.log_end_offset, stop=True)
        self._expect("shutting down", told, (0, True, True, True))

    def _change_voters(self) -> None:
        """Nobody joins the voters, and nobody leaves them (KIP-853)."""
        name = self._quorum.listeners[0].name
        store, leader = self._world.cluster.metadata, self._quorum.leader_id
        for voter, cluster_id, listener, wanted in (
            (NOBODY, "another", name, ErrorCode.INCONSISTENT_CLUSTER_ID),
            (-1, store.cluster_id, name, ErrorCode.INVALID_REQUEST),
            (NOBODY, None, "ELSEWHERE", ErrorCode.INVALID_REQUEST),
            (leader, None, name, ErrorCode.DUPLICATE_VOTER),
            (NOBODY, None, name, ErrorCode.REQUEST_TIMED_OUT),
        ):
            listeners = [VoterListener(listener, "outside", 9093)]
            add = AddRaftVoterRequest(cluster_id, 100, voter, self._id(), listeners)
            answer = self._ask(add, 0, AddRaftVoterResponse)
            self._expect(f"adding {voter}", answer.error_code, wanted)
        remove = RemoveRaftVoterRequest(None, NOBODY, self._id())
        answer_of_removal = self._ask(remove, 0, RemoveRaftVoterResponse)
        told = answer_of_removal.error_code
        self._expect("removing a voter", told, ErrorCode.VOTER_NOT_FOUND)
        asked = [DescribeQuorumRequestPartitionData(0)]
        question = DescribeQuorumRequest([DescribeQuorumRequestTopicData(LOG, asked)])
        described = self._ask(question, 2, DescribeQuorumResponse).topics[0].partitions[0]
        self._expect("the voters", [one.replica_id for one in described.current_voters], [leader])
        self._expect("what is committed", described.high_watermark, self._quorum.high_watermark)

        for controller, wanted in (
            (leader, ErrorCode.INVALID_REQUEST),
            (NOBODY, ErrorCode.CONTROLLER_ID_NOT_REGISTERED),
        ):
            gone = UnregisterControllerRequest(controller)
            told = self._ask(gone, 0, UnregisterControllerResponse).error_code
            self._expect(f"unregistering controller {controller}", told, wanted)

    def _read_a_snapshot(self) -> None:
        """There is none (KIP-630)."""
        epoch = self._quorum.epoch
        for name, at_epoch, wanted in (
            (LOG, epoch, ErrorCode.SNAPSHOT_NOT_FOUND),
            (LOG, epoch - 1, ErrorCode.FENCED_LEADER_EPOCH),
            ("t0", epoch, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ):
            asked = FetchSnapshotRequestPartitionSnapshot(0, at_epoch)
            request = FetchSnapshotRequest(
                replica_id=NODE_ID, topics=[FetchSnapshotRequestTopicSnapshot(name, [asked])]
            )
            version = self._rng.randrange(2)
            told = self._ask(request, version, FetchSnapshotResponse).topics[0].partitions[0]
            self._expect("the error of a snapshot", told.error_code, wanted)

    def _change_users(self) -> None:
        """Credentials of SCRAM come and go, in the metadata log too."""
        made = ScramCredentialUpsertion("of-outside", SHA_256, 4096, self._id(), self._id())
        set_one = AlterUserScramCredentialsRequest(upsertions=[made])
        remove = AlterUserScramCredentialsRequest([ScramCredentialDeletion("of-outside", SHA_256)])
        unknown = ErrorCode.RESOURCE_NOT_FOUND
        for change, error, there in (
            (set_one, ErrorCode.NONE, [(SHA_256, 4096)]),
            (remove, ErrorCode.NONE, []),
            (remove, unknown, []),
        ):
            answer = self._ask(change, 0, AlterUserScramCredentialsResponse)
            told = [one.error_code for one in answer.results]
            self._expect("the error of a user's change", told, [error])
            broker = self._world.cluster.brokers[0]
            ask = DescribeUserScramCredentialsRequest([UserName("of-outside")])
            described = ask_at_once(self._world, broker, ask, 0)
            assert isinstance(described, DescribeUserScramCredentialsResponse)
            infos = [
                (info.mechanism, info.iterations)
                for one in described.results
                for info in one.credential_infos
            ]
            self._expect("the user's credentials", infos, there)
            image = MetadataImage()
            image.take_batches(b"".join(map(bytes, self._quorum.log.read_uncommitted(0, 1 << 30))))
            is_there = ("of-outside", SHA_256) in image.scram
            self._expect("the user in the metadata log", is_there, bool(there))

    def _unregister(self) -> None:
        answer = self._ask(UnregisterBrokerRequest(NODE_ID), 0, UnregisterBrokerResponse)
        self._expect("the error of an unregistration", answer.error_code, ErrorCode.NONE)
        self._expect("what is left of it", self._is_fenced, None)
        refused = ErrorCode.BROKER_ID_NOT_REGISTERED
        self._expect("its heartbeat", self._beat()[0], refused)
