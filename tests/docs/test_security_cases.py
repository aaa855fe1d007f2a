"""Each promise of security is held by the tests that the table names."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[1]
TABLE = TESTS / "mockbroker" / "security" / "CASES.md"


def rows() -> Iterator[tuple[str, list[str]]]:
    """What is promised, and the tests that hold it."""
    lines = TABLE.read_text("utf-8").splitlines()
    for line in lines[lines.index("|---|---|") + 1 :]:
        _, what, tests, _ = line.split("|")
        yield what.strip(), re.findall(r"`([^`]+)`", tests)


def names_in(file: Path) -> set[str]:
    """The tests of a file, by their names."""
    return {
        node.name
        for node in ast.parse(file.read_text("utf-8")).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    }


def test_each_promise_is_held_where_the_table_says() -> None:
    promises = dict(rows())
    assert len(promises) > 30
    assert [what for what, tests in promises.items() if not tests] == []
    missing = []
    for test in sorted({one for tests in promises.values() for one in tests}):
        file, _, name = test.partition("::")
        if name not in names_in(TESTS / file):
            missing.append(test)
    assert missing == []
