"""A snapshot as a file, and what is refused as one."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any
from zipfile import ZipFile

import pytest

from mockbroker.metadata.acls import Acl
from mockbroker.metadata.changes import (
    AclsChanged,
    ClientQuotasChanged,
    DelegationTokenChanged,
    ScramCredentialChanged,
)
from mockbroker.metadata.delegation_tokens import DelegationToken
from mockbroker.metadata.scram import ScramCredential
from mockbroker.state.groups import commit_offsets, committed_offsets
from mockbroker.state.reading import TopicReader
from mockbroker.state.snapshot import restore, take
from mockbroker.state.snapshot_file import SnapshotError, load, save
from mockbroker.state.writing import NewRecord, create_topic, put
from tests.support.inside import make_cluster

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


ENTITY = (("client-id", None), ("user", "u"))
DENIED = Acl(2, "orders", 3, "User:mallory", "*", 3, 2)
CREDENTIAL = ScramCredential(b"salt", b"stored", b"server", 4096)
HMAC = b"never told"
TOKEN = DelegationToken("id", "User:a", "User:b", ("User:c",), 1, 9, 5, b"")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    cluster = make_cluster({"orders": 2})
    create_topic(cluster, "empty", 1, configs={"retention.ms": "1000"})
    put(cluster, "orders", [NewRecord(b"%d" % at) for at in range(3)])
    put(cluster, "orders", [NewRecord(b"3", partition=0)])
    commit_offsets(cluster, "g", {("orders", 0): 2})
    cluster.metadata.apply(ClientQuotasChanged(ENTITY, {"producer_byte_rate": 7.0}))
    cluster.metadata.apply(AclsChanged([DENIED], ()))
    cluster.metadata.apply(ScramCredentialChanged(("alice", 1), CREDENTIAL))
    cluster.metadata.apply(DelegationTokenChanged("id", TOKEN._replace(hmac=HMAC)))
    path = tmp_path / "state.zip"
    save(take(cluster), str(path))
    return path


def test_another_cluster_takes_it_over(saved: Path) -> None:
    other = make_cluster({"else": 1})
    restore(other, load(str(saved)))
    assert sorted(other.metadata.topics) == ["__consumer_offsets", "empty", "orders"]
    assert [record.value for record in TopicReader("orders").read(other)] == [
        b"0",
        b"2",
        b"3",
        b"1",
    ]
    assert committed_offsets(other, "g") == {("orders", 0): 2}
    assert other.metadata.topics["empty"].configs == {"retention.ms": "1000"}
    assert other.metadata.client_quotas == {ENTITY: {"producer_byte_rate": 7.0}}
    assert list(other.metadata.acls) == [DENIED]
    assert other.metadata.scram_credentials == {("alice", 1): CREDENTIAL}
    assert [one._replace(hmac=b"") for one in other.metadata.delegation_tokens.values()] == [TOKEN]
    with ZipFile(saved) as archive:
        told = archive.read("snapshot.json")
    assert b"User:b" in told
    assert HMAC not in told
    assert HMAC.hex().encode() not in told


def test_what_another_process_drafts_for_the_same_file_is_left_to_it(tmp_path: Path) -> None:
    path = tmp_path / "state.zip"
    drafts = [path.with_name(f"state.zip{other}.tmp") for other in ("", f".{os.getpid() + 1}")]
    for draft in drafts:
        draft.write_bytes(b"half")
    save(take(make_cluster()), str(path))
    assert sorted(tmp_path.iterdir()) == sorted([path, *drafts])
    assert [draft.read_bytes() for draft in drafts] == [b"half"] * 2


def test_what_is_loaded_is_what_was_saved(saved: Path) -> None:
    first = load(str(saved))
    again = saved.with_name("again.zip")
    save(first, str(again))
    assert load(str(again)) == first
    assert [path.name for path in sorted(saved.parent.iterdir())] == ["again.zip", "state.zip"]


def rewrite(path: Path, change: Callable[[dict[str, Any]], object]) -> Path:
    """The same file with another index."""
    other = path.with_name("other.zip")
    with ZipFile(path) as old, ZipFile(other, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "snapshot.json":
                fields = json.loads(data)
                change(fields)
                data = json.dumps(fields).encode()
            new.writestr(name, data)
    return other


def orders(fields: dict[str, Any]) -> dict[str, Any]:
    (topic,) = (topic for topic in fields["topics"] if topic["name"] == "orders")
    return dict(topic)["partitions"][0]  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda fields: fields.update(format="zip"), "format is not 'mockbroker-snapshot'"),
        (lambda fields: fields.update(version=5), "version: 5; allowed: 1 to 4"),
        (lambda fields: fields.update(version=True), "version: True; allowed: 1 to 4"),
        (lambda fields: fields.pop("acls"), "acls: None is not of type list"),
        (lambda fields: fields.pop("topics"), "topics: None is not of type list"),
        (lambda fields: fields.update(next_producer_id="x"), "'x' is not of type int"),
        (lambda fields: fields["topics"][0].update(id="00"), r"topics\[0\].id: not 16 bytes"),
        (lambda fields: fields["topics"][0].update(partitions=[]), "partitions: there are none"),
        (lambda fields: fields["topics"][0].update(configs={"a": 1}), "not a table of texts"),
        (lambda fields: fields["topics"].append(fields["topics"][0]), "the same name or id"),
        (lambda fields: orders(fields).update(log_start_offset=9), "do not grow"),
        (lambda fields: orders(fields).update(replicas=[]), "a list of 0 is not a list of nodes"),
        (lambda fields: orders(fields).update(log=None), "log: it is missing"),
        (lambda fields: orders(fields).update(log="nope"), "nope: there is no such member"),
        (
            lambda fields: orders(fields).update(high_watermark=9, log_end_offset=9),
            "does not end at offset 9",
        ),
    ],
)
def test_a_bad_index_is_refused(
    saved: Path, change: Callable[[dict[str, Any]], object], problem: str
) -> None:
    with pytest.raises(SnapshotError, match=problem):
        load(str(rewrite(saved, change)))


def test_a_damaged_log_is_refused(saved: Path) -> None:
    other = saved.with_name("other.zip")
    with ZipFile(saved) as old, ZipFile(other, "w") as new:
        for name in old.namelist():
            data = bytearray(old.read(name))
            if name.startswith("logs/") and "orders" in name:
                data[-1] ^= 1
            new.writestr(name, bytes(data))
    with pytest.raises(SnapshotError, match=r"logs/.*orders/0': the batch at \d+ is damaged"):
        load(str(other))


def test_files_that_are_no_snapshots_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SnapshotError, match=r"nope\.zip: No such file"):
        load(str(tmp_path / "nope.zip"))
    text = tmp_path / "text"
    text.write_text("hello")
    with pytest.raises(SnapshotError, match="text: not a snapshot"):
        load(str(text))
    with ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(SnapshotError, match=r"snapshot\.json: there is no such member"):
        load(str(tmp_path / "empty.zip"))
    with pytest.raises(SnapshotError, match="No such file or directory"):
        save(take(make_cluster()), str(tmp_path / "no" / "folder"))


def test_a_log_that_is_not_there_is_told_in_a_line(saved: Path) -> None:
    with ZipFile(saved) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    index = members["snapshot.json"].decode()
    assert '"log": "logs/' in index
    with ZipFile(saved, "w") as archive:
        archive.writestr("snapshot.json", index.replace('"log": "logs/', '"log": "a\\n/'))
    with pytest.raises(SnapshotError, match=r": a\\n/\S+: there is no such member") as refused:
        load(str(saved))
    assert str(refused.value).isprintable()


def test_more_than_a_broker_would_hold_is_not_unpacked(
    saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mockbroker.state.snapshot_file.MAX_LOG_BYTES", 100)
    with pytest.raises(SnapshotError, match=r"logs/\S+: \d+ bytes are too many; \d+ are allowed"):
        load(str(saved))
    cluster = make_cluster({"orders": 1})
    put(cluster, "orders", [NewRecord(b"x" * 200)])
    with pytest.raises(SnapshotError, match=r"logs of \d+ bytes; allowed: 100"):
        save(take(cluster), str(saved))
    monkeypatch.setattr("mockbroker.state.snapshot_file.MAX_INDEX_BYTES", 100)
    with pytest.raises(SnapshotError, match=r"snapshot.json: \d+ bytes are too many"):
        load(str(saved))


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, "{", "\udcff", "1" * 5000])
def test_an_index_that_is_no_json_is_refused_in_a_line(tmp_path: Path, text: str) -> None:
    path = tmp_path / "state.zip"
    with ZipFile(path, "w") as archive:
        archive.writestr("snapshot.json", text.encode("utf-8", "surrogateescape"))
    with pytest.raises(SnapshotError, match=r"state\.zip: ") as refused:
        load(str(path))
    assert str(refused.value).isprintable()
    assert len(str(refused.value)) < 400
