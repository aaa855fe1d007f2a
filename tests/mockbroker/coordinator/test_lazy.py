"""A coordinator costs nothing until a client needs it."""

from __future__ import annotations

import subprocess
import sys

from mockbroker.coordinator.group.service import GroupCoordinatorService
from mockbroker.coordinator.lazy import LazyCoordinator
from mockbroker_protocol.errors import ErrorCode
from tests.support.core import Core
from tests.support.groups import Groups

IMPORTS = """
import sys
import mockbroker.node.assembly
print([name for name in sys.modules if name.startswith(
    ("mockbroker_protocol.messages.g", "mockbroker.coordinator.group."))])
"""


def test_importing_it_imports_no_messages() -> None:
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_the_service_is_made_once() -> None:
    groups: LazyCoordinator[GroupCoordinatorService] = LazyCoordinator(lambda: Groups().service)
    assert not groups.in_use
    assert groups.service is groups.service
    assert groups.in_use


def test_a_shutdown_answers_what_is_parked() -> None:
    core = Core()
    core.broker.release_parked(0)
    assert not core.broker.services.groups.in_use
    groups = Groups()
    leader, _ = groups.stable(2)
    waiting = groups.join(leader)
    groups.service.release_parked()
    assert waiting.value.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
