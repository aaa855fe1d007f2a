"""A broker's image follows the controller's store, in order, late, or from a snapshot."""

from __future__ import annotations

import pytest

from mockbroker.clock import Clock, Timer
from mockbroker.cluster.links.link import CONTROLLER, Links
from mockbroker.cluster.links.metadata_feed import MetadataFeed, copy_of
from mockbroker.config.broker import BrokerConfig
from mockbroker.metadata.acls import Acl, PatternType, Permission, ResourceType
from mockbroker.metadata.brokers import BrokerInfo
from mockbroker.metadata.changes import (
    AclsChanged,
    BrokerChanged,
    ClientQuotasChanged,
    ConfigsChanged,
    DelegationTokenChanged,
    FeatureChanged,
    LeaderChanged,
    PartitionState,
    ScramCredentialChanged,
    TopicCreated,
)
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.metadata.scram import ScramCredential
from mockbroker.metadata.store import RESOURCE_BROKER_LOGGER, RESOURCE_GROUP, MetadataStore

TOPIC_ID = b"t".ljust(16, b"\1")


class Following:
    def __init__(self) -> None:
        self.clock = Clock()
        self.timer = Timer()
        self.store = MetadataStore("cluster", BrokerConfig({}))
        self.link = Links(self.clock, self.timer).get(CONTROLLER, 1)
        self.image = MetadataStore("cluster", BrokerConfig({}))
        self.feed = MetadataFeed(self.link, self.image, self.clock, self.timer)
        self.store.subscribe(self.feed.publish)
        self.store.apply(BrokerChanged(BrokerInfo(1)))
        self.store.apply(TopicCreated("t", TOPIC_ID, [PartitionState(1, [1, 2], [1, 2])], {}))
        self.feed.deliver()

    def lead(self, node: int, epoch: int) -> None:
        state = PartitionState(node, [1, 2], [1, 2], epoch, epoch)
        self.store.apply(LeaderChanged("t", TOPIC_ID, 0, state))

    @property
    def leader(self) -> int:
        return self.image.topics["t"].partitions[0].leader


@pytest.fixture
def following() -> Following:
    return Following()


def test_changes_arrive_when_delivered(following: Following) -> None:
    following.lead(2, 1)
    assert (following.leader, following.feed.behind) == (1, 1)
    following.feed.deliver()
    assert (following.leader, following.feed.behind) == (2, 0)


@pytest.mark.parametrize("how", ["sever", "hold"])
def test_a_broker_that_is_cut_off_lives_on_with_what_it_knows(
    following: Following, how: str
) -> None:
    getattr(following.link, how)()
    following.lead(2, 1)
    following.lead(1, 2)
    following.lead(2, 3)
    following.feed.deliver()
    assert (following.leader, following.feed.behind) == (1, 3)
    following.link.restore()
    assert following.feed.ready
    following.feed.deliver()
    assert following.image.topics["t"].partitions[0].leader_epoch == 3


def test_a_slow_link_makes_the_image_late_and_keeps_the_order(following: Following) -> None:
    following.link.slow(10.0)
    following.lead(2, 1)
    following.link.slow(0.0)
    following.lead(1, 2)
    following.feed.deliver()
    assert following.image.topics["t"].partitions[0].leader_epoch == 0
    following.clock.now_ms = 10.0
    following.timer.advance(10.0)
    assert following.feed.ready
    following.feed.deliver()
    assert following.image.topics["t"].partitions[0].leader_epoch == 2


def test_a_closed_feed_applies_nothing(following: Following) -> None:
    following.lead(2, 1)
    following.feed.close()
    following.link.sever()
    following.link.restore()
    assert not following.feed.ready
    assert following.leader == 1


def test_a_snapshot_is_all_that_the_store_has(following: Following) -> None:
    following.lead(2, 1)
    following.store.apply(ConfigsChanged(4, "", {"log.retention.ms": "1234"}))
    image = copy_of(following.store, MetadataStore("cluster", BrokerConfig({})))
    assert list(image.brokers) == [1]
    assert image.topics["t"].partitions[0].leader == 2
    assert image.config.int("log.retention.ms") == 1234


def test_versions_of_one_that_comes_back_go_on_as_those_of_the_others(
    following: Following,
) -> None:
    following.lead(2, 1)
    following.feed.deliver()
    image = copy_of(following.store, MetadataStore("cluster", BrokerConfig({})))
    assert image.version == following.image.version == following.store.version


def test_a_snapshot_has_quotas_features_and_the_configs_of_groups(following: Following) -> None:
    store = following.store
    gone = next(iter(store.features))
    for change in (
        ClientQuotasChanged((("user", None),), {"producer_byte_rate": 5.0}),
        ScramCredentialChanged(("u", 1), ScramCredential(b"s", b"k", b"k", 4096)),
        DelegationTokenChanged("id", DelegationToken("id", "User:a", "User:a", (), 1, 9, 5, b"")),
        FeatureChanged(gone, 0),
        FeatureChanged("other.version", 3),
        ConfigsChanged(RESOURCE_GROUP, "g", {"consumer.session.timeout.ms": "50000"}),
    ):
        store.apply(change)
    image = copy_of(store, MetadataStore("cluster", BrokerConfig({})))
    assert image.client_quotas == store.client_quotas
    assert image.scram_credentials == store.scram_credentials != {}
    assert image.features == store.features
    assert gone not in image.features
    assert image.group_config("g").int("consumer.session.timeout.ms") == 50_000


def test_a_snapshot_has_acls_and_the_levels_of_loggers(following: Following) -> None:
    store = following.store
    acl = Acl(ResourceType.TOPIC, "t", PatternType.LITERAL, "User:A", "*", 3, Permission.DENY)
    store.apply(AclsChanged((acl,), ()))
    store.apply(ConfigsChanged(RESOURCE_BROKER_LOGGER, "1", {"root": "DEBUG"}))
    image = copy_of(store, MetadataStore("cluster", BrokerConfig({})))
    assert (list(image.acls), image.log_levels) == ([acl], {"root": "DEBUG"})
