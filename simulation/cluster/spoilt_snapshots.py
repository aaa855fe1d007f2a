"""Files of snapshots that somebody has spoilt: each is refused, by the field that is wrong.

A snapshot of one topic, with quotas, ACLs and logins beside it, is written as a file and read again
as the same. Then one field of its index is another, or a byte of its log, and nothing is read.
"""

from __future__ import annotations

import json
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final
from zipfile import ZIP_DEFLATED, ZipFile

from mockbroker.metadata.acls import Acl
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.metadata.scram import ScramCredential
from mockbroker.state import snapshot, snapshot_file

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from random import Random

    from mockbroker.cluster.cluster import Cluster

INDEX: Final = "snapshot.json"
MISSING: Final = object()
Spoil = tuple[tuple[str | int, ...], object, str]
"""Where in the index what is otherwise, `MISSING`: not there; and what the refusal names."""

SPOILS: Final[Sequence[Spoil]] = (
    (("format",), "another", "format"),
    (("version",), 9, "version"),
    (("version",), "4", "version"),
    (("next_producer_id",), -1, "next_producer_id"),
    (("next_producer_id",), MISSING, "next_producer_id"),
    (("broker_configs",), [], "broker_configs"),
    (("broker_configs", "one"), {}, "broker_configs"),
    (("broker_configs", "1"), {"log.retention.ms": 5}, "broker_configs"),
    (("broker_configs", "1"), {"log.retention.ms": "soon"}, "broker_configs"),
    (("broker_configs", "1"), {"log.retention.ms": "\ud800"}, "broker_configs"),
    (("broker_configs", "1"), {"log.retention.ms": "1" * 40_000}, "broker_configs"),
    (("client_quotas", 0, "entity"), "u", "client_quotas[0].entity"),
    (("client_quotas", 0, "entity", 0), ["user"], "client_quotas[0].entity"),
    (("client_quotas", 0, "entity", 0), ["user", 7], "client_quotas[0].entity"),
    (("client_quotas", 0, "entity", 0), ["planet", "u"], "client_quotas[0]"),
    (("client_quotas", 0, "values"), {}, "client_quotas[0]"),
    (("client_quotas", 0, "values", "producer_byte_rate"), "much", "client_quotas[0].values"),
    (("client_quotas", 0, "values", "producer_byte_rate"), 10**400, "client_quotas[0].values"),
    (("acls", 0, "principal"), 7, "acls[0].principal"),
    (("acls", 0, "operation"), 1_000, "acls[0].operation"),
    (("acls", 0, "permission"), 1, "acls[0]"),
    (("scram_credentials", 0, "user"), "", "scram_credentials[0]"),
    (("scram_credentials", 0, "mechanism"), 3, "scram_credentials[0].mechanism"),
    (("scram_credentials", 0, "iterations"), 10, "scram_credentials[0]"),
    (("scram_credentials", 0, "salt"), "no digits", "scram_credentials[0].salt"),
    (("delegation_tokens", 0, "owner"), None, "delegation_tokens[0].owner"),
    (("delegation_tokens", 0, "renewers"), [7], "delegation_tokens[0].renewers"),
    (("delegation_tokens", 0, "max_wall_ms"), -1, "delegation_tokens[0].max_wall_ms"),
    (("topics", 0, "name"), "..", "topics[0].name"),
    (("topics", 0, "id"), "00", "topics[0].id"),
    (("topics", 0, "id"), "0" * 32, "topics[0].id"),
    (("topics", 0, "configs"), {"retention.ms": "soon"}, "topics[0].configs"),
    (("topics", 0, "partitions"), [], "topics[0].partitions"),
    (("topics", 0, "partitions", 0, "replicas"), [], "topics[0].partitions[0].replicas"),
    (("topics", 0, "partitions", 0, "replicas"), [1, 1], "topics[0].partitions[0].replicas"),
    (("topics", 0, "partitions", 0, "leader_epoch"), 1 << 40, "topics[0].partitions[0]"),
    (("topics", 0, "partitions", 0, "high_watermark"), 1 << 50, "topics[0].partitions[0]"),
    (("topics", 0, "partitions", 0, "log_end_offset"), 1 << 50, "topics[0].partitions[0].log"),
    (("topics", 0, "partitions", 0, "log"), "elsewhere", "elsewhere"),
)
TWICE: Final = ("topics", "client_quotas", "acls", "scram_credentials", "delegation_tokens")
"""Of these no two may be the same."""


def wrong_files(cluster: Cluster, topic: str, rng: Random, count: int) -> Iterator[str]:
    """What is read otherwise than it was written, or although it is spoilt."""
    image = _whole(cluster, topic)
    written = snapshot_file.to_bytes(image)
    again = snapshot_file.from_bytes(written)
    if again._replace(version=image.version) != image:
        yield f"a snapshot of {topic} is read as {again}, and was {image}"
    for path, value, where in rng.sample(SPOILS, count):
        yield from _wrong_refusal(_changed(written, path, value), where, f"{path} is {value!r}")
    doubled = rng.choice(TWICE)
    yield from _wrong_refusal(_changed(written, (doubled,), None), doubled, f"{doubled} twice")
    for what, data in (("cut", written[:-30]), ("empty", b""), ("no index", _archive({}))):
        yield from _wrong_refusal(data, "", what)
    if any(one.log.batches for one in image.topics[0].partitions):
        yield from _wrong_refusal(_damaged(written), "log", "a byte of the log is another")


def _whole(cluster: Cluster, topic: str) -> snapshot.Snapshot:
    """A snapshot of one topic, with one of each thing beside it at least."""
    image = snapshot.take(cluster)
    credential = ScramCredential(b"salt", b"stored", b"server", 4096)
    token = DelegationToken("one", "User:alice", "User:alice", ("User:bob",), 1, 3, 2, b"")
    return image._replace(
        topics=tuple(one for one in image.topics if one.name == topic),
        client_quotas={(("user", "u"),): {"producer_byte_rate": 5.0}, **image.client_quotas},
        acls=(Acl(2, topic, 3, "User:mallory", "*", 3, 2), *image.acls),
        scram_credentials={("u", 1): credential, **image.scram_credentials},
        delegation_tokens={
            "one": token,
            **{name: one._replace(hmac=b"") for name, one in image.delegation_tokens.items()},
        },
    )


def _archive(members: dict[str, bytes]) -> bytes:
    file = BytesIO()
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def _members(data: bytes) -> dict[str, bytes]:
    with ZipFile(BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def _changed(data: bytes, path: tuple[str | int, ...], value: object) -> bytes:
    """The file with another value in its index; None: the first of a list is there twice."""
    members = _members(data)
    fields = json.loads(members[INDEX])
    holder: Any = fields
    for name in path[:-1]:
        holder = holder[name]
    if value is None and path[0] in TWICE and len(path) == 1:
        holder[path[-1]] = [holder[path[-1]][0], *holder[path[-1]]]
    elif value is MISSING:
        del holder[path[-1]]
    else:
        holder[path[-1]] = value
    return _archive({**members, INDEX: json.dumps(fields).encode()})


def _damaged(data: bytes) -> bytes:
    """The file with another byte at the end of one of its logs."""
    members = _members(data)
    name = next(one for one in members if one != INDEX)
    log = bytearray(members[name])
    log[-1] ^= 0x55
    return _archive({**members, name: bytes(log)})


def _wrong_refusal(data: bytes, where: str, what: str) -> Iterator[str]:
    try:
        snapshot_file.from_bytes(data)
    except snapshot_file.SnapshotError as error:
        if where not in str(error):
            yield f"a file where {what} is refused by {error}"
    else:
        yield f"a file where {what} is read"
