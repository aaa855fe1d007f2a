"""The assignors that a group may choose, by the name that members know them under.

`target` gives one the group as a `GroupSpec` and takes each member's partitions back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from mockbroker.coordinator.group.consumer.assignment import Assignments, Assignor, GroupSpec


def assign(name: str, spec: GroupSpec) -> Assignments:
    """Each member's partitions, by the assignor of this name; a member left out has none.

    One that is not there, since a log came from a broker with an extension, gives way to the first.
    """
    return _ASSIGNORS.get(name, _uniform)(spec) if spec.members else {}


def _uniform(spec: GroupSpec) -> Assignments:
    if spec.is_homogeneous:
        from mockbroker.coordinator.group.consumer.uniform import assign_homogeneous

        return assign_homogeneous(spec)
    from mockbroker.coordinator.group.consumer.uniform_mixed import assign_heterogeneous

    return assign_heterogeneous(spec)


def _range(spec: GroupSpec) -> Assignments:
    from mockbroker.coordinator.group.consumer.range_assignor import assign_ranges

    return assign_ranges(spec)


_ASSIGNORS: Final[dict[str, Assignor]] = {
    "uniform": _uniform,
    "range": _range,
}
ASSIGNOR_NAMES: Final = tuple(_ASSIGNORS)
