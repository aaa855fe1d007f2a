from __future__ import annotations

import pytest

from mockbroker_protocol.messages import api_versions
from tests.support.message_checks import check_message, versions_of


@pytest.mark.parametrize(("cls", "version"), versions_of(api_versions))
def test_messages_round_trip_and_agree_with_kio(cls: type, version: int) -> None:
    check_message(cls, version)
