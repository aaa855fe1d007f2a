"""Whatever a snapshot's file says, it is refused in one line, or a broker works with it."""

from __future__ import annotations

import json
import struct
from contextlib import suppress
from copy import deepcopy
from functools import lru_cache
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any
from zipfile import ZIP_DEFLATED, ZipFile

from hypothesis import given, settings
from hypothesis import strategies as st

from mockbroker.journal import HandlerFailed
from mockbroker.metadata.acls import Acl
from mockbroker.metadata.changes import AclsChanged, ClientQuotasChanged
from mockbroker.state.groups import commit_offsets
from mockbroker.state.snapshot import restore, take
from mockbroker.state.snapshot_file import SnapshotError, load, save
from mockbroker_protocol.messages.fetch import FetchResponse
from mockbroker_protocol.messages.group_admin import ListGroupsRequest, ListGroupsResponse
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.produce import ProduceResponse
from mockbroker_protocol.messages.transaction_admin import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from mockbroker_protocol.records.batch import iterate_batches, pack_header
from mockbroker_protocol.records.crc import crc32c
from tests.support.core import Core
from tests.support.group_calls import stable_group
from tests.support.requests import fetch, produce
from tests.support.transactions import Transactional

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

NASTY: list[object] = [
    *("", ".", "..", "../../x", "a\nb", "\x1b[2J", "\ud800", "x" * 300, "orders", "empty", "é"),
    *("__consumer_offsets", "__transaction_state", "__cluster_metadata", "logs/0-orders/0"),
    *(0, 1, -1, 7, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**80, 10**4000),
    *(None, True, 1.5, 1e400, [], {}, [1, 1], [-1], [2**40], [9], [[]], {"a": "b"}, {"": 1}),
    *({"retention.ms": "x"}, {"retention.ms": "1"}, {"segment.bytes": "1"}, {"\ud800": "1"}),
    *("00" * 16, "0" * 30 + "01", "zz" * 16, "ff" * 16),
]
HEADER_FIELDS = (
    "base_offset",
    "partition_leader_epoch",
    "attributes",
    "last_offset_delta",
    "base_timestamp",
    "max_timestamp",
    "producer_id",
    "producer_epoch",
    "base_sequence",
    "record_count",
)


@lru_cache
def members() -> dict[str, bytes]:
    """The members of a good file: records of all kinds, groups and transactions."""
    core = Core(topics={"orders": 2, "empty": 1})
    core.client().call(produce("orders"), 9, ProduceResponse)
    commit_offsets(core.cluster, "g", {("orders", 0): 1})
    entity = (("client-id", None), ("user", "u"))
    core.cluster.metadata.apply(ClientQuotasChanged(entity, {"producer_byte_rate": 7e9}))
    core.cluster.metadata.apply(AclsChanged([Acl(2, "a", 3, "User:mallory", "*", 3, 2)], ()))
    stable_group(core.client(), "members")
    committed, left_open = Transactional.begin(core, "one"), Transactional.begin(core, "two")
    for producer in (committed, left_open):
        producer.add({"orders": [1]})
        producer.write("orders", 1, "a", "b")
        producer.add_offsets("g")
    committed.end(commit=True)
    with TemporaryDirectory() as folder:
        path = f"{folder}/good.zip"
        save(take(core.cluster), path)
        with ZipFile(path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}


def places(value: object, path: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
    """The way to each value in a tree of JSON."""
    found = [path] if path else []
    items = enumerate(value) if isinstance(value, list) else ()
    for key, one in value.items() if isinstance(value, dict) else items:
        found += places(one, (*path, key))
    return found


def check(contents: dict[str, bytes], folder: Path) -> bool:
    """Load the file, and see that a broker works with it; False: it was refused."""
    path = folder / "state.zip"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        for name, data in contents.items():
            archive.writestr(name, data)
    snapshot, refusal = None, ""
    try:
        snapshot = load(str(path))
    except SnapshotError as error:
        refusal = str(error)
    if snapshot is None:
        assert refusal.isprintable()
        assert len(refusal) < 600
        return False
    core = Core(topics={"orders": 2})
    client = core.client()
    client.call(produce("orders"), 9, ProduceResponse)
    core.act(lambda: restore(core.cluster, snapshot))
    works(core)
    again = str(folder / "again.zip")
    save(take(core.cluster), again)
    assert load(again)._replace(version=0) == take(core.cluster)._replace(version=0)
    core.act(lambda: restore(core.cluster, load(again)))
    core.advance(1_000_000)
    works(core)
    return True


def works(core: Core) -> None:
    """Each topic is told, read and written; coordinators answer."""
    client = core.client()
    for version in (0, 1, 9, 13):
        client.call(MetadataRequest(topics=None if version else []), version, MetadataResponse)
    for name, topic in core.cluster.metadata.topics.items():
        for index in range(len(topic.partitions)):
            client.call(fetch(name, max_wait_ms=0), 12, FetchResponse)
            client.call(produce(name, index=index), 9, ProduceResponse)
    client.call(ListGroupsRequest(), 4, ListGroupsResponse)
    client.call(ListTransactionsRequest(), 1, ListTransactionsResponse)
    if "orders" in core.cluster.metadata.topics:
        commit_offsets(core.cluster, "g", {("orders", 0): 1})
    entity = (("client-id", None), ("user", "u"))
    core.cluster.metadata.apply(ClientQuotasChanged(entity, {"producer_byte_rate": 7e9}))
    core.cluster.metadata.apply(AclsChanged([Acl(2, "a", 3, "User:mallory", "*", 3, 2)], ()))
    for event in core.events:
        if isinstance(event, HandlerFailed):
            raise event.error


@given(st.lists(st.tuples(st.integers(0, 10_000), st.sampled_from(NASTY)), min_size=1, max_size=3))
@settings(max_examples=60)
def test_another_index(
    tmp_path_factory: pytest.TempPathFactory, edits: list[tuple[int, object]]
) -> None:
    contents = dict(members())
    index: Any = json.loads(contents["snapshot.json"])
    for where, value in edits:
        found = places(index)
        *way, last = found[where % len(found)]
        at = index
        for step in way:
            at = at[step]
        at[last] = deepcopy(value)  # the next edit may be within it
    with suppress(ValueError, TypeError):  # json cannot write such a thing
        contents["snapshot.json"] = json.dumps(index).encode()
    check(contents, tmp_path_factory.getbasetemp())


def batch_of(contents: dict[str, bytes], log: int, batch: int) -> tuple[str, bytearray, int, Any]:
    """Some batch of some log: the log's name and bytes, the batch's position and header."""
    logs = sorted(name for name in contents if name.startswith("logs/"))
    name = logs[log % len(logs)]
    data = bytearray(contents[name])
    found = list(iterate_batches(data))
    return name, data, *found[batch % len(found)]


@given(
    st.integers(0, 100),
    st.integers(0, 100),
    st.sampled_from(HEADER_FIELDS),
    st.sampled_from([-(2**31), -2, -1, 0, 1, 3, 5, 7, 32, 100, 2**15 - 1, 2**31 - 1, 2**63 - 1]),
)
@settings(max_examples=60)
def test_batches_with_another_header(
    tmp_path_factory: pytest.TempPathFactory, log: int, batch: int, field: str, value: int
) -> None:
    contents = dict(members())
    name, data, position, header = batch_of(contents, log, batch)
    setattr(header, field, value)
    end = position + header.size_in_bytes
    with suppress(struct.error):
        header.crc = crc32c(data[position + 61 : end], crc32c(pack_header(header)[21:]))
        data[position : position + 61] = pack_header(header)
    contents[name] = bytes(data)
    check(contents, tmp_path_factory.getbasetemp())


@given(st.integers(0, 100), st.integers(0, 100), st.integers(0, 10_000), st.integers(0, 255))
@settings(max_examples=60)
def test_batches_with_other_records(
    tmp_path_factory: pytest.TempPathFactory, log: int, batch: int, where: int, value: int
) -> None:
    contents = dict(members())
    name, data, position, header = batch_of(contents, log, batch)
    end = position + header.size_in_bytes
    data[position + 61 + where % (end - position - 61)] = value
    header.crc = crc32c(data[position + 21 : end])
    data[position : position + 61] = pack_header(header)
    contents[name] = bytes(data)
    check(contents, tmp_path_factory.getbasetemp())


def test_the_good_file_is_taken(tmp_path: Path) -> None:
    assert check(members(), tmp_path)
