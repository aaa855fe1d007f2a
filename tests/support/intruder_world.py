"""What an intruder is after: a broker whose listener wants a login, and what is kept there.

`bob` may read one topic and nothing else; the rest is of `alice` and `admin`. Whatever is theirs
and was never told to a stranger has VEILED in it. `kept` is all that must not change. Where nobody
is to log in at all, there is no authorizer: who gets past the login may do anything.
"""

from __future__ import annotations

from base64 import b64encode
from hashlib import pbkdf2_hmac
from typing import TYPE_CHECKING

from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker.state.groups import group_ids
from mockbroker.state.snapshot import take
from mockbroker.state.transactions import transactional_ids
from mockbroker_protocol.messages.acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from mockbroker_protocol.messages.delegation_tokens import (
    CreateDelegationTokenRequest,
    CreateDelegationTokenResponse,
)
from mockbroker_protocol.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from mockbroker_protocol.messages.group_offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
    ProduceResponse,
)
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from mockbroker_protocol.messages.topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from mockbroker_protocol.messages.transactions import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.record_codec import Record
from mockbroker_protocol.schema import ZERO_UUID
from tests.support.core import EPOCH_MS
from tests.support.core_state import dump
from tests.support.logins import ADMIN, DELAY_MS, LISTENER, MODULE, logged_in, login_core

if TYPE_CHECKING:
    from tests.support.core import CoreClient

MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
PASSWORDS = {"alice": "alice-secret", "bob": "bob-secret", "admin": "admin-secret"}
BOB = "User:bob"
VEILED = b"veiled"
SESSION_MS = 5000
_USERS = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
_HOUR_MS = 3_600_000
_WEEKS_MS = 20 * 86_400_000
CONFIG = {
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    f"listener.name.{LISTENER.lower()}.plain.sasl.jaas.config": f"{MODULE} required {_USERS};",
    "connections.max.reauth.ms": str(SESSION_MS),
    "connection.failed.authentication.delay.ms": str(DELAY_MS),
    "sasl.server.max.receive.size": "4096",
    "delegation.token.secret.key": "veiled-key",
    "delegation.token.max.lifetime.ms": str(_WEEKS_MS),
    "delegation.token.expiry.time.ms": str(_WEEKS_MS),
    "offsets.retention.minutes": "1000000",
    "transactional.id.expiration.ms": str(_WEEKS_MS),
    "producer.id.expiration.ms": str(_WEEKS_MS),
    "log.retention.ms": "-1",
}
GUARDED = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "User:admin"}
_TOPIC, _GROUP, _TRANSACTIONAL_ID = 2, 3, 5
_LITERAL, _ALL, _READ, _ALLOW = 3, 2, 3, 3


class Provider:
    """The keys of an identity provider."""

    def __init__(self) -> None:
        from tests.support.signed_tokens import ec_key, jwk, jwks

        self._text = jwks(jwk(ec_key("P-256"), kid="one"))

    def text(self) -> str:
        return self._text

    def missing(self) -> None:
        """There are no others."""


def _signing() -> dict[str, str]:
    from tests.support.signed_tokens import configs

    wanted = configs(LISTENER, "file:/keys.json")
    return {key: text for key, text in wanted.items() if key.startswith("listener.name.")}


class World:
    """The broker, what an intruder knows of it, and what is kept."""

    def __init__(self, *, is_guarded: bool, is_signed: bool = False) -> None:
        """`is_signed`: tokens of OAUTHBEARER are to be signed (`tests.support.signed_tokens`)."""
        self.is_signed = is_signed
        config = {**CONFIG, **(GUARDED if is_guarded else {})}
        self.core = core = login_core(config | (_signing() if is_signed else {}))
        if is_signed:
            core.broker.services.config.token_keys[LISTENER] = Provider()
        self._is_guarded = is_guarded
        admin = logged_in(core, ADMIN)
        self._furnish(admin)
        if is_guarded:
            self._allow(admin)
        alice = logged_in(core)
        self._live(alice)
        self.alices_token = _token(alice)
        bob = logged_in(core, f"\0bob\0{PASSWORDS['bob']}".encode())
        self.bobs_token = _token(bob)
        self.expired_token = _token(bob, 1000)
        for client in (admin, alice, bob):
            client.disconnect()
        core.advance(2 * _HOUR_MS)
        self.topic_id = core.cluster.metadata.topics["orders"].id

    @staticmethod
    def _furnish(admin: CoreClient) -> None:
        """What the administrator has made."""
        topics = [CreatableTopic(name, 1, 1) for name in ("veiled-topic", "bobs")]
        made = admin.call(CreateTopicsRequest(topics, 1000), 7, CreateTopicsResponse)
        assert {one.error_code for one in made.topics} == {0}
        for code, kind in ((1, "sha256"), (2, "sha512")):
            credentials = [
                ScramCredentialUpsertion(name, code, 4096, b"salt", _salted(kind, name))
                for name in ("alice", "bob")
            ]
            request = AlterUserScramCredentialsRequest([], credentials)
            answer = admin.call(request, 0, AlterUserScramCredentialsResponse)
            assert {one.error_code for one in answer.results} == {0}

    @staticmethod
    def _allow(admin: CoreClient) -> None:
        """Everything of hers to alice, one topic to bob."""
        everything = [
            AclCreation(kind, name, _LITERAL, "User:alice", "*", _ALL, _ALLOW)
            for kind, name in (
                (_TOPIC, "orders"),
                (_TOPIC, "veiled-topic"),
                (_GROUP, "veiled-group"),
                (_TRANSACTIONAL_ID, "veiled-transactions"),
            )
        ]
        bobs = AclCreation(_TOPIC, "bobs", _LITERAL, BOB, "*", _READ, _ALLOW)
        acls = admin.call(CreateAclsRequest([*everything, bobs]), 3, CreateAclsResponse)
        assert {one.error_code for one in acls.results} == {0}

    @staticmethod
    def _live(alice: CoreClient) -> None:
        """What a user has of her own: records, offsets, a transactional id."""
        for name in ("orders", "veiled-topic"):
            records = build_batch([Record(0, EPOCH_MS, b"veiled-key", b"veiled-value")])
            topic = ProduceRequestTopic(name, partition_data=[ProduceRequestPartition(0, records)])
            request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])
            answer = alice.call(request, 9, ProduceResponse)
            assert answer.responses[0].partition_responses[0].error_code == 0
        position = OffsetCommitRequestPartition(0, 1, -1, "veiled-metadata")
        committed = OffsetCommitRequest(
            "veiled-group",
            topics=[OffsetCommitRequestTopic("orders", ZERO_UUID, [position])],
        )
        offsets = alice.call(committed, 8, OffsetCommitResponse)
        assert offsets.topics[0].partitions[0].error_code == 0
        find = FindCoordinatorRequest("veiled-transactions", 1)
        assert alice.call(find, 3, FindCoordinatorResponse).error_code == 0
        begin = InitProducerIdRequest("veiled-transactions", 60_000, -1, -1)
        assert alice.call(begin, 4, InitProducerIdResponse).error_code == 0

    def kept(self) -> dict[str, object]:
        """All that nobody may change, but for what bob may have of his own: tokens."""
        cluster = self.core.cluster
        if not self._is_guarded:
            return dump(cluster)
        found: dict[str, object] = take(cluster)._asdict()
        del found["version"]
        tokens = cluster.metadata.delegation_tokens
        found["delegation_tokens"] = {
            name: tuple(token) for name, token in tokens.items() if token.owner != BOB
        }
        found["groups"] = group_ids(cluster)
        found["transactional_ids"] = transactional_ids(cluster)
        return found


def _salted(kind: str, name: str) -> bytes:
    return pbkdf2_hmac(kind, PASSWORDS[name].encode(), b"salt", 4096)


def _token(client: CoreClient, lifetime_ms: int = -1) -> tuple[str, str]:
    """A delegation token of its own: id and password."""
    request = CreateDelegationTokenRequest(None, None, [], lifetime_ms)
    answer = client.call(request, 3, CreateDelegationTokenResponse)
    assert answer.error_code == 0
    return answer.token_id, b64encode(answer.hmac).decode()
