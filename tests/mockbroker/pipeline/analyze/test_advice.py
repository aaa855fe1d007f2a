"""What the document says about each rule, where the page links to it."""

from __future__ import annotations

from mockbroker.pipeline.analyze.advice import advice
from mockbroker.pipeline.analyze.diagnosis import RULES
from tests.mockbroker.pipeline.analyze.test_page import page


def test_there_is_advice_for_every_rule() -> None:
    assert set(advice()) == set(RULES)
    assert "<code>fetch.max.wait.ms</code>" in advice()["busy-polling"]


def test_a_finding_links_to_what_to_do() -> None:
    row = {
        "side": "base", "rule": "busy-polling", "subject": "c", "findings": 7,
        "detail": "Client c polls without waiting.", "more": "docs/diagnosis.md#busy-polling",
    }  # fmt: skip
    text = page(None, diagnosis=[row])
    assert '<a href="#advice-busy-polling">' in text
    assert '<details id="advice-busy-polling"' in text
    assert 'id="advice-hot-key"' not in text
    assert 'data-client="Client c polls without waiting."' in text
