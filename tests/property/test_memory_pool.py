"""What requests take of `queued.max.request.bytes` comes back, whoever sends what."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.support.hostile import hostile_bytes, seeds
from tests.support.metered import PING, is_read, metered

if TYPE_CHECKING:
    from tests.support.core import CoreClient


@pytest.fixture(scope="module")
def requests() -> list[bytes]:
    return list(seeds())


@pytest.mark.parametrize("seed", range(5))
def test_whatever_is_sent_all_of_it_comes_back(seed: int, requests: list[bytes]) -> None:
    """Hostile clients beside one that asks: it has its answers, and nothing stays taken."""
    rng = Random(seed)
    core, broker = metered(600, 600)
    asking = core.client()
    asked = 0
    strangers: list[CoreClient] = []
    for step in range(300):
        if rng.random() < 0.3:
            asking.send_bytes(PING)
            asked += 1
        if len(strangers) < 4:
            strangers.append(core.client())
        at = rng.randrange(len(strangers))
        data = hostile_bytes(rng, requests)
        if strangers[at].closed or rng.random() < 0.1:
            strangers.pop(at).disconnect()
        elif is_read(strangers[at]):
            strangers[at].send_bytes(data[: rng.randrange(1, len(data) + 2)])
        if not step % 20:
            core.advance(1000)
    for stranger in strangers:
        stranger.disconnect()
    core.advance(10_000)
    assert asking.answered == asked
    assert broker.pool.available == 600
