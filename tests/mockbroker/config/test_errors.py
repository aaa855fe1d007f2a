"""A config error is a ValueError, so that callers who know only Python catch it."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.config.errors import ConfigError


def test_a_bad_value_is_one_line_that_names_key_value_and_what_is_allowed() -> None:
    with pytest.raises(ConfigError) as caught:
        BrokerConfig({"num.partitions": "0"})
    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == (
        "Invalid value 0 for configuration num.partitions: Value must be at least 1"
    )
