"""AddRaftVoter on each listener; what is refused and why is in tests/mockbroker/quorum."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.quorum import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    VoterListener,
)
from tests.support.core import Core
from tests.support.metadata_logs import CONTROLLER, QuorumCore

REQUEST = AddRaftVoterRequest(
    None, 1000, 7, b"d" * 16, [VoterListener(CONTROLLER.name, "127.0.0.1", 9093)]
)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("listener", ["PLAINTEXT", CONTROLLER.name])
def test_a_voter_that_cannot_be_reached_does_not_join(version: int, listener: str) -> None:
    core = QuorumCore()
    end = core.quorum.log.log_end_offset
    answer = core.client(listener=listener).call(REQUEST, version, AddRaftVoterResponse)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 7)
    assert "New voter ReplicaKey(id=7, " in (answer.error_message or "")
    assert core.quorum.log.log_end_offset == end


@pytest.mark.parametrize("version", [0, 1])
def test_a_static_quorum_takes_nobody_in(version: int) -> None:
    answer = Core().client().call(REQUEST, version, AddRaftVoterResponse)
    assert answer.error_code == 35
    assert "doesn't support adding voter" in (answer.error_message or "")
