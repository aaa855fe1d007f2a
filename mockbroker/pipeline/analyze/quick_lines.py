"""Journal lines read by PyArrow, in less than half the time that Spark's own JSON takes.

Called by `spark_engine`, in the tasks of large journals and on the driver for small ones. A broker
writes most lines in one way. These are read here, a piece of a file at a time, and written as
Parquet. Whatever else a line may be is not judged: its text is returned, for the engine's `parse`.
Nothing is read in another way here than there, so lines of a kind among which PyArrow finds
anything that it does not expect are given to the engine, a chunk of them at a time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from mockbroker.pipeline.analyze import quick_parts
from mockbroker.pipeline.analyze.line_schema import LINE_SCHEMA, REQUEST_SCHEMA, arrow_fields

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from mockbroker.pipeline.analyze.journals import Source

PIECE_BYTES: Final = 64 << 20
_CHUNK_BYTES: Final = 16 << 20
"""What is in memory at a time, and a row group of what is written."""
_NO_NUMBER: Final = re.compile(rb"[:,\[]\s*-?(?:NaN|Inf)")
"""What PyArrow takes for a number, and JSON does not."""
OTHERS_DDL: Final = "side STRING, journal STRING, value STRING"
"""Lines that were not read here."""
_NEEDED: Final = ("schema", "kind", "run", "seq", "at_ms")


@dataclass(frozen=True, slots=True)
class Piece:
    """The lines of a file that begin in [`start`, `end`)."""

    side: str
    file: str
    start: int
    end: int


class _Kind(NamedTuple):
    """Lines that are read here: how they begin, their fields, and what they must not have.

    A number in `counted` fills a field that is text in the schema.
    """

    begins: bytes
    fields: str
    without: bytes = b""
    counted: str = ""


_REQUESTS: Final = _Kind(b'{"schema":1,"kind":"request","run":', REQUEST_SCHEMA, without=b'"body":')
_KINDS: Final = (
    _REQUESTS,
    _Kind(b'{"schema":1,"kind":"high_watermark","run":', LINE_SCHEMA),
    _Kind(b'{"schema":1,"kind":"session","run":', LINE_SCHEMA, counted="partitions"),
)


def pieces(sources: Sequence[Source]) -> list[Piece]:
    """All lines of all files, cut into pieces; none where a file is none that is read here."""
    files = [(source.side, file) for source in sources for file in source.files]
    if any("://" in file or not file.endswith(".jsonl") for _, file in files):
        return []
    found = []
    for side, file in files:
        size = Path(file).stat().st_size
        found += [
            Piece(side, file, start, min(size, start + PIECE_BYTES))
            for start in range(0, size, PIECE_BYTES)
        ]
    return found


def read_all(pieces: Sequence[Piece], folder: str) -> pa.Table:
    """Read all of them here: the lines that are the engine's to parse, by `OTHERS_DDL`."""
    import pyarrow as pa

    numbers = range(len(pieces))
    batches = [batch for number in numbers for batch in read_piece(pieces, number, folder)]
    return pa.Table.from_batches(batches, pa.schema(arrow_fields(OTHERS_DDL)))


def read_piece(pieces: Sequence[Piece], number: int, folder: str) -> Iterator[pa.RecordBatch]:
    """Read one of them in a task: the lines that are the engine's to parse, by `OTHERS_DDL`."""
    import pyarrow as pa

    piece = pieces[number]
    for texts in _read(piece, number, folder):
        yield pa.RecordBatch.from_arrays(
            [
                pa.repeat(piece.side, len(texts)),
                pa.repeat(Path(piece.file).name, len(texts)),
                pa.array(texts, pa.string()),
            ],
            ["side", "journal", "value"],
        )


class _Written:
    """A file of Parquet that is there when it is whole.

    Spark takes no look at hidden files; a task that runs again writes the same one.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self._path = folder / f"quick-{number:05}.parquet"
        self._hidden = folder / f".{self._path.name}"
        self._writer: Any = None

    def write(self, table: pa.Table) -> None:
        """One row group: who reads some columns looks at all that is said of each."""
        from pyarrow import parquet

        if self._writer is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._writer = parquet.ParquetWriter(self._hidden, table.schema)
        self._writer.write_table(table)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()

    def show(self) -> None:
        if self._writer is not None:
            self._hidden.replace(self._path)


def _read(piece: Piece, number: int, folder: str) -> Iterator[list[str]]:
    """Write the lines of a piece that can be read here, and return the texts of others.

    They come some at a time; blank ones are left out.
    """
    import pyarrow as pa

    whole = _Written(Path(folder), number)
    apart = {
        api: _Written(quick_parts.folder_of(folder) / view, number)
        for api, view in quick_parts.OF_APIS.items()
    }
    files = (whole, *apart.values())
    try:
        for lines in _chunks(piece):
            others = lines
            tables = []
            for kind in _KINDS:
                table, others = _read_kind(kind, others)
                if table is None:
                    continue
                tables.append(_whole(table, piece))
                for api, file in apart.items() if kind is _REQUESTS else ():
                    parts = quick_parts.parts_of(table, api, piece.side)
                    if parts is not None:
                        file.write(parts)
            if tables:
                whole.write(pa.concat_tables(tables))
            yield [line.decode("utf-8", "replace") for line in others if line.strip(b" ")]
    finally:
        for file in files:
            file.close()
    for file in files:
        file.show()


def _chunks(piece: Piece) -> Iterator[list[bytes]]:
    """The lines of a piece as Spark cuts them: at LF, CR, or both."""
    with Path(piece.file).open("rb") as file:
        place = piece.start
        if place:
            # The line that is there began in the piece before, unless that ended with it.
            file.seek(place - 1)
            place += len(file.readline()) - 1
        while place < piece.end:
            text = file.read(min(_CHUNK_BYTES, piece.end - place))
            if not text:
                return
            if not text.endswith(b"\n"):
                text += file.readline()
            place += len(text)
            if b"\r" in text:
                text = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
            yield text.split(b"\n")


def _read_kind(kind: _Kind, lines: list[bytes]) -> tuple[pa.Table | None, list[bytes]]:
    """The lines of a kind as a table, and the others; all are others where one is odd."""
    begins, without = kind.begins, kind.without
    ours, others = [], []
    for line in lines:
        # What begins and ends like this, and is as many objects as lines, is one object a line.
        if line.startswith(begins) and line.endswith(b"}") and not (without and without in line):
            ours.append(line)
        else:
            others.append(line)
    if not ours:
        return None, others
    table = _parse(kind, ours)
    return (None, lines) if table is None else (table, others)


def _parse(kind: _Kind, lines: list[bytes]) -> pa.Table | None:
    """The lines in the fields of their kind; None where one is not what it looked like."""
    import pyarrow as pa
    from pyarrow import json as reader

    text = b"\n".join(lines)
    if (b"NaN" in text or b"Inf" in text) and _NO_NUMBER.search(text):
        return None
    try:
        if not text.isascii():
            text.decode()
        table = reader.read_json(
            pa.BufferReader(text),
            reader.ReadOptions(use_threads=False, block_size=len(text)),
            reader.ParseOptions(
                explicit_schema=_schema(kind.fields, kind.counted),
                unexpected_field_behavior="error",
            ),
        )
    except (pa.ArrowInvalid, UnicodeDecodeError):
        return None
    if table.num_rows != len(lines) or any(table[name].null_count for name in _NEEDED):
        return None
    return table


@cache
def _schema(fields: str, counted: str) -> pa.Schema:
    import pyarrow as pa

    return pa.schema(
        [
            (name, pa.int64() if name == counted else kind)
            for name, kind in arrow_fields(fields)
            # PyArrow reads no maps from JSON: lines that have one are the engine's.
            if not pa.types.is_map(kind)
        ]
    )


@cache
def _whole_schema() -> pa.Schema:
    import pyarrow as pa

    names = [("side", pa.string()), ("journal", pa.string()), ("raw", pa.string())]
    return pa.schema([*names, *arrow_fields(LINE_SCHEMA)])


def _whole(table: pa.Table, piece: Piece) -> pa.Table:
    """The table with all columns that `parse` of the engine makes."""
    import pyarrow as pa

    known = {name: table[name] for name in table.column_names}
    known["side"] = pa.repeat(piece.side, table.num_rows)
    known["journal"] = pa.repeat(Path(piece.file).name, table.num_rows)
    schema = _whole_schema()
    columns = [
        known[field.name].cast(field.type)
        if field.name in known
        else pa.nulls(table.num_rows, field.type)
        for field in schema
    ]
    return pa.table(columns, schema=schema)
