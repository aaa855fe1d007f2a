"""kafka-python 3 brings the workload through, whatever it compresses with."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.login import environment

pytestmark = [pytest.mark.clients, pytest.mark.timeout(120)]

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_group_reads_back_what_was_produced(
    server_process: str, topic: str, compression: str
) -> None:
    program = [sys.executable, "-m", "tests.clients.kafka_python_program"]
    ran = subprocess.run(
        [*program, server_process, topic, compression, "auto"],
        cwd=ROOT,
        env=environment(server_process),
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith("3.")
