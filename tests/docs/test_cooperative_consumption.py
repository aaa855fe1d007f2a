"""The examples of docs/cooperative-consumption.md run as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "cooperative-consumption.md"


def test_the_examples_print_what_the_page_says(capsys: pytest.CaptureFixture[str]) -> None:
    workers, commits, fetches = re.findall(
        r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.DOTALL
    )
    for program, printed in (
        (
            workers,
            (
                "9 keys are done, 3 wait for the slow one\n"
                "a plain consumer would have stopped at 7\n"
                "True\n{('orders', 0): 240}\n"
            ),
        ),
        (commits, "[0, 2]\n[0, 1]\n[8, 0]\n{('orders', 0): 8}\n"),
        (fetches, "True True False\n4\n"),
    ):
        exec(compile(program, str(PAGE), "exec"), {})
        assert capsys.readouterr().out == printed
