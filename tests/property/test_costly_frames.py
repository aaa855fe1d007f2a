"""A frame that is chosen to cost takes no turn of the loop longer than its share of work.

What is counted is in `work_counts`; `scripts/fuzz --costly N` tries frames at random.
"""

from __future__ import annotations

import pytest

from tests.support import work_counts
from tests.support.work_counts import COSTLY, WorkRun


@pytest.fixture(scope="module")
def run() -> WorkRun:
    return WorkRun()


@pytest.mark.parametrize("count", [700, 8000])
@pytest.mark.parametrize("name", COSTLY)
def test_no_turn_takes_more_work_than_it_may(run: WorkRun, name: str, count: int) -> None:
    run.send(name, COSTLY[name](count))


def test_more_work_than_it_may_take_is_seen(run: WorkRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work_counts, "LINES_A_TURN", 1000)
    with pytest.raises(AssertionError, match="lines="):
        run.send("Fetch: one partition", COSTLY["Fetch: one partition"](700))
