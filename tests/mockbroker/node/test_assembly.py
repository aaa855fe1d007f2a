"""A node is put together from its config and its surroundings."""

from __future__ import annotations

from random import Random

from mockbroker.apis.context import Environment
from mockbroker.clock import Clock, Timer
from mockbroker.config.broker import BrokerConfig
from mockbroker.coordinator.producer_ids import ProducerIdBlocks
from mockbroker.journal import Journal
from mockbroker.metadata.controller import Controller
from mockbroker.metadata.store import MetadataStore
from mockbroker.node.assembly import make_broker


def test_all_rooms_of_a_node_share_its_surroundings() -> None:
    config = BrokerConfig({"node.id": "7", "mockbroker.version.profile": "4.4"})
    clock, timer = Clock(), Timer()
    store = MetadataStore("cluster", config)
    controller = Controller(store, config, Random(0))
    purposes: list[str] = []

    def substream(purpose: str) -> Random:
        purposes.append(purpose)
        return Random(purpose)

    environment = Environment(7, config, clock, timer, store, controller, Random(0))
    broker = make_broker(environment, ProducerIdBlocks(), Journal(), substream)
    services = broker.services
    assert broker.broker_id == services.broker_id == 7
    assert services.clock is clock
    assert services.timer is timer
    assert services.metadata is store
    assert services.replicas.metadata is store
    assert services.controller is controller
    assert broker.registry.advertised()[1] == (4, 18)
    assert sorted(purposes) == ["members", "sessions"]
