"""docs/compatibility.md says what this broker answers now, beside what others answered."""

from __future__ import annotations

from scripts.compatibility_table import PAGE, Answer, ask_ours, cell, read_data, render


async def test_the_page_is_current() -> None:
    fresh = render(await ask_ours(), read_data())
    assert PAGE.read_text() == fresh, "run scripts/compatibility"


def test_a_row_for_each_api_of_any_broker() -> None:
    ours: Answer = {0: (0, 13), 18: (4, 4)}
    rows = [
        line for line in render(ours, {"other": {1: (4, 18)}}).splitlines() if "| Fetch" in line
    ]
    assert rows == ["| 1 | Fetch |  | 4–18 |"]
    assert cell(ours, 18) == "4"
    assert "| 9999 | API 9999 | 0 |" in render({9999: (0, 0)}, {})
