"""Each case of consumers beyond the partition is shown by the tests that the table names."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parents[1]
TABLE = TESTS / "mockbroker" / "coop" / "CASES.md"
CASE = re.compile(r"(?<![A-Za-z])([A-Za-z]{2})[-_](\d\d)(?!\d)")
CASES = 100


def rows() -> Iterator[tuple[str, list[Path]]]:
    """Each case, and the files that show it."""
    for line in TABLE.read_text("utf-8").splitlines():
        if re.match(r"\| [A-Z]{2}-\d\d", line):
            _, cases, _, files, _ = line.split("|")
            paths = [TESTS / name for name in re.findall(r"`([^`]+)`", files)]
            found = [
                one if one.exists() else TESTS / "mockbroker" / one.relative_to(TESTS)
                for one in paths
            ]
            kind = cases.strip()[:2]
            for number in re.findall(r"\d\d", cases):
                yield f"{kind}-{number}", found


def test_each_case_is_shown_where_the_table_says() -> None:
    seen = set()
    for case, files in rows():
        for each in files:
            told = {
                f"{kind.upper()}-{number}" for kind, number in CASE.findall(each.read_text("utf-8"))
            }
            assert case in told, (case, each)
        seen.add(case)
    assert len(seen) == CASES
