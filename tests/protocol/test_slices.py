"""Work in slices, for who does not give way."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mockbroker_protocol.slices import all_at_once

if TYPE_CHECKING:
    from collections.abc import Generator


def test_all_slices_are_done_and_what_comes_out_is_returned() -> None:
    done: list[int] = []

    def steps() -> Generator[None, None, str]:
        for number in range(3):
            done.append(number)
            yield
        return "all"

    assert all_at_once(steps()) == "all"
    assert done == [0, 1, 2]
