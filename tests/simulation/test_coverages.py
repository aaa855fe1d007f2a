"""How much of each room ran is told, with what runs when a module is imported."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

pytestmark = pytest.mark.sim


def test_how_much_of_each_room_ran_is_told() -> None:
    command = [sys.executable, "-m", "simulation", "--seeds", "3..4", "--coverage"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    shares = {room: float(share) for room, share in re.findall(r"(\w+) +(\d+\.\d) % of", told)}
    assert shares["purgatory"] > 60
    assert 0 < shares["security"] < 60
