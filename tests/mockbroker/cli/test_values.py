"""What commands are given as text."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest

from mockbroker.cli.errors import CommandError
from mockbroker.cli.values import arguments, milliseconds, offsets, pairs, tables

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("text", "value"), [("500ms", 500), ("1.5s", 1500), ("15m", 900_000), ("-2h", -7_200_000)]
)
def test_durations_have_units(text: str, value: float) -> None:
    assert milliseconds("T", text) == value


@pytest.mark.parametrize("text", ["", "5", "5 parsecs", "h", "1e3s"])
def test_what_is_no_duration_is_named(text: str) -> None:
    with pytest.raises(CommandError, match="--timeout"):
        milliseconds("--timeout", text)


def test_pairs_and_offsets() -> None:
    assert pairs("--set", ["a=b=c", "d="]) == {"a": "b=c", "d": ""}
    assert arguments(["count=3", "topic=t"]) == {"count": 3, "topic": "t"}
    assert offsets(["t:1:2"]) == [{"topic": "t", "partition": 1, "offset": 2}]
    for bad in ("t", "t:1", "t:x:1", ":1:1"):
        with pytest.raises(CommandError, match="OFFSET"):
            offsets([bad])
    with pytest.raises(CommandError, match="--set"):
        pairs("--set", ["a"])


def test_rules_come_from_text_file_and_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tables("RULE", '{"drop": true}') == [{"drop": True}]
    file = tmp_path / "rules.json"
    file.write_text('[{"drop": true}, {"park": true}]')
    assert len(tables("RULE", f"@{file}")) == 2
    monkeypatch.setattr("sys.stdin", io.StringIO("[]"))
    assert tables("RULE", "-") == []
    with pytest.raises(CommandError, match="not JSON"):
        tables("RULE", "{")
    with pytest.raises(CommandError, match="missing"):
        tables("RULE", f"@{tmp_path}/missing.json")
