"""Pages by name."""

from __future__ import annotations

import pytest

from mockbroker.admin.paging import page_of
from mockbroker.admin.problems import ApiError


def test_pages_cover_a_list_once_also_when_it_changes() -> None:
    names = ["a", "b", "c", "d"]
    page, cursor = page_of(names, None, 2)
    assert (page, cursor is None) == (["a", "b"], False)
    names.remove("b")
    names.insert(0, "A")
    assert page_of(names, cursor, 2) == (["c", "d"], None)


def test_a_prefix_counts_before_the_limit() -> None:
    assert page_of(["a", "ba", "bb", "c"], None, 2, "b") == (["ba", "bb"], None)


@pytest.mark.parametrize("cursor", ["!", "ä", "_w"])
def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    with pytest.raises(ApiError, match="cursor"):
        page_of(["a"], cursor, 1)
