"""How much of each room ran is told, with what runs when a module is imported."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from simulation.__main__ import main
from simulation.coverages import OUTSIDE, ROOMS, lines_outside

pytestmark = pytest.mark.sim


def test_how_much_of_each_room_ran_is_told() -> None:
    command = [sys.executable, "-m", "simulation", "--seeds", "3..4", "--coverage"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    shares = {room: float(share) for room, share in re.findall(r"(\w+) +(\d+\.\d) % of", told)}
    assert shares["purgatory"] > 60
    assert 0 < shares["security"] < 60
    in_reach = dict(re.findall(r"(\w+) .* (\d+\.\d) % of \d+ in reach", told))
    assert float(in_reach["state"]) > shares["state"]
    assert re.search(r"^security .* in reach below$", told, re.MULTILINE)


def test_what_other_processes_run_is_not_promised(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--seeds", "3..4", "--jobs", "2", "--coverage"])
    assert "--coverage sees this process alone" in capsys.readouterr().err


def test_all_that_is_out_of_reach_is_there_and_has_a_reason() -> None:
    for module, names in OUTSIDE.items():
        source = (ROOMS / module).read_text("utf-8")
        assert lines_outside(source, names)
        assert all(names.values())


def test_lines_of_functions_and_methods_are_found() -> None:
    source = "def f():\n    return 1\n\n\nclass A:\n    def g(self):\n        return 2\n"
    assert lines_outside(source, {"f": "x"}) == {1, 2}
    assert lines_outside(source, {"A.g": "x"}) == {6, 7}
    assert lines_outside(source, {"": "x"}) >= set(range(1, 8))
    with pytest.raises(KeyError):
        lines_outside(source, {"h": "x"})
