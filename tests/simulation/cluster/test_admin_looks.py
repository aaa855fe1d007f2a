"""Each look asks, and tells what is wrong with the answer."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

import pytest

from mockbroker.metadata.store import MetadataStore
from simulation.cluster import admin_looks
from simulation.cluster.admin_changes import ENTITIES
from simulation.cluster.admin_looks import Looker
from simulation.cluster.cluster_admins import ClusterAdmin
from simulation.cluster.metadata_history import MetadataHistory
from tests.support.simulated_cluster import SimulatedCluster


def look(
    simulated: SimulatedCluster,
    at: Callable[[Looker, int], None],
    spoil: Callable[[MetadataStore], object] | None = None,
) -> list[str]:
    """What the admin says of broker 2, whose image may be spoilt before."""
    world = simulated.world
    admin = ClusterAdmin(
        world, "admin", Random(3), simulated.truth, simulated.plan, MetadataHistory(world)
    )
    admin.stop()
    broker = world.cluster.broker(2)
    assert broker is not None
    if spoil is not None:
        spoil(broker.services.metadata)
    at(admin, 2)
    world.run_for(500)
    assert admin.looks == 1 or world.violations
    return world.violations


@pytest.mark.parametrize("at", admin_looks.LOOKS, ids=lambda at: at.__name__)
def test_a_cluster_that_is_well_looks_well(at: Callable[[Looker, int], None]) -> None:
    assert look(SimulatedCluster("admin"), at) == []


def test_a_broker_that_tells_what_never_was_is_found_out() -> None:
    def spoil(store: MetadataStore) -> None:
        for entity in ENTITIES:
            store.client_quotas[entity] = {"request_percentage": 3.0}

    told = look(SimulatedCluster(), admin_looks.look_at_quotas, spoil)
    assert "which it never was" in told[0]
    told = look(
        SimulatedCluster(),
        admin_looks.look_at_features,
        lambda store: store.features.update({"group.version": 7}),
    )
    assert "tells 7" in told[0]


def test_a_missing_topic_or_broker_is_noticed() -> None:
    told = look(SimulatedCluster(), admin_looks.list_resources, lambda store: store.topics.clear())
    assert "does not list ['t0']" in told[0]
    told = look(SimulatedCluster(), admin_looks.look_at_brokers, lambda store: store.brokers.pop(2))
    assert "knows brokers [1, 3]" in told[0]
    told = look(
        SimulatedCluster(),
        admin_looks.page_through_topics,
        lambda store: store.topics["t0"].partitions.append(store.topics["t0"].partitions[0]),
    )
    assert "the pages of broker 2" in told[0]
