"""What leaders make of followers is tried, and what is wrong noticed."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from mockbroker.replica.in_sync import Followers
from simulation.cluster.audits.follower_trials import FollowerTrials
from tests.support.trials import tried

if TYPE_CHECKING:
    from collections.abc import Callable


def found() -> str:
    return tried(FollowerTrials(Random(1)), 200, 1)


def test_nothing_is_wrong() -> None:
    assert found() == ""


@pytest.mark.parametrize(
    ("name", "broken", "told"),
    [
        ("high_watermark", lambda _self, end, *_: end, "its high watermark is to be"),
        ("expansion", lambda *_: None, "joins"),
        ("shrinkage", lambda *_: None, "are to stay None"),
        ("may_join", lambda *_: True, "its high watermark is to be"),
    ],
)
def test_what_is_wrong_is_noticed(
    monkeypatch: pytest.MonkeyPatch, name: str, broken: Callable[..., object], told: str
) -> None:
    monkeypatch.setattr(Followers, name, broken)
    assert told in found()
