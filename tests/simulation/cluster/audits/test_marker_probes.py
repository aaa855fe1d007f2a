"""An end goes as it should; each answer that is taken for another is noticed."""

from __future__ import annotations

from random import Random

import pytest

from mockbroker.coordinator.txn import marker_writer, markers
from mockbroker.coordinator.txn.markers import TransactionMarkers
from mockbroker.node.broker import Broker
from mockbroker_protocol.errors import ErrorCode
from simulation.cluster.audits.marker_probes import MarkerProbes
from tests.simulation.cluster.audits.test_decision_probes import KNOWN
from tests.support.transaction_run import transaction_run


@pytest.fixture(scope="module")
def broker() -> Broker:
    """One of a run in which offsets were committed in transactions."""
    run, _ = transaction_run(processors=1, seed=3)
    run.live()
    return run.world.cluster.brokers[0]


def told(broker: Broker, count: int = 200) -> list[str]:
    """What is found in so many rounds."""
    probes = MarkerProbes(Random(1))
    found = [wrong for _ in range(count) for wrong in probes.look(broker, KNOWN)]
    assert probes.asked == count
    return found


def test_an_end_goes_as_it_should(broker: Broker) -> None:
    assert told(broker) == []


def test_what_is_answered_otherwise_is_noticed(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(marker_writer, "_NOT_READY", frozenset())
    assert any("from the coordinator of groups" in one for one in told(broker))


@pytest.mark.parametrize(
    ("given_up", "wrong"),
    [
        ([], "who is pending, asked and written are (1, 2, 0)"),
        ([ErrorCode.NOT_LEADER_OR_FOLLOWER], "leaders are asked for []"),
    ],
)
def test_who_gives_up_at_another_error_is_noticed(
    given_up: list[ErrorCode], wrong: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(markers, "_GIVE_UP", frozenset(given_up))
    assert any(wrong in one for one in told(broker))


@pytest.mark.parametrize(
    ("name", "other", "wrong"),
    [
        ("_exists", lambda *_: True, "it waits for"),
        ("_send_later", lambda *_: None, "last records under way [], not [1]"),
        ("_coordinator_epoch", lambda *_: 77, "leaders are asked for"),
        ("_is_current", lambda *_: True, "after a late answer"),
    ],
)
def test_an_end_that_goes_otherwise_is_noticed(
    name: str, other: object, wrong: str, broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(TransactionMarkers, name, other)
    assert any(wrong in one for one in told(broker))
