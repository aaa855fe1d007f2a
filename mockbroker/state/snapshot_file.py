"""A snapshot as a file: a zip of `snapshot.json` and one member a log, its batches as stored.

Called by the Python API and by `mockbroker serve --snapshot/--restore`. `load` checks everything
that a restore relies on, checksums of batches among it, so that a bad file is refused whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeVar

from mockbroker.state.snapshot import LogImage, PartitionImage, Snapshot, TopicImage
from mockbroker_protocol.errors import ProtocolError

if TYPE_CHECKING:
    from zipfile import ZipFile

T = TypeVar("T")

FORMAT: Final = "mockbroker-snapshot"
FORMAT_VERSION: Final = 1
_INDEX: Final = "snapshot.json"
_TOPIC_ID_BYTES: Final = 16


class SnapshotError(Exception):
    """A file that is no snapshot, or cannot be read or written: which, where and why."""


def save(snapshot: Snapshot, path: str) -> None:
    """Write a snapshot; a reader sees all of it or nothing. Raises SnapshotError."""
    import json
    import os
    from zipfile import ZIP_DEFLATED, ZipFile

    draft = f"{path}.{os.getpid()}.tmp"
    try:
        with ZipFile(draft, "w", ZIP_DEFLATED) as archive:
            topics = [_topic_fields(archive, at, one) for at, one in enumerate(snapshot.topics)]
            fields = {
                "format": FORMAT,
                "version": FORMAT_VERSION,
                "next_producer_id": snapshot.next_producer_id,
                "broker_configs": snapshot.broker_configs,
                "topics": topics,
            }
            archive.writestr(_INDEX, json.dumps(fields, indent=1) + "\n")
        os.replace(draft, path)
    except OSError as error:
        if os.path.exists(draft):
            os.unlink(draft)
        raise SnapshotError(f"{path}: {error.strerror or error}") from None


def load(path: str) -> Snapshot:
    """Read a snapshot. Raises SnapshotError."""
    import json
    from zipfile import BadZipFile, ZipFile

    try:
        with ZipFile(path) as archive:
            fields = json.loads(archive.read(_INDEX))
            return _snapshot(_Reader(archive, path), fields)
    except OSError as error:
        raise SnapshotError(f"{path}: {error.strerror or error}") from None
    except (BadZipFile, ValueError) as error:
        raise SnapshotError(f"{path}: not a snapshot ({error})") from None
    except KeyError as error:
        raise SnapshotError(f"{path}: not a snapshot ({error.args[0]})") from None


def _topic_fields(archive: ZipFile, at: int, topic: TopicImage) -> dict[str, object]:
    partitions: list[dict[str, object]] = []
    for index, partition in enumerate(topic.partitions):
        log = partition.log
        fields: dict[str, object] = {
            "replicas": partition.replicas,
            "leader_epoch": partition.leader_epoch,
            "log_start_offset": log.log_start_offset,
            "high_watermark": log.high_watermark,
            "log_end_offset": log.log_end_offset,
        }
        if log.batches:
            fields["log"] = f"logs/{at}-{topic.name}/{index}"
            archive.writestr(str(fields["log"]), b"".join(log.batches))
        partitions.append(fields)
    return {
        "name": topic.name,
        "id": topic.topic_id.hex(),
        "configs": dict(topic.configs),
        "partitions": partitions,
    }


# -- reading --------------------------------------------------------------------------------


class _Reader:
    """Takes fields of a type, or says which is missing or bad."""

    def __init__(self, archive: ZipFile, path: str) -> None:
        self.archive = archive
        self._path = path

    def bad(self, where: str, problem: str) -> SnapshotError:
        return SnapshotError(f"{self._path}: {where}: {problem}")

    def take(self, where: str, fields: object, name: str, kind: type[T]) -> T:
        value = fields.get(name) if isinstance(fields, dict) else None
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.bad(f"{where}{name}", f"{value!r} is not of type {kind.__name__}")
        return value

    def texts(self, where: str, value: object) -> dict[str, str]:
        if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
            raise self.bad(where, "not a table of texts")
        return value


def _snapshot(reader: _Reader, fields: object) -> Snapshot:
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise reader.bad(_INDEX, f"format is not {FORMAT!r}")
    version = fields.get("version")
    if version != FORMAT_VERSION:
        raise reader.bad("version", f"{version!r}; allowed: {FORMAT_VERSION}")
    configs = reader.take("", fields, "broker_configs", dict)
    topics = tuple(
        _topic(reader, f"topics[{at}].", one)
        for at, one in enumerate(reader.take("", fields, "topics", list))
    )
    for what in ({topic.name for topic in topics}, {topic.topic_id for topic in topics}):
        if len(what) < len(topics):
            raise reader.bad("topics", "two have the same name or id")
    return Snapshot(
        topics,
        {name: reader.texts(f"broker_configs[{name!r}]", one) for name, one in configs.items()},
        reader.take("", fields, "next_producer_id", int),
        0,
    )


def _topic(reader: _Reader, where: str, fields: object) -> TopicImage:
    name = reader.take(where, fields, "name", str)
    topic_id = bytes.fromhex(reader.take(where, fields, "id", str))
    if len(topic_id) != _TOPIC_ID_BYTES:
        raise reader.bad(f"{where}id", f"not {_TOPIC_ID_BYTES} bytes")
    partitions = reader.take(where, fields, "partitions", list)
    if not partitions:
        raise reader.bad(f"{where}partitions", "there are none")
    return TopicImage(
        name,
        topic_id,
        reader.texts(f"{where}configs", reader.take(where, fields, "configs", dict)),
        tuple(
            _partition(reader, f"{where}partitions[{index}].", one)
            for index, one in enumerate(partitions)
        ),
    )


def _partition(reader: _Reader, where: str, fields: object) -> PartitionImage:
    start = reader.take(where, fields, "log_start_offset", int)
    high_watermark = reader.take(where, fields, "high_watermark", int)
    end = reader.take(where, fields, "log_end_offset", int)
    if not 0 <= start <= high_watermark <= end:
        raise reader.bad(where[:-1], f"offsets {start}, {high_watermark}, {end} do not grow")
    replicas = reader.take(where, fields, "replicas", list)
    if not replicas or not all(isinstance(node, int) for node in replicas):
        raise reader.bad(f"{where}replicas", f"{replicas!r} is not a list of nodes")
    batches: tuple[bytes, ...] = ()
    if isinstance(fields, dict) and fields.get("log") is not None:
        batches = _batches(reader, where, reader.take(where, fields, "log", str), end)
    elif start != end:
        raise reader.bad(f"{where}log", "it is missing")
    return PartitionImage(
        tuple(replicas),
        reader.take(where, fields, "leader_epoch", int),
        LogImage(batches, start, high_watermark, end),
    )


def _batches(reader: _Reader, where: str, name: str, end: int) -> tuple[bytes, ...]:
    from mockbroker_protocol.records.batch import iterate_batches, verify_crc

    data = reader.archive.read(name)
    batches: list[bytes] = []
    size = next_offset = 0
    try:
        for position, header in iterate_batches(data):
            size = position + header.size_in_bytes
            if header.base_offset < next_offset or not verify_crc(data, position, header):
                raise reader.bad(f"{where}log", f"{name}: the batch at {position} is damaged")
            next_offset = header.last_offset + 1
            batches.append(data[position:size])
    except ProtocolError as error:
        raise reader.bad(f"{where}log", f"{name}: {error}") from None
    if size != len(data) or next_offset != end:
        raise reader.bad(f"{where}log", f"{name}: it does not end at offset {end}")
    return tuple(batches)
