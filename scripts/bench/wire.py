"""What an idle consumer of 1,000 partitions costs on the wire, with fetch sessions and without.

    scripts/bench/wire [--partitions N] [--seconds S] [--clients aiokafka,java,...] [--markdown]

Each client is a process of its own, assigned to every partition of one empty topic, and polls. Once
it fetches steadily, the requests and answers of S seconds are counted, whole with their length
prefixes, as this broker served them (TCP's own headers are not among them), and scaled to a minute.
Then the same with sessions refused: max.incremental.fetch.session.cache.slots=0. Every client's
fetches may wait 500 ms, which is Kafka's default (franz-go's own is 5 s).
"""

from __future__ import annotations

import argparse
import asyncio
import os
import shutil
import sys
from collections import Counter
from importlib import metadata
from typing import TYPE_CHECKING, Final

from mockbroker.journal import RequestServed
from mockbroker.server.launch import launch
from mockbroker.server.settings import Settings
from scripts.bench import peers

if TYPE_CHECKING:
    from pathlib import Path

    from mockbroker.journal import Event

KAFKA_VERSION: Final = os.environ.get("KAFKA_VERSION", "4.3.1")
TOPIC: Final = "idle"
MAX_WAIT_MS: Final = 500
LENGTH_PREFIX_BYTES: Final = 4
STEADY_FETCHES: Final = 6
START_SECONDS: Final = 60.0
PYTHON_CLIENTS: Final = ("aiokafka", "kafka-python", "confluent-kafka")
REFUSED: Final = {"max.incremental.fetch.session.cache.slots": "0"}


def command_of(client: str, bootstrap: str, partitions: int) -> list[str]:
    """The command line of a client's program."""
    size, wait = str(partitions), str(MAX_WAIT_MS)
    if client in PYTHON_CLIENTS:
        module = ["-m", "scripts.bench.idle_consumer"]
        return [sys.executable, *module, client, bootstrap, TOPIC, size, wait]
    if client == "franz-go":
        program = str(peers.BUILD / "idleconsumer")
        options = ["-addr", bootstrap, "-topic", TOPIC, "-partitions", size]
        return [program, *options, "-max-wait", f"{wait}ms"]
    source = str(peers.ROOT / "scripts/bench/java/IdleConsumer.java")
    return ["java", "-cp", f"{java_libs()}/*", source, bootstrap, TOPIC, size, wait]


def java_libs() -> Path:
    """Where `scripts/kafka fetch` puts kafka-clients."""
    return peers.ROOT / ".tools" / f"kafka-{KAFKA_VERSION}" / "libs"


def available() -> dict[str, str]:
    """The clients that this machine can run, with their versions."""
    clients = {name: metadata.version(name) for name in PYTHON_CLIENTS}
    if shutil.which("java") and java_libs().is_dir():
        clients["java"] = KAFKA_VERSION
    else:
        peers.note("left out: the Java consumer (needs a JRE, and scripts/kafka fetch)")
    if shutil.which("go"):
        modules = (peers.ROOT / "scripts/bench/go/go.mod").read_text()
        clients["franz-go"] = modules.partition("twmb/franz-go v")[2].split()[0]
    else:
        peers.note("left out: franz-go (needs Go)")
    return clients


class Traffic:
    """What one client asked and was answered."""

    def __init__(self) -> None:
        self.fetches: Counter[str] = Counter()
        self.versions: set[int] = set()
        self.request_bytes = 0
        self.response_bytes = 0
        self.other_bytes = 0

    def add(self, event: Event) -> None:
        """The journal's listener."""
        if not isinstance(event, RequestServed):
            return
        request_bytes = event.request_bytes + LENGTH_PREFIX_BYTES
        if event.fetch_class is None:
            self.other_bytes += request_bytes + event.response_bytes
            return
        self.fetches[event.fetch_class] += 1
        self.versions.add(event.api_version)
        self.request_bytes += request_bytes
        self.response_bytes += event.response_bytes

    @property
    def total_bytes(self) -> int:
        return self.request_bytes + self.response_bytes + self.other_bytes


async def measure(client: str, partitions: int, seconds: float, config: dict[str, str]) -> Traffic:
    """The traffic of one client in a steady window."""
    settings = Settings(topics={TOPIC: partitions}, config=config, port=0)
    running = await launch(settings)
    traffic = Traffic()

    def count(event: Event) -> None:
        traffic.add(event)

    running.journal.listen(count, requests=True)
    command = command_of(client, running.bootstrap_servers, partitions)
    process = await asyncio.create_subprocess_exec(
        *command, cwd=peers.ROOT, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        deadline = asyncio.get_running_loop().time() + START_SECONDS
        while traffic.fetches.total() < STEADY_FETCHES:
            if process.returncode is not None or asyncio.get_running_loop().time() > deadline:
                raise RuntimeError(f"{client} did not fetch: {' '.join(command)}")
            await asyncio.sleep(0.1)
        await asyncio.sleep(2)
        traffic = Traffic()
        await asyncio.sleep(seconds)
        counted, traffic = traffic, Traffic()  # what the client's end sends does not count
        return counted
    finally:
        if process.returncode is None:
            process.terminate()
        await process.wait()
        await running.stop()


class Row:
    """One client: its traffic with sessions and without, scaled to a minute."""

    def __init__(self, name: str, seconds: float, held: Traffic, refused: Traffic) -> None:
        scale = 60 / seconds
        self.name = name
        self.kind = "/".join(sorted(held.fetches)).lower()
        self.version = max(held.versions)
        self.fetches = held.fetches.total() * scale
        self.fetch_bytes = (held.request_bytes + held.response_bytes) / held.fetches.total()
        self.refused_bytes = (
            refused.request_bytes + refused.response_bytes
        ) / refused.fetches.total()
        self.minute = held.total_bytes * scale
        self.refused_minute = refused.total_bytes * scale

    def cells(self) -> list[str]:
        return [
            self.name,
            f"v{self.version}",
            self.kind,
            f"{self.fetches:,.0f}",
            f"{self.fetch_bytes:,.0f}",
            f"{self.refused_bytes:,.0f}",
            f"{self.minute:,.0f}",
            f"{self.refused_minute:,.0f}",
            f"{self.refused_bytes / self.fetch_bytes:,.0f}x",
        ]


HEADINGS: Final = (
    "client",
    "Fetch",
    "its idle fetches",
    "a minute",
    "bytes a fetch",
    "sessions refused",
    "bytes a minute",
    "sessions refused",
    "less by",
)


def show(rows: list[Row], *, markdown: bool) -> None:
    """The table, for a terminal or for the docs."""
    lines = [list(HEADINGS), *(row.cells() for row in rows)]
    if markdown:
        lines.insert(1, ["---", "---", "---", *["---:"] * (len(HEADINGS) - 3)])
        print("\n".join("| " + " | ".join(line) + " |" for line in lines))
        return
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        print("  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--partitions", type=int, default=1000, help="partitions (default 1000)")
    parser.add_argument("--seconds", type=float, default=10, help="window (default 10)")
    parser.add_argument("--clients", default="", help="which, with commas (default all)")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    options = parser.parse_args()
    clients = available()
    if "franz-go" in clients:
        peers.build_go()
    wanted = options.clients.split(",") if options.clients else list(clients)
    rows = []
    for client in wanted:
        peers.note(f"{client}: {options.seconds:g} s with sessions, {options.seconds:g} s without")
        held = asyncio.run(measure(client, options.partitions, options.seconds, {}))
        refused = asyncio.run(measure(client, options.partitions, options.seconds, REFUSED))
        rows.append(Row(f"{client} {clients[client]}", options.seconds, held, refused))
    show(rows, markdown=options.markdown)


if __name__ == "__main__":
    main()
