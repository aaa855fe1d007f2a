from __future__ import annotations

from mockbroker.coop.in_use import InUse
from mockbroker.coop.key_filter import KeyFilter, KeyRange
from mockbroker.coop.registered_filters import MOST_PARTITIONS, RegisteredFilters
from tests.support.core import Core

LOW, HIGH = KeyFilter([KeyRange(0, 9)]), KeyFilter([KeyRange(10, 19)])


def registered() -> RegisteredFilters:
    return RegisteredFilters(InUse(Core().broker.services))


def test_a_connections_come_last() -> None:
    filters = registered()
    assert filters.register(7, {("t", 0): HIGH})
    assert filters.register("me", {("t", 0): LOW, ("t", 1): LOW})
    assert [one[1] for one in filters.of("me", 7)] == [LOW, LOW, HIGH]
    assert list(filters.of("you", 8)) == []
    assert filters.partitions == 3


def test_what_is_registered_anew_is_all_there_is() -> None:
    filters = registered()
    filters.register("me", {("t", 0): LOW, ("t", 1): LOW})
    filters.register("me", {("t", 1): HIGH})
    assert dict(filters.of("me", 7)) == {("t", 1): HIGH}
    assert filters.register("me", {})
    assert (list(filters.of("me", 7)), filters.partitions) == ([], 0)


def test_too_many_change_nothing() -> None:
    filters = registered()
    assert filters.register("me", {("t", index): LOW for index in range(MOST_PARTITIONS)})
    assert not filters.register("you", {("t", 0): LOW})
    assert list(filters.of("you", 7)) == []
    assert filters.register("me", {("t", 0): HIGH})
    assert filters.register("you", {("t", 0): LOW})


def test_they_go_with_their_connection_or_all() -> None:
    filters = registered()
    filters.register(7, {("t", 0): LOW})
    filters.register("me", {("t", 0): LOW})
    filters.disconnected(7)
    filters.disconnected(8)
    assert filters.partitions == 1
    filters.clear()
    assert (list(filters.of("me", 7)), filters.partitions) == ([], 0)
