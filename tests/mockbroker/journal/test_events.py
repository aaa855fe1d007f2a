"""Events are values: they compare and print by their fields."""

from __future__ import annotations

from mockbroker.journal import ConnectionOpened, Event, FaultChanged
from tests.support.core import Core


def test_a_core_records_values() -> None:
    core = Core()
    told: list[Event] = []
    core.cluster.journal.listen(told.append)
    core.client("app")
    (opened,) = told
    assert isinstance(opened, ConnectionOpened)
    assert opened == ConnectionOpened(1, opened.peer, "PLAINTEXT", core.broker.broker_id)


def test_an_event_prints_its_fields() -> None:
    event = FaultChanged("added", "f1", 0)
    assert repr(event) == "FaultChanged(action='added', fault_id='f1', hits=0, rule=None)"
