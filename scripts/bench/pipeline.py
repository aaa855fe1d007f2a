"""The pipeline's load and dump, into ours and into Apache Kafka, in one run.

    scripts/bench/pipeline [--rows 1000000] [--rounds 3] [--peers mockbroker,kafka]

One Spark session runs all jobs. Each round loads a dataset of 100-byte values into a new topic of
every peer in turn and dumps it again, so that the machine's noise falls on all alike; a first,
smaller round warms the JVM and is not counted. Each dump is compared with the dataset by content
hash. The table shows medians: seconds of each job, processor time of the broker in each, and its
memory; below it are processor time and memory of the driver's JVM.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from mockbroker.pipeline.dump import DumpSpec, DumpTarget, run_dump
from mockbroker.pipeline.load import LoadSpec, LoadTarget, run_load
from mockbroker.pipeline.records import fingerprint
from mockbroker.pipeline.session import SessionOptions, open_session
from mockbroker.pipeline.synth import SynthSpec, synthetic_rows
from mockbroker.pipeline.topic_range import Broker, TopicRange
from scripts.bench import peers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PARTITIONS = 6
SPEC = LoadSpec(key=("key",), value=("value",), value_format="raw")


def one_round(
    spark: SparkSession, peer: peers.Peer, source: str, folder: Path, tag: str
) -> tuple[float, ...]:
    """Seconds of load and of dump, and the broker's processor time in each.

    Raises SystemExit when the dump is not the dataset.
    """
    broker, topic = Broker(peer.address), f"bench-{tag}"
    rows = spark.read.parquet(source)
    started, used = time.perf_counter(), peer.cpu_seconds()
    run_load(spark, broker, rows, SPEC, LoadTarget(topic, create=PARTITIONS))
    loaded, used_to_load = time.perf_counter(), peer.cpu_seconds()
    out = str(folder / f"{peer.name}-{tag}")
    run_dump(spark, broker, TopicRange(topics=(topic,)), DumpSpec(), DumpTarget(out))
    dumped, used_to_dump = time.perf_counter(), peer.cpu_seconds()
    sides = [
        tuple(
            fingerprint(spark.read.parquet(path).selectExpr(*wanted), "key", "value").first() or ()
        )
        for path, wanted in (
            (source, ("cast(key as binary) key", "value")),
            (out, ("key", "value")),
        )
    ]
    if sides[0] != sides[1]:
        sys.exit(f"{peer.name}: the dump differs from the dataset: {sides}")
    return loaded - started, dumped - loaded, used_to_load - used, used_to_dump - used_to_load


def jvm_of(spark: SparkSession) -> peers.Peer:
    """The driver's JVM."""
    gateway = spark.sparkContext._gateway  # noqa: SLF001 -- no public way to the process
    assert gateway is not None
    return peers.Peer("driver", "", gateway.proc.pid)


def peak_mb(pid: int) -> float:
    """The most that a process has had resident."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def run(names: list[str], rows: int, rounds: int) -> None:
    """Measure and print."""
    with contextlib.ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        spark = open_session(SessionOptions("bench"))
        stack.callback(spark.stop)
        sizes = {"data": rows, "warm": max(1, rows // 10)}
        for name, count in sizes.items():
            made = synthetic_rows(spark, SynthSpec(rows=count, keys=10_000))
            made.select("key", "value").write.parquet(str(folder / name))
        running = [stack.enter_context(peers.run_peer(name)) for name in names]
        seconds: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
        for peer in running:
            peers.note(f"warming {peer.name}")
            one_round(spark, peer, str(folder / "warm"), folder, "warm")
        driver = jvm_of(spark)
        used = driver.cpu_seconds()
        for number in range(rounds):
            for peer in running:
                peers.note(f"round {number + 1} of {rounds}: {peer.name}")
                found = one_round(spark, peer, str(folder / "data"), folder, str(number))
                seconds[peer.name].append(found)
        print(f"{rows:,} rows of 100 bytes, {PARTITIONS} partitions, medians of {rounds}")
        heads = ("load s", "dump s", "load CPU", "dump CPU", "MB")
        print(" " * 12 + "".join(f"{head:>10}" for head in heads))
        for peer in running:
            medians = [
                statistics.median(column) for column in zip(*seconds[peer.name], strict=True)
            ]
            cells = "".join(f"{median:10.2f}" for median in medians)
            print(f"{peer.name:12}{cells}{peak_mb(peer.pid):10,.0f}")
        spent = (driver.cpu_seconds() - used) / (rounds * len(running))
        print(f"driver's JVM: {spent:.1f} CPU s a round, {peak_mb(driver.pid):,.0f} MB at the most")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rows", type=int, default=1_000_000, help="default 1000000")
    parser.add_argument("--rounds", type=int, default=3, help="rounds (default 3)")
    parser.add_argument("--peers", default="mockbroker,kafka", help="which, with commas")
    options = parser.parse_args()
    names = [name for name in options.peers.split(",") if name in peers.PEERS]
    run(names, options.rows, options.rounds)


if __name__ == "__main__":
    main()
