"""What a coordinator lets members do."""

from __future__ import annotations

import pytest

from mockbroker.coop.numbers import Tag
from tests.mockbroker.coop.test_fetch import ON
from tests.support.coop_groups import SharingGroup
from tests.support.core import Core


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (ON, {Tag.JOIN_CAPS: b"\x07"}),
        ({**ON, "accept.individual.commit": "false"}, {Tag.JOIN_CAPS: b"\x00"}),
        ({}, {}),
    ],
)
def test_who_says_what_it_can_do_is_told_what_it_may(
    config: dict[str, str], told: dict[int, bytes]
) -> None:
    assert SharingGroup(Core(topics={"t": 1}, config=config), 3).caps == told
