"""What a listener asks of its clients, as Kafka's map has it."""

from __future__ import annotations

import pytest

from mockbroker.config.errors import ConfigError
from mockbroker.config.security_protocol import (
    SecurityProtocol,
    default_protocol,
    parse_protocol_map,
)


def test_a_map_gives_each_name_its_protocol() -> None:
    assert parse_protocol_map("inside:plaintext, OUT : SASL_SSL,") == {
        "INSIDE": SecurityProtocol.PLAINTEXT,
        "OUT": SecurityProtocol.SASL_SSL,
    }


@pytest.mark.parametrize("text", ["OUT", "OUT:TLS", "A:SSL,OUT="])
def test_what_is_no_entry_is_told(text: str) -> None:
    with pytest.raises(ConfigError, match="is no entry"):
        parse_protocol_map(text)


def test_a_name_that_is_a_protocol_says_it_and_others_are_plain() -> None:
    assert default_protocol("SASL_SSL") is SecurityProtocol.SASL_SSL
    assert default_protocol("OUTSIDE") is SecurityProtocol.PLAINTEXT


def test_the_four_are_two_and_two() -> None:
    assert [each.name for each in SecurityProtocol if each.has_tls] == ["SSL", "SASL_SSL"]
    assert [each.name for each in SecurityProtocol if each.has_sasl] == [
        "SASL_PLAINTEXT",
        "SASL_SSL",
    ]
