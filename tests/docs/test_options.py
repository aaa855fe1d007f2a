"""docs/options.md has every option, as the table in `server.options` does."""

from __future__ import annotations

from scripts.options_table import PAGE, render


def test_the_page_is_current() -> None:
    assert PAGE.read_text("utf-8") == render(), "run python -m scripts.options_table"


def test_a_row_says_flag_variable_key_and_argument() -> None:
    (row,) = [line for line in render().splitlines() if "--rack" in line]
    assert row == (
        "| `--rack RACK[,RACK...]` | `MOCKBROKER_RACK` | `rack` | `racks: Sequence[str]` |"
        " racks of the brokers in turn |"
    )
