"""The schema of reading and the journal's own lines name the same fields."""

from __future__ import annotations

import re
from pathlib import Path

from mockbroker.journal.request import SCHEMA
from mockbroker.pipeline.analyze.line_schema import JOURNAL_SCHEMA, LINE_SCHEMA

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "journal.md"


def test_the_version_is_the_journals() -> None:
    assert JOURNAL_SCHEMA == SCHEMA


def test_each_field_of_the_document_is_read() -> None:
    text = DOCUMENT.read_text("utf-8").partition("## In memory")[0]
    rows = (row.split("|")[1] for row in text.splitlines() if row.startswith("| `"))
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    read = set(re.findall(r"`?(\w+)`?:? (?=[A-Z])", LINE_SCHEMA))
    assert documented - read == set()
    assert len(documented) > 50
