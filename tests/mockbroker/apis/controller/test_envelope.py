"""Requests that a broker forwards for a client."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from mockbroker.apis.context import PARKED, RequestContext
from mockbroker.apis.controller.envelope import FORWARDABLE
from mockbroker.apis.registry import CONTROLLER_SERVED
from mockbroker.metadata.acls import CLUSTER_NAME, Acl, PatternType, Permission, ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.changes import AclsChanged
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
)
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.messages.controller_apis import EnvelopeRequest, EnvelopeResponse
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
    ExpireDelegationTokenRequest,
    RenewDelegationTokenRequest,
)
from mockbroker_protocol.messages.features import FeatureUpdateKey, UpdateFeaturesRequest
from mockbroker_protocol.messages.metadata import MetadataRequest
from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from mockbroker_protocol.messages.reassignments import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
    TopicPartitions,
)
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mockbroker_protocol.plan import decode, encode
from tests.support.metadata_logs import CONTROLLER, QuorumCore

if TYPE_CHECKING:
    from mockbroker.apis.context import Services

# Version 0, "User", "alice", no delegation token, no tags.
ALICE = bytes.fromhex("0000") + b"\x05User\x06alice\x00\x00"
HOST = bytes([10, 0, 0, 7])
GUARDED = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
}
CREATE = CreateTopicsRequest([CreatableTopic("made", 3, 1)], 1000)


def forwarded(request: Any, version: int, principal: bytes | None = ALICE) -> EnvelopeRequest:
    header = encode_request_header(request.API_KEY, version, 77, "client")
    return EnvelopeRequest(header + b"".join(encode(request, version)), principal, HOST)


def opened(data: bytes | None, version: int) -> CreateTopicsResponse:
    assert data is not None
    correlation_id, pos = decode_response_header(data, 19, version)
    assert correlation_id == 77
    return decode(CreateTopicsResponse, version, data, pos)[0]


@pytest.mark.parametrize("version", [4, 7])
@pytest.mark.parametrize("principal", [ALICE, None])
def test_a_topic_is_created_for_somebody_elses_client(
    version: int, principal: bytes | None
) -> None:
    core = QuorumCore()
    envelope = forwarded(CREATE, version, principal)
    answer = core.observer().call(envelope, 0, EnvelopeResponse)
    assert answer.error_code == 0
    (topic,) = opened(answer.response_data, version).topics
    assert (topic.name, topic.error_code) == ("made", 0)
    assert len(core.cluster.metadata.topics["made"].partitions) == 3


@pytest.mark.parametrize(
    ("envelope", "error"),
    [
        (forwarded(MetadataRequest(None), 9), 42),
        (EnvelopeRequest(b"\0\x13\0\7", None, HOST), 42),
        (EnvelopeRequest(b"\0\x13\0\x63\0\0\0\1\0\1c\0", None, HOST), 35),
        (EnvelopeRequest(forwarded(CREATE, 7).request_data[:-5], None, HOST), 42),
        (forwarded(CREATE, 7, b"\0\0\x20User"), 42),
        (EnvelopeRequest(forwarded(CREATE, 7).request_data, ALICE, b"\x7f"), 42),
    ],
)
def test_what_is_not_forwarded(envelope: EnvelopeRequest, error: int) -> None:
    answer = QuorumCore().observer().call(envelope, 0, EnvelopeResponse)
    assert (answer.error_code, answer.response_data) == (error, None)


@pytest.mark.parametrize("by", [False, True])
def test_a_late_answer_comes_in_the_envelope_too(by: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    core = QuorumCore()
    waiting: list[RequestContext] = []

    def park(services: Services, ctx: RequestContext, request: object) -> object:
        waiting.append(ctx)
        return PARKED

    api = core.listening(CONTROLLER.name).services.registry_of(CONTROLLER.name).get(19)
    assert api is not None
    api.load()
    monkeypatch.setattr(api, "handle", park)
    client = core.observer()
    client.send(forwarded(CREATE, 7), 0)
    assert client.answered == 0
    (ctx,) = waiting
    assert (ctx.principal, ctx.client_id, ctx.api_version) == ("User:alice", "client", 7)
    assert ctx.peer == "/10.0.0.7"
    late = CreateTopicsResponse(5)
    core.act(lambda: ctx.respond_by(lambda: late) if by else ctx.respond(late))
    core.act(lambda: ctx.respond(CreateTopicsResponse(6)))
    answer = client.receive(EnvelopeResponse)
    assert opened(cast("bytes", answer.response_data), 7) == late


def answered(core: QuorumCore, request: Any, version: int) -> Any:
    """What a request in an envelope is answered with."""
    answer = core.observer().call(forwarded(request, version), 0, EnvelopeResponse)
    assert answer.error_code == 0
    assert answer.response_data is not None
    _, pos = decode_response_header(answer.response_data, request.API_KEY, version)
    return decode(response_class(request.API_KEY), version, answer.response_data, pos)[0]


def test_all_that_brokers_forward_is_served() -> None:
    assert set(CONTROLLER_SERVED) >= FORWARDABLE
    core = QuorumCore(topics={"a": 1}, config=GUARDED)
    made = Acl(ResourceType.TOPIC, "b", PatternType.LITERAL, "User:x", "*", 4, Permission.DENY)
    assert answered(core, CreateAclsRequest([AclCreation(*made)]), 3).results[0].error_code == 0
    assert made in core.cluster.metadata.acls
    gone = answered(core, DeleteAclsRequest([DeleteAclsFilter(*made)]), 3)
    assert len(gone.filter_results[0].matching_acls) == 1
    assert made not in core.cluster.metadata.acls
    quota = AlterClientQuotasRequestEntryData([EntityData("user", "x")], [OpData("k", 1.0)])
    assert answered(core, AlterClientQuotasRequest([quota]), 1).entries[0].error_code == 42
    quota.ops[0].key = "request_percentage"
    assert answered(core, AlterClientQuotasRequest([quota]), 1).entries[0].error_code == 0
    assert core.cluster.metadata.client_quotas == {(("user", "x"),): {"request_percentage": 1.0}}
    elected = answered(core, ElectLeadersRequest(0, [TopicPartitions("a", [0])]), 2)
    assert elected.replica_election_results[0].partition_result[0].error_code == 84
    moved = ReassignableTopic("a", [ReassignablePartition(0, [9])])
    refused = answered(core, AlterPartitionReassignmentsRequest(9, topics=[moved]), 0)
    assert refused.responses[0].partitions[0].error_code == 39
    assert answered(core, ListPartitionReassignmentsRequest(), 0).topics == []
    update = FeatureUpdateKey("transaction.version", 1, False, 2)
    assert answered(core, UpdateFeaturesRequest(9, [update]), 2).error_code == 0
    assert core.cluster.metadata.features["transaction.version"] == 1


def test_delegation_tokens_and_scram_credentials_are_forwarded() -> None:
    """Where the client may ask for a token its own broker has looked at, but for one by a token."""
    core = QuorumCore(config={"delegation.token.secret.key": "a-key"})
    made = answered(core, CreateDelegationTokenRequest(None, None, [], -1), 3)
    assert (made.error_code, made.principal_name) == (0, "alice")
    [token] = core.cluster.metadata.delegation_tokens.values()
    assert (token.token_id, token.hmac) == (made.token_id, made.hmac)
    renewed = answered(core, RenewDelegationTokenRequest(made.hmac, 1_000), 2)
    assert renewed.error_code == 0
    expired = answered(core, ExpireDelegationTokenRequest(made.hmac, -1), 2)
    assert (expired.error_code, core.cluster.metadata.delegation_tokens) == (0, {})
    by_token = ALICE[:-2] + b"\1\0"
    envelope = forwarded(CreateDelegationTokenRequest(None, None, [], -1), 3, by_token)
    outer = core.observer().call(envelope, 0, EnvelopeResponse)
    assert outer.response_data is not None
    _, pos = decode_response_header(outer.response_data, 38, 3)
    refused = decode(CreateDelegationTokenResponse, 3, outer.response_data, pos)[0]
    assert refused.error_code == 64
    user = ScramCredentialUpsertion("x", 1, 4096, b"salt", b"p" * 32)
    altered = answered(core, AlterUserScramCredentialsRequest([], [user]), 0)
    assert [one.error_code for one in altered.results] == [0]
    assert list(core.cluster.metadata.scram_credentials) == [("x", 1)]


def test_at_a_controllers_own_listener_a_token_wants_a_login() -> None:
    core = QuorumCore(config={"delegation.token.secret.key": "a-key"})
    request = CreateDelegationTokenRequest(None, None, [], -1)
    answer = core.observer().call(request, 3, CreateDelegationTokenResponse)
    assert answer.error_code == 64


def test_the_client_is_asked_about_and_the_broker_that_forwards() -> None:
    """Each by its own principal and address: alice at HOST, and the broker at 127.0.0.1."""
    core = QuorumCore(config={"authorizer.class.name": STANDARD_AUTHORIZER})
    cluster = ResourceType.CLUSTER, CLUSTER_NAME, PatternType.LITERAL
    create = AclOperation.CREATE
    create_acls = core.cluster.controller.create_acls
    allow = Acl(*cluster, "User:bob", "*", create, Permission.ALLOW)
    deny = Acl(*cluster, "User:bob", "10.0.0.7", create, Permission.DENY)
    broker = Acl(*cluster, "User:*", "127.0.0.1", AclOperation.CLUSTER_ACTION, Permission.ALLOW)
    core.act(lambda: create_acls([allow]))
    outer = core.observer().call(forwarded(CREATE, 7), 0, EnvelopeResponse)
    assert (outer.error_code, outer.response_data) == (31, None)
    core.act(lambda: create_acls([broker]))
    assert answered(core, CREATE, 7).topics[0].error_code == 29
    bob = ALICE.replace(b"\x06alice", b"\x04bob")
    core.act(lambda: create_acls([deny]))
    for gone, error in ((None, 29), (deny, 0)):
        if gone is not None:
            core.act(lambda: core.cluster.metadata.apply(AclsChanged((), (deny,))))
        answer = core.observer().call(forwarded(CREATE, 7, bob), 0, EnvelopeResponse)
        assert opened(answer.response_data, 7).topics[0].error_code == error
