"""RemoveRaftVoter on each listener; what is refused and why is in tests/mockbroker/quorum."""

from __future__ import annotations

import pytest

from mockbroker_protocol.messages.quorum import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from tests.support.core import Core
from tests.support.metadata_logs import CONTROLLER, QuorumCore


@pytest.mark.parametrize("listener", ["PLAINTEXT", CONTROLLER.name])
def test_the_only_voter_stays(listener: str) -> None:
    core = QuorumCore()
    request = RemoveRaftVoterRequest(None, 1, core.quorum.directory_id)
    end = core.quorum.log.log_end_offset
    answer = core.client(listener=listener).call(request, 0, RemoveRaftVoterResponse)
    assert (answer.throttle_time_ms, answer.error_code) == (0, 127)
    assert "Cannot remove voter ReplicaKey(id=1, " in (answer.error_message or "")
    assert core.quorum.log.log_end_offset == end


def test_a_static_quorum_lets_nobody_go() -> None:
    request = RemoveRaftVoterRequest(None, 1, b"d" * 16)
    answer = Core().client().call(request, 0, RemoveRaftVoterResponse)
    assert answer.error_code == 35
    assert "doesn't support removing voter" in (answer.error_message or "")
