"""What brokers tell of metadata is held against their stores."""

from __future__ import annotations

import pytest

from mockbroker.apis import describe_cluster, metadata
from mockbroker.metadata.store import MetadataStore
from mockbroker.replica.log_dirs import LogDirs
from simulation.cluster import metadata_inquiries as inquiries
from tests.support.simulated_asker import asked, inquirer_of
from tests.support.simulated_cluster import SimulatedCluster

pytestmark = pytest.mark.sim


@pytest.mark.parametrize("question", inquiries.METADATA_INQUIRIES)
def test_a_good_broker_has_nothing_wrong(question: object) -> None:
    assert callable(question)
    simulated = SimulatedCluster()
    simulated.produce(2)
    assert not asked(inquirer_of(simulated), question)


def test_a_partition_that_is_not_told_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "_partitions", lambda *_: [])
    inquirer = inquirer_of(SimulatedCluster())
    for question in (inquiries.all_topics, inquiries.topics_by_name, inquiries.topics_by_id):
        told = asked(inquirer, question)
        assert "what is told is" in told[-1]


def test_a_fenced_broker_that_is_told_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    inquirer = inquirer_of(simulated)
    monkeypatch.setattr(describe_cluster, "_CONTROLLERS", 9)
    told = asked(inquirer, inquiries.brokers)
    assert any("the error is" in each for each in told)
    monkeypatch.setattr(MetadataStore, "alive_brokers", lambda _: [])
    assert "who is alive" not in asked(inquirer, inquiries.quorum)[-1]


def test_a_size_that_is_not_told_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    simulated = SimulatedCluster()
    simulated.produce(1)
    monkeypatch.setattr(LogDirs, "contents", lambda self: {path: [] for path in self.paths})
    assert "the sizes is {}" in asked(inquirer_of(simulated), inquiries.log_dirs)[0]
