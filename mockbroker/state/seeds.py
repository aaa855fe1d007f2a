"""Records out of files: JSON, JSON lines, CSV, Avro, Parquet. For `preparation` and the API.

A file is a list of rows. By default a record's value is the whole row as JSON; `RowFields` names
the fields that are its key, value, headers, timestamp or partition instead. Rows are read in the
caller's thread, and all are read before the first is put.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypedDict

from mockbroker.state.writing import NewRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

_ENVELOPE: Final = ("key", "value", "headers", "timestamp", "partition")


class SeedError(Exception):
    """A file that cannot be read, or a row that is no record: which file, which row, why."""


class RowFields(NamedTuple):
    """Which fields of a row are what; None: not in the row (of `value`: the whole row).

    With `envelope` these are the fields key, value, headers, timestamp and partition, as far as a
    row has them.
    """

    key: str | None = None
    value: str | None = None
    headers: str | None = None
    timestamp: str | None = None
    partition: str | None = None
    envelope: bool = False


class RowFieldNames(TypedDict, total=False):
    """The arguments of `RowFields`, for those who pass them on."""

    key: str | None
    value: str | None
    headers: str | None
    timestamp: str | None
    partition: str | None
    envelope: bool


def read_records(
    path: str, fields: RowFields | None = None, file_format: str | None = None
) -> list[NewRecord]:
    """The records of a file; the format is that of its suffix unless given. Raises SeedError."""
    suffix = (file_format or path.rpartition(".")[2]).lower()
    read = _FORMATS.get(suffix)
    if read is None:
        raise SeedError(f"{path}: format {suffix!r} is unknown; allowed: {', '.join(_FORMATS)}")
    wanted = fields or RowFields()
    try:
        return [
            record_of(row, wanted, f"{path}: row {number}")
            for number, row in enumerate(read(path), start=1)
        ]
    except OSError as error:
        raise SeedError(f"{path}: {error.strerror or error}") from None


def record_of(row: object, fields: RowFields, where: str) -> NewRecord:
    """One row as a record. Raises SeedError."""
    if fields == RowFields():
        return NewRecord(data_of(row))
    if not isinstance(row, dict):
        raise SeedError(f"{where}: not an object, so it has no fields")
    named = fields._asdict()
    if named.pop("envelope"):
        named = {name: name if name in row else None for name in _ENVELOPE}
    values: dict[str, Any] = {}
    for name, field in named.items():
        if field is not None:
            if field not in row:
                raise SeedError(f"{where}: there is no field {field!r} for the {name}")
            values[name] = row[field]
    whole = "value" not in values and not fields.envelope
    return NewRecord(
        data_of(row if whole else values.get("value")),
        data_of(values.get("key")),
        _headers(values.get("headers"), where),
        _timestamp(values.get("timestamp"), where),
        _partition(values.get("partition"), where),
    )


def data_of(value: object) -> bytes | None:
    """Bytes and text as they are, null as null, everything else as JSON."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    import json

    return json.dumps(value, ensure_ascii=False, default=_plain).encode()


def _plain(value: object) -> object:
    """What JSON has no word for: bytes as text where they are, times in ISO 8601, else as text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    isoformat = getattr(value, "isoformat", None)
    return str(value) if isoformat is None else isoformat()


def _headers(value: object, where: str) -> list[tuple[str, bytes | None]]:
    if value is None:
        return []
    if isinstance(value, str):
        import json

        try:
            value = json.loads(value)
        except ValueError:
            value = False
    if isinstance(value, list):
        return [_header(one, where) for one in value]
    if not isinstance(value, dict):
        raise SeedError(f"{where}: headers are neither an object nor a list of name and value")
    return [(str(name), data_of(one)) for name, one in value.items()]


def _header(value: object, where: str) -> tuple[str, bytes | None]:
    """One header as the admin API has it: {"name", "value"}."""
    if not isinstance(value, dict) or not {"name"} <= value.keys() <= {"name", "value"}:
        raise SeedError(f"{where}: {value!r} is no header; allowed: name and value")
    return str(value["name"]), data_of(value.get("value"))


def _timestamp(value: object, where: str) -> int | None:
    """Epoch ms as a number or digits, or a time in ISO 8601."""
    if value is None or value == "":
        return None
    from datetime import UTC, datetime

    if isinstance(value, str) and not value.isdigit():
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise SeedError(f"{where}: timestamp {value!r} is no time") from None
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        return round(aware.timestamp() * 1000)
    if isinstance(value, str | int) and not isinstance(value, bool):
        return int(value)
    raise SeedError(f"{where}: timestamp {value!r} is no time; allowed: epoch ms, ISO 8601")


def _partition(value: object, where: str) -> int | None:
    if value is None or value == "":
        return None
    if isinstance(value, bool) or not str(value).isdigit():
        raise SeedError(f"{where}: partition {value!r} is no number")
    return int(str(value))


# -- formats --------------------------------------------------------------------------------


def _json_rows(path: str) -> Iterator[object]:
    import json

    with open(path, encoding="utf-8") as stream:
        try:
            rows = json.load(stream)
        except ValueError as error:
            raise SeedError(f"{path}: {error}") from None
    yield from rows if isinstance(rows, list) else [rows]


def _json_lines(path: str) -> Iterator[object]:
    import json

    with open(path, encoding="utf-8") as stream:
        for number, line in enumerate(stream, start=1):
            if line.strip():
                try:
                    yield json.loads(line)
                except ValueError as error:
                    raise SeedError(f"{path}: line {number}: {error}") from None


def _csv_rows(path: str) -> Iterator[object]:
    import csv

    with open(path, encoding="utf-8", newline="") as stream:
        try:
            for row in csv.DictReader(stream, strict=True):
                if None in row or None in row.values():
                    raise SeedError(f"{path}: a row has not as many fields as the first line")
                yield row
        except csv.Error as error:
            raise SeedError(f"{path}: {error}") from None


def _avro_rows(path: str) -> Iterator[object]:
    try:
        import fastavro
    except ImportError:
        raise _missing(path, "fastavro", "avro") from None
    with open(path, "rb") as stream:
        try:
            yield from fastavro.reader(stream)
        except (ValueError, EOFError) as error:
            raise SeedError(f"{path}: {str(error) or 'it ends too soon'}") from None


def _parquet_rows(path: str) -> Iterator[object]:
    try:
        from pyarrow import ArrowInvalid, parquet
    except ImportError:
        raise _missing(path, "pyarrow", "parquet") from None
    try:
        yield from parquet.read_table(path).to_pylist()
    except ArrowInvalid as error:
        raise SeedError(f"{path}: {error}") from None


def _missing(path: str, library: str, extra: str) -> SeedError:
    return SeedError(f"{path}: needs {library}: pip install 'mockbroker[{extra}]'")


_FORMATS: Final[Mapping[str, Callable[[str], Iterator[object]]]] = {
    "json": _json_rows,
    "jsonl": _json_lines,
    "ndjson": _json_lines,
    "csv": _csv_rows,
    "avro": _avro_rows,
    "parquet": _parquet_rows,
}
