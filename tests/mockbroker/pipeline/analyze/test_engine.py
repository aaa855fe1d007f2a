"""Which engine there is."""

from __future__ import annotations

import pytest

from mockbroker.pipeline.analyze import engine


def test_the_embedded_engine_needs_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    assert engine.has_embedded()
    monkeypatch.setattr(engine, "find_spec", lambda name: None if name == "duckdb" else object())
    assert not engine.has_embedded()
