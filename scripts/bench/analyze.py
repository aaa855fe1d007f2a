"""What `mockbroker pipeline analyze` costs by the size of its journals, with a bounded heap.

Writes synthetic journals of so many lines (clients with sessions, producers, groups, watermarks),
analyzes each in a process of its own with `spark.driver.memory` as told, and prints seconds, those
of CPU (which a busy machine stretches less), lines a second, and the peak resident memory
of the JVM and of the Python that drives it (VmHWM). Twice the lines should take at most twice the
time.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.support.journal_lines import Journal

FILE_LINES = 100_000
STEP_MS = 2.0
SAMPLE_SECONDS = 0.2
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


@dataclass(frozen=True)
class Cost:
    """What one run took; memory is resident, at its peak."""

    seconds: float
    cpu_seconds: float
    jvm_bytes: int
    python_bytes: int
    summary: dict[str, object]


def analyze(journals: Path, out: Path, memory: str, master: str, engine: str) -> Cost:
    """Run the job in a process of its own; the seconds are with the start of Spark."""
    words = ["analyze", str(journals), "--out", str(out), "--json", "--engine", engine]
    if engine == "spark":
        words += ["--master", master, "--conf", f"spark.driver.memory={memory}"]
    started = time.monotonic()
    peaks: dict[int, int] = {}
    cpus: dict[int, float] = {}
    jvms: set[int] = set()
    with subprocess.Popen(
        [sys.executable, "-m", "mockbroker", "pipeline", *words], stdout=subprocess.PIPE, text=True
    ) as job:
        while job.poll() is None:
            for pid in (job.pid, *descendants(job.pid)):
                peaks[pid] = max(peaks.get(pid, 0), peak_bytes(pid))
                cpus[pid] = max(cpus.get(pid, 0.0), cpu_seconds(pid))
                if name_of(pid) == "java":
                    jvms.add(pid)
            time.sleep(SAMPLE_SECONDS)
        assert job.stdout is not None
        told = job.stdout.read()
    if job.returncode:
        raise SystemExit(f"the job ended with {job.returncode}")
    jvm = max((peaks[pid] for pid in jvms), default=0)
    python = sum(peak for pid, peak in peaks.items() if pid not in jvms)
    return Cost(time.monotonic() - started, sum(cpus.values()), jvm, python, json.loads(told))


def peak_bytes(pid: int) -> int:
    """The most memory that a process has had; 0 when it has gone."""
    try:
        status = Path(f"/proc/{pid}/status").read_text("ascii", "replace")
    except OSError:
        return 0
    found = re.search(r"^VmHWM:\s+(\d+) kB", status, re.MULTILINE)
    return int(found[1]) << 10 if found else 0


def cpu_seconds(pid: int) -> float:
    """What a process has had of the CPUs, in the kernel too; 0 when it has gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def name_of(pid: int) -> str:
    """What runs there; empty when it has gone."""
    try:
        return Path(f"/proc/{pid}/comm").read_text("utf-8", "replace").strip()
    except OSError:
        return ""


def descendants(pid: int) -> list[int]:
    """The processes below another one."""
    found = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in file.read_text("ascii").split()]
        except OSError:
            continue
        for child in children:
            found += [child, *descendants(child)]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--lines", type=int, nargs="+", default=[1_000_000, 5_000_000])
    parser.add_argument("--memory", default="2g", help="spark.driver.memory (default 2g)")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--engine", choices=("spark", "embedded"), default="spark")
    options = parser.parse_args()
    print(f"{options.engine}, heap {options.memory}, {options.master}, {os.cpu_count()} cores")
    for lines in options.lines:
        with tempfile.TemporaryDirectory(prefix="bench-analyze-") as name:
            folder = Path(name)
            (folder / "journals").mkdir()
            size = write_journals(folder / "journals", lines)
            cost = analyze(
                folder / "journals", folder / "out", options.memory, options.master, options.engine
            )
        assert cost.summary["corrupt"] == 0, cost.summary
        print(
            f"{cost.summary['rows']:>10,} lines {size / 1e9:6.2f} GB {cost.seconds:8.1f} s"
            f" {cost.cpu_seconds:7.1f} s of CPU"
            f" {lines / cost.seconds:9,.0f} lines/s   peak {cost.jvm_bytes / 1e9:.2f} GB JVM,"
            f" {cost.python_bytes / 1e9:.2f} GB Python",
            flush=True,
        )


if __name__ == "__main__":
    main()
