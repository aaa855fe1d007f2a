"""Limits on connections: of one address, of one address in particular, of the broker."""

from __future__ import annotations

from mockbroker.config.broker import BrokerConfig
from mockbroker.network.connection_quotas import ConnectionQuotas


def test_an_address_has_so_many_connections() -> None:
    quotas = ConnectionQuotas(BrokerConfig({"max.connections.per.ip": "2"}))
    for _ in range(2):
        assert quotas.refusal("127.0.0.1") is None
        quotas.joined("127.0.0.1")
    assert quotas.refusal("127.0.0.1") == "max.connections.per.ip: 127.0.0.1 has 2 connections"
    assert quotas.refusal("127.0.0.2") is None
    quotas.left("127.0.0.1")
    assert quotas.refusal("127.0.0.1") is None


def test_an_override_counts_for_its_address() -> None:
    overrides = "127.0.0.1:1, localhost.invalid:5,nonsense"
    config = {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": overrides}
    quotas = ConnectionQuotas(BrokerConfig(config))
    assert quotas.refusal("127.0.0.1") is None
    quotas.joined("127.0.0.1")
    assert quotas.refusal("127.0.0.1") is not None
    assert quotas.refusal("127.0.0.2") is not None


def test_the_broker_is_full_until_one_leaves() -> None:
    quotas = ConnectionQuotas(BrokerConfig({"max.connections": "1"}))
    was_full = [quotas.full]
    quotas.joined("127.0.0.1")
    was_full.append(quotas.full)
    quotas.left("127.0.0.1")
    was_full.append(quotas.full)
    assert was_full == [False, True, False]
    assert quotas.connected == 0
