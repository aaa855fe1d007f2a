"""Every row that brokers tell of configs, quotas and ACLs is held against what is set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from mockbroker.apis import describe_client_quotas, describe_configs
from mockbroker.config.principal_rules import PrincipalRules
from mockbroker.metadata.acls import Acl, AclFilter
from mockbroker.metadata.changes import AclsChanged, ClientQuotasChanged, ConfigsChanged
from simulation.cluster import config_inquiries as inquiries
from simulation.cluster.admin_changes import ENTITIES, GUARDED
from tests.support.simulated_asker import asked, inquirer_of
from tests.support.simulated_cluster import SimulatedCluster

if TYPE_CHECKING:
    from collections.abc import Callable

    from simulation.cluster.metadata_inquiries import Asker

pytestmark = pytest.mark.sim


def configured() -> SimulatedCluster:
    simulated = SimulatedCluster("admin")

    def change() -> None:
        store = simulated.world.cluster.metadata
        store.apply(ConfigsChanged(2, "t0", {"retention.ms": "7000"}))
        store.apply(ConfigsChanged(4, "", {"log.retention.ms": "8000"}))
        store.apply(ConfigsChanged(4, "1", {"log.flush.interval.ms": "9"}))
        store.apply(ConfigsChanged(16, inquiries.OF_NOBODY, {"interval.ms": "5000"}))
        store.apply(ConfigsChanged(32, "g", {"consumer.session.timeout.ms": "46000"}))
        for number, entity in enumerate(ENTITIES[:3], 1):
            store.apply(ClientQuotasChanged(entity, {"producer_byte_rate": float(number)}))
        acls = [Acl(2, name, 3, "User:mallory", "*", 3, 2) for name in GUARDED]
        store.apply(AclsChanged([*acls, Acl(2, "zz", 4, "User:eve", "*", 8, 3)], ()))

    simulated.world.operate(change)
    simulated.world.run_for(1_000)
    return simulated


@pytest.mark.parametrize("question", inquiries.CONFIG_INQUIRIES)
def test_a_good_broker_has_nothing_wrong(question: Callable[[Asker], None]) -> None:
    assert not asked(inquirer_of(configured()), question)


@pytest.mark.parametrize(
    ("question", "described"),
    [
        (inquiries.topic_configs, "describe_topic"),
        (inquiries.broker_configs, "describe_broker"),
        (inquiries.resource_configs, "describe_group"),
        (inquiries.resource_configs, "describe_client_metrics"),
    ],
)
def test_a_row_of_another_value_and_one_that_is_missing_are_noticed(
    monkeypatch: pytest.MonkeyPatch, question: Callable[[Asker], None], described: str
) -> None:
    describe = getattr(describe_configs, described)
    inquirer = inquirer_of(configured())
    for change in (
        lambda rows: [row._replace(value="x") for row in rows],
        lambda rows: rows[1:],
    ):
        monkeypatch.setattr(
            describe_configs,
            described,
            lambda *of, change=change: change(list(describe(*of))),
        )
        before = len(inquirer.world.violations)
        assert len(asked(inquirer, question)) > before


def test_quotas_and_acls_that_are_not_told_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    inquirer = inquirer_of(configured())
    monkeypatch.setattr(describe_client_quotas, "matching", lambda *_, **__: iter(()))
    assert "quotas is {}, not" in asked(inquirer, inquiries.quotas)[0]
    monkeypatch.setattr(AclFilter, "matches", lambda *_: False)
    assert "ACLs is set(), not" in asked(inquirer, inquiries.acls)[-1]


def test_a_name_that_no_rule_made_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PrincipalRules, "name_of", lambda *_: "CN=eve")
    told = asked(inquirer_of(configured()), inquiries.names_of_certificates)
    assert "is CN=eve, not CN=alice," in told[0]
