"""What a broker holds before its first client: topics, records, seed files, faults, a snapshot.

`cli` reads it from the TOML file and the flags, `api` from Python; `launch` applies it to the
cluster before the listener opens. Everything is checked and every file read when a `Preparation` is
made, so a mistake is one line that names the key, and nothing starts.

    [topics.orders]
    partitions = 6
    config = { "retention.ms" = "1000" }
    seed = { file = "orders.jsonl", key = "id" }      # or a name, or a list of both
    records = ["one", { key = "7", value = "two" }]   # values, or tables without a topic

    [[records]]
    topic = "orders"
    key = "7"
    value = { id = 7 }

    [[faults]]
    api = "Produce"
    error = "NOT_ENOUGH_REPLICAS"
    count = 1
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from mockbroker.state.config_texts import config_texts
from mockbroker.state.seeds import RowFields, SeedError, read_records, record_of
from mockbroker.state.writing import Put, TopicError, create_topic

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from mockbroker.cluster.cluster import Cluster
    from mockbroker.state.snapshot import Snapshot
    from mockbroker.state.writing import NewRecord

_TOPIC_KEYS: Final = ("partitions", "replication-factor", "config", "seed", "records")
_SEED_KEYS: Final = ("file", "format", *RowFields._fields)
_RECORD_KEYS: Final = ("topic", "key", "value", "headers", "timestamp", "partition")


class PreparationError(Exception):
    """One key that is wrong: which, why, and what is allowed."""

    def __init__(self, key: str, problem: str, allowed: str) -> None:
        super().__init__(f"{key}: {problem}; allowed: {allowed}")
        self.key = key
        self.problem = problem
        self.allowed = allowed


class Preparation:
    """What to put into a cluster. Raises PreparationError while it is put together."""

    def __init__(self) -> None:
        self.snapshot: Snapshot | None = None
        self._topics: dict[str, tuple[int | None, int | None, dict[str, str]]] = {}
        self._records: list[tuple[str, str, list[NewRecord]]] = []

    def add_topic(self, key: str, name: str, table: Mapping[str, object], folder: str) -> None:
        """A topic as a table; files are looked for in `folder` unless they are absolute."""
        _check_keys(key, table, _TOPIC_KEYS)
        config = table.get("config", {})
        if not isinstance(config, dict):
            raise PreparationError(f"{key}.config", "it is not a table", "key = value")
        texts = config_texts(config)
        self._topics[name] = (
            _count(key, table, "partitions"),
            _count(key, table, "replication-factor"),
            texts,
        )
        seeds = table.get("seed", [])
        for seed in seeds if isinstance(seeds, list) else [seeds]:
            self._add_seed(f"{key}.seed", name, seed, folder)
        records = table.get("records", [])
        if not isinstance(records, list):
            raise PreparationError(f"{key}.records", "it is not a list", "a list of records")
        for at, record in enumerate(records):
            where = f"{key}.records[{at}]"
            fields = record if isinstance(record, dict) else {"value": record}
            _check_keys(where, fields, _RECORD_KEYS[1:])
            self.add_record(where, {"topic": name, **fields})

    def add_record(self, key: str, table: object) -> None:
        """A record as a table."""
        if not isinstance(table, dict):
            raise PreparationError(key, "it is not a table", ", ".join(_RECORD_KEYS))
        _check_keys(key, table, _RECORD_KEYS)
        topic = table.get("topic")
        if not isinstance(topic, str) or not topic:
            raise PreparationError(f"{key}.topic", f"{topic!r} is no name", "the name of a topic")
        try:
            record = record_of(table, RowFields(envelope=True), key)
        except SeedError as error:
            raise PreparationError(key, str(error), "a record") from None
        self._records.append((key, topic, [record]))

    def restore(self, key: str, path: str) -> None:
        """Begin with what a snapshot's file has."""
        from mockbroker.state.snapshot_file import SnapshotError, load

        try:
            self.snapshot = load(path)
        except SnapshotError as error:
            raise PreparationError(key, str(error), "a file that --snapshot wrote") from None

    def apply(self, cluster: Cluster) -> None:
        """Fill a cluster that has just been made. Raises PreparationError."""
        if self.snapshot is not None:
            from mockbroker.state.snapshot import restore

            restore(cluster, self.snapshot)
        for name, (partitions, replicas, configs) in self._topics.items():
            if name not in cluster.metadata.topics:
                with _refused(f"topics.{name}"):
                    create_topic(cluster, name, partitions, replicas, configs)
        for key, topic, records in self._records:
            with _refused(key):
                made = Put(topic, records)
                made.begin(cluster)
                if cluster.peers is not None:  # its leader has to hear of the topic first
                    cluster.drain(cluster.clock.now_ms)
                made.append(cluster)

    def _add_seed(self, key: str, topic: str, seed: object, folder: str) -> None:
        table = {"file": seed} if isinstance(seed, str) else seed
        if not isinstance(table, dict) or not isinstance(table.get("file"), str):
            raise PreparationError(key, f"{seed!r} names no file", "a file, or { file = … }")
        _check_keys(key, table, _SEED_KEYS)
        for name, one in table.items():
            if not isinstance(one, bool if name == "envelope" else str):
                kind = "true or false" if name == "envelope" else "the name of a field"
                raise PreparationError(f"{key}.{name}", f"{one!r} is not", kind)
        file, file_format = str(table["file"]), table.get("format")
        path = file if file.startswith("/") or not folder else f"{folder}/{file}"
        fields = RowFields(**{n: v for n, v in table.items() if n not in {"file", "format"}})
        try:
            records = read_records(path, fields, file_format)
        except SeedError as error:
            raise PreparationError(key, str(error), "a file of records") from None
        self._records.append((key, topic, records))


@contextmanager
def _refused(key: str) -> Iterator[None]:
    """What the broker refuses is a mistake in this key."""
    try:
        yield
    except (TopicError, ValueError) as error:  # of which FaultError is one
        raise PreparationError(key, str(error), "what the broker accepts") from None


def _check_keys(key: str, table: Mapping[str, object], known: Iterable[str]) -> None:
    for name in table:
        if name not in known:
            raise PreparationError(f"{key}.{name}", "it is unknown", ", ".join(known))


def _count(key: str, table: Mapping[str, object], name: str) -> int | None:
    value = table.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise PreparationError(f"{key}.{name}", f"{value!r} is no count", "a whole number from 1")
    return value
