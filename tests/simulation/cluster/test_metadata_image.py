"""Records of the metadata log are replayed, and held against the controller's store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker.metadata.acls import Acl
from mockbroker.metadata.topic_requests import NewTopic
from mockbroker_protocol.messages import metadata_records as records
from simulation.cluster.metadata_image import MetadataImage
from tests.support.metadata_logs import QuorumCore

if TYPE_CHECKING:
    from mockbroker.metadata.store import MetadataStore


def image_of(core: QuorumCore) -> MetadataImage:
    image = MetadataImage()
    image.take_batches(b"".join(map(bytes, core.quorum.log.read_uncommitted(0, 1 << 30))))
    return image


def store_of(core: QuorumCore) -> MetadataStore:
    return core.cluster.metadata


def test_a_log_adds_up_to_the_store() -> None:
    core = QuorumCore({"t": 2})
    acl = Acl(2, "t", 3, "User:u", "*", 3, 3)
    controller = core.cluster.controller
    core.act(lambda: controller.create_topics([NewTopic("u", 1, configs=[("flush.ms", "9")])]))
    core.act(lambda: controller.create_acls([acl]))
    image = image_of(core)
    assert not image.differences(store_of(core))
    assert [*image.acls.values()] == [acl]
    assert {*image.names.values()} == {"t", "u"}


def test_what_the_log_does_not_say_is_told() -> None:
    core = QuorumCore({"t": 1})
    image = image_of(core)
    image.take(records.FeatureLevelRecord("a", 1))
    image.take(records.UserScramCredentialRecord("u", 1))
    image.take(records.ClientQuotaRecord([records.QuotaEntityData("user", "u")], "k", 1.0))
    image.take(records.ConfigRecord(32, "g", "k", "v"))
    told = [wrong.split()[4] for wrong in image.differences(store_of(core))]
    assert told == ["configs", "quotas", "features", "SCRAM"]
    image.take(records.FeatureLevelRecord("a", 0))
    image.take(records.RemoveUserScramCredentialRecord("u", 1))
    image.take(records.ClientQuotaRecord([records.QuotaEntityData("user", "u")], "k", 1.0, True))
    image.take(records.ConfigRecord(32, "g", "k", None))
    assert not image.differences(store_of(core))


def test_a_change_of_a_partition_counts_its_epochs() -> None:
    image = MetadataImage()
    image.take(records.TopicRecord("t", b"t" * 16))
    whole = records.PartitionRecord(0, b"t" * 16, [1, 2], [1, 2], leader=1, leader_epoch=3)
    whole.partition_epoch = 5
    image.take(whole)
    image.take(records.PartitionChangeRecord(0, b"t" * 16, isr=[1]))
    image.take(records.PartitionChangeRecord(0, b"t" * 16, leader=2, last_known_elr=[1]))
    (state,) = image.partitions[b"t" * 16].values()
    assert (state.leader, state.leader_epoch, state.partition_epoch) == (2, 4, 7)
    assert (state.isr, state.last_known_leader) == ([1], 1)


def test_a_broker_is_fenced_and_unfenced_in_its_epoch() -> None:
    image = MetadataImage()
    image.take(records.RegisterBrokerRecord(1, broker_epoch=7))
    image.take(records.BrokerRegistrationChangeRecord(1, 7, fenced=-1))
    image.take(records.BrokerRegistrationChangeRecord(1, 7, in_controlled_shutdown=1))
    assert image.brokers == {1: (False, True, 7)}
    image.take(records.UnregisterBrokerRecord(1, 7))
    assert not image.brokers
