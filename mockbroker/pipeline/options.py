"""The options of `mockbroker pipeline` and the values that are made of them; needs no PySpark."""

from __future__ import annotations

import argparse
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mockbroker.pipeline.errors import PipelineError
from mockbroker.pipeline.login import Login
from mockbroker.pipeline.sources import FORMATS
from mockbroker.pipeline.topic_range import Broker, TopicRange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

KAFKA: Final = "kafka."
"""Settings of Spark that begin so are those of its Kafka client."""
IGNORABLE: Final = ("timestamp", "partition")
"""What verify leaves out of the comparison of two topics when it is told to."""
SYNTH_FIELDS: Final = (
    "rows",
    "seed",
    "rate",
    "keys",
    "skew",
    "size",
    "start",
    "late",
    "late_ms",
    "jitter_ms",
    "poison",
    "tombstones",
    "headers",
    "daily",
    "burst",
    "burst_every",
    "key_life",
)


def add_common(command: argparse.ArgumentParser) -> None:
    """What every job takes: the session, how to tell."""
    add = command.add_argument
    add("--master", metavar="URL", help="the Spark cluster (default local[*])")
    add("--remote", metavar="sc://HOST:PORT", help="a Spark Connect server instead")
    add(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of Spark, or kafka.KEY=VALUE as --kafka; repeatable",
    )
    add("--jars", metavar="DIR", help="where the Kafka connector is [MOCKBROKER_SPARK_JARS]")
    add("--json", action="store_true", help="print the summary as JSON")
    add(
        "--progress",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="show progress: a bar on a terminal, elsewhere a line every 10 s (default yes)",
    )


def add_broker(command: argparse.ArgumentParser) -> None:
    """What the jobs take that talk to a broker."""
    add = command.add_argument
    add(
        "--bootstrap",
        metavar="HOST:PORT",
        default="127.0.0.1:9092",
        help="the broker (default 127.0.0.1:9092); several with commas",
    )
    add(
        "--kafka",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of the Kafka client; repeatable",
    )


def add_load(command: argparse.ArgumentParser) -> None:
    """Load's own."""
    command.add_argument("source", nargs="+", help="files or folders, on any path that Spark knows")
    add_columns(command)
    add_target(command)


def add_columns(command: argparse.ArgumentParser) -> None:
    """Of the jobs that make records of a dataset's rows."""
    add = command.add_argument
    add(
        "--format",
        metavar="NAME",
        help="parquet, json, csv, avro, orc (default: by the name); delta, iceberg",
    )
    add("--schema", metavar="DDL", help="columns of the files, such as 'id BIGINT, name STRING'")
    add(
        "--option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of Spark's reader, such as sep=; ; repeatable",
    )
    add("--key", type=names, default=(), metavar="COLUMN[,…]", help="the key (default none)")
    add("--key-format", choices=("raw", "json", "avro"), default="raw", help="default raw")
    add("--value", type=names, default=(), metavar="COLUMN[,…]", help="default: all columns")
    add(
        "--value-format",
        choices=("raw", "json", "avro"),
        help="default raw for one --value column, else json",
    )
    for role in ("key", "value"):
        add(f"--{role}-schema", metavar="SCHEMA", help="avro: the schema's JSON or @FILE")
        add(
            f"--{role}-schema-id",
            type=schema_id,
            metavar="N",
            help="send it in Confluent's framing, behind this id",
        )
    add_registry(command)
    add(
        "--header",
        action="append",
        default=[],
        metavar="NAME=COLUMN",
        help="a header; repeatable",
    )
    add("--headers", metavar="COLUMN", help="all headers, in the form that dump writes them")
    add("--timestamp", metavar="COLUMN", help="the record's timestamp")
    add("--partition", metavar="COLUMN", help="the partition (default: murmur2 of the key)")
    order = command.add_mutually_exclusive_group()
    order.add_argument(
        "--order-by",
        type=names,
        default=(),
        metavar="COLUMN[,…]",
        help="send the rows of each key in this order",
    )
    order.add_argument(
        "--keep-order", action="store_true", help="send the rows of each key in the files' order"
    )


def add_target(command: argparse.ArgumentParser) -> None:
    """Of the jobs that send."""
    add = command.add_argument
    add("--topic", required=True, metavar="NAME", help="where to send")
    add("--create", type=positive, metavar="PARTITIONS", help="make the topic if it is not there")
    add("--rate", type=positive_number, metavar="ROWS", help="at most so many rows a second")
    add(
        "--checkpoint",
        metavar="DIR",
        help="remember how far it came: after a kill the same command sends the rest",
    )


def add_range(command: argparse.ArgumentParser) -> None:
    """Of the jobs that read."""
    add = command.add_argument
    which = command.add_mutually_exclusive_group(required=True)
    which.add_argument("--topic", type=names, default=(), metavar="NAME[,…]", help="topics")
    which.add_argument("--pattern", metavar="REGEX", help="all topics whose whole name matches")
    add(
        "--from",
        dest="start",
        default="earliest",
        metavar="BOUND",
        help="earliest, offset:N, a time (2026-01-31T12:00:00Z), JSON (default earliest)",
    )
    add("--to", dest="end", default="latest", metavar="BOUND", help="the same (default latest)")
    add(
        "--isolation",
        choices=("read_committed", "read_uncommitted"),
        default="read_committed",
        help="default read_committed",
    )
    add("--tasks", type=positive, default=0, metavar="N", help="read by at least so many tasks")


def add_dump(command: argparse.ArgumentParser) -> None:
    """Dump's own."""
    add = command.add_argument
    add("output", help="a folder, on any path that Spark knows")
    add("--format", choices=FORMATS, default="parquet", help="default parquet")
    add(
        "--partition-by",
        type=names,
        default=(),
        metavar="COLUMN[,…]",
        help="a folder for each value: of a column, or of the time's date, hour (UTC)",
    )
    for role in ("key", "value"):
        add(
            f"--{role}-format",
            choices=("raw", "string", "json", "avro"),
            default="raw",
            help="default raw",
        )
        add(
            f"--{role}-schema",
            metavar="SCHEMA",
            help="json: DDL or infer; avro: the schema's JSON or @FILE",
        )
        add(
            f"--{role}-schema-id",
            type=schema_id_or_any,
            metavar="N",
            help="it is in Confluent's framing: decode those of this id, or of any",
        )
    add_registry(command)
    add("--overwrite", action="store_true", help="replace what is in the folder")
    add("--checkpoint", metavar="DIR", help="dump only what is new since the last run with it")
    add(
        "--follow",
        type=positive_number,
        nargs="?",
        const=10.0,
        metavar="SECONDS",
        help="with --checkpoint: go on until Ctrl-C, a batch every so many seconds (10)",
    )
    add_range(command)


def add_jars(command: argparse.ArgumentParser) -> None:
    """Jars' own."""
    command.add_argument(
        "--to", metavar="DIR", help="a folder to put them in (default: where all jobs look)"
    )


def add_synth(command: argparse.ArgumentParser) -> None:
    """Synth's own."""
    add = command.add_argument
    add("--spec", metavar="FILE.toml", help="fields of the stream, by the names of these options")
    for name, metavar, text in (
        ("rows", "N", "how many (default 1000)"),
        ("seed", "N", "the same seed makes the same rows (default 0)"),
        ("rate", "PER_SECOND", "of event time (default 1000)"),
        ("keys", "N", "different keys (default 100)"),
        ("skew", "S", "exponent of Zipf's law over the keys (default 0: all alike)"),
        ("key-life", "SECONDS", "replace each key by a new one after so long (default: never)"),
        ("size", "BYTES", "of a value: 100, 50-200 or lognormal:MEDIAN:SIGMA (default 100)"),
        ("start", "TIME", "of the first event (default 2026-01-01T00:00:00Z)"),
        ("late", "SHARE", "of records that are late (default 0)"),
        ("late-ms", "MS", "how late at the most (default 60000)"),
        ("jitter-ms", "MS", "how far any record may be out of order (default 0)"),
        ("poison", "SHARE", "of records whose value is no JSON (default 0)"),
        ("tombstones", "SHARE", "of records without a value (default 0)"),
        ("headers", "N", "of each record (default 0)"),
        ("daily", "SHARE", "by how much the rate swings over a day (default 0)"),
        ("burst", "SHARE", "of the events that come in the first second of … (default 0)"),
        ("burst-every", "SECONDS", "… each so many seconds (default 60)"),
    ):
        add(f"--{name}", metavar=metavar, help=text)
    add("--ordered", action="store_true", help="send the records of each key in order")
    where = command.add_mutually_exclusive_group(required=True)
    where.add_argument("--topic", metavar="NAME", help="where to send")
    where.add_argument("--output", metavar="DIR", help="or a folder to write to")
    add("--format", choices=FORMATS, default="parquet", help="of the folder's files")
    add("--overwrite", action="store_true", help="replace what is in the folder")
    add("--create", type=positive, metavar="PARTITIONS", help="make the topic if it is not there")
    add("--pace", type=positive_number, metavar="ROWS", help="send at most so many a second")
    add("--checkpoint", metavar="DIR", help="after a kill the same command sends the rest")


def add_verify(command: argparse.ArgumentParser) -> None:
    """Verify's own."""
    add = command.add_argument
    add("source", nargs="*", help="the dataset that the topic should hold, as load sent it")
    add("--expected-topic", metavar="NAME", help="or the topic that it should equal")
    add("--expected-bootstrap", metavar="HOST:PORT", help="its broker (default --bootstrap)")
    add(
        "--ignore",
        type=choices_of(IGNORABLE),
        default=(),
        metavar="COLUMN[,…]",
        help="what may differ between two topics: timestamp, partition (default: neither)",
    )
    add("--allow-empty", action="store_true", help="no row on both sides is equal, not status 1")
    add("--sample", type=positive, default=10, metavar="N", help="differing rows to show (10)")
    add_columns(command)
    add_range(command)


# -- values of options ---------------------------------------------------------------------


def names(text: str) -> tuple[str, ...]:
    """Names with commas between them."""
    found = tuple(name.strip() for name in text.split(","))
    if not all(found):
        raise argparse.ArgumentTypeError(f"{text!r} has an empty name")
    return found


def choices_of(allowed: Sequence[str]) -> Callable[[str], tuple[str, ...]]:
    """Names with commas between them, of these alone."""

    def read(text: str) -> tuple[str, ...]:
        found = names(text)
        for name in found:
            if name not in allowed:
                raise argparse.ArgumentTypeError(f"{name!r} is none of {', '.join(allowed)}")
        return found

    return read


def add_registry(command: argparse.ArgumentParser) -> None:
    """Of the jobs that read or write Confluent's framing."""
    command.add_argument(
        "--schema-registry",
        type=registry_url,
        metavar="URL",
        help="avro: has the schemas of the ids; http://[USER:PASSWORD@]HOST:PORT",
    )


def registry_url(text: str) -> str:
    """The URL of a registry that answers as Confluent's."""
    if not text.startswith(("http://", "https://")):
        raise argparse.ArgumentTypeError(f"{text!r} is no http:// or https:// URL")
    return text


def schema_id(text: str) -> int:
    """The id of a schema in Confluent's framing."""
    if not text.isdigit() or int(text) >= 1 << 31:
        raise argparse.ArgumentTypeError(f"{text!r} is no id of a schema (0 to 2147483647)")
    return int(text)


def schema_id_or_any(text: str) -> int:
    """The same, or -1 for `any`."""
    return -1 if text == "any" else schema_id(text)


def positive(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number of at least 1")
    return int(text)


def positive_number(text: str) -> float:
    """A number above 0."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is no number above 0")
    return value


def pairs(option: str, texts: Sequence[str]) -> list[tuple[str, str]]:
    """KEY=VALUE texts. Raises PipelineError that names the option."""
    found = []
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise PipelineError(f"{option}: {text!r} is not KEY=VALUE")
        found.append((key.strip(), value))
    return found


def broker_of(arguments: argparse.Namespace) -> Broker:
    """The broker that is asked for. Raises PipelineError: its settings of security are refused."""
    conf = {
        key.removeprefix(KAFKA): value
        for key, value in pairs("--conf", arguments.conf)
        if key.startswith(KAFKA)
    }
    conf |= pairs("--kafka", arguments.kafka)
    Login(conf)
    return Broker(arguments.bootstrap, conf)


def spark_conf(arguments: argparse.Namespace) -> dict[str, str]:
    """The settings of Spark itself; those of its Kafka client are `broker_of`'s."""
    given = pairs("--conf", arguments.conf)
    return {key: value for key, value in given if not key.startswith(KAFKA)}


def range_of(arguments: argparse.Namespace) -> TopicRange:
    """The range that is asked for."""
    return TopicRange(
        topics=tuple(arguments.topic),
        pattern=arguments.pattern,
        start=arguments.start,
        end=arguments.end,
        isolation=arguments.isolation,
        min_tasks=arguments.tasks,
    )


def synth_values(arguments: argparse.Namespace) -> dict[str, object]:
    """The fields of a synthetic stream: those of --spec, and the options over them."""
    values: dict[str, object] = {}
    if arguments.spec is not None:
        try:
            values = tomllib.loads(Path(arguments.spec).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise PipelineError(f"--spec {arguments.spec}: {error}") from None
    for name in SYNTH_FIELDS:
        given = getattr(arguments, name)
        if given is not None:
            values[name] = given
    return values
