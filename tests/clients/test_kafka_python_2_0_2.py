"""kafka-python 2.0.2 told that the broker is 0.10.1: Produce v2, Fetch v3, magic 1 both ways.

It lives in .tools, where scripts/test puts it, apart from the kafka-python of this environment.
Apache Kafka serves its requests up to 3.9.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.clients.login import environment
from tests.support.sources import PYTHONPATH

ROOT = Path(__file__).resolve().parents[2]
OLD_CLIENT = ROOT / ".tools" / "kafka-python-2.0.2"

pytestmark = [
    pytest.mark.clients,
    pytest.mark.timeout(120),
    pytest.mark.skipif(
        not (OLD_CLIENT / "kafka").is_dir(),
        reason="kafka-python 2.0.2 is not in .tools: run scripts/test clients",
    ),
]


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4"])
def test_a_group_reads_back_what_was_produced(
    server_process: str, topic: str, compression: str
) -> None:
    program = [sys.executable, "-m", "tests.clients.kafka_python_program"]
    ran = subprocess.run(
        [*program, server_process, topic, compression, "0.10.1"],
        cwd=ROOT,
        env=environment(server_process) | {"PYTHONPATH": f"{OLD_CLIENT}{os.pathsep}{PYTHONPATH}"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == "2.0.2\n"
