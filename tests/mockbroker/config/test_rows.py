"""Rows carry numbers of the wire."""

from __future__ import annotations

from mockbroker.config.rows import ConfigSource


def test_sources_have_the_numbers_of_the_wire() -> None:
    assert [int(source) for source in ConfigSource] == list(range(9))
    assert int(ConfigSource.TOPIC_CONFIG) == 1
    assert int(ConfigSource.GROUP_CONFIG) == 8
