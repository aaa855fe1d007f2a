"""UnregisterController: the one that is there is active, and others are not known."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.quorum import (
    UnregisterControllerRequest,
    UnregisterControllerResponse,
)
from tests.support.core import Core
from tests.support.metadata_logs import CONTROLLER, QuorumCore


@pytest.mark.parametrize(
    ("core", "listener"),
    [(Core, "PLAINTEXT"), (QuorumCore, "PLAINTEXT"), (QuorumCore, CONTROLLER.name)],
)
@pytest.mark.parametrize(
    ("controller_id", "error", "message"),
    [
        (1, 42, "Controller cannot unregister itself while it is active."),
        (99, 136, "Controller ID 99 is not currently registered."),
        (-1, 136, "Controller ID -1 is not currently registered."),
    ],
)
def test_no_controller_goes(
    core: type[Core], listener: str, controller_id: int, error: int, message: str
) -> None:
    request = UnregisterControllerRequest(controller_id)
    answer = core().client(listener=listener).call(request, 0, UnregisterControllerResponse)
    assert (answer.error_code, answer.error_message) == (error, message)
