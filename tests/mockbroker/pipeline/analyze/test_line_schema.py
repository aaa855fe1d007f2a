"""The schema of reading and the journal's own lines name the same fields."""

from __future__ import annotations

import re
from pathlib import Path

from mockbroker.journal import events, request
from mockbroker.journal.request import SCHEMA
from mockbroker.pipeline.analyze.line_schema import JOURNAL_SCHEMA, LINE_SCHEMA

DOCUMENT = Path(__file__).resolve().parents[4] / "docs" / "journal.md"


def test_the_version_is_the_journals() -> None:
    assert JOURNAL_SCHEMA == SCHEMA


def test_what_the_broker_measures_may_have_a_fraction() -> None:
    """Spark keeps a line with one where a whole number belongs as corrupt."""
    source = Path(events.__file__).read_text("utf-8") + Path(request.__file__).read_text("utf-8")
    measured = set(re.findall(r"^        (\w+_ms): float", source, re.MULTILINE))
    types = dict(re.findall(r"`?(\w+)`?:? ([A-Z]+)", LINE_SCHEMA))
    read = {types[name] for name in measured if name in types}
    assert {"blocked_ms", "lifetime_ms", "arrived_ms"} <= measured
    assert read == {"DOUBLE"}


def test_each_field_of_the_document_is_read() -> None:
    text = DOCUMENT.read_text("utf-8").partition("## In memory")[0]
    rows = (row.split("|")[1] for row in text.splitlines() if row.startswith("| `"))
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    read = set(re.findall(r"`?(\w+)`?:? (?=[A-Z])", LINE_SCHEMA))
    assert documented - read == set()
    assert len(documented) > 50
