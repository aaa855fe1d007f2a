"""ACLs, users of SCRAM, quotas and tokens in snapshots of the metadata log (KIP-630).

The same requests are sent to an Apache Kafka, which writes a snapshot of them, and to this broker.
Its records of them have the same bytes; in a snapshot, Apache Kafka's own reader finds in them what
it finds in its own.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from mockbroker.metadata.acls import Acl, AclFilter, PatternType, Permission, ResourceType
from mockbroker.metadata.authorized_operations import AclOperation
from mockbroker.metadata.changes import DelegationTokenChanged
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.security.authorizer import STANDARD_AUTHORIZER
from mockbroker_protocol.messages.acls import (
    AclCreation,
    CreateAclsRequest,
    DeleteAclsFilter,
    DeleteAclsRequest,
)
from mockbroker_protocol.messages.catalog import response_class
from mockbroker_protocol.messages.metadata_records import (
    AccessControlEntryRecord,
    ClientQuotaRecord,
    DelegationTokenRecord,
    UserScramCredentialRecord,
)
from mockbroker_protocol.messages.quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasRequestEntryData,
    EntityData,
    OpData,
)
from mockbroker_protocol.messages.scram import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from mockbroker_protocol.plan import encode
from mockbroker_protocol.schema import ZERO_UUID
from tests.clients.server import ROOT
from tests.differential.conftest import kafka, kafka_libs
from tests.differential.wire import Wire
from tests.support import metadata_snapshots
from tests.support.core import EPOCH_MS, Core
from tests.support.metadata_logs import BROKER, CONTROLLER, QUIET, records_in
from tests.support.metadata_snapshots import Snapshot
from tests.support.real_brokers import until

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from mockbroker.quorum.quorum import MetadataQuorum

pytestmark = [pytest.mark.kafka, pytest.mark.timeout(240)]

READER = ROOT / "tests" / "differential" / "java" / "MetadataSnapshot.java"
GUARDED = {
    "authorizer.class.name": STANDARD_AUTHORIZER,
    "allow.everyone.if.no.acl.found": "true",
    "super.users": "User:ANONYMOUS",
}
ANY = 1
ACLS = [
    Acl(kind, name, pattern, principal, host, operation, permission)
    for kind, name in (
        (ResourceType.TOPIC, "orders"),
        (ResourceType.TOPIC, "*"),
        (ResourceType.GROUP, "günstig"),
        (ResourceType.TRANSACTIONAL_ID, "paid"),
        (ResourceType.DELEGATION_TOKEN, "a-token"),
        (ResourceType.USER, "User:bob"),
        (ResourceType.CLUSTER, "kafka-cluster"),
    )
    for pattern in (PatternType.LITERAL, PatternType.PREFIXED)
    if kind is not ResourceType.CLUSTER or pattern is PatternType.LITERAL
    for principal, host, operation, permission in (
        ("User:alice", "*", AclOperation.DESCRIBE, Permission.ALLOW),
        ("User:CN=orders,O=Shop", "10.0.0.1", AclOperation.DESCRIBE, Permission.DENY),
    )
]
GONE = Acl(2, "gone", 3, "User:alice", "*", AclOperation.READ, Permission.ALLOW)
LAST = Acl(2, "last", 3, "User:alice", "*", AclOperation.READ, Permission.ALLOW)
"""The snapshot that has it has all."""
TOKEN = DelegationToken("id", "User:a", "User:b", ("User:c", "User:d"), 1, 9, 5, b"never told")
OF_SECURITY = (AccessControlEntryRecord, ClientQuotaRecord, UserScramCredentialRecord)


def requests() -> Iterator[tuple[Any, int]]:
    """What is asked of both, with the versions; each is done with its answer."""
    yield CreateAclsRequest([AclCreation(*one) for one in [*ACLS, GONE]]), 3
    yield DeleteAclsRequest([DeleteAclsFilter(*AclFilter(*GONE))]), 3
    for mechanism in (1, 2):
        users = [
            ScramCredentialUpsertion(name, mechanism, 4096 * mechanism, b"salt", b"salted")
            for name in ("alice", "dave,=")
        ]
        yield AlterUserScramCredentialsRequest([], users), 0
    yield AlterUserScramCredentialsRequest([ScramCredentialDeletion("alice", 2)], []), 0
    entities = [
        [EntityData("user", "alice")],
        [EntityData("user", None), EntityData("client-id", "app")],
        [EntityData("client-id", None)],
    ]
    ops = [OpData("producer_byte_rate", 7.0, False), OpData("request_percentage", 50.0, False)]
    changes = [AlterClientQuotasRequestEntryData(entity, ops) for entity in entities]
    yield AlterClientQuotasRequest(changes, False), 1
    less = [OpData("request_percentage", 0.0, True)]
    yield AlterClientQuotasRequest([AlterClientQuotasRequestEntryData(entities[0], less)]), 1
    yield CreateAclsRequest([AclCreation(*LAST)]), 3


def errors_of(answer: object) -> set[int]:
    """All error codes that it tells."""
    found = set()
    for name in ("results", "filter_results", "entries"):
        found |= {one.error_code for one in getattr(answer, name, ())}
    return found


# -- Apache Kafka's ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def kafkas() -> Iterator[Snapshot]:
    """A snapshot that an Apache Kafka wrote when it had done all that was asked."""
    configs = {
        **GUARDED,
        "metadata.log.max.record.bytes.between.snapshots": "1",
        "metadata.log.segment.ms": "60000",
    }
    with kafka(*[f"{key}={text}" for key, text in configs.items()]) as bootstrap:
        host, port = bootstrap.rsplit(":", 1)
        with Wire(host, int(port)) as wire:
            for message, version in requests():
                assert errors_of(wire.ask(message, version)) == {0}
        folder = ROOT / ".tools" / "run" / f"kafka-{port}" / "data" / "__cluster_metadata-0"
        until(lambda: has_last(folder))
        found = metadata_snapshots.newest(folder)
        assert found is not None
        yield found


def has_last(folder: Path) -> bool:
    found = metadata_snapshots.newest(folder)
    return found is not None and any(
        isinstance(record, AccessControlEntryRecord) and record.resource_name == LAST.resource_name
        for record, _ in metadata_snapshots.read(found.file)
    )


# -- this broker's ----------------------------------------------------------------------------


class Ours:
    """A node that has done the same, and its metadata log from then on: all at once."""

    def __init__(self) -> None:
        core = Core(config={**QUIET, **GUARDED}, outsiders=True)
        client = core.client()
        for message, version in requests():
            answered: type[object] = response_class(message.API_KEY)
            answer = client.call(message, version, answered)
            assert errors_of(answer) == {0}
        core.act(lambda: core.cluster.metadata.apply(DelegationTokenChanged("id", TOKEN)))
        self._quorum: MetadataQuorum = core.act(
            lambda: core.cluster.start_quorum(CONTROLLER, {1: [BROKER]})
        )

    @property
    def records(self) -> list[object]:
        """Those of the metadata, in the order of the log."""
        found = records_in(self._quorum.log)
        return [one for one in found if type(one).__module__.endswith("metadata_records")]

    def write(self, folder: Path) -> Snapshot:
        snapshot = Snapshot(folder, self._quorum.log.log_end_offset, self._quorum.epoch)
        metadata_snapshots.write(snapshot, self.records, EPOCH_MS)
        return snapshot


def told(records: Sequence[object]) -> list[tuple[str, bytes]]:
    """Their kinds and bytes; the id of an ACL is drawn at random."""
    found = []
    for record in records:
        if isinstance(record, OF_SECURITY):
            if isinstance(record, AccessControlEntryRecord):
                record.id = ZERO_UUID
            found.append((type(record).__name__, b"".join(map(bytes, encode(record, 0)))))
    return sorted(found)


def test_the_records_have_the_bytes_of_apache_kafkas(kafkas: Snapshot) -> None:
    theirs = metadata_snapshots.read(kafkas.file)
    assert {version for record, version in theirs if isinstance(record, OF_SECURITY)} == {0}
    expected = told([record for record, _ in theirs])
    assert len(expected) == len(ACLS) + 1 + 3 + 5
    assert told(Ours().records) == expected


def image_of(snapshot: Snapshot) -> list[str]:
    """What Apache Kafka's own reader finds in one."""
    arguments = (str(snapshot.folder), str(snapshot.offset), str(snapshot.epoch))
    command = ["java", "-Xmx256m", "-cp", kafka_libs(), str(READER), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_apache_kafka_reads_of_ours_what_it_reads_of_its_own(
    kafkas: Snapshot, tmp_path: Path
) -> None:
    expected = image_of(kafkas)
    assert len(expected) == len(ACLS) + 1 + 3 + 3
    found = image_of(Ours().write(tmp_path))
    assert "token id User:a User:b [User:c, User:d] 1 9 5" in found
    assert [line for line in found if not line.startswith("token ")] == expected


def test_a_token_is_written_without_its_secret() -> None:
    (token,) = [one for one in Ours().records if isinstance(one, DelegationTokenRecord)]
    assert (token.owner, token.requester, token.renewers) == (
        "User:a",
        "User:b",
        ["User:c", "User:d"],
    )
    assert b"never told" not in b"".join(map(bytes, encode(token, 0)))
