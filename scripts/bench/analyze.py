"""What `mockbroker pipeline analyze` costs by the size of its journals, with a bounded heap.

Writes synthetic journals of so many lines (clients with sessions, producers, groups, watermarks),
analyzes each in a process of its own with `spark.driver.memory` as told, and prints seconds, lines
a second and the peak memory of the JVM. Twice the lines should take twice the time.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.journal_lines import Journal

FILE_LINES = 100_000
STEP_MS = 2.0
CYCLE = 200
"""The lines repeat after so many, but for their numbers and times."""


def cycle() -> list[str]:
    """Templates of lines: `@n@` stands for the number, `@t@` and `@w@` for the times."""
    journal = Journal("0123456789abcdef")
    for number in range(CYCLE // 4 - 1):
        client: dict[str, Any] = {"client_id": f"client-{number % 20}", "connection": number % 20}
        told = tuple(
            {"partition": n, "bytes": 500 * (n != number % 3), "high_watermark": 10 + number}
            for n in range(3)
        )
        spared = {"session_id": 100 + number % 20, "request_bytes_saved": 900}
        journal.fetch(0.0, 1.0 + number, fetch=spared, partitions=told, cause="data", **client)
        journal.fetch(0.0, 500.0, fetch=spared, cause="timeout", **client)
        journal.high_watermark(0.0, 10 + number)
        journal.produce(0.0, number * 10, 10)
    journal.session(0.0, "evicted", rule="idle", age_ms=5.0, idle_ms=1.0)
    journal.group("OffsetCommit", 0.0, generation=1)
    journal.request("Metadata", 0.0, error=5, client_id="hasty", connection=30)
    return [_template(line) for line in journal.lines[1:]]


def _template(line: dict[str, object]) -> str:
    waited = line.get("waited_ms", 0.0)
    moved = {"seq": "@n@", "at_ms": "@t@", "wall_ms": "@w@"}
    if line["kind"] == "request":
        moved |= {"completed_ms": "@t@", "arrived_ms": f"@t{waited}@"}
    text = json.dumps({**line, **moved}, separators=(",", ":"))
    return text.replace('"@', "@").replace('@"', "@")


def write_journals(folder: Path, lines: int) -> int:
    """Write so many lines into files of one run; their size in bytes."""
    templates = [_pieces(text) for text in cycle()]
    head = Journal("0123456789abcdef").text()
    number, size = 1, 0
    for file_number in range(-(-lines // FILE_LINES)):
        path = folder / f"journal-0123456789abcdef-{file_number:06}.jsonl"
        with path.open("w") as file:
            file.write(head)
            last = min(number + FILE_LINES - 1, lines)
            _write_lines(file, templates, number, last)
            number = last
        size += path.stat().st_size
    return size


def _pieces(text: str) -> str:
    for waited in sorted({part.partition("@")[0] for part in text.split("@t")[1:]}):
        text = text.replace(f"@t{waited}@", "\0" + (waited or "0"))
    parts = text.replace("%", "%%").split("\0")
    formatted = parts[0]
    for part in parts[1:]:
        waited = part[: len(part) - len(part.lstrip("0123456789."))]
        formatted += f"%({'t' if waited == '0' else 'a'}).1f" + part[len(waited) :]
    return formatted.replace("@n@", "%(n)d").replace("@w@", "%(w)d")


def _write_lines(file: IO[str], templates: list[str], first: int, end: int) -> None:
    for number in range(first, end):
        at_ms = 1000.0 + number * STEP_MS
        values = {"n": number, "t": at_ms, "a": at_ms - 1.0, "w": 1_700_000_000_000 + int(at_ms)}
        file.write(templates[number % len(templates)] % values)
        file.write("\n")


def analyze(journals: Path, out: Path, memory: str, master: str) -> tuple[float, dict[str, object]]:
    """Run the job in a process of its own; seconds with the start of Spark, and its summary."""
    words = ["analyze", str(journals), "--out", str(out), "--json", "--master", master]
    words += ["--conf", f"spark.driver.memory={memory}"]
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "mockbroker", "pipeline", *words],
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    return time.monotonic() - started, json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--memory", default="2g", help="spark.driver.memory (default 2g)")
    parser.add_argument("--master", default="local[2]")
    options = parser.parse_args()
    print(f"heap {options.memory}, {options.master}, {os.cpu_count()} cores")
    for lines in options.lines:
        with tempfile.TemporaryDirectory(prefix="bench-analyze-") as name:
            folder = Path(name)
            (folder / "journals").mkdir()
            size = write_journals(folder / "journals", lines)
            seconds, summary = analyze(
                folder / "journals", folder / "out", options.memory, options.master
            )
        assert summary["corrupt"] == 0, summary
        print(
            f"{summary['rows']:>10,} lines {size / 1e9:6.2f} GB {seconds:8.1f} s"
            f" {lines / seconds:9,.0f} lines/s"
        )


if __name__ == "__main__":
    main()
