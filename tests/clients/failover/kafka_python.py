"""kafka-python under the scenarios of a failover."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import kafka
from kafka.errors import CommitFailedError, RebalanceInProgressError
from kafka.structs import OffsetAndMetadata, TopicPartition

from tests.clients.failover.ledger import DEADLINE_S, GROUP, TOPIC, key_of
from tests.clients.failover.threads import ThreadedClient

if TYPE_CHECKING:
    from tests.clients.failover.teller import Teller

# Longer than any rebalance takes.
JOIN_AGAIN_S = 5.0


class Producer:
    def __init__(self, bootstrap: str, teller: Teller) -> None:
        self.teller = teller
        self.producer = kafka.KafkaProducer(
            bootstrap_servers=bootstrap.split(","), enable_idempotence=True, linger_ms=2
        )

    def send(self, number: int) -> None:
        def acknowledged(metadata: Any) -> None:
            self.teller.acknowledge(number, metadata.partition, metadata.offset)

        def given_up(error: BaseException) -> None:
            self.teller.refuse(number, type(error).__name__)

        future = self.producer.send(TOPIC, str(number).encode(), key_of(number))
        future.add_callback(acknowledged)
        future.add_errback(given_up)

    def poll(self) -> None:
        """It has a thread of its own."""

    def flush(self) -> None:
        self.producer.flush(DEADLINE_S)

    def close(self) -> None:
        self.producer.close(timeout=0)


class Member:
    """It begins anew when it has got nothing for long.

    It loses its assignment when a poll ends just as the coordinator hands it out, and assigns
    nothing when it leads its group before it knows the topic.
    """

    def __init__(self, bootstrap: str, teller: Teller, member: int) -> None:
        self.bootstrap = bootstrap
        self.teller = teller
        self.member = member
        self.consumer = self._join()

    def _join(self) -> kafka.KafkaConsumer:
        consumer = kafka.KafkaConsumer(
            bootstrap_servers=self.bootstrap.split(","),
            client_id=f"member-{self.member}",
            group_id=GROUP,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=300,
            fetch_max_wait_ms=100,
        )
        consumer.subscribe([TOPIC])
        # Metadata that came amid its first join would have it join again (see `Clients`).
        consumer.topics()
        self.assigned_s = time.monotonic()
        return consumer

    def poll(self, timeout_s: float) -> dict[int, int]:
        now_s = time.monotonic()
        if self.consumer.assignment():
            self.assigned_s = now_s
        elif now_s - self.assigned_s > JOIN_AGAIN_S:
            self.consumer.close()
            self.consumer = self._join()
        ends = {}
        for partition, records in self.consumer.poll(int(timeout_s * 1000)).items():
            for record in records:
                self.teller.read(self.member, record.partition, record.offset, int(record.value))
                ends[partition.partition] = record.offset + 1
        return ends

    def commit(self, ends: dict[int, int]) -> bool:
        offsets = {
            TopicPartition(TOPIC, part): OffsetAndMetadata(end, "", -1)
            for part, end in ends.items()
        }
        try:
            self.consumer.commit(offsets)
        except (CommitFailedError, RebalanceInProgressError):
            return False
        return True

    def close(self) -> None:
        self.consumer.close()


def make_client(bootstrap: str, teller: Teller, protocol: str) -> ThreadedClient:
    assert protocol == "classic"
    return ThreadedClient(
        teller,
        lambda: Producer(bootstrap, teller),
        lambda member: Member(bootstrap, teller, member),
    )
