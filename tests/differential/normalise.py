"""The named exceptions: where an answer may differ from Apache Kafka's, and why.

Everything that no exception names is compared as it is. An id is not blanked out but replaced by
its turn: the first topic id that a broker gives out becomes `<topic id 1>` wherever it comes again,
so an answer that mixes up two ids still differs.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.differential.trees import Tree

# Null, zero and minus one are no ids: they are compared.
NO_ID = (None, "", 0, -1, "00" * 16)


class Symbols:
    """Names the ids and times of one broker's answers by their turn."""

    def __init__(self) -> None:
        self._names: dict[tuple[str, Any], str] = {}
        self._counts: dict[str, int] = {}

    def name(self, kind: str, value: Any) -> Tree:
        if value in NO_ID:
            return value
        if (kind, value) not in self._names:
            self._counts[kind] = self._counts.get(kind, 0) + 1
            self._names[kind, value] = f"<{kind} {self._counts[kind]}>"
        return self._names[kind, value]


class Named(NamedTuple):
    """One exception: the fields, as `Api.field.field` with * for any, and the reason."""

    fields: str
    change: Callable[[Tree, Symbols], Tree]
    reason: str


def an_id(kind: str) -> Callable[[Tree, Symbols], Tree]:
    return lambda value, symbols: symbols.name(kind, value)


def a_value(kind: str) -> Callable[[Tree, Symbols], Tree]:
    """Any real value counts as the same: a time, a port."""
    return lambda value, _: value if value in NO_ID else f"<{kind}>"


def in_any_order(*keys: str) -> Callable[[Tree, Symbols], Tree]:
    def change(value: Tree, _: Symbols) -> Tree:
        if not isinstance(value, list):
            return value
        return sorted(value, key=lambda item: [repr(item[key]) for key in keys])

    return change


def dropped(_value: Tree, _symbols: Symbols) -> Tree:
    return "<not compared>"


ORDER = "Kafka answers in the order of a hash map"

EXCEPTIONS: list[Named] = [
    # Orders come first: an id is named by its turn.
    Named("CreateTopics.topics", in_any_order("name"), ORDER),
    Named("CreateTopics.topics.configs", in_any_order("name"), ORDER),
    Named("CreatePartitions.results", in_any_order("name"), ORDER),
    Named("DeleteTopics.responses", in_any_order("error_code", "name"), ORDER),
    Named("DescribeConfigs.results.configs", in_any_order("name"), ORDER),
    Named("Metadata.topics", in_any_order("name", "error_code"), ORDER),
    Named("JoinGroup.members", in_any_order("metadata"), ORDER),
    Named("DescribeGroups.groups.members", in_any_order("member_metadata"), ORDER),
    Named("ListGroups.groups", in_any_order("group_id"), ORDER),
    Named("OffsetFetch*.topics", in_any_order("name"), ORDER),
    Named("ApiVersions.api_keys", in_any_order("api_key"), ORDER),
    # Ids.
    Named("*.cluster_id", an_id("cluster id"), "each cluster has its own"),
    Named("*.topic_id", an_id("topic id"), "drawn at random"),
    Named("*.session_id", an_id("session id"), "drawn at random"),
    Named("*.producer_id", an_id("producer id"), "counted from where the cluster stands"),
    Named("*.member_id", an_id("member id"), "drawn at random"),
    Named("*.leader", an_id("member id"), "drawn at random"),
    # Addresses and times.
    Named("*.port", a_value("port"), "each broker has its own"),
    Named("Produce.*.log_append_time_ms", a_value("time"), "the broker's clock"),
]


def normalise(api: str, tree: Tree, symbols: Symbols) -> Tree:
    return change_below(api, tree, symbols)


def change_below(path: str, tree: Tree, symbols: Symbols) -> Tree:
    """Applies the exceptions of this path, then those of the paths below it."""
    for exception in EXCEPTIONS:
        if fnmatchcase(path, exception.fields):
            tree = exception.change(tree, symbols)
    if isinstance(tree, dict):
        return {
            name: change_below(f"{path}.{name}", value, symbols) for name, value in tree.items()
        }
    if isinstance(tree, list):
        return [change_item(path, item, symbols) for item in tree]
    return tree


def change_item(path: str, item: Tree, symbols: Symbols) -> Tree:
    """A list's items have the list's path, whose own exceptions are applied already."""
    if isinstance(item, dict):
        return {
            name: change_below(f"{path}.{name}", value, symbols) for name, value in item.items()
        }
    return item
