"""The coordinator costs nothing until a client needs a group."""

from __future__ import annotations

import subprocess
import sys
from random import Random

from mockbroker.coordinator.group.coordinator import GroupCoordinator
from mockbroker_protocol.errors import ErrorCode
from tests.support.groups import Groups

IMPORTS = """
import sys
import mockbroker.coordinator.group.coordinator
print([name for name in sys.modules if name.startswith("mockbroker_protocol.messages.")])
"""


def coordinator(groups: Groups) -> GroupCoordinator:
    return GroupCoordinator(
        groups.clock,
        groups.timer,
        groups.config,
        groups.metadata,
        groups.controller,
        lambda _index, _records: (ErrorCode.NONE, 0),
        Random(1),
    )


def test_importing_it_imports_no_messages() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_service_is_made_once() -> None:
    one = coordinator(Groups())
    one.release_parked()
    assert one.service is one.service


def test_a_shutdown_answers_what_is_parked() -> None:
    groups = Groups()
    one = coordinator(groups)
    groups.service = one.service
    leader, _ = groups.stable(2)
    waiting = groups.join(leader)
    one.release_parked()
    assert waiting.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
