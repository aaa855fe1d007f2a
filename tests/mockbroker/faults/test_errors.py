"""An error is one line: the field, what is wrong, what is allowed."""

from __future__ import annotations

from mockbroker.faults import FaultError


def test_the_line_begins_with_the_field() -> None:
    error = FaultError("count", "0 is out of range", "1 or more")
    assert isinstance(error, ValueError)
    assert (str(error), error.field) == ("count: 0 is out of range; allowed: 1 or more", "count")
    assert str(FaultError("level", "no error")) == "level: no error"
