"""Partitions that fetches list and batches that produces bring, a row each, for Spark to read.

Called by `quick_lines`. Spark takes arrays of structures apart again for each text that reads them,
and sorts and moves them whole; rows of numbers it reads as they lie in Parquet. The relations
`fetched` and `produced` read these where each line that they are made of was read here.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from mockbroker.pipeline.analyze.facts import WITHOUT_PARTITIONS
from mockbroker.pipeline.analyze.line_schema import LINE_SCHEMA, arrow_fields

if TYPE_CHECKING:
    import pyarrow as pa

FETCHED: Final = "fetched_parts"
PRODUCED: Final = "produced_parts"
OF_APIS: Final = {"Fetch": FETCHED, "Produce": PRODUCED}
"""The view of each API whose requests are taken apart here."""
_LISTING: Final = {"Fetch": "fetch", "Produce": "produce"}
_OF_LINE: Final = (
    "run", "seq", "at_ms", "wall_ms", "broker", "connection", "client_id", "answered", "fault",
    "arrived_ms", "completed_ms",
)  # fmt: skip


def folder_of(lines_path: str) -> Path:
    """Where they lie until the tables are made: beside the lines."""
    return Path(lines_path).with_name("parts")


@cache
def schema_of(api: str) -> pa.Schema:
    """The side, fields of the line, its structure without the list, and one `part` of that."""
    import pyarrow as pa

    fields = dict(arrow_fields(LINE_SCHEMA))
    listing = fields[_LISTING[api]]
    kept = [field for field in listing if field.name != "partitions"]
    flags = [(name, pa.bool_()) for name in ("without_partitions", "limited") if api == "Fetch"]
    return pa.schema(
        [
            ("side", pa.string()),
            *((name, fields[name]) for name in _OF_LINE),
            (_LISTING[api], pa.struct(kept)),
            *flags,
            ("part", listing.field("partitions").type.value_type),
        ]
    )


def parts_of(requests: pa.Table, api: str, side: str) -> pa.Table | None:
    """A row for each partition that requests of this API list; None where there is none."""
    import pyarrow as pa
    from pyarrow import compute

    chosen = requests.filter(compute.equal(requests["api"], api)).combine_chunks()
    if not chosen.num_rows:
        return None
    name = _LISTING[api]
    listing = _whole(chosen[name])
    listed = compute.struct_field(listing, "partitions")
    parents = compute.list_parent_indices(listed)
    if not len(parents):
        return None
    parts = compute.list_flatten(listed)
    schema = schema_of(api)
    kept = schema.field(name).type
    fields = [compute.struct_field(listing, field.name).take(parents) for field in kept]
    found: dict[str, Any] = {field: chosen[field].take(parents) for field in _OF_LINE}
    found["side"] = pa.repeat(side, len(parents))
    found[name] = pa.StructArray.from_arrays(fields, fields=list(kept))
    found["part"] = parts
    if api == "Fetch":
        without = _with_any(_whole(chosen["errors"]), WITHOUT_PARTITIONS, chosen.num_rows)
        found["without_partitions"] = without.take(parents)
        starving = parents.filter(_starved(parts, found[name]))
        found["limited"] = compute.is_in(parents, value_set=starving)
    return pa.table([found[field.name] for field in schema], schema=schema)


def _whole(column: Any) -> Any:  # noqa: ANN401
    """A column in one array."""
    import pyarrow as pa

    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)


def _with_any(lists: Any, values: tuple[int, ...], count: int) -> Any:  # noqa: ANN401
    """Whether each of the lists has one of these values."""
    import pyarrow as pa
    from pyarrow import compute

    wanted = pa.array(values, lists.type.value_type)
    hits = compute.is_in(compute.list_flatten(lists), value_set=wanted)
    having = compute.list_parent_indices(lists).filter(hits)
    return compute.is_in(pa.array(range(count), having.type), value_set=having)


def _starved(parts: Any, fetches: Any) -> Any:  # noqa: ANN401
    """`relations.starved` of each part: what is unknown is false."""
    import pyarrow as pa
    from pyarrow import compute

    def part(name: str) -> Any:  # noqa: ANN401
        return compute.struct_field(parts, name)

    def fetch(name: str) -> Any:  # noqa: ANN401
        return compute.struct_field(fetches, name)

    stable = part("last_stable_offset")
    of_stable = compute.and_kleene(
        compute.equal(fetch("isolation_level"), 1), compute.greater_equal(stable, 0)
    )
    end = compute.if_else(compute.fill_null(of_stable, False), stable, part("high_watermark"))
    holds = pa.array([True] * len(parts))
    for condition in (
        compute.is_valid(part("position")),
        compute.equal(part("error"), 0),
        compute.equal(part("bytes"), 0),
        compute.greater(fetch("records_bytes"), 0),
        compute.less(part("fetch_offset"), end),
    ):
        holds = compute.and_(holds, compute.fill_null(condition, False))
    return holds
