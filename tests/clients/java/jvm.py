"""Java programs for the tests: Kafka's own tools, and those in `src`.

What they need is in `.tools/java-clients`, where `scripts/test java` puts the jars of `pom.xml`;
the sources are compiled at their first use. `Runner.java` runs one main method after another, so
that a test pays for no start of a JVM.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, NamedTuple

from tests.clients.login import told_java
from tests.support.jvm import ALLOWED_URLS

if TYPE_CHECKING:
    from collections.abc import Iterator

HERE = Path(__file__).resolve().parent
CLIENTS = HERE.parents[2] / ".tools" / "java-clients"
JVM_OPTIONS = (
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Xshare:auto",
    "-Xmx512m",
    ALLOWED_URLS,
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=error",
)


class Ran(NamedTuple):
    """What a main method wrote, and the status that it ended its process with."""

    status: int
    out: str
    err: str


class Jvm:
    """A process of `Runner`."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def run(self, main: str, *args: str, stdin: str = "") -> Ran:
        """Run a main method to its end."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        request = {"main": main, "args": told_java(main, *args), "stdin": stdin}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        assert answer, f"the JVM ended with status {self.process.wait(10)}"
        return Ran(**json.loads(answer))

    def check(self, main: str, *args: str, stdin: str = "") -> str:
        """The standard output of a main method that must not fail."""
        ran = self.run(main, *args, stdin=stdin)
        assert ran.status == 0, f"{main} {' '.join(args)}: {ran.out}{ran.err}"
        return ran.out


def class_path() -> str:
    """The jars and our compiled sources."""
    jars = CLIENTS / "libs"
    assert jars.is_dir(), "scripts/test java puts the Java clients into .tools"
    sources = sorted((HERE / "src").glob("*.java"))
    digest = hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()
    classes = CLIENTS / f"classes-{digest[:16]}"
    if not classes.is_dir():
        fresh = classes.with_suffix(f".{os.getpid()}")
        command = ["javac", "-Xlint:all", "-Werror", "-proc:none", "-d", str(fresh)]
        subprocess.run([*command, "-cp", f"{jars}/*", *map(str, sources)], check=True)
        try:
            fresh.rename(classes)
        except OSError:
            # Another test process was quicker.
            assert classes.is_dir()
    return f"{classes}:{jars}/*"


def run_alone(main: str, *args: str) -> Ran:
    """Run a main method in a JVM of its own, for a tool that does its last things when one ends."""
    with start(main, *args) as process:
        out, _ = process.communicate(timeout=60)
    return Ran(process.returncode, out, "")


def command(main: str, *args: str) -> list[str]:
    """What runs a main method in a JVM of its own."""
    return ["java", *JVM_OPTIONS, "-cp", class_path(), main, *told_java(main, *args)]


def start(main: str, *args: str, stdin: int | IO[str] | None = None) -> subprocess.Popen[str]:
    """A JVM of its own, with its standard output as a pipe."""
    return subprocess.Popen(
        command(main, *args), stdin=stdin, stdout=subprocess.PIPE, text=True, cwd=CLIENTS
    )


@contextmanager
def running() -> Iterator[Jvm]:
    """A `Runner`, ended by closing its standard input."""
    with start("Runner", stdin=subprocess.PIPE) as process:
        try:
            yield Jvm(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
