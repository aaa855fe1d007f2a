"""The container image: linted, built by buildah without an engine, run, used by three clients.

The base is the real one, or a stand-in under its name (scripts/image). In chroot isolation a
container shares this machine's network and process ids, and everything else is its own.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from confluent_kafka import Consumer, Producer

from tests.support.free_ports import free_ports

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.image, pytest.mark.timeout(2000), pytest.mark.xdist_group("image")]

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "scripts" / "image")
LINTERS = ROOT / ".tools" / "image-lint"
IMAGE = "localhost/mockbroker:test"
UID = 10001
MAX_ADDED_BYTES = 117_000_000
"""What the image may add to its base, uncompressed; a third is for `mockbroker top` and schemas."""
SOON_SECONDS = 20


def run(*command: str, status: int = 0, timeout: float = 120) -> str:
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


def buildah(*arguments: str) -> str:
    return run(SCRIPT, "buildah", *arguments)


class Image:
    """The image that was built: its container's file system, and what it is configured to run."""

    def __init__(self, container: str, config: dict[str, Any]) -> None:
        self.container = container
        self.config = config

    def command(self, *words: str, **variables: str) -> list[str]:
        given = [part for item in variables.items() for part in ("--env", "=".join(item))]
        options = ["--isolation", "chroot", "--network", "host", *given]
        return [SCRIPT, "buildah", "run", *options, self.container, "--", *words]


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    run(SCRIPT, "build", timeout=1800)
    facts = json.loads(buildah("inspect", "--type", "image", IMAGE))
    container = buildah("from", "--pull-never", IMAGE).strip()
    yield Image(container, facts["Docker"]["config"])
    buildah("rm", container)


class Running:
    """A broker in a container, with two listeners."""

    def __init__(self, process: subprocess.Popen[str], inside: int, outside: int) -> None:
        self.process = process
        self.variables = variables(inside, outside)
        self.inside = f"127.0.0.1:{inside}"
        self.outside = f"127.0.0.1:{outside}"
        assert process.stdout is not None
        self.ready = process.stdout.readline()

    @property
    def pid(self) -> int:
        return int(self.ready.rpartition("pid=")[2].split()[0])


def variables(inside: int, outside: int) -> dict[str, str]:
    """As for Apache Kafka's image."""
    return {
        "MOCKBROKER_HOST": "127.0.0.1",
        "KAFKA_LISTENERS": f"CONTROLLER://:9093,INSIDE://:{inside},OUTSIDE://:{outside}",
        "KAFKA_ADVERTISED_LISTENERS": (
            f"INSIDE://127.0.0.1:{inside},OUTSIDE://localhost:{outside}"
        ),
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": (
            "CONTROLLER:PLAINTEXT,INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT"
        ),
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_NUM_PARTITIONS": "3",
        "CLUSTER_ID": "4L6g3nShT-eMCtK--X86sw",
    }


@contextmanager
def serving(image: Image) -> Iterator[Running]:
    inside, outside = free_ports(2)
    words = [*image.config["Entrypoint"], *image.config["Cmd"]]
    command = image.command(*words, **variables(inside, outside))
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        running = Running(process, inside, outside)
        try:
            yield running
        finally:
            if process.poll() is None:
                stop(image, running, signal.SIGKILL)


@pytest.fixture(scope="module")
def running(image: Image) -> Iterator[Running]:
    with serving(image) as running:
        yield running


def stop(image: Image, running: Running, number: signal.Signals) -> None:
    """Signal the process from inside, where it is of the same user."""
    program = f"import os; os.kill({running.pid}, {int(number)})"
    run(*image.command("python3", "-c", program))


# -- the files -----------------------------------------------------------------------------


def test_the_dockerfile_is_linted() -> None:
    assert run(str(LINTERS / "bin" / "hadolint"), str(ROOT / "Dockerfile")) == ""


@pytest.mark.parametrize("file", sorted(ROOT.glob("docker-compose*.yml")), ids=lambda f: f.name)
def test_compose_files_are_of_the_compose_specification(file: Path) -> None:
    checker = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec"]
    environment = {**os.environ, "PYTHONPATH": str(LINTERS)}
    done = subprocess.run(
        [*checker, str(file)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_locked_package_has_a_wheel_for_arm64() -> None:
    run(SCRIPT, "wheels", "aarch64", timeout=900)
    names = [path.name for path in (ROOT / ".tools/image/wheels-aarch64").glob("*aarch64*.whl")]
    assert {"cramjam", "crc32c", "pydantic_core", "uvloop"} <= {n.split("-")[0] for n in names}


# -- the image -----------------------------------------------------------------------------


def test_the_image_adds_little_to_its_base(image: Image) -> None:
    facts = json.loads(buildah("inspect", "--type", "image", IMAGE))
    sizes = [layer["size"] for layer in json.loads(facts["Manifest"])["layers"]]
    print(f"\nimage: {sum(sizes):,} bytes uncompressed, {sizes[-1]:,} of them ours")
    assert sizes[-1] < MAX_ADDED_BYTES


def test_the_image_says_how_to_run_and_ask_it(image: Image) -> None:
    config = image.config
    assert config["Entrypoint"] + config["Cmd"] == ["mockbroker", "serve"]
    assert config["Healthcheck"]["Test"] == ["CMD", "mockbroker", "healthcheck"]
    assert config["User"] == f"{UID}:{UID}"
    assert set(config["ExposedPorts"]) == {"9092/tcp", "9644/tcp"}


def test_the_path_of_a_request_is_compiled(image: Image) -> None:
    assert run(*image.command("mockbroker", "--version")).endswith(" (compiled)\n")


def test_nothing_that_builds_is_left_in_it(image: Image) -> None:
    program = (
        "import importlib.util as u;"
        "print([name for name in ('pip', 'hatchling', 'mypyc') if u.find_spec(name)])"
    )
    python = "/opt/mockbroker/bin/python3"
    assert run(*image.command(python, "-c", program)) == "[]\n"


def test_the_broker_is_not_root_and_cannot_write_its_own_code(
    image: Image, running: Running
) -> None:
    status = Path(f"/proc/{running.pid}/status").read_text()
    ids = {line.split()[0]: line.split()[1:] for line in status.splitlines() if "id:" in line}
    assert ids["Uid:"] == ids["Gid:"] == [str(UID)] * 4
    assert "CapEff:\t0000000000000000" in status
    program = "import os; print(os.access('/opt/mockbroker', os.W_OK))"
    assert run(*image.command("python3", "-c", program)) == "False\n"


def test_the_health_check_goes_by_the_variables(image: Image, running: Running) -> None:
    check = image.config["Healthcheck"]["Test"][1:]
    run(*image.command(*check, **running.variables))
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        nobody = variables(closed.getsockname()[1], 1)
        run(*image.command(*check, **nobody), status=1)


def test_the_admin_api_is_in_it(image: Image) -> None:
    inside, outside = free_ports(2)
    command = image.command(
        "mockbroker",
        "serve",
        MOCKBROKER_HOST="127.0.0.1",
        MOCKBROKER_PORT=str(inside),
        MOCKBROKER_ADMIN_PORT=str(outside),
    )
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        served = Running(process, inside, outside)
        run(*image.command("mockbroker", "healthcheck", MOCKBROKER_ADMIN_PORT=str(outside)))
        where = f"http://127.0.0.1:{outside}"
        assert "brokers 1/1" in run(*image.command("mockbroker", "top", "--once", "--admin", where))
        run(*image.command("/opt/mockbroker/bin/python3", "-c", "import mockbroker.cli.top.app"))
        stop(image, served, signal.SIGTERM)
        assert process.wait(SOON_SECONDS) == 0


def test_sigterm_ends_it_with_status_0(image: Image) -> None:
    with serving(image) as running:
        stop(image, running, signal.SIGTERM)
        assert running.process.wait(SOON_SECONDS) == 0


def test_a_wrong_value_is_one_line_and_status_2(image: Image) -> None:
    command = image.command("mockbroker", "serve", KAFKA_NUM_PARTITIONS="many")
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2
    assert "mockbroker: KAFKA_NUM_PARTITIONS: " in done.stderr


# -- clients -------------------------------------------------------------------------------

VALUES = [str(number).encode() for number in range(100)]


def test_the_example_service_uses_it(running: Running) -> None:
    command = [sys.executable, str(ROOT / "examples" / "orders" / "orders.py")]
    environment = {**os.environ, "BOOTSTRAP_SERVERS": running.outside}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == f"10 of 10 orders went through {running.outside}\n", done.stderr


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of how it reads its own schemas
def test_kafka_python_uses_it(running: Running) -> None:
    from kafka import KafkaConsumer, KafkaProducer

    producer = KafkaProducer(bootstrap_servers=running.inside)
    for value in VALUES:
        producer.send("kafka-python", value, key=value)
    producer.flush(SOON_SECONDS)
    assert len(producer.partitions_for("kafka-python")) == 3
    producer.close()
    consumer = KafkaConsumer(
        "kafka-python",
        bootstrap_servers=running.inside,
        group_id="kafka-python",
        auto_offset_reset="earliest",
        consumer_timeout_ms=SOON_SECONDS * 1000,
    )
    read = [next(consumer).value for _ in VALUES]
    consumer.close()
    assert sorted(read) == sorted(VALUES)


def test_confluent_kafka_uses_it_from_outside(running: Running) -> None:
    producer = Producer({"bootstrap.servers": running.outside})
    told = producer.list_topics(timeout=SOON_SECONDS)
    port = running.outside.rpartition(":")[2]
    assert [f"{each.host}:{each.port}" for each in told.brokers.values()] == [f"localhost:{port}"]
    assert told.cluster_id == "4L6g3nShT-eMCtK--X86sw"
    for value in VALUES:
        producer.produce("confluent", value, key=value)
    assert producer.flush(SOON_SECONDS) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": running.outside,
            "group.id": "confluent",
            "auto.offset.reset": "earliest",
        }
    )
    consumer.subscribe(["confluent"])
    read: list[bytes] = []
    while len(read) < len(VALUES):
        messages = consumer.consume(len(VALUES), timeout=SOON_SECONDS)
        assert messages
        read += [message.value() or b"" for message in messages if message.error() is None]
    consumer.close()
    assert sorted(read) == sorted(VALUES)


async def test_aiokafka_uses_it_from_outside(running: Running) -> None:
    async with AIOKafkaProducer(bootstrap_servers=running.outside) as producer:
        for value in VALUES:
            await producer.send("aiokafka", value, key=value)
    consumer = AIOKafkaConsumer(
        "aiokafka",
        bootstrap_servers=running.outside,
        group_id="aiokafka",
        auto_offset_reset="earliest",
    )
    async with consumer, asyncio.timeout(SOON_SECONDS):
        read = [(await consumer.getone()).value for _ in VALUES]
    assert sorted(read) == sorted(VALUES)
