"""How long a neighbour waits while one request of another connection is worked on.

    scripts/bench/stalls [--kafka HOST:PORT] [--mockbroker HOST:PORT]
                         [--topics N] [--runs N] [NAME...]
    scripts/bench/stalls --write

For each frame of `tests/support/heavy.py`, whose name has one of NAME in it, against each broker
in turn: the longest that a ping of another process took meanwhile, and how the frame was answered.
Of several runs the one counts whose longest ping was the shortest: what a busy machine adds is not
the broker's. What takes long is not run again, and what takes more than a bound is not waited for.
Without --mockbroker one is started, and for some frames others with a fault rule or an authorizer.
Brokers get a topic `blk` of 100 partitions and, for long answers, N topics and N groups (default
2000). Markdown on standard output, what is done now on standard error.

--write measures all of them beside an Apache Kafka 4.4.0 that it starts and stops, best of three
runs, and puts the table into docs/budgets.md: for a machine that has nothing else to do. It takes
less than ten minutes.
"""

from __future__ import annotations

import argparse
import math
import multiprocessing
import os
import resource
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.support.heavy import (
    COMPACTED,
    FULL,
    PARTITIONS,
    RECODED,
    TOPIC,
    batch,
    everything_of_a_world,
    fetch_of_a_session,
    int32,
    list_offsets_by_time,
    produce,
    request,
    text,
    timed_records,
    tiny_records,
    world_positions,
    world_topics,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection

    Work = Callable[[str], Iterator[str | None]]
    """Given an address it yields when it is prepared, and again what it was answered."""

KAFKA_VERSION = "4.4.0"
KAFKA_HEAP = "-Xmx1g"
ONLY_ONCE = ("CreateTopics: 4,000", "DeleteTopics", "Metadata: 100,000 new topics")
"""Those that find it done when they are sent again."""
PAGE = Path("docs/budgets.md")
BEGINNING, END = "<!-- scripts/bench/stalls --write -->", "<!-- that was the table -->"
MOST_S = 30.0
"""An answer that takes longer is not waited for: a broker may be busy with it for minutes."""
AGAIN_S = 2.0
"""What takes longer is measured once."""
SESSIONS = ("Fetch: a session of",)
ALL_TOPICS = ("Metadata: all of", "DescribeTopicPartitions: all")
NAMES = ("Metadata: 120,000", "DescribeTopicPartitions: 19,000")
OTHERS = (
    (
        ("--fault", '{"api": "Heartbeat", "error": "NOT_COORDINATOR"}'),
        "a fault rule is armed",
        ("ListOffsets: 250,000", "OffsetFetch: one partition 500", *SESSIONS),
    ),
    (
        ("--fault", '{"topic": "other-*", "error": "UNKNOWN_SERVER_ERROR"}'),
        "a fault rule about a topic is armed",
        ("ListOffsets: 250,000", *NAMES, *SESSIONS),
    ),
    (
        ("--fault", '{"api": "Fetch", "error": "NOT_LEADER_OR_FOLLOWER"}'),
        "it sets off a fault rule",
        SESSIONS,
    ),
    (
        (
            "--set=authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "--set=allow.everyone.if.no.acl.found=true",
        ),
        "under an authorizer",
        (*ALL_TOPICS, *NAMES, "ListOffsets: 250,000", *SESSIONS),
    ),
)
"""Options of brokers of ours, what is said of each, and what is measured on a broker with them."""
AT_ONCE = 500
PIPELINE = 10_000
WAITING = 2_000
SESSION = 100_000
IN_A_BATCH = 50_000
PING = struct.pack(">ihhih", 10, 18, 0, 1, 0)


def connect(address: str, timeout: float = 240.0) -> socket.socket:
    host, _, port = address.rpartition(":")
    return socket.create_connection((host, int(port)), timeout=timeout)


def answer(sock: socket.socket) -> int:
    """Reads one answer; its size."""
    head = sock.recv(4, socket.MSG_WAITALL)
    if len(head) < 4:
        raise EOFError
    left = size = int.from_bytes(head, "big")
    while left:
        data = sock.recv(min(1 << 20, left))
        if not data:
            raise EOFError
        left -= len(data)
    return size


def error_of(sock: socket.socket, frame: bytes, at: int) -> int:
    """The error code at a place of the answer, behind its length."""
    sock.sendall(frame)
    head = sock.recv(4, socket.MSG_WAITALL)
    body = sock.recv(int.from_bytes(head, "big"), socket.MSG_WAITALL)
    return int.from_bytes(body[at:][:2], "big")


def ping_until_told(address: str, told: Connection) -> None:
    """Ping every few milliseconds; then say how long the longest took, in seconds."""
    worst = 0.0
    with connect(address, MOST_S) as sock:
        told.send(None)
        while not told.poll(0.003):
            begun = time.perf_counter()
            try:
                sock.sendall(PING)
                answer(sock)
            except (OSError, EOFError):
                worst = math.inf
                break
            worst = max(worst, time.perf_counter() - begun)
    told.send(worst)


class Neighbour:
    """Pings a broker from a process of its own: what this one does is not in its way."""

    def __init__(self, address: str) -> None:
        self._told, other = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=ping_until_told, args=(address, other))
        self._process.start()
        self._told.recv()

    def stop(self) -> float:
        self._told.send(None)
        worst: float = self._told.recv()
        self._process.join()
        return worst


class Found(NamedTuple):
    """What one frame did: the neighbour's longest wait, how long it took itself, its answer."""

    worst_ms: float
    took_s: float
    outcome: str

    def __str__(self) -> str:
        wait = f"{self.worst_ms:.0f} ms" if self.worst_ms < math.inf else f"over {MOST_S:.0f} s"
        return f"{wait}, {self.took_s:.2f} s, {self.outcome}"


def measure(address: str, work: Work) -> Found:
    """One piece of work against one broker."""
    with connect(address) as warm:  # what is imported at a first request is not what is measured
        warm.sendall(PING)
        answer(warm)
    steps = work(address)
    next(steps)
    neighbour = Neighbour(address)
    time.sleep(0.1)
    begun = time.perf_counter()
    outcome = next(steps) or ""
    took = time.perf_counter() - begun
    time.sleep(0.2)
    worst = neighbour.stop()
    for _ in steps:  # what is to be undone
        pass
    return Found(worst * 1000, took, outcome)


def sending(frame: bytes, answers: int = 1) -> Work:
    """The work of one frame, or of a pipeline of so many."""

    def send(address: str) -> Iterator[str | None]:
        with connect(address) as sock:
            yield None
            yield outcome_of(sock, frame, answers)

    return send


def outcome_of(sock: socket.socket, frame: bytes, answers: int = 1) -> str:
    """What becomes of a frame: the size of its answer, or why there is none."""
    sock.settimeout(MOST_S)
    try:
        sock.sendall(frame)
        return f"{sum(answer(sock) for _ in range(answers)):,} B"
    except TimeoutError:
        return f"over {MOST_S:.0f} s"
    except (OSError, EOFError):
        return "closed"


def open_session(address: str) -> Iterator[str | None]:
    """A session of many partitions, which is not left behind."""
    with connect(address) as sock:
        yield None
        try:
            session_id, answered = begin_session(sock)
        except TimeoutError:
            yield f"over {MOST_S:.0f} s"
            return
        yield f"{answered:,} B"
        end_session(sock, session_id)


def change_session(address: str) -> Iterator[str | None]:
    """Such a session is told something of each of them."""
    with connect(address) as sock:
        session_id, _ = begin_session(sock)
        yield None
        yield outcome_of(sock, fetch_of_a_session(SESSION, session_id, 1))
        end_session(sock, session_id)


def begin_session(sock: socket.socket) -> tuple[int, int]:
    """Its id, and the size of the answer."""
    sock.settimeout(MOST_S)
    sock.sendall(fetch_of_a_session(SESSION))
    begins = struct.unpack(">iiihi", sock.recv(18, socket.MSG_WAITALL))
    left, session_id = begins[0] - 14, begins[-1]
    while left:
        left -= len(sock.recv(left))
    assert session_id
    return session_id, begins[0]


def end_session(sock: socket.socket, session_id: int) -> None:
    sock.sendall(fetch_of_a_session(0, session_id, -1))
    answer(sock)


def look_for_a_time(address: str) -> Iterator[str | None]:
    """ListOffsets for what is the last of many records of one batch."""
    records = batch(timed_records(IN_A_BATCH), IN_A_BATCH, newest=1)
    with connect(address) as sock:
        sock.sendall(produce(records))
        answer(sock)
        yield None
        yield outcome_of(sock, list_offsets_by_time(1))


def wake(address: str) -> Iterator[str | None]:
    """Many fetches wait for one partition; the producer that wakes them wants its answer."""
    fetch = struct.pack(">iiiib", -1, 60_000, 1, 1 << 20, 0) + int32(1) + text(TOPIC)
    records = batch(tiny_records(1), 1)
    one = struct.pack(">hhi", -1, 1, 30_000) + int32(1) + text(TOPIC) + int32(1)
    append = request(0, 7, one + int32(99, len(records)) + records)
    with connect(address) as tail:
        tail.sendall(append)  # the first one is slower, whoever waits
        answer(tail)
        tail.sendall(request(2, 1, int32(-1, 1) + text(TOPIC) + struct.pack(">iiq", 1, 99, -1)))
        body = tail.recv(4096)
    (end,) = struct.unpack(">q", body[-8:])
    asked = request(1, 4, fetch + int32(1) + struct.pack(">iqi", 99, end, 1 << 20))
    waiting = [connect(address) for _ in range(WAITING)]
    for sock in waiting:
        sock.sendall(asked)
    time.sleep(1.0)
    with connect(address) as producer:
        yield None
        begun = time.perf_counter()
        producer.sendall(append)
        answer(producer)
        acknowledged = time.perf_counter() - begun
        for sock in waiting:
            answer(sock)
    yield f"acknowledged after {acknowledged * 1000:.1f} ms"
    for sock in waiting:
        sock.close()


def make_world(address: str, topics: int) -> None:
    """What the frames need: the topic of many partitions, and many topics and groups."""
    with connect(address) as sock:

        def call(frame: bytes, answers: int = 1) -> None:
            sock.sendall(frame)
            for _ in range(answers):
                answer(sock)

        topic = text(TOPIC) + struct.pack(">ihii", PARTITIONS, 1, 0, 0)
        call(request(19, 2, int32(1) + topic + struct.pack(">ib", 60_000, 0)))
        for name, partitions, config, value in (
            (COMPACTED, PARTITIONS, "cleanup.policy", "compact"),
            (RECODED, 1, "compression.type", "gzip"),
        ):
            topic = text(name) + struct.pack(">ihi", partitions, 1, 0) + int32(1)
            topic += text(config) + text(value)
            call(request(19, 2, int32(1) + topic + struct.pack(">ib", 60_000, 0)))
        for first in range(0, topics, AT_ONCE):
            call(world_topics(first, min(AT_ONCE, topics - first)))
        find = request(10, 1, text("every") + b"\0")
        while error_of(sock, find, 8) or error_of(sock, world_positions("every", 0, 1), -2):
            time.sleep(0.5)  # Apache Kafka makes the topic of the positions, and loads it
        for first in range(0, topics, AT_ONCE):
            call(world_positions("every", first, min(AT_ONCE, topics - first)))
            groups = [f"group-{index}" for index in range(first, min(first + AT_ONCE, topics))]
            call(b"".join(world_positions(name, 0, 1) for name in groups), len(groups))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--kafka", help="an Apache Kafka beside it")
    parser.add_argument("--mockbroker", help="one that runs; else one is started")
    parser.add_argument("--topics", type=int, default=2000)
    parser.add_argument("--runs", type=int, help="of which the best counts: 1, or 3 to --write")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    options.runs = options.runs or (3 if options.write else 1)
    if options.write:
        write(options)
    else:
        measure_all(options)


class OwnKafka:
    """An Apache Kafka that is started for the table, and anew where it was left at work."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = str(free.getsockname()[1])
        self.address = f"127.0.0.1:{self._port}"

    def start(self) -> None:
        say(f"starting Apache Kafka {KAFKA_VERSION}, heap {KAFKA_HEAP}")
        chosen = {"KAFKA_VERSION": KAFKA_VERSION, "KAFKA_HEAP_OPTS": KAFKA_HEAP}
        command = ["scripts/kafka", "start", self._port]
        subprocess.run(command, check=True, env=os.environ | chosen)

    def stop(self) -> None:
        subprocess.run(["scripts/kafka", "stop", self._port], check=True)


def write(options: argparse.Namespace) -> None:
    """Put the table into the page, measured beside an Apache Kafka of our own."""
    say("the table is there in less than ten minutes, if the machine has nothing else to do")
    kafka = OwnKafka()
    options.kafka, options.own_kafka = kafka.address, kafka
    kafka.start()
    try:
        lines = measure_all(options)
    finally:
        kafka.stop()
    before, _, rest = PAGE.read_text().partition(BEGINNING)
    _, _, after = rest.partition(END)
    assert after, f"{PAGE} has no {BEGINNING} and {END}"
    PAGE.write_text("\n".join((before + BEGINNING, "", *lines, "", END)) + after)
    say(f"{PAGE} has the table")


def say(line: str) -> None:
    """What is done now."""
    print(f"{time.strftime('%H:%M:%S')} {line}", file=sys.stderr, flush=True)


def measure_all(options: argparse.Namespace) -> list[str]:
    """The lines of the table."""
    process = None
    if options.mockbroker is None:
        process, options.mockbroker = serve()
    lines = []
    try:
        for line in table(options):
            print(line, flush=True)
            lines.append(line)
    finally:
        if process is not None:
            process.terminate()
            process.wait()
    return lines


def serve(*more: str) -> tuple[subprocess.Popen[str], str]:
    """A mockbroker in a process of its own, and where it listens."""
    command = [sys.executable, "-m", "mockbroker", "serve", "--port", "0", "--log-level", "error"]
    command += more
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    ready = process.stdout.readline()
    return process, ready.partition("bootstrap=")[2].split()[0]


def of_others(options: argparse.Namespace, others: int) -> Iterator[str]:
    """Rows of brokers that have a fault rule, or an authorizer."""
    rows = pieces_of_work(options.topics)
    for flags, said, measured in OTHERS:
        names = [name for name in rows if name.startswith(measured)]
        names = [one for one in names if not options.names or any(n in one for n in options.names)]
        if not names:
            continue
        process, address = serve(*flags)
        try:
            make_world(address, options.topics if "authorizer" in said else 1)
            for name in names:
                size, work = rows[name]()
                cells = [best_of(options.runs, address, work), *["–"] * others]
                yield f"| {name}; {said} | {size / 1e6:.2f} | {' | '.join(cells)} |"
        finally:
            process.terminate()
            process.wait()


def best_of(runs: int, address: str, work: Work) -> str:
    """A cell: of several runs the one that was least in the way of others."""
    found: list[Found] = []
    try:
        while len(found) < runs and all(one.took_s < AGAIN_S for one in found):
            found.append(measure(address, work))
    except (OSError, EOFError) as error:
        return f"gone: {error}"
    return str(min(found))


def table(options: argparse.Namespace) -> Iterator[str]:
    """A row for each frame."""
    brokers = {"mockbroker": options.mockbroker}
    if options.kafka:
        brokers["Apache Kafka"] = options.kafka
    for name, address in brokers.items():
        say(f"making {options.topics} topics and groups in {name}")
        make_world(address, options.topics)
    yield f"| work | MB | {' | '.join(f'{name}: wait, took, answer' for name in brokers)} |"
    yield "|---|---|" + "---|" * len(brokers)
    for name, build in pieces_of_work(options.topics).items():
        if options.names and not any(one in name for one in options.names):
            continue
        size, work = build()
        runs = 1 if name.startswith(ONLY_ONCE) else options.runs
        cells = [best_of(runs, address, work) for address in brokers.values()]
        kafka: OwnKafka | None = getattr(options, "own_kafka", None)
        if kafka is not None and "over " in cells[-1]:
            kafka.stop()
            kafka.start()
            make_world(kafka.address, options.topics)
        yield f"| {name} | {size / 1e6:.2f} | {' | '.join(cells)} |"
    yield from of_others(options, len(brokers) - 1)
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    yield ""
    cores = os.cpu_count()
    yield f"Best of {options.runs}. Load of the machine at the end: {load} on {cores} cores."


def pieces_of_work(topics: int) -> dict[str, Callable[[], tuple[int, Work]]]:
    """All that is measured, by name: a function that makes it, and how many bytes are sent."""
    pipeline = request(18, 0, b"") * PIPELINE
    works: dict[str, Callable[[], tuple[int, Work]]] = {
        f"a pipeline of {PIPELINE:,} requests": lambda: (
            len(pipeline),
            sending(pipeline, PIPELINE),
        ),
        f"an append that wakes {WAITING:,} fetches": lambda: (0, wake),
        f"Fetch: a session of {SESSION:,} partitions, opened": lambda: (
            len(fetch_of_a_session(SESSION)),
            open_session,
        ),
        f"Fetch: a session of {SESSION:,} partitions, each changed": lambda: (
            len(fetch_of_a_session(SESSION)),
            change_session,
        ),
        f"ListOffsets: a time within a batch of {IN_A_BATCH:,} records": lambda: (
            len(list_offsets_by_time(1)),
            look_for_a_time,
        ),
    }

    def of(build: Callable[[], bytes]) -> Callable[[], tuple[int, Work]]:
        def make() -> tuple[int, Work]:
            frame = build()
            return len(frame), sending(frame)

        return make

    for name, build in (everything_of_a_world(topics) | FULL).items():
        works[name] = of(build)
    return works


if __name__ == "__main__":
    main()
