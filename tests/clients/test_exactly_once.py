"""The exactly-once loops of scripts/exactly_once, for a few seconds."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.clients.server import ROOT


def loops(clients: str, minutes: float) -> str:
    command = [sys.executable, "-m", "scripts.exactly_once", "--clients", clients, "--seed", "3"]
    ran = subprocess.run(
        [*command, "--minutes", str(minutes)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.clients
@pytest.mark.timeout(500)
def test_python_clients_move_each_record_once_while_brokers_fail() -> None:
    said = loops("confluent,aiokafka", 0.3)
    assert "nothing doubled, nothing missing, nobody stuck" in said


@pytest.mark.java
@pytest.mark.timeout(500)
def test_java_clients_move_each_record_once_while_brokers_fail() -> None:
    said = loops("java,streams", 0.3)
    assert "nothing doubled, nothing missing, nobody stuck" in said
