"""The soak and the hostile frames of scripts/fuzz, in short: see scripts/soak.py."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.timeout(240)


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["--rounds", "4"], "8 rounds, "),
        (["--frames", "4000"], "4000 hostile frames"),
        (["--costly", "40"], "40 costly frames"),
        (["--http", "500"], "500 hostile connections"),
        (["--logins", "4000"], "4000 steps of an intruder"),
    ],
)
def test_nothing_fails_or_is_lost(arguments: list[str], found: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "scripts.soak", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert found in done.stdout
