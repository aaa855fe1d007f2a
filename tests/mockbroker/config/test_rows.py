"""Rows carry numbers of the wire, and their texts come from the documentation."""

from __future__ import annotations

from mockbroker.config.rows import ConfigSource, documentation_of


def test_sources_have_the_numbers_of_the_wire() -> None:
    assert [int(source) for source in ConfigSource] == list(range(9))
    assert int(ConfigSource.TOPIC_CONFIG) == 1
    assert int(ConfigSource.GROUP_CONFIG) == 8


def test_documentation_is_found_by_name() -> None:
    assert documentation_of("node.id") == "Id of this node."
    assert documentation_of("no.such.key") is None
