"""synth: streams that look like life, the same for a seed on one executor or a thousand.

`synthetic_rows` is pure: every column of a row is a function of the seed, the column's name and the
row's number alone, so it does not matter who makes which row. Uniform numbers are 53 bits of
xxHash64; all else is made of them in SQL expressions, on the executors.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from pyspark.sql import Observation
from pyspark.sql import functions as F  # noqa: N812 -- its name everywhere

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.sources import write_dataset
from mockbroker.pipeline.summary import Summary

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame, SparkSession

MAX_PAYLOAD_BYTES: Final = 10_000_000
POISON_PREFIX: Final = "fffe"
"""How a poison record opens: no UTF-8, so no JSON either."""

_TWO_TO_53: Final = float(1 << 53)
_HASH_CHARS: Final = 64
_FIXED_RE: Final = re.compile(r"(\d+)")
_UNIFORM_RE: Final = re.compile(r"(\d+)-(\d+)")
_LOGNORMAL_RE: Final = re.compile(r"lognormal:(\d+):(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class SynthSpec:
    """What the stream is like.

    `rate` is events a second of event time from `start` on; keys are drawn from `keys` by a
    bounded power law of exponent `skew`, which is Zipf's but for its head (0: all alike).
    `size` is the bytes of a value: 100, 50-200, or
    lognormal:MEDIAN:SIGMA. A share `late` of the records comes up to `late_ms` after its time, any
    record up to `jitter_ms` too early or too late; a share `poison` is no JSON.
    """

    rows: int = 1000
    seed: int = 0
    rate: float = 1000.0
    keys: int = 100
    skew: float = 0.0
    size: str = "100"
    start: str = "2026-01-01T00:00:00Z"
    late: float = 0.0
    late_ms: int = 60_000
    jitter_ms: int = 0
    poison: float = 0.0

    def checked(self) -> SynthSpec:
        """Itself. Raises PipelineError that names the field which makes no sense."""
        for name in ("rows", "keys"):
            _demand(name, getattr(self, name) >= 1, "at least 1")
        for name in ("late", "poison"):
            _demand(name, 0.0 <= getattr(self, name) <= 1.0, "a share from 0 to 1")
        for name in ("late_ms", "jitter_ms", "skew"):
            _demand(name, getattr(self, name) >= 0, "0 or more")
        _demand("rate", self.rate > 0, "above 0")
        _demand("size", _size_bounds(self.size) is not None, "N, N-M or lognormal:MEDIAN:SIGMA")
        start_ms(self)
        return self


def spec_from(values: Mapping[str, object]) -> SynthSpec:
    """A spec of these fields, as from TOML or options. Raises PipelineError."""
    defaults = SynthSpec()
    kinds: dict[str, type[int | float | str]] = {
        field.name: type(getattr(defaults, field.name)) for field in fields(SynthSpec)
    }
    made: dict[str, object] = {}
    for name, value in values.items():
        kind = kinds.get(name.replace("-", "_"))
        if kind is None:
            raise PipelineError(f"--spec: unknown field {name!r}: one of {', '.join(kinds)}")
        try:
            made[name.replace("-", "_")] = kind(str(value))
        except ValueError:
            raise PipelineError(f"{name}: {value!r} is no {kind.__name__}") from None
    return replace(SynthSpec(), **made).checked()  # type: ignore[arg-type]


def start_ms(spec: SynthSpec) -> int:
    """The start as epoch milliseconds."""
    try:
        moment = datetime.fromisoformat(spec.start)
    except ValueError:
        raise PipelineError(f"start: {spec.start!r} is no time such as 2026-01-31T12:00Z") from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def synthetic_rows(spark: SparkSession, spec: SynthSpec, tasks: int | None = None) -> DataFrame:
    """id, key, value (binary), timestamp: `spec.rows` rows, made by so many tasks."""
    ids = spark.range(0, spec.rows, 1, tasks)
    event_ms = F.lit(start_ms(spec)) + F.floor(F.col("id") * F.lit(1000.0 / spec.rate))
    key = F.concat(F.lit("key-"), key_index(spec))
    made = ids.select("id", key.alias("key"), event_ms.alias("at"), size_of(spec).alias("_size"))
    head = F.concat(
        F.lit('{"id":'),
        F.col("id"),
        F.lit(',"key":"'),
        F.col("key"),
        F.lit('","at":'),
        F.col("at"),
        F.lit(',"pad":"'),
    )
    tail = '"}'
    room = F.greatest(F.col("_size") - F.length(head) - F.lit(len(tail)), F.lit(0)).cast("int")
    text = F.concat(head, padding(spec, room), F.lit(tail)).cast("binary")
    poison = F.concat(
        F.unhex(F.lit(POISON_PREFIX)),
        padding(spec, F.greatest(F.col("_size") - 2, F.lit(0)).cast("int")).cast("binary"),
    )
    value = F.when(uniform(spec, "poison") < F.lit(spec.poison), poison).otherwise(text)
    return made.select(
        "id",
        "key",
        value.alias("value"),
        F.timestamp_millis(F.col("at") + shift_ms(spec)).alias("timestamp"),
    )


def write_rows(rows: DataFrame, path: str, format_name: str, *, overwrite: bool) -> Summary:
    """Write the rows to a folder; in JSON the value is base64, as Spark writes bytes."""
    seen = Observation()
    size = F.sum((F.length("key") + F.length("value")).cast("long"))
    observed = rows.observe(seen, F.count(F.lit(1)).alias("rows"), size.alias("bytes"))
    write_dataset(observed, path, format_name, overwrite=overwrite)
    return Summary("synth", int(seen.get["rows"]), int(seen.get["bytes"] or 0), f"into {path}")


def uniform(spec: SynthSpec, purpose: str) -> Column:
    """A number in [0, 1) of the row, independent of those for other purposes."""
    bits = F.shiftrightunsigned(F.xxhash64(F.lit(spec.seed), F.lit(purpose), F.col("id")), 11)
    return bits.cast("double") / F.lit(_TWO_TO_53)


def key_index(spec: SynthSpec) -> Column:
    """0 to keys-1, drawn by a bounded power law: 0 is the most frequent when skew is above 0."""
    u = uniform(spec, "key")
    count = float(spec.keys)
    if spec.skew == 0:
        drawn = u * F.lit(count)
    elif spec.skew == 1:
        drawn = F.pow(F.lit(count + 1.0), u) - F.lit(1.0)
    else:
        # The inverse of the distribution function of x^-skew on [1, keys+1).
        power = 1.0 - spec.skew
        span = (count + 1.0) ** power - 1.0
        drawn = F.pow(u * F.lit(span) + F.lit(1.0), F.lit(1.0 / power)) - F.lit(1.0)
    return F.least(F.floor(drawn), F.lit(spec.keys - 1)).cast("long")


def size_of(spec: SynthSpec) -> Column:
    """Bytes of the row's value."""
    found = _LOGNORMAL_RE.fullmatch(spec.size)
    if found:
        # Box and Muller's transform; 1-u keeps the logarithm finite.
        radius = F.sqrt(F.lit(-2.0) * F.log(F.lit(1.0) - uniform(spec, "size")))
        normal = radius * F.cos(F.lit(6.283185307179586) * uniform(spec, "angle"))
        drawn = F.lit(float(found[1])) * F.exp(F.lit(float(found[2])) * normal)
        return F.least(F.greatest(F.floor(drawn), F.lit(0)), F.lit(MAX_PAYLOAD_BYTES)).cast("int")
    bounds = _size_bounds(spec.size)
    assert bounds is not None
    low, high = bounds
    return (F.lit(low) + F.floor(uniform(spec, "size") * F.lit(high - low + 1))).cast("int")


def padding(spec: SynthSpec, count: Column) -> Column:
    """So many hexadecimal digits that differ from row to row."""
    digits = F.sha2(F.concat_ws("/", F.lit(spec.seed), F.col("id")).cast("binary"), 256)
    times = F.ceil(count / F.lit(_HASH_CHARS)).cast("int")
    # By name: the functions of PySpark 3.5 take no columns as counts.
    repeated = F.call_function("repeat", digits, times)
    return F.call_function("substring", repeated, F.lit(1), count)


def shift_ms(spec: SynthSpec) -> Column:
    """How far the record's timestamp is from its place in the stream."""
    jitter = F.floor((uniform(spec, "jitter") * F.lit(2.0) - F.lit(1.0)) * F.lit(spec.jitter_ms))
    delay = F.floor(uniform(spec, "delay") * F.lit(spec.late_ms)) + F.lit(1)
    late = F.when(uniform(spec, "late") < F.lit(spec.late), delay).otherwise(F.lit(0))
    return jitter - late


def _size_bounds(size: str) -> tuple[int, int] | None:
    fixed, between = _FIXED_RE.fullmatch(size), _UNIFORM_RE.fullmatch(size)
    if fixed:
        bounds = (int(fixed[1]), int(fixed[1]))
    elif between:
        bounds = (int(between[1]), int(between[2]))
    else:
        return (0, 0) if _LOGNORMAL_RE.fullmatch(size) else None
    return bounds if bounds[0] <= bounds[1] <= MAX_PAYLOAD_BYTES else None


def _demand(name: str, holds: bool, allowed: str) -> None:
    if not holds:
        raise PipelineError(f"{name}: allowed is {allowed}")
