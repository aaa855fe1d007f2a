"""An operation completes once, whoever asks."""

from __future__ import annotations

from mockbroker.purgatory.delayed_operation import DelayedOperation


class _Operation(DelayedOperation):
    __slots__ = ("answers",)

    def __init__(self) -> None:
        super().__init__(deadline_ms=0)
        self.answers = 0

    def try_complete(self) -> bool:
        return self.force_complete()

    def on_complete(self) -> None:
        self.answers += 1
        assert not self.force_complete(), "its own completion must not run again"


def test_only_the_first_completion_has_an_effect() -> None:
    operation = _Operation()
    assert operation.try_complete()
    assert not operation.try_complete()
    assert not operation.force_complete()
    assert not operation.cancel()
    assert operation.answers == 1


def test_a_cancelled_operation_never_answers() -> None:
    operation = _Operation()
    assert operation.cancel()
    assert not operation.force_complete()
    assert not operation.cancel()
    assert operation.answers == 0
