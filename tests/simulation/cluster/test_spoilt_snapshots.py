"""A file of a snapshot is read as it was written, and refused where it is spoilt."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.state import snapshot_file
from simulation.cluster.spoilt_snapshots import SPOILS, _whole, wrong_files
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


def simulated() -> SimulatedCluster:
    found = SimulatedCluster()
    found.produce(2)
    return found


def test_every_spoil_is_refused_by_its_field() -> None:
    cluster = simulated().world.cluster
    assert [*wrong_files(cluster, "t0", Random(1), len(SPOILS))] == []


def test_what_is_read_otherwise_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = simulated().world.cluster
    image = _whole(cluster, "t0")._replace(acls=())
    monkeypatch.setattr(snapshot_file, "from_bytes", lambda _: image)
    found = [*wrong_files(cluster, "t0", Random(1), 2)]
    assert "is read as" in found[0]
    assert any(one.endswith("twice is read") for one in found)
