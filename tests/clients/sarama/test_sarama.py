"""sarama: a filter by client id."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.clients.filtered_topic import GIVEN, serving_filtered

pytestmark = [pytest.mark.go, pytest.mark.timeout(120)]

PROGRAM = Path(__file__).resolve().parents[3] / ".tools" / "go-clients" / "sarama"


def test_a_filter_by_client_id(tmp_path: Path) -> None:
    """It passes over batches that were rebuilt or are empty; an unknown field would end it."""
    assert PROGRAM.exists(), "scripts/test go builds it"
    with serving_filtered(tmp_path) as bootstrap:
        for client_id, given in GIVEN.items():
            ran = subprocess.run(
                [PROGRAM, bootstrap, "t", client_id, str(len(given))],
                capture_output=True,
                text=True,
                timeout=90,
                check=False,
            )
            assert ran.returncode == 0, ran.stderr
            assert json.loads(ran.stdout) == given
