"""Logs of replicas, also of a core of one."""

from __future__ import annotations

import pytest

from mockbroker.cluster.node_controls import ControlError
from mockbroker.state.replicas import faulty_links, replica_logs
from mockbroker_protocol.messages.produce import ProduceResponse
from tests.support.core import Core
from tests.support.requests import produce


def test_the_only_replica_is_the_leader() -> None:
    core = Core(topics={"orders": 2})
    core.client("writer").call(produce("orders", index=1), 9, ProduceResponse)
    (untouched,) = replica_logs(core.cluster, "orders", 0)
    (written,) = replica_logs(core.cluster, "orders", 1)
    assert untouched.is_leader
    assert untouched.in_sync
    assert (written.log_start_offset, written.high_watermark, written.log_end_offset) == (0, 1, 1)
    assert [start for _, start in written.epochs] == [0]
    assert faulty_links(core.cluster) == []
    with pytest.raises(ControlError):
        replica_logs(core.cluster, "none", 0)
