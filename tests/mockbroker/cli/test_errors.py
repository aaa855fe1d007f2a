"""What ends a command."""

from __future__ import annotations

from mockbroker.cli.errors import CommandError


def test_a_mistake_is_status_2_unless_a_check_found_it() -> None:
    assert (CommandError("x").status, CommandError("x", 1).status) == (2, 1)
