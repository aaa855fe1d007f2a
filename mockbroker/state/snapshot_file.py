"""A snapshot as a file: a zip of `snapshot.json` and one member a log, its batches as stored.

Called by the Python API and by `mockbroker serve --snapshot/--restore`. A file comes from
anywhere: `load` reads no more of it than the limits below, `snapshot_fields` checks what it says,
and `snapshot_rehearsal` whether coordinators can take it over, so that a bad file is refused whole.
"""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Final

from mockbroker.state.snapshot_fields import (
    FORMAT,
    FORMAT_VERSION,
    INDEX,
    SCRAM_BYTES,
    FieldError,
    quoted,
    read_snapshot,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from zipfile import ZipFile

    from mockbroker.state.snapshot import PartitionImage, Snapshot, TopicImage

MAX_INDEX_BYTES: Final = 64 << 20
MAX_LOG_BYTES: Final = 1 << 30
"""Of all logs together, as they are when they are no longer compressed."""


class SnapshotError(Exception):
    """A file that is no snapshot, or cannot be read or written: which, where and why."""


def save(snapshot: Snapshot, path: str) -> None:
    """Write a snapshot; a reader sees all of it or nothing. Raises SnapshotError."""
    import os

    draft = f"{path}.{os.getpid()}.tmp"
    try:
        with open(draft, "wb") as file:
            _write(snapshot, file, path)
        os.replace(draft, path)
    except OSError as error:
        if os.path.exists(draft):
            os.unlink(draft)
        raise SnapshotError(f"{path}: {error.strerror or error}") from None


def to_bytes(snapshot: Snapshot) -> bytes:
    """What `save` writes. Raises SnapshotError."""
    from io import BytesIO

    file = BytesIO()
    _write(snapshot, file, "snapshot")
    return file.getvalue()


def _write(snapshot: Snapshot, file: IO[bytes], name: str) -> None:
    import json
    from zipfile import ZIP_DEFLATED, ZipFile

    size = sum(len(batch) for one in _partitions(snapshot) for batch in one.log.batches)
    if size > MAX_LOG_BYTES:
        raise SnapshotError(f"{name}: logs of {size} bytes; allowed: {MAX_LOG_BYTES}")
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        topics = [_topic_fields(archive, at, one) for at, one in enumerate(snapshot.topics)]
        fields = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "next_producer_id": snapshot.next_producer_id,
            "broker_configs": snapshot.broker_configs,
            "client_quotas": [
                {"entity": entity, "values": values}
                for entity, values in snapshot.client_quotas.items()
            ],
            "acls": [acl._asdict() for acl in snapshot.acls],
            "scram_credentials": [
                {
                    "user": user,
                    "mechanism": mechanism,
                    "iterations": one.iterations,
                    **{name: getattr(one, name).hex() for name in SCRAM_BYTES},
                }
                for (user, mechanism), one in snapshot.scram_credentials.items()
            ],
            "delegation_tokens": [
                {name: value for name, value in token._asdict().items() if name != "hmac"}
                for token in snapshot.delegation_tokens.values()
            ],
            "topics": topics,
        }
        archive.writestr(INDEX, json.dumps(fields, indent=1) + "\n")


def load(path: str) -> Snapshot:
    """Read a snapshot. Raises SnapshotError."""
    return _read(path, path)


def from_bytes(data: bytes) -> Snapshot:
    """Read what `to_bytes` gave. Raises SnapshotError."""
    from io import BytesIO

    return _read(BytesIO(data), "snapshot")


def _read(source: str | IO[bytes], path: str) -> Snapshot:
    import json
    import lzma
    import zlib
    from zipfile import BadZipFile, ZipFile

    from mockbroker.state.snapshot_rehearsal import rehearse

    try:
        with ZipFile(source) as archive:
            members = _Members(archive)
            fields = json.loads(members.take(INDEX, MAX_INDEX_BYTES))
            snapshot = read_snapshot(fields, members.log)
        rehearse(snapshot)
    except OSError as error:
        raise SnapshotError(f"{path}: {error.strerror or error}") from None
    except FieldError as error:
        raise SnapshotError(f"{path}: {error}") from None
    except RecursionError:
        raise SnapshotError(f"{path}: not a snapshot ({INDEX}: nested too deep)") from None
    except (BadZipFile, EOFError, lzma.LZMAError, zlib.error, RuntimeError, ValueError) as error:
        # RuntimeError: encrypted, or packed in a way that zipfile does not know.
        raise SnapshotError(f"{path}: not a snapshot ({quoted(str(error))})") from None
    return snapshot


class _Members:
    """Takes members out of the archive, as long as they are not too large together."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._left = MAX_LOG_BYTES

    def take(self, name: str, limit: int) -> bytes:
        """A member's bytes. Raises FieldError when there is none, or it has more than `limit`."""
        try:
            size = self._archive.getinfo(name).file_size
        except KeyError:
            raise FieldError(name, "there is no such member in the archive") from None
        if size > limit:
            raise FieldError(name, f"{size} bytes are too many; {limit} are allowed here")
        return self._archive.read(name)

    def log(self, name: str) -> bytes:
        """One log. Raises FieldError."""
        data = self.take(name, self._left)
        self._left -= len(data)
        return data


def _partitions(snapshot: Snapshot) -> Iterator[PartitionImage]:
    return (partition for topic in snapshot.topics for partition in topic.partitions)


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
