"""What is done to a cluster, as data: `{"action": "kill", "node_id": 1}`.

The verbs of `controls.ClusterControls` under their names, for those that get them as text: the
admin API, the command line, files. `check` says what is wrong with one before it is tried,
`perform` does it as part of a step.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mockbroker.cluster.cluster import Cluster

_NODE: Final = {"node_id": "int"}
_LINK: Final = {"source": "int", "target": "int"}
_PARTITION: Final = {"topic": "str", "partition": "int"}
_REPLICA: Final = {**_PARTITION, **_NODE}

ACTIONS: Final[dict[str, dict[str, str]]] = {
    "kill": {**_NODE, "fence": "bool?", "lose": "str?"},
    "stop": _NODE,
    "revive": _NODE,
    "fence": _NODE,
    "unfence": _NODE,
    "isolate": _NODE,
    "reconnect": _NODE,
    "skew_clock": {**_NODE, "by_ms": "int"},
    "cut_link": _LINK,
    "hold_link": _LINK,
    "slow_link": {**_LINK, "delay_ms": "float"},
    "restore_link": _LINK,
    "move_leader": {**_PARTITION, "to": "int"},
    "shrink_isr": {**_PARTITION, "without": "int"},
    "reassign": {**_PARTITION, "replicas": "Sequence[int]"},
    "elect_preferred": _PARTITION,
    "elect_unclean": _PARTITION,
    "move_coordinator": {"group_id": "str", "to": "int"},
    "hold_follower": _REPLICA,
    "release_follower": _REPLICA,
    "hold_high_watermark": _PARTITION,
    "release_high_watermark": _PARTITION,
    "tell_high_watermark": {"tell": "bool"},
}
"""Each action with its fields and their types; one with a question mark may be left out."""

_KINDS: Final[dict[str, tuple[tuple[type, ...], str]]] = {
    "int": ((int,), "a whole number"),
    "float": ((int, float), "a number"),
    "str": ((str,), "text"),
    "bool": ((bool,), "true or false"),
    "Sequence[int]": ((list, tuple), "a list of whole numbers"),
}


class ActionError(ValueError):
    """An action that makes no sense; `field` is what is wrong with it."""

    def __init__(self, field: str, problem: str, allowed: str) -> None:
        super().__init__(f"{field}: {problem}; allowed: {allowed}")
        self.field = field
        self.problem = problem
        self.allowed = allowed


def check(action: object) -> None:
    """Raise ActionError unless this is an action with all its fields and no other."""
    if not hasattr(action, "keys"):
        raise ActionError("action", f"{action!r} is no table", "action = NAME and its fields")
    given: Mapping[str, object] = action  # type: ignore[assignment]
    name = given.get("action")
    if name not in ACTIONS:
        near = get_close_matches(str(name), ACTIONS, n=1) or ACTIONS
        raise ActionError("action", f"{name!r} is unknown", ", ".join(near))
    fields = ACTIONS[str(name)]
    for field in given:
        if field not in fields and field != "action":
            raise ActionError(field, f"{name} has no such field", ", ".join(fields))
    for field, kind in fields.items():
        if field in given:
            _check_value(field, kind.rstrip("?"), given[field])
        elif not kind.endswith("?"):
            raise ActionError(field, f"{name} needs it", _KINDS[kind][1])


def _check_value(field: str, kind: str, value: object) -> None:
    types, allowed = _KINDS[kind]
    is_flag = isinstance(value, bool)
    fits = isinstance(value, types) and is_flag == (kind == "bool")
    if fits and isinstance(value, list | tuple):
        fits = all(type(one) is int for one in value)
    if not fits:
        raise ActionError(field, f"{value!r} is not", allowed)


def perform(action: Mapping[str, object], cluster: Cluster) -> None:
    """Do what a checked action says. Raises `node_controls.ControlError`."""
    arguments = {name: value for name, value in action.items() if name != "action"}
    getattr(cluster.controls, str(action["action"]))(**arguments)


def schema() -> dict[str, object]:
    """The JSON schema of an action."""
    types: dict[str, dict[str, object]] = {
        "int": {"type": "integer"},
        "float": {"type": "number"},
        "str": {"type": "string"},
        "bool": {"type": "boolean"},
        "Sequence[int]": {"type": "array", "items": {"type": "integer"}, "minItems": 1},
    }
    return {
        "oneOf": [
            {
                "type": "object",
                "title": name,
                "properties": {
                    "action": {"const": name},
                    **{field: types[kind.rstrip("?")] for field, kind in fields.items()},
                },
                "required": [
                    "action",
                    *(field for field, kind in fields.items() if not kind.endswith("?")),
                ],
                "additionalProperties": False,
            }
            for name, fields in ACTIONS.items()
        ]
    }
