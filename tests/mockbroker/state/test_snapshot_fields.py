"""Each field of a snapshot's file is refused in one short line when it is not what it should be."""

from __future__ import annotations

from typing import Any

import pytest

from mockbroker.state.snapshot_fields import FieldError, quoted, read_snapshot
from mockbroker_protocol.records.batch import build_batch
from mockbroker_protocol.records.crc import crc32c
from mockbroker_protocol.records.record_codec import Record


def partition(**fields: object) -> dict[str, object]:
    offsets = dict.fromkeys(("log_start_offset", "high_watermark", "log_end_offset"), 0)
    return {"replicas": [1], "leader_epoch": 0, **offsets, **fields}


def topic(**fields: object) -> dict[str, object]:
    return {
        "name": "orders",
        "id": "11" * 16,
        "configs": {},
        "partitions": [partition()],
        **fields,
    }


def quota(**fields: object) -> dict[str, object]:
    return {"entity": [["user", "u"]], "values": {"producer_byte_rate": 9}, **fields}


def acl(**fields: object) -> dict[str, object]:
    codes = {"resource_type": 2, "pattern_type": 3, "operation": 3, "permission": 3}
    names = {"resource_name": "orders", "principal": "User:mallory", "host": "*"}
    return {**codes, **names, **fields}


def index(**fields: object) -> dict[str, Any]:
    return {
        "format": "mockbroker-snapshot",
        "version": 4,
        "next_producer_id": 0,
        "broker_configs": {},
        "client_quotas": [],
        "acls": [],
        "scram_credentials": [],
        "delegation_tokens": [],
        "topics": [topic()],
        **fields,
    }


def credential(**fields: object) -> dict[str, Any]:
    keys = {"salt": "73", "stored_key": "6b", "server_key": "6b"}
    return {"user": "alice", "mechanism": 1, "iterations": 4096, **keys, **fields}


def no_log(name: str) -> bytes:
    raise AssertionError(name)


def test_what_is_right_is_taken() -> None:
    unread = {"plain.connections.max.reauth.ms": "soon", "super.users": "nobody"}
    of_one = {"plugin.key": "x", **unread}
    configs = {"": {"log.retention.ms": "5", "num.io.threads": "900"}, "1": of_one}
    two = [quota(), quota(entity=[["client-id", None], ["user", "u"]])]
    snapshot = read_snapshot(index(broker_configs=configs, client_quotas=two, acls=[acl()]), no_log)
    assert snapshot.broker_configs == configs
    assert snapshot.client_quotas == {
        (("user", "u"),): {"producer_byte_rate": 9.0},
        (("client-id", None), ("user", "u")): {"producer_byte_rate": 9.0},
    }
    assert [one._asdict() for one in snapshot.acls] == [acl()]
    assert [one.name for one in snapshot.topics] == ["orders"]


def test_credentials_are_taken() -> None:
    both = [credential(), credential(mechanism=2, iterations=16384)]
    assert read_snapshot(index(scram_credentials=both), no_log).scram_credentials == {
        ("alice", 1): (b"s", b"k", b"k", 4096),
        ("alice", 2): (b"s", b"k", b"k", 16384),
    }


def token(**fields: object) -> dict[str, Any]:
    times = {"issue_wall_ms": 1, "max_wall_ms": 9, "expiry_wall_ms": 5}
    whose = {"owner": "User:a", "requester": "User:b", "renewers": ["User:c"]}
    return {"token_id": "id", **whose, **times, **fields}


def test_tokens_are_taken_without_their_secret() -> None:
    found = read_snapshot(index(delegation_tokens=[token()]), no_log).delegation_tokens
    assert found == {"id": ("id", "User:a", "User:b", ("User:c",), 1, 9, 5, b"")}
    fields = index(version=3)
    del fields["delegation_tokens"]
    assert not read_snapshot(fields, no_log).delegation_tokens


def test_a_file_of_before_has_no_credentials() -> None:
    fields = index(version=2)
    del fields["scram_credentials"]
    assert not read_snapshot(fields, no_log).scram_credentials


def test_a_file_of_before_has_neither_quotas_nor_acls() -> None:
    fields = index(version=1)
    del fields["client_quotas"], fields["acls"]
    snapshot = read_snapshot(fields, no_log)
    assert not snapshot.client_quotas
    assert not snapshot.acls


@pytest.mark.parametrize("name", ["", ".", "../../x", "a\nb", "\ud800", "x" * 250, "é", "a/b"])
def test_names_that_are_none(name: str) -> None:
    with pytest.raises(FieldError, match=r"topics\[0\].name: .* is no name of a topic") as refused:
        read_snapshot(index(topics=[topic(name=name)]), no_log)
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"next_producer_id": 1 << 80}, "a number of 81 bits is not within 0 and"),
        ({"next_producer_id": -1}, "-1 is not within 0 and"),
        ({"broker_configs": {"x": {}}}, "'x' is no id of a node"),
        ({"broker_configs": {"": {"log.retention.ms": "x"}}}, "log.retention.ms"),
        ({"broker_configs": {"": {"listeners": "x"}}}, "Cannot update these configs"),
        ({"broker_configs": {"": {"\ud800": "x"}}}, "is no text"),
        ({"broker_configs": {"": {"a": "x" * 40_000}}}, "a text of 40000 bytes is longer"),
        ({"scram_credentials": {}}, "scram_credentials: a dict of 0 is not of type list"),
        ({"scram_credentials": [credential(user="")]}, r"scram_credentials\[0\]: it has no user"),
        ({"scram_credentials": [credential(user="\ud800")]}, "is no text"),
        ({"scram_credentials": [credential(mechanism=0)]}, "no known mechanism"),
        ({"scram_credentials": [credential(iterations=4095)]}, "or few iterations"),
        ({"scram_credentials": [credential(iterations=1 << 80)]}, "is not within 0 and 16384"),
        ({"scram_credentials": [credential(), credential()]}, r"\[1\]: it was there before"),
        ({"scram_credentials": [credential(salt="xyz")]}, "salt: it is no bytes in hexadecimal"),
        ({"scram_credentials": [credential(server_key="")]}, "server_key: it is no bytes"),
        ({"delegation_tokens": [token(), token()]}, r"\[1\]: it was there before"),
        ({"delegation_tokens": [token(renewers=[1])]}, "renewers: 1 is no text"),
        ({"delegation_tokens": [token(owner="\ud800")]}, "is no text"),
        ({"delegation_tokens": [token(max_wall_ms=-1)]}, "is not within 0 and"),
        ({"client_quotas": {}}, "client_quotas: a dict of 0 is not of type list"),
        ({"client_quotas": [quota(entity=[])]}, "Invalid empty client quota entity"),
        ({"client_quotas": [quota(entity=[["user"]])]}, "is no pair of a type and a name"),
        ({"client_quotas": [quota(entity=["ab"])]}, "'ab' is no pair"),
        ({"client_quotas": [quota(entity=[["user", 1]])]}, "is no pair of texts"),
        ({"client_quotas": [quota(entity=[[None, "u"]])]}, "is no pair of texts"),
        ({"client_quotas": [quota(entity=[["user", "\ud800"]])]}, "is no text"),
        ({"client_quotas": [quota(entity=[["group", "g"]])]}, "Unhandled client quota entity"),
        (
            {"client_quotas": [quota(entity=[["user", "u"], ["client-id", "c"]])]},
            r"client_quotas\[0\]: it has no quotas, is unsorted or was there before",
        ),
        ({"client_quotas": [quota(entity=[["user", "u"]] * 2)]}, "is unsorted"),
        ({"client_quotas": [quota(), quota()]}, r"client_quotas\[1\]: it .* was there before"),
        ({"client_quotas": [quota(values={})]}, "has no quotas"),
        ({"client_quotas": [quota(values={"rate": 1.0})]}, "Invalid configuration key rate"),
        ({"client_quotas": [quota(values={"request_percentage": True})]}, "True is no number"),
        (
            {"client_quotas": [quota(values={"request_percentage": float("nan")})]},
            "must be a finite number",
        ),
        (
            {"client_quotas": [quota(values={"request_percentage": 10**4000})]},
            "a number of 13288 bits is too large",
        ),
        ({"acls": [{}]}, r"acls\[0\].resource_name: None is not of type str"),
        ({"acls": ["a"]}, r"acls\[0\].resource_name: None is not of type str"),
        ({"acls": [acl(operation=1)]}, "its codes mean no ACL"),
        ({"acls": [acl(pattern_type=2)]}, "its codes mean no ACL"),
        ({"acls": [acl(permission=-1)]}, "-1 is not within 0 and 127"),
        ({"acls": [acl(resource_name="")]}, "Invalid empty resource name"),
        ({"acls": [acl(resource_type=4)]}, "only valid name for the CLUSTER resource"),
        ({"acls": [acl(principal="mallory")]}, "no colon is present"),
        ({"acls": [acl(host="\ud800")]}, "is no text"),
        ({"acls": [acl(), acl()]}, r"acls\[1\]: 'it was there before'"),
        ({"topics": [topic(id="00" * 16)]}, "no topic has this id"),
        ({"topics": [topic(id="zz")]}, "not 16 bytes"),
        ({"topics": [topic(configs={"retention.ms": "x"})]}, "retention.ms"),
        ({"topics": [topic(configs={"nope": "x"})]}, "nope"),
        ({"topics": [topic(name="a.b"), topic(name="a_b", id="22" * 16)]}, "names that collide"),
        ({"topics": [topic(partitions=[partition()] * 200_001)]}, "more than 200000"),
    ],
)
def test_fields_that_are_wrong(fields: dict[str, object], problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        read_snapshot(index(**fields), no_log)


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"leader_epoch": 1 << 40}, "leader_epoch: 1099511627776 is not within 0 and 1073741824"),
        ({"leader_epoch": True}, "leader_epoch: True is not of type int"),
        ({"log_end_offset": 1 << 80}, "a number of 81 bits"),
        ({"high_watermark": 1}, "do not grow"),
        ({"replicas": [1, 1]}, "is not a list of nodes"),
        ({"replicas": [-1]}, "is not a list of nodes"),
        ({"replicas": [True]}, "is not a list of nodes"),
        ({"replicas": [1 << 31]}, "is not a list of nodes"),
    ],
)
def test_partitions_that_are_wrong(fields: dict[str, object], problem: str) -> None:
    with pytest.raises(FieldError, match=problem):
        read_snapshot(index(topics=[topic(partitions=[partition(**fields)])]), no_log)


def test_a_log_whose_records_cannot_be_read() -> None:
    batch = bytearray(build_batch([Record(0, 0, b"key", b"value")]))
    batch[61] = 0x7F  # the record's length
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    offsets = {"high_watermark": 1, "log_end_offset": 1, "log": "a"}
    with pytest.raises(FieldError, match=r"partitions\[0\].log: 'a': "):
        read_snapshot(
            index(topics=[topic(partitions=[partition(**offsets)])]), lambda _: bytes(batch)
        )


def test_a_log_whose_records_lie_beyond_their_batch() -> None:
    batch = bytearray(build_batch([Record(0, 0, b"key", b"one"), Record(5, 0, b"key", b"two")]))
    batch[23:27] = (1).to_bytes(4, "big")  # the last offset delta
    batch[17:21] = crc32c(batch[21:]).to_bytes(4, "big")
    offsets = {"high_watermark": 2, "log_end_offset": 2, "log": "a"}
    with pytest.raises(FieldError, match="the batch at 0 is damaged"):
        read_snapshot(
            index(topics=[topic(partitions=[partition(**offsets)])]), lambda _: bytes(batch)
        )


def test_what_is_quoted_is_short_and_printable() -> None:
    assert quoted("plain") == "'plain'"
    assert quoted("\x1b[2J\n") == r"'\x1b[2J\n'"
    assert quoted("x" * 500) == f"'{'x' * 80}…'"
    assert quoted({"a": 1}) == "a dict of 1"
    assert quoted(7) == "7"
