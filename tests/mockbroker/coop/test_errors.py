"""The draft's errors, as `coop.error.mode` says."""

from __future__ import annotations

import pytest

from mockbroker.config.broker import BrokerConfig
from mockbroker.coop.errors import Refusal
from mockbroker.coop.numbers import DraftError
from mockbroker_protocol.errors import ErrorCode

DENIED = Refusal(ErrorCode.TOPIC_AUTHORIZATION_FAILED, DraftError.TOPIC_RANGE_FETCH_NOT_ALLOWED)


@pytest.mark.parametrize(("mode", "code"), [("carrier", 29), ("private", 16089), ("draft", 89)])
def test_a_draft_error_goes_out_as_the_mode_says(mode: str, code: int) -> None:
    assert DENIED.code(mode) == code
    assert Refusal(ErrorCode.INVALID_REQUEST).code(mode) == ErrorCode.INVALID_REQUEST


def test_standard_codes_stand_in_unless_asked_otherwise() -> None:
    assert BrokerConfig().str("coop.error.mode") == "carrier"
