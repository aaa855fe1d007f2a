"""What a test asks of a partition that a group shares."""

from __future__ import annotations

import pytest

from mockbroker.coordinator.group.shared import Sharing


@pytest.mark.parametrize(("stable", "done"), [(3, [0, 1, 2, 5, 6]), (None, [5, 6]), (0, [5, 6])])
def test_what_is_done(stable: int | None, done: list[int]) -> None:
    told = Sharing(stable, [(5, 6)], [(8, 8)], {}, None, [], [], [])
    assert [offset for offset in range(10) if told.has_done(offset)] == done
