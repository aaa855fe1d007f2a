"""Each mechanism is one: whatever comes, it believes nobody and fails in the one way."""

from __future__ import annotations

import pytest

from mockbroker.config.logins import SERVED_MECHANISMS
from tests.support.logins import try_to_get_in


@pytest.mark.parametrize("name", SERVED_MECHANISMS)
def test_nobody_gets_in_by_chance(name: str) -> None:
    try_to_get_in(name, 100)
