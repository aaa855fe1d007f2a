"""What most tests of the core begin with costs little, counted in lines that are run.

`make core` tells the seconds, of which a busy machine makes more; a count is the same everywhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.cluster_core import ClusterCore
from tests.support.core import Core
from tests.support.work_counts import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

MINUTE_MS = 60_000


def one_broker() -> None:
    Core(topics={"t": 1})


def three_brokers() -> None:
    ClusterCore(topics={"t": 1})


def a_request() -> None:
    Core().client().call(ApiVersionsRequest(), 0, ApiVersionsResponse)


def a_replicated_record() -> None:
    core = ClusterCore(topics={"t": 1})
    client = core.client(node=core.state("t").leader)
    client.produce("t", b"v")
    assert client.produced().error_code == 0


def an_idle_hour() -> None:
    ClusterCore().advance(60 * MINUTE_MS)


@pytest.mark.parametrize(
    ("act", "most"),
    [
        (one_broker, 1_500),
        (three_brokers, 10_500),
        (a_request, 4_000),
        (a_replicated_record, 21_000),
        (an_idle_hour, 11_000),
    ],
)
def test_it_takes_few_lines(act: Callable[[], None], most: int) -> None:
    act()  # imports, and compiles what it says
    assert lines_of(act) < most
