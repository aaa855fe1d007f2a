from __future__ import annotations

import pytest

from mockbroker_protocol.messages import share_fetch
from tests.support.message_checks import check_message, versions_of


@pytest.mark.parametrize(("cls", "version"), versions_of(share_fetch))
def test_messages_round_trip_and_agree_with_kio(cls: type, version: int) -> None:
    check_message(cls, version)
