"""A broker whose one follower is driven by hand, and what a case does to leaders and followers.

Broker 1 serves; broker 2 is in the metadata, in sync, and never fetches by itself. Beside Apache
Kafka it is no process at all: the test registers it at the controller's listener and sends its
heartbeats, whose session outlives the tests. Ours is two brokers in this process whose link from
the second to the first is cut, so no fetch of the second gets through. What brokers are told and
answer goes over TCP on both; only who is alive is said by each in its own way.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Final

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.messages.controller_apis import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationRequestFeature,
    BrokerRegistrationRequestListener,
    BrokerRegistrationResponse,
)
from mockbroker_protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ElectLeadersRequest,
    ElectLeadersResponse,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from mockbroker_protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from tests.fetch_cases.asking import Answer, Part, Reader, Topic
from tests.fetch_cases.target import KAFKA, OURS, Target
from tests.support.blocking import BlockingConnection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mockbroker.testing.mock_broker import MockBroker

LEADER: Final = 1
FOLLOWER: Final = 2
RACKS: Final = ("r1", "r2")
FIRST_VERSION_WITH_EPOCH: Final = 15
_AN_HOUR: Final = "3600000"
CONFIGS: Final = {
    # Who is in sync and who is alive is up to the cases.
    "replica.lag.time.max.ms": _AN_HOUR,
    "broker.session.timeout.ms": _AN_HOUR,
    "auto.leader.rebalance.enable": "false",
    "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
    "transaction.partition.verification.enable": "false",
}
_READ_IT_ALL: Final = 1 << 40
"""An offset of the metadata log: who is unfenced must have read its own registration."""


class ReplicaTarget(Target, ABC):
    """Broker 1 of two; `follower` speaks as the other one."""

    outside_address = ""
    """HOST:PORT under which the metadata have the follower."""
    follower_epoch = -1

    def follower(self) -> Follower:
        """A connection that fetches as broker 2, closed when the test is over."""
        return self._greeted(Follower(self.address, self.follower_epoch))

    # -- topics ------------------------------------------------------------------------------

    def topic(
        self, partitions: int = 1, *data: tuple[int, ...], name: str = "", **configs: str
    ) -> Topic:
        """A new topic that broker 1 leads and broker 2 follows, in sync."""
        topic = self.placed([LEADER, FOLLOWER], partitions, name, **configs)
        for index, sizes in enumerate(data):
            for size in sizes:
                self.produce(topic, index, size)
        return topic

    def placed(
        self, replicas: Sequence[int], partitions: int = 1, name: str = "", **configs: str
    ) -> Topic:
        """A new topic on these brokers; the first one leads."""
        name = name or self.new_name()
        assigned = [CreatableReplicaAssignment(at, list(replicas)) for at in range(partitions)]
        settings = [
            CreatableTopicConfig(key.replace("_", "."), value) for key, value in configs.items()
        ]
        wanted = CreatableTopic(name, -1, -1, assigned, settings)
        created = self.control.call(
            CreateTopicsRequest([wanted], 15_000), 7, CreateTopicsResponse
        ).topics[0]
        assert created.error_code == 0, created
        topic = Topic(name, created.topic_id)
        self.until(lambda: self._are_there(topic, partitions, replicas))
        return topic

    def _are_there(self, topic: Topic, partitions: int, replicas: Sequence[int]) -> bool:
        if LEADER in replicas:
            return self._follows(topic, partitions, 0)
        return self.state(topic).leader_id == replicas[0]

    def _follows(self, topic: Topic, partitions: int, epoch: int) -> bool:
        """Whether broker 1 itself, not its metadata alone, is in the leader epoch."""
        asked = [topic.at(index, current_leader_epoch=epoch) for index in range(partitions)]
        with Reader(self.address) as reader:
            return reader.fetch(*asked).errors == [0] * partitions

    def state(self, topic: Topic) -> MetadataResponsePartition:
        """Partition 0, as broker 1 has it."""
        request = MetadataRequest([MetadataRequestTopic(name=topic.name)])
        response = self.control.call(request, 9, MetadataResponse)
        (found,) = (
            each
            for each in response.topics[0].partitions or [MetadataResponsePartition()]
            if each.partition_index == 0
        )
        return found

    # -- leaders and the in-sync set ---------------------------------------------------------

    def move_leader(self, topic: Topic, to: int) -> int:
        """Let a replica lead partition 0 by making it the preferred one; the new epoch."""
        self.reassign(topic, [to, LEADER + FOLLOWER - to])
        before = self.state(topic).leader_epoch
        elect = ElectLeadersRequest(0, [TopicPartitions(topic.name, [0])], 15_000)
        elected = self.control.call(elect, 2, ElectLeadersResponse)
        results = elected.replica_election_results[0].partition_result
        assert [each.error_code for each in results] == [0], elected
        self.until(lambda: self._follows(topic, 1, before + 1))
        return before + 1

    def reassign(self, topic: Topic, replicas: list[int]) -> None:
        """Give partition 0 these replicas, all of which have it already."""
        wanted = AlterPartitionReassignmentsRequest(
            15_000, topics=[ReassignableTopic(topic.name, [ReassignablePartition(0, replicas)])]
        )
        done = self.control.call(wanted, 0, AlterPartitionReassignmentsResponse)
        assert [each.error_code for each in done.responses[0].partitions] == [0], done
        self.until(lambda: self.state(topic).replica_nodes == replicas)

    def next_epoch(self, topic: Topic) -> int:
        """Let the leader lose the lead and take it again: two epochs later."""
        self.move_leader(topic, FOLLOWER)
        return self.move_leader(topic, LEADER)

    def lose_follower(self, topic: Topic) -> None:
        """Fence broker 2; return once broker 1 knows its partition 0 without it."""
        self.fence_follower()
        self.until(lambda: FOLLOWER not in self.state(topic).isr_nodes)
        # Metadata are told before partitions follow, and partitions follow in order.
        self.placed([LEADER])

    def find_follower(self) -> None:
        """Undo `lose_follower`; who left an in-sync set stays out of it until he fetches."""
        self._unfence()
        self.until(lambda: FOLLOWER in self._live())

    def _live(self) -> list[int]:
        response = self.control.call(MetadataRequest([]), 9, MetadataResponse)
        return [each.node_id for each in response.brokers]

    @abstractmethod
    def fence_follower(self) -> None:
        """Let the controller take broker 2 for lost."""

    @abstractmethod
    def _unfence(self) -> None:
        """Let the controller know of it again."""


class Follower(Reader):
    """Broker 2: fetches as a replica, from v15 on with its broker epoch."""

    def __init__(self, address: str, epoch: int) -> None:
        super().__init__(address)
        self.epoch = epoch

    def ask(self, *parts: Part, version: int = 17, **options: Any) -> None:
        if version >= FIRST_VERSION_WITH_EPOCH:
            options.setdefault("replica_epoch", self.epoch)
        super().ask(*parts, version=version, replica_id=FOLLOWER, **options)

    def fetch(self, *parts: Part, version: int = 17, **options: Any) -> Answer:
        return super().fetch(*parts, version=version, **options)


class KafkaReplicas(ReplicaTarget):
    """Apache Kafka, and a second broker that is nothing but its registration and heartbeats."""

    outside_address = "127.0.0.1:9"

    def __init__(self, address: str, controller: str) -> None:
        super().__init__(KAFKA, address)
        self._controller = BlockingConnection(controller)
        try:
            self._register()
            self.find_follower()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self._controller.close()
        super().close()

    def _register(self) -> None:
        features = self.control.call(ApiVersionsRequest("case", "1"), 4, ApiVersionsResponse)
        host, _, port = self.outside_address.partition(":")
        cluster = self.control.call(MetadataRequest([]), 9, MetadataResponse).cluster_id
        assert cluster is not None
        request = BrokerRegistrationRequest(
            FOLLOWER,
            cluster,
            b"incarnation-of-2",
            [BrokerRegistrationRequestListener("PLAINTEXT", host, int(port), 0)],
            [
                BrokerRegistrationRequestFeature(each.name, each.min_version, each.max_version)
                for each in features.supported_features
            ],
            rack=RACKS[1],
            log_dirs=[b"directory-of-the"],
        )
        answer = self._controller.call(request, 4, BrokerRegistrationResponse)
        assert answer.error_code == 0, answer
        self.follower_epoch = answer.broker_epoch

    def fence_follower(self) -> None:
        assert self._beat(fence=True).is_fenced

    def _unfence(self) -> None:
        self.until(lambda: not self._beat(fence=False).is_fenced)

    def _beat(self, *, fence: bool) -> BrokerHeartbeatResponse:
        beat = BrokerHeartbeatRequest(FOLLOWER, self.follower_epoch, _READ_IT_ALL, fence)
        answer = self._controller.call(beat, 1, BrokerHeartbeatResponse)
        assert answer.error_code == 0, answer
        return answer


class OurReplicas(ReplicaTarget):
    """Two of our brokers; nothing that the second says reaches the first."""

    def __init__(self, broker: MockBroker) -> None:
        first, self.outside_address = broker.bootstrap_servers.split(",")
        super().__init__(OURS, first)
        self._cluster = broker.cluster
        self._cluster.cut_link(FOLLOWER, LEADER)
        epochs = broker._bridged().call(
            lambda cluster: {each.node_id: each.epoch for each in cluster.metadata.brokers.values()}
        )
        self.follower_epoch = epochs[FOLLOWER]

    def fence_follower(self) -> None:
        self._cluster.fence(FOLLOWER)

    def _unfence(self) -> None:
        self._cluster.unfence(FOLLOWER)
