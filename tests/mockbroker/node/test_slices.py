"""Work in slices: what is in turn, what waits, what is dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from mockbroker.node.slices import WAIT, SlicedWork, SliceQueue

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mockbroker.apis.context import RequestContext


class _Request:
    """Stands for a context: the queue looks at nothing of it."""


def _work(steps: list[object], log: list[str], name: str) -> SlicedWork:
    def work() -> Iterator[object]:
        for step in steps:
            log.append(name)
            yield step

    return SlicedWork(cast("RequestContext", _Request()), work())


def test_each_piece_has_its_turn() -> None:
    log: list[str] = []
    queue = SliceQueue()
    queue.add(_work([None, None], log, "a"))
    queue.add(_work([None, None], log, "b"))
    while queue:
        queue.run(SlicedWork.advance)
    assert log == ["a", "b", "a", "b"]


def test_what_waits_goes_on_when_it_is_resumed() -> None:
    log: list[str] = []
    queue = SliceQueue()
    waiting = _work([WAIT, None], log, "a")
    queue.add(waiting)
    queue.run(SlicedWork.advance)
    assert not queue
    queue.resume(waiting.ctx)
    while queue:
        queue.run(SlicedWork.advance)
    assert log == ["a", "a"]


def test_what_was_dropped_is_not_resumed() -> None:
    log: list[str] = []
    queue = SliceQueue()
    waiting = _work([WAIT, None], log, "a")
    queue.add(waiting)
    queue.run(SlicedWork.advance)
    queue.drop(waiting.ctx)
    queue.resume(waiting.ctx)
    assert not queue
