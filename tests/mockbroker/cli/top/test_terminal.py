"""What ends `mockbroker top` when its terminal is gone."""

from __future__ import annotations

import os

from mockbroker.cli.top.terminal import watch


def test_it_ends_once_the_descriptor_is_no_terminal_any_more() -> None:
    end, inner = os.openpty()
    waits: list[float] = []
    ended: list[int] = []

    def wait(seconds: float) -> bool:
        waits.append(seconds)
        if len(waits) == 3:
            os.close(end)
        return False

    try:
        watch(inner, ended.append, wait)
    finally:
        os.close(inner)
    assert ended == [129]
    assert len(waits) == 3
