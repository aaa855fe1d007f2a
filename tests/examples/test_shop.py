"""The three services of examples/shop pass their tests wherever their broker runs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mockbroker import MockBroker
from tests.differential.conftest import kafka
from tests.support.free_ports import free_ports
from tests.support.sources import PYTHONPATH

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
SHOP = ROOT / "examples" / "shop"
TOKEN = "of-this-test"


def environment(**more: str) -> dict[str, str]:
    """As installed, but for the plugin's entry point: the clone is on the path."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTEST", "MOCKBROKER"))}
    return kept | {"PYTHONPATH": PYTHONPATH} | more


def shop(folder: Path, where: str, *arguments: str, **variables: str) -> str:
    """Run the suite in a folder of its own, in random order; its last line."""
    project = folder / "shop"
    shutil.copytree(SHOP, project, ignore=shutil.ignore_patterns("__pycache__"))
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]
    command += ["-p", "mockbroker.testing.pytest_plugin.plugin", f"--mockbroker={where}"]
    command += ["--random-order", "--random-order-bucket=global", "-n", "2", *arguments]
    ran = subprocess.run(
        command,
        cwd=project,
        env=environment(**variables),
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout.splitlines()[-1]


@contextmanager
def entry_command(folder: Path) -> Iterator[str]:
    """What the image runs, with the image's variables; the address of its admin port."""
    port, admin = free_ports(2)
    variables = {
        "MOCKBROKER_HOST": "0.0.0.0",
        "MOCKBROKER_KAFKA_ENV": "true",
        "MOCKBROKER_PORT": str(port),
        "MOCKBROKER_ADMIN_PORT": str(admin),
        "MOCKBROKER_ADMIN_HOST": "0.0.0.0",
        "MOCKBROKER_ADMIN_TOKEN": TOKEN,
        "MOCKBROKER_READY_FILE": str(folder / "ready.json"),
    }
    with subprocess.Popen(
        [sys.executable, "-m", "mockbroker", "serve"],
        env=environment(**variables),
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield f"http://127.0.0.1:{admin}"
        finally:
            process.terminate()


@pytest.mark.clients
@pytest.mark.timeout(300)
@pytest.mark.parametrize("where", ["in-process", "process"])
def test_a_broker_of_its_own_passes_all(tmp_path: Path, where: str) -> None:
    assert "49 passed" in shop(tmp_path, where)


@pytest.mark.clients
@pytest.mark.timeout(300)
def test_what_the_image_runs_passes_all_that_workers_can_share(tmp_path: Path) -> None:
    with entry_command(tmp_path) as url:
        last = shop(tmp_path, url, MOCKBROKER_ADMIN_TOKEN=TOKEN)
        assert "43 passed, 6 skipped" in last
        left = MockBroker.connect(url, token=TOKEN)
        assert (left.topics(), left.groups()) == ([], [])


@pytest.mark.kafka
@pytest.mark.timeout(300)
def test_apache_kafka_passes_all_that_only_the_fake_can_not(tmp_path: Path) -> None:
    with kafka("group.initial.rebalance.delay.ms=0") as bootstrap:
        assert "42 passed, 7 skipped" in shop(tmp_path, f"kafka://{bootstrap}")
