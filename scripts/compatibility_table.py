"""The table of docs/compatibility.md: what each broker answers to ApiVersions.

    scripts/compatibility [--check | --capture]

This broker is started and asked each time; what the others answered when they were last asked is
in docs/compatibility.json, which --capture writes anew.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import struct
import sys
from importlib import metadata
from typing import TYPE_CHECKING, Final

from mockbroker.server.launch import launch
from mockbroker.server.settings import Settings
from mockbroker_protocol.api_keys import ALL_SPECS, ApiKey
from scripts.bench import peers

if TYPE_CHECKING:
    from collections.abc import Mapping

# API key → (lowest, highest version).
Answer = dict[int, tuple[int, int]]

KAFKA_VERSION: Final = "4.4.0"
PAGE: Final = peers.ROOT / "docs" / "compatibility.md"
DATA: Final = peers.ROOT / "docs" / "compatibility.json"
API_VERSIONS: Final = struct.pack(">ihhih5s", 15, int(ApiKey.API_VERSIONS), 0, 1, 5, b"table")


def ask(address: str) -> Answer:
    """The answer of the broker at HOST:PORT to an ApiVersions v0."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(API_VERSIONS)
        stream = connection.makefile("rb")
        (size,) = struct.unpack(">i", stream.read(4))
        answer = stream.read(size)
    correlation_id, error_code, count = struct.unpack_from(">ihi", answer)
    assert (correlation_id, error_code) == (1, 0), f"{address} answers with error {error_code}"
    ranges = struct.iter_unpack(">hhh", answer[10 : 10 + 6 * count])
    return {key: (lowest, highest) for key, lowest, highest in ranges}


async def ask_ours() -> Answer:
    """The answer of this broker as it starts by default."""
    running = await launch(Settings(port=0))
    try:
        return await asyncio.to_thread(ask, running.bootstrap_servers)
    finally:
        await running.stop()


def capture() -> dict[str, Answer]:
    """The answers of the others, under the names of their columns."""
    import confluent_kafka

    found: dict[str, Answer] = {}
    os.environ["KAFKA_VERSION"] = KAFKA_VERSION
    with peers.run_peer("kafka") as kafka:
        found[f"Apache Kafka {KAFKA_VERSION}"] = ask(kafka.address)
    peers.build_go()
    with peers.run_peer("kfake") as kfake:
        modules = (peers.ROOT / "scripts/bench/go/go.mod").read_text()
        version = modules.partition("pkg/kfake v")[2].split()[0]
        found[f"kfake {version.split('-')[1][:8]}"] = ask(kfake.address)
    mock = confluent_kafka.Producer({"test.mock.num.brokers": 1})
    broker = next(iter(mock.list_topics(timeout=10).brokers.values()))
    name = f"librdkafka {metadata.version('confluent-kafka')} mock"
    found[name] = ask(f"{broker.host}:{broker.port}")
    return found


def read_data() -> dict[str, Answer]:
    """What the others answered when they were last asked."""
    data: dict[str, dict[str, list[int]]] = json.loads(DATA.read_text())
    return {
        name: {int(key): (lowest, highest) for key, (lowest, highest) in answer.items()}
        for name, answer in data.items()
    }


def cell(answer: Mapping[int, tuple[int, int]], key: int) -> str:
    """`0–13`, a single version, or nothing."""
    if key not in answer:
        return ""
    lowest, highest = answer[key]
    return f"{lowest}" if lowest == highest else f"{lowest}–{highest}"


def name_of(key: int) -> str:
    """Kafka's name of an API that this project knows, or its number."""
    return ALL_SPECS[key].name if key in ALL_SPECS else f"API {key}"


def render(ours: Answer, others: Mapping[str, Answer]) -> str:
    """The page."""
    columns: dict[str, Answer] = {"mockbroker": ours, **others}
    keys = sorted(set().union(*columns.values()))
    rows = [
        f"| {key} | {name_of(key)} | "
        + " | ".join(cell(one, key) for one in columns.values())
        + " |"
        for key in keys
    ]
    counts = ", ".join(f"{name} {len(answer)}" for name, answer in columns.items())
    lines = [
        "# Compatibility: APIs and versions",
        "",
        "What each broker answers to ApiVersions, as it starts by default; nothing means that it",
        "does not have the API. Written by `scripts/compatibility`: do not edit it.",
        "",
        "| key | API | " + " | ".join(columns) + " |",
        "| ---: | --- | " + " | ".join("---" for _ in columns) + " |",
        *rows,
        "",
        f"APIs: {counts}.",
        "",
        "An advertised version is served whole, apart from what [limits.md](limits.md) tells. For",
        "the others an answer says what a client may ask, not what it gets.",
        "",
    ]
    return "\n".join(lines)


def page() -> str:
    """What docs/compatibility.md must hold now."""
    return render(asyncio.run(ask_ours()), read_data())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="only say whether the page is current")
    mode.add_argument("--capture", action="store_true", help="ask the other brokers first")
    options = parser.parse_args()
    if options.capture:
        answers = {name: dict(sorted(answer.items())) for name, answer in capture().items()}
        lines = (f"  {json.dumps(name)}: {json.dumps(answer)}" for name, answer in answers.items())
        DATA.write_text("{\n" + ",\n".join(lines) + "\n}\n")
    fresh = page()
    if not options.check:
        PAGE.write_text(fresh)
    elif not PAGE.exists() or PAGE.read_text() != fresh:
        sys.exit("docs/compatibility.md is not current: run scripts/compatibility")


if __name__ == "__main__":
    main()
