"""Work in slices, for who does not give way."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.slices import Aside, all_at_once

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


def test_what_nobody_did_aside_is_done_when_it_is_wanted() -> None:
    done: list[int] = []

    def work() -> str:
        done.append(1)
        return "result"

    aside = Aside(work)
    assert not done
    assert (aside.result(), aside.result(), done) == ("result", "result", [1])


def test_what_was_done_aside_is_not_done_again() -> None:
    done: list[int] = []
    aside = Aside(lambda: done.append(1))
    aside.run()
    aside.result()
    assert done == [1]


def test_its_failure_is_that_of_who_waits() -> None:
    aside = Aside(lambda: 1 // 0)
    aside.run()
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            aside.result()
