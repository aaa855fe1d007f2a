"""synth: streams that look like life, the same for a seed on one executor or a thousand.

`synthetic_rows` is pure: every column of a row is a function of the seed, the column's name and the
row's number alone, so it does not matter who makes which row. Uniform numbers are 53 bits of
xxHash64; all else is made of them in SQL expressions, on the executors.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from itertools import accumulate
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

_DAY_SECONDS: Final = 86_400.0
_NEWTON_STEPS: Final = 8
_HEAD: Final = 128
_TWO_TO_53: Final = float(1 << 53)
_HASH_CHARS: Final = 64
_FIXED_RE: Final = re.compile(r"(\d+)")
_UNIFORM_RE: Final = re.compile(r"(\d+)-(\d+)")
_LOGNORMAL_RE: Final = re.compile(r"lognormal:(\d+):(\d+(?:\.\d+)?)")


@dataclass(frozen=True, slots=True)
class SynthSpec:
    """What the stream is like.

    `rate` is events a second of event time from `start` on, on average; `daily` is by how much of
    itself it swings over a day, least at midnight UTC; a share `burst` of the events of each
    `burst_every` seconds comes in the first second. Keys are drawn from `keys` by Zipf's law of
    exponent `skew` (0: all alike); with `key_life` each is replaced by a new one after so many
    seconds. A share `tombstones` has no value; each record has so many `headers`.
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
    tombstones: float = 0.0
    headers: int = 0
    daily: float = 0.0
    burst: float = 0.0
    burst_every: float = 60.0
    key_life: float = 0.0

    def checked(self) -> SynthSpec:
        """Itself. Raises PipelineError that names the field which makes no sense."""
        for name in ("rows", "keys"):
            _demand(name, getattr(self, name) >= 1, "at least 1")
        for name in ("late", "poison", "tombstones", "burst"):
            _demand(name, 0.0 <= getattr(self, name) <= 1.0, "a share from 0 to 1")
        for name in ("late_ms", "jitter_ms", "skew", "headers", "key_life"):
            _demand(name, getattr(self, name) >= 0, "0 or more")
        _demand("rate", self.rate > 0, "above 0")
        _demand("daily", 0 <= self.daily < 1, "0 or more and below 1")
        _demand("burst_every", self.burst_every > 1, "above 1")
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
    """id, key, value (binary), timestamp, and headers if asked for: `spec.rows` rows."""
    ids = with_event_time(spark.range(0, spec.rows, 1, tasks), spec)
    made = ids.select("id", key_name(spec).alias("key"), "at", size_of(spec).alias("_size"))
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
    if spec.tombstones:
        dead = uniform(spec, "tombstone") < F.lit(spec.tombstones)
        value = F.when(dead, F.lit(None).cast("binary")).otherwise(value)
    columns = [
        F.col("id"),
        F.col("key"),
        value.alias("value"),
        F.timestamp_millis(F.col("at") + shift_ms(spec)).alias("timestamp"),
    ]
    if spec.headers:
        columns.append(headers_of(spec).alias("headers"))
    return made.select(*columns)


def with_event_time(ids: DataFrame, spec: SynthSpec) -> DataFrame:
    """The rows with `at`, in epoch ms: it grows with the id, as the rate of the hour says."""
    begin = start_ms(spec)
    seconds = ids.withColumn("_even", F.col("id") * F.lit(1.0 / spec.rate))
    if spec.burst:
        # Within each window the first events are pressed together, the others spread behind them.
        place = (F.col("_even") % F.lit(spec.burst_every)) / F.lit(spec.burst_every)
        first, share = 1.0 / spec.burst_every, F.lit(spec.burst)
        inside = place / share * F.lit(first)
        behind = (place - share) / F.lit(max(1e-12, 1.0 - spec.burst)) * F.lit(1.0 - first)
        pressed = F.when(place < share, inside).otherwise(F.lit(first) + behind)
        window = F.floor(F.col("_even") / F.lit(spec.burst_every)) * F.lit(spec.burst_every)
        seconds = seconds.withColumn("_even", window + pressed * F.lit(spec.burst_every))
    if spec.daily:
        seconds = _by_the_day(seconds, spec, begin)
    return seconds.select("id", (F.lit(begin) + F.floor(F.col("_even") * 1000.0)).alias("at"))


def _by_the_day(seconds: DataFrame, spec: SynthSpec, begin: int) -> DataFrame:
    """`_even`, the events at an even rate, at the times at which as many came at the swinging one.

    The rate at t is 1 - daily cos(w (t + t0)); its integral is inverted by Newton's steps, each a
    column of its own, or the expression would double with each.
    """
    turn = 2 * math.pi / _DAY_SECONDS
    offset = begin / 1000.0 % _DAY_SECONDS * turn
    before = spec.daily / turn * math.sin(offset)
    moved = seconds.withColumn("_t", F.col("_even"))
    for _ in range(_NEWTON_STEPS):
        angle = F.col("_t") * F.lit(turn) + F.lit(offset)
        came = F.col("_t") - F.lit(spec.daily / turn) * F.sin(angle) + F.lit(before)
        rate = F.lit(1.0) - F.lit(spec.daily) * F.cos(angle)
        moved = moved.withColumn("_t", F.col("_t") - (came - F.col("_even")) / rate)
    return moved.withColumn("_even", F.col("_t"))


def key_name(spec: SynthSpec) -> Column:
    """`key-N`; with a life `key-N-G`, where G counts those that had the number before."""
    index = key_index(spec)
    name = F.concat(F.lit("key-"), index)
    if not spec.key_life:
        return name
    life_ms = max(1, round(spec.key_life * 1000))
    # Not all are replaced at once: each has a birthday of its own.
    born = F.pmod(F.xxhash64(F.lit(spec.seed), F.lit("birthday"), index), F.lit(life_ms))
    age = F.col("at") - F.lit(start_ms(spec)) + born
    return F.concat(name, F.lit("-"), F.floor(age / F.lit(life_ms)))


def headers_of(spec: SynthSpec) -> Column:
    """Headers h1, h2 …, each of 16 hexadecimal digits."""
    made = []
    for number in range(1, spec.headers + 1):
        bits = F.xxhash64(F.lit(spec.seed), F.lit(f"h{number}"), F.col("id"))
        digits = F.lower(F.lpad(F.hex(bits), 16, "0")).cast("binary")
        made.append(F.struct(F.lit(f"h{number}").alias("key"), digits.alias("value")))
    return F.array(*made)


def write_rows(rows: DataFrame, path: str, format_name: str, *, overwrite: bool) -> Summary:
    """Write the rows to a folder; in JSON the value is base64, as Spark writes bytes."""
    seen = Observation()
    value_bytes = F.coalesce(F.length("value"), F.lit(0))
    size = F.sum((F.length("key") + value_bytes).cast("long"))
    observed = rows.observe(seen, F.count(F.lit(1)).alias("rows"), size.alias("bytes"))
    write_dataset(observed, path, format_name, overwrite=overwrite)
    return Summary("synth", int(seen.get["rows"]), int(seen.get["bytes"] or 0), f"into {path}")


def uniform(spec: SynthSpec, purpose: str) -> Column:
    """A number in [0, 1) of the row, independent of those for other purposes."""
    bits = F.shiftrightunsigned(F.xxhash64(F.lit(spec.seed), F.lit(purpose), F.col("id")), 11)
    return bits.cast("double") / F.lit(_TWO_TO_53)


def key_index(spec: SynthSpec) -> Column:
    """0 to keys-1, drawn by Zipf's law: 0 is the most frequent when skew is above 0.

    The first _HEAD keys have exactly their shares, by halving; behind them the sum is an integral
    over each key's unit, which is off by less than a part in 100,000.
    """
    u = uniform(spec, "key")
    if spec.skew == 0:
        return F.least(F.floor(u * F.lit(float(spec.keys))), F.lit(spec.keys - 1)).cast("long")
    head = min(spec.keys, _HEAD)
    weights = [float(n) ** -spec.skew for n in range(1, head + 1)]
    tail = _power_integral(head + 0.5, spec.keys + 0.5, spec.skew) if spec.keys > head else 0.0
    whole = sum(weights) + tail
    bounds = [part / whole for part in accumulate(weights)]
    drawn = _halved(u, bounds, 0, head)
    if spec.keys > head:
        rest = (u - F.lit(bounds[-1])) * F.lit(whole)
        found = F.floor(_power_inverse(head + 0.5, rest, spec.skew) - F.lit(0.5))
        kept = F.least(F.greatest(found, F.lit(head)), F.lit(spec.keys - 1))
        drawn = F.when(u < F.lit(bounds[-1]), drawn).otherwise(kept)
    return drawn.cast("long")


def _halved(u: Column, bounds: list[float], low: int, high: int) -> Column:
    """Which of the keys from `low` up to `high` it is, by comparisons."""
    if high - low == 1:
        return F.lit(low).cast("long")
    middle = (low + high) // 2
    left, right = _halved(u, bounds, low, middle), _halved(u, bounds, middle, high)
    return F.when(u < F.lit(bounds[middle - 1]), left).otherwise(right)


def _power_integral(low: float, high: float, skew: float) -> float:
    """The integral of x^-skew."""
    if skew == 1:
        return math.log(high / low)
    return float(high ** (1 - skew) - low ** (1 - skew)) / (1 - skew)


def _power_inverse(low: float, area: Column, skew: float) -> Column:
    """Where that integral from `low` on has come to an area."""
    if skew == 1:
        return F.lit(low) * F.exp(area)
    power = 1 - skew
    return F.pow(F.lit(low**power) + area * F.lit(power), F.lit(1 / power))


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
