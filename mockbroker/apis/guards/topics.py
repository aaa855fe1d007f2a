"""Guards of the APIs that read, write, describe and change topics and their configs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mockbroker.metadata.acls import ResourceType
from mockbroker.metadata.authorized_operations import NOT_ASKED, AclOperation
from mockbroker_protocol.errors import ErrorCode
from mockbroker_protocol.messages.configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from mockbroker_protocol.messages.fetch import FetchRequest
from mockbroker_protocol.messages.metadata import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponseTopic,
    MetadataRequest,
    MetadataResponse,
    MetadataResponseTopic,
    TopicRequest,
)
from mockbroker_protocol.messages.produce import ProduceRequest
from mockbroker_protocol.messages.topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from mockbroker_protocol.schema import ZERO_UUID

if TYPE_CHECKING:
    from mockbroker.apis.guards.asked import Asked

TOPIC = ResourceType.TOPIC
DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
DENIED_MESSAGE: Final = "Topic authorization failed."
_TRANSACTIONAL_BIT: Final = 0x10
_LOW_ATTRIBUTES: Final = 22
_MAGIC: Final = 16
_FIRST_METADATA_WITH_IDS: Final = 12
_RESOURCE_TOPIC: Final = 2
_RESOURCE_GROUP: Final = 32
_CONFIG_ERRORS: Final = {
    _RESOURCE_TOPIC: (ResourceType.TOPIC, DENIED, DENIED_MESSAGE),
    _RESOURCE_GROUP: (
        ResourceType.GROUP,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        "Group authorization failed.",
    ),
}


def produce(asked: Asked) -> object | None:
    """WRITE on the transactional id if there is a transactional batch, then on each topic."""
    request = asked.request
    assert isinstance(request, ProduceRequest)
    transactional_id = request.transactional_id
    if (
        transactional_id is not None
        and _has_transactional(request)
        and not asked.may(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)
    ):
        return asked.refuse(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    return asked.refuse_topics(AclOperation.WRITE, DENIED)


def _has_transactional(request: ProduceRequest) -> bool:
    for topic in request.topic_data:
        for partition in topic.partition_data:
            records = partition.records
            data = b"".join(records) if isinstance(records, list) else records
            if (
                data
                and len(data) > _LOW_ATTRIBUTES
                and data[_MAGIC] == 2
                and data[_LOW_ATTRIBUTES] & _TRANSACTIONAL_BIT
            ):
                return True
    return False


def fetch(asked: Asked) -> None:
    """READ on each topic, of a session too; a follower needs CLUSTER_ACTION for anything."""
    request = asked.request
    assert isinstance(request, FetchRequest)
    state = request.replica_state
    replica_id = request.replica_id if state is None else state.replica_id
    if replica_id >= 0:
        may_follow = asked.may_cluster(AclOperation.CLUSTER_ACTION)
        asked.services.fetch.gate = lambda _: may_follow
    else:
        asked.services.fetch.gate = lambda name: (
            name is None or asked.may(AclOperation.READ, TOPIC, name)
        )


def list_offsets(asked: Asked) -> object | None:
    return asked.refuse_topics(AclOperation.DESCRIBE, DENIED)


def offset_for_leader_epoch(asked: Asked) -> object | None:
    if asked.may_cluster(AclOperation.CLUSTER_ACTION):
        return None
    return asked.refuse_topics(AclOperation.DESCRIBE, DENIED)


def delete_records(asked: Asked) -> object | None:
    return asked.refuse_topics(AclOperation.DELETE, DENIED)


def create_partitions(asked: Asked) -> object | None:
    return asked.refuse_topics(AclOperation.ALTER, DENIED)


def describe_producers(asked: Asked) -> object | None:
    return asked.refuse_topics(AclOperation.READ, DENIED)


# -- what there is ---------------------------------------------------------------------------


def metadata(asked: Asked) -> None:
    """Of all topics, those that may not be described are hidden; asked for, they are refused."""
    request = asked.request
    assert isinstance(request, MetadataRequest)
    told = _refused_in_metadata(asked, request)
    asked.amendments.append(lambda response: _in_metadata(asked, request, response, told))


def _refused_in_metadata(asked: Asked, request: MetadataRequest) -> list[MetadataResponseTopic]:
    topics = request.topics
    if topics is None or (not topics and asked.version == 0):
        return []
    store = asked.services.metadata
    by_id = any(topic.topic_id != ZERO_UUID for topic in topics)
    if by_id and asked.version < _FIRST_METADATA_WITH_IDS:
        return []
    told: dict[object, MetadataResponseTopic] = {}
    kept = []
    creates = request.allow_auto_topic_creation and asked.services.config.bool(
        "auto.create.topics.enable"
    )
    for topic in topics:
        name = store.topic_name(topic.topic_id) if by_id else topic.name
        if name is None:
            kept.append(topic)
        elif not asked.may(AclOperation.DESCRIBE, TOPIC, name):
            told[name] = (
                MetadataResponseTopic(DENIED, None, topic.topic_id)
                if by_id
                else MetadataResponseTopic(DENIED, name)
            )
        elif creates and name not in store.topics and not _may_create(asked, name):
            told[name] = MetadataResponseTopic(DENIED, name)
        else:
            kept.append(topic)
    request.topics = kept
    if told and not kept and asked.version == 0:
        # An empty list would mean all topics there: one that nobody has stands for none.
        request.topics = None
    return list(told.values())


def _may_create(asked: Asked, name: str) -> bool:
    return asked.may_cluster(AclOperation.CREATE) or asked.may(AclOperation.CREATE, TOPIC, name)


def _in_metadata(
    asked: Asked, request: MetadataRequest, response: object, told: list[MetadataResponseTopic]
) -> object:
    assert isinstance(response, MetadataResponse)
    if told and request.topics is None:
        response.topics = []
    response.topics = [
        topic
        for topic in response.topics
        if topic.name is None or asked.may(AclOperation.DESCRIBE, TOPIC, topic.name)
    ]
    if request.include_topic_authorized_operations:
        for topic in response.topics:
            if topic.name is not None and topic.topic_authorized_operations != NOT_ASKED:
                topic.topic_authorized_operations = asked.operations(TOPIC, topic.name)
    if request.include_cluster_authorized_operations:
        response.cluster_authorized_operations = cluster_operations(asked)
    response.topics += told
    return response


def cluster_operations(asked: Asked) -> int:
    """What its sender may do to the cluster; nothing if it may not even describe it."""
    from mockbroker.metadata.acls import CLUSTER_NAME

    if not asked.may_cluster(AclOperation.DESCRIBE):
        return 0
    return asked.operations(ResourceType.CLUSTER, CLUSTER_NAME)


def describe_topic_partitions(asked: Asked) -> object | None:
    """As metadata, by pages: hidden topics take no room on a page."""
    request = asked.request
    assert isinstance(request, DescribeTopicPartitionsRequest)
    told: list[DescribeTopicPartitionsResponseTopic] = []
    if request.topics:
        start = request.cursor.topic_name if request.cursor is not None else ""
        names = sorted({topic.name for topic in request.topics if topic.name})
        denied = {n for n in names if not asked.may(AclOperation.DESCRIBE, TOPIC, n)}
        told = [
            DescribeTopicPartitionsResponseTopic(DENIED, name) for name in denied if name >= start
        ]
        request.topics = [topic for topic in request.topics if topic.name not in denied]
        if not request.topics:
            return DescribeTopicPartitionsResponse(asked.ctx.throttle_time_ms, told)
    else:
        request.topics = [
            TopicRequest(name)
            for name in asked.services.metadata.topics
            if asked.may(AclOperation.DESCRIBE, TOPIC, name)
        ]
        if not request.topics:
            return DescribeTopicPartitionsResponse(asked.ctx.throttle_time_ms)
    asked.amendments.append(lambda response: _in_pages(asked, response, told))
    return None


def _in_pages(
    asked: Asked, response: object, told: list[DescribeTopicPartitionsResponseTopic]
) -> object:
    assert isinstance(response, DescribeTopicPartitionsResponse)
    for topic in response.topics:
        if topic.name:
            topic.topic_authorized_operations = asked.operations(TOPIC, topic.name)
    response.topics += told
    return response


# -- creation and deletion -------------------------------------------------------------------


def create_topics(asked: Asked) -> object | None:
    """CREATE on the cluster or the topic; without DESCRIBE_CONFIGS its configs are not told."""
    request = asked.request
    assert isinstance(request, CreateTopicsRequest)
    names = [topic.name for topic in request.topics]
    refused = {name for name in names if names.count(name) == 1 and not _may_create(asked, name)}
    told = [
        CreatableTopicResult(name, ZERO_UUID, DENIED, "Authorization failed.")
        for name in names
        if name in refused
    ]
    request.topics = [topic for topic in request.topics if topic.name not in refused]
    asked.amendments.append(lambda response: _created(asked, response, told))
    return None


def _created(asked: Asked, response: object, told: list[CreatableTopicResult]) -> object:
    assert isinstance(response, CreateTopicsResponse)
    for topic in response.topics:
        if not topic.error_code and not asked.may(AclOperation.DESCRIBE_CONFIGS, TOPIC, topic.name):
            topic.configs = []
            topic.num_partitions = topic.replication_factor = -1
            topic.topic_config_error_code = DENIED
    response.topics += told
    return response


def delete_topics(asked: Asked) -> None:
    """DELETE on the cluster or the topic.

    Whoever may not describe a topic does not learn its name from its id.
    """
    request = asked.request
    assert isinstance(request, DeleteTopicsRequest)
    if asked.may_cluster(AclOperation.DELETE):
        return
    told: list[DeletableTopicResult] = []
    kept = []
    store = asked.services.metadata
    for topic in request.topics:
        by_id = topic.topic_id != ZERO_UUID
        name = store.topic_name(topic.topic_id) if by_id else topic.name
        if name is None or (by_id and topic.name is not None):
            kept.append(topic)
        elif not asked.may(AclOperation.DESCRIBE, TOPIC, name):
            shown = None if by_id else name
            told.append(DeletableTopicResult(shown, topic.topic_id, DENIED, DENIED_MESSAGE))
        elif asked.may(AclOperation.DELETE, TOPIC, name):
            kept.append(topic)
        else:
            told.append(DeletableTopicResult(name, topic.topic_id, DENIED, DENIED_MESSAGE))
    names = []
    for name in request.topic_names:
        if asked.may(AclOperation.DELETE, TOPIC, name):
            names.append(name)
        else:
            told.append(DeletableTopicResult(name, ZERO_UUID, DENIED, DENIED_MESSAGE))
    request.topics, request.topic_names = kept, names
    if told:
        asked.amendments.append(lambda response: _deleted(response, told))


def _deleted(response: object, told: list[DeletableTopicResult]) -> object:
    assert isinstance(response, DeleteTopicsResponse)
    response.responses += told
    return response


# -- configs ---------------------------------------------------------------------------------


def _config_refusal(
    asked: Asked, operation: AclOperation, resource_type: int, name: str
) -> tuple[ErrorCode, str] | None:
    """Topics and groups are asked for by name; all other configs are the cluster's."""
    found = _CONFIG_ERRORS.get(resource_type)
    if found is not None:
        acl_type, error, message = found
        return None if asked.may(operation, acl_type, name) else (error, message)
    if asked.may_cluster(operation):
        return None
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."


def describe_configs(asked: Asked) -> None:
    request = asked.request
    assert isinstance(request, DescribeConfigsRequest)
    told: list[DescribeConfigsResult] = []
    kept = []
    for one in request.resources:
        refused = _config_refusal(
            asked, AclOperation.DESCRIBE_CONFIGS, one.resource_type, one.resource_name
        )
        if refused is None:
            kept.append(one)
        else:
            error, message = refused
            told.append(DescribeConfigsResult(error, message, one.resource_type, one.resource_name))
    request.resources = kept

    def amend(response: object) -> object:
        assert isinstance(response, DescribeConfigsResponse)
        response.results += told
        return response

    asked.amendments.append(amend)


def alter_configs(asked: Asked) -> None:
    """AlterConfigs and IncrementalAlterConfigs: each resource is answered for itself."""
    request = asked.request
    assert isinstance(request, AlterConfigsRequest | IncrementalAlterConfigsRequest)
    told: list[tuple[int, str, int, str]] = []
    kept = []
    for one in request.resources:
        refused = _config_refusal(
            asked, AclOperation.ALTER_CONFIGS, one.resource_type, one.resource_name
        )
        if refused is None:
            kept.append(one)
        else:
            told.append((*refused, one.resource_type, one.resource_name))
    request.resources = kept  # type: ignore[assignment]  # the type of those that came

    def amend(response: object) -> object:
        if isinstance(response, AlterConfigsResponse):
            response.responses += [AlterConfigsResourceResponse(*one) for one in told]
        elif isinstance(response, IncrementalAlterConfigsResponse):
            response.responses += [IncrementalAlterConfigsResourceResponse(*one) for one in told]
        return response

    asked.amendments.append(amend)
