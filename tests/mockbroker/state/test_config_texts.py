"""Configs that are given as numbers, truth values and lists."""

from __future__ import annotations

import pytest

from mockbroker.state.config_texts import config_texts


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a b", "a b"),
        (1000, "1000"),
        (0.5, "0.5"),
        (True, "true"),
        (["compact", "delete"], "compact,delete"),
    ],
)
def test_a_value_is_written_as_kafka_reads_it(value: object, text: str) -> None:
    assert config_texts({"name": value}) == {"name": text}
