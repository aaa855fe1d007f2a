"""Processor time of the core alone: µs a request from its frame to its answer, without sockets.

    scripts/bench/core [--rounds N] [--rows GLOB] [--build sources|compiled] [--json]

Each row is timed in a process of its own for each build, both in turn; the least of the rounds
counts, for whatever else the machine does only adds to it. Rows of several partitions or topics
tell the cost of one of them too.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, NamedTuple

from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from mockbroker_protocol.messages.produce import (
    ProduceRequest,
    ProduceRequestPartition,
    ProduceRequestTopic,
)
from mockbroker_protocol.messages.topics import CreatableTopic, CreateTopicsRequest
from mockbroker_protocol.plan import encode
from scripts.bench import peers
from scripts.bench.core_driver import RECORD, CoreDriver, fetch_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SESSION: Final = 1000
TOPICS: Final = 10_000
CREATED: Final = 200


class Row(NamedTuple):
    """What is asked how often, and of how many partitions or topics each time."""

    name: str
    times: int
    parts: int
    frames: Callable[[CoreDriver, int], Iterator[bytes]]


def _frame(api_key: int, version: int, request: object) -> bytes:
    header = encode_request_header(api_key, version, 1, "bench")
    body = header + b"".join(map(bytes, encode(request, version)))
    return len(body).to_bytes(4, "big") + body


def _fetch(partitions: int, offset: int) -> Callable[[CoreDriver, int], Iterator[bytes]]:
    """A record of 100 bytes in each partition, or nothing."""

    def frames(driver: CoreDriver, count: int) -> Iterator[bytes]:
        topic_id = driver.create_topic("t", partitions)
        for index in range(partitions):
            driver.append("t", index)
        frame = fetch_frame({topic_id: [(index, offset) for index in range(partitions)]})
        yield from [frame] * count

    return frames


def _produce(partitions: int) -> Callable[[CoreDriver, int], Iterator[bytes]]:
    def frames(driver: CoreDriver, count: int) -> Iterator[bytes]:
        driver.create_topic("t", partitions)
        data = [ProduceRequestPartition(index, RECORD) for index in range(partitions)]
        topic = ProduceRequestTopic("t", partition_data=data)
        frame = _frame(0, 12, ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic]))
        yield from [frame] * count

    return frames


def _poll(driver: CoreDriver, count: int) -> Iterator[bytes]:
    topic_id = driver.create_topic("t", SESSION)
    driver.send(1, fetch_frame({topic_id: [(n, 0) for n in range(SESSION)]}, epoch=0))
    session_id = int.from_bytes(driver.answers()[1][15:19], "big")
    yield from [fetch_frame({}, session_id=session_id, epoch=n) for n in range(1, count + 1)]


def _metadata(topics: int, asked: int | None) -> Callable[[CoreDriver, int], Iterator[bytes]]:
    def frames(driver: CoreDriver, count: int) -> Iterator[bytes]:
        for number in range(topics):
            driver.create_topic(f"t{number}", 1)
        wanted = None if asked is None else [MetadataRequestTopic(name="t0")] * asked
        yield from [_frame(3, 12, MetadataRequest(topics=wanted))] * count

    return frames


def _create(_driver: CoreDriver, count: int) -> Iterator[bytes]:
    for at in range(count):
        topics = [CreatableTopic(f"t{at}-{number}", 1, 1) for number in range(CREATED)]
        yield _frame(19, 7, CreateTopicsRequest(topics=topics, timeout_ms=1000))


def _api_versions(_driver: CoreDriver, count: int) -> Iterator[bytes]:
    yield from [_frame(18, 3, ApiVersionsRequest("bench", "1"))] * count


ROWS: Final = (
    Row("Fetch that finds nothing", 6000, 1, _fetch(1, 1)),
    Row("Fetch of a record of 100 bytes", 6000, 1, _fetch(1, 0)),
    Row("poll of a session of 1,000 partitions, empty", 6000, 1, _poll),
    Row("Produce of a record of 100 bytes", 6000, 1, _produce(1)),
    Row("Metadata of one topic", 6000, 1, _metadata(1, 1)),
    Row("ApiVersions", 3000, 1, _api_versions),
    Row("Produce to 100 partitions", 200, 100, _produce(100)),
    Row("Produce to 1,000 partitions", 20, 1000, _produce(1000)),
    Row("Fetch from 100 partitions", 200, 100, _fetch(100, 0)),
    Row("Fetch from 1,000 partitions", 20, 1000, _fetch(1000, 0)),
    Row("Metadata of 10,000 topics", 4, TOPICS, _metadata(TOPICS, None)),
    Row("CreateTopics of 200", 4, CREATED, _create),
)


def measure(row: Row) -> float:
    """Microseconds a request, in this process; the first tenth warms up and does not count."""
    driver = CoreDriver()
    driver.connect(1)
    frames = list(row.frames(driver, row.times + max(1, row.times // 10)))
    warm = len(frames) - row.times
    send, take = driver.send, driver.broker.take_outbox
    for frame in frames[:warm]:
        send(1, frame)
        take()
    begin = time.process_time()
    for frame in frames[warm:]:
        send(1, frame)
        assert take()
    return (time.process_time() - begin) / row.times * 1e6


def _measure_apart(row: Row, build: str) -> float:
    where = peers.COMPILED if build == "compiled" else peers.ROOT
    path = os.pathsep.join(map(str, (where, where / "protocol")))
    done = subprocess.run(
        [sys.executable, "-m", "scripts.bench.core", "--one", row.name],
        cwd=where,
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=5, help="rounds (default 5)")
    parser.add_argument("--rows", default="*", help="which, by name (default all)")
    parser.add_argument("--build", help="sources or compiled (default both)")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        print(next(measure(row) for row in ROWS if row.name == options.one))
        return
    builds = ["sources", "compiled"] if options.build is None else [options.build]
    if not (peers.COMPILED / ".built").exists():
        builds = ["sources"]
    rows = [row for row in ROWS if fnmatchcase(row.name, options.rows)]
    least: dict[tuple[str, str], float] = {}
    for row in rows * options.rounds:
        for build in builds:
            found = _measure_apart(row, build)
            least[row.name, build] = min(found, least.get((row.name, build), found))
    if options.json:
        print(json.dumps({f"{name}, {build}": figure for (name, build), figure in least.items()}))
        return
    print(f"{'µs a request (of a part)':48}" + "".join(f"{build:>22}" for build in builds))
    for row in rows:
        cells = ""
        for build in builds:
            figure = least[row.name, build]
            part = f" ({figure / row.parts:.2f})" if row.parts > 1 else ""
            cells += f"{f'{figure:,.1f}{part}':>22}"
        print(f"{row.name:48}{cells}")


if __name__ == "__main__":
    main()
