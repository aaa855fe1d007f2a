"""A broker asks the controller, and has heard of the outcome when it answers."""

from __future__ import annotations

from functools import partial

import pytest

from mockbroker.metadata.acls import Acl, AclFilter
from mockbroker.metadata.client_quotas import QuotaAlteration
from mockbroker.metadata.elections import Election
from mockbroker.metadata.features import FEATURES, FeatureUpdate
from mockbroker.metadata.scram import Upsertion
from mockbroker.metadata.scram_control import alter_scram_credentials
from mockbroker.metadata.topic_requests import (
    ConfigAlteration,
    NewPartitions,
    NewTopic,
    Refusal,
    TopicReference,
)
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.cluster_core import ClusterCore


@pytest.fixture
def core() -> ClusterCore:
    return ClusterCore(topics={"t": 1})


def test_what_one_broker_was_asked_for_all_know(core: ClusterCore) -> None:
    broker = core.cluster.broker(2)
    assert broker is not None
    controller = broker.services.controller
    assert controller.create_topics([NewTopic("new", 2)])[0].error is ErrorCode.NONE
    assert "new" in broker.services.metadata.topics
    core.deliver()
    for node in (1, 2, 3):
        answer = core.client(node=node).call(MetadataRequest(topics=None), 8, MetadataResponse)
        assert [topic.name for topic in answer.topics] == ["t", "new"]
    assert controller.create_partitions([NewPartitions("new", 3)])[0][1].error is ErrorCode.NONE
    assert len(broker.services.metadata.topics["new"].partitions) == 3
    assert controller.delete_topics([TopicReference("new")])[0].error is ErrorCode.NONE
    assert "new" not in broker.services.metadata.topics


def test_configs_of_a_broker_are_altered_where_it_is_asked(core: ClusterCore) -> None:
    broker = core.cluster.broker(2)
    assert broker is not None
    alter = broker.services.controller.alter_configs
    key = "log.retention.ms"
    assert alter([ConfigAlteration(4, "2", [(key, 0, "1234")])])[0].error is ErrorCode.NONE
    assert alter([ConfigAlteration(4, "", [(key, 0, "99")])])[0].error is ErrorCode.NONE
    assert alter([ConfigAlteration(4, "1", [(key, 0, "7")])])[0].error is ErrorCode.INVALID_REQUEST
    core.deliver()
    seen = [each.services.config.int(key) for each in core.cluster.brokers]
    assert seen == [99, 1234, 99]


def test_configs_are_altered_from_what_the_controller_knows(core: ClusterCore) -> None:
    one, other = core.cluster.broker(2), core.cluster.broker(3)
    assert one is not None
    assert other is not None
    values = {"retention.ms": "1000", "segment.ms": "2000"}
    for broker, (key, value) in zip((one, other), values.items(), strict=True):
        alteration = ConfigAlteration(2, "t", [(key, 0, value)])
        assert broker.services.controller.alter_configs([alteration])[0].error is ErrorCode.NONE
    assert core.cluster.metadata.topics["t"].configs == values
    one.services.controller.create_topics([NewTopic("new")])
    assert "new" not in other.services.metadata.topics
    alteration = ConfigAlteration(2, "new", [("retention.ms", 0, "1000")])
    assert other.services.controller.alter_configs([alteration])[0].error is ErrorCode.NONE


def test_a_broker_that_is_cut_off_is_told_that_it_took_too_long(core: ClusterCore) -> None:
    broker = core.cluster.broker(2)
    assert broker is not None
    controller = broker.services.controller
    core.controls.cut_link(2, -1)
    late = ErrorCode.REQUEST_TIMED_OUT
    assert controller.create_topics([NewTopic("new")])[0].error is late
    assert controller.create_partitions([NewPartitions("t", 3)])[0][1].error is late
    assert controller.delete_topics([TopicReference("t")])[0].error is late
    alteration = ConfigAlteration(2, "t", [("retention.ms", 0, "1")])
    assert controller.alter_configs([alteration])[0].error is late
    assert controller.elect_leader("t", 0, Election.PREFERRED).error is late
    assert controller.reassign("t", 0, [1], may_change_factor=True).error is late
    assert getattr(controller.reassignments(None), "error", None) is late
    assert list(core.cluster.metadata.topics) == ["t"]


def test_a_broker_that_is_cut_off_changes_no_quotas_acls_or_features(core: ClusterCore) -> None:
    broker, store = core.cluster.broker(2), core.cluster.metadata
    assert broker is not None
    controller = broker.services.controller
    entity = (("client-id", "c"), ("user", None))
    quota = QuotaAlteration(entity[::-1], [("producer_byte_rate", 9.0)])
    acl = Acl(2, "t", 3, "User:u", "*", 3, 2)
    acls = AclFilter(2, None, 1, None, None, 1, 1)
    update = [FeatureUpdate("group.version", 0, 2)]
    core.controls.cut_link(-1, 2)
    late = ErrorCode.REQUEST_TIMED_OUT
    told = controller.alter_client_quotas([quota, quota], validate_only=False)
    assert {each: refusal.error for each, refusal in told.items()} == {entity: late}
    assert [refusal.error for refusal in controller.create_acls([acl, acl])] == [late, late]
    assert [deleted.refusal.error for deleted in controller.delete_acls([acls])] == [late]
    secret = Upsertion("u", 1, 4096, b"salt", b"hash")
    set_secret = partial(alter_scram_credentials, deletions=[], upsertions=[secret])
    unheard: dict[str, Refusal] = {}
    assert controller.carry_out(set_secret, unheard) is unheard
    refusal = controller.update_features(update, FEATURES, 2, validate_only=False)
    assert refusal.error is late
    assert not store.client_quotas
    assert not store.acls
    assert store.features["group.version"] == 1
    core.controls.restore_link(-1, 2)
    controller.alter_client_quotas([quota], validate_only=False)
    controller.create_acls([acl])
    assert list(controller.carry_out(set_secret, unheard)) == ["u"]
    controller.update_features(update, FEATURES, 2, validate_only=False)
    image = broker.services.metadata
    assert image.client_quotas == {entity: {"producer_byte_rate": 9.0}}
    assert list(image.acls) == [acl]
    assert list(image.scram_credentials) == [("u", 1)]
    assert "group.version" not in image.features
    assert controller.delete_acls([acls])[0].acls == [acl]
    assert not image.acls
