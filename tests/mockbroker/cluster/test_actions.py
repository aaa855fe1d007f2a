"""Actions on a cluster as data."""

from __future__ import annotations

import inspect
from functools import partial

import pytest

from mockbroker import MockBroker
from mockbroker.cluster.actions import ACTIONS, ActionError, check, perform, schema
from mockbroker.cluster.controls import ClusterControls


def signature_of(name: str) -> dict[str, str]:
    """The fields of an action, from the control of that name."""
    parameters = list(inspect.signature(getattr(ClusterControls, name)).parameters.values())[1:]
    return {
        one.name: f"{one.annotation}{'?' * (one.default is not one.empty)}" for one in parameters
    }


def test_every_control_that_changes_something_is_an_action_with_its_fields() -> None:
    changing = {
        name: signature_of(name)
        for name, control in inspect.getmembers(ClusterControls, inspect.isfunction)
        if not name.startswith("_") and inspect.signature(control).return_annotation == "None"
    }
    assert changing == ACTIONS


@pytest.mark.parametrize(
    ("action", "field", "message"),
    [
        ("kill", "action", "'kill' is no table"),
        ({"action": "kil", "node_id": 1}, "action", "'kil' is unknown; allowed: kill"),
        ({"action": "kill"}, "node_id", "kill needs it; allowed: a whole number"),
        ({"action": "kill", "node_id": True}, "node_id", "True is not; allowed: a whole number"),
        ({"action": "kill", "node_id": 1, "fence": 1}, "fence", "1 is not; allowed: true or false"),
        ({"action": "kill", "node_id": 1, "to": 2}, "to", "kill has no such field"),
        (
            {"action": "reassign", "topic": "t", "partition": 0, "replicas": ["a"]},
            "replicas",
            "a list of whole numbers",
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_field(
    action: object, field: str, message: str
) -> None:
    with pytest.raises(ActionError, match=message) as refused:
        check(action)
    assert refused.value.field == field


def test_an_action_is_performed_on_the_cluster() -> None:
    action = {"action": "kill", "node_id": 2}
    check(action)
    with MockBroker(brokers=3) as broker:
        broker._bridged().call(partial(perform, action))
        assert broker.cluster.brokers == [1, 3]


def test_the_schema_has_each_action_with_its_fields() -> None:
    kinds = schema()["oneOf"]
    assert isinstance(kinds, list)
    by_name = {one["title"]: one for one in kinds}
    assert by_name.keys() == ACTIONS.keys()
    assert by_name["kill"]["required"] == ["action", "node_id"]
    assert set(by_name["slow_link"]["properties"]) == {"action", "source", "target", "delay_ms"}
