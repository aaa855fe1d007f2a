"""mockbroker: a fake Kafka broker that clients cannot tell from a real one.

`MockBroker` is the Python API (`with MockBroker(topics={"orders": 6}) as broker: …`), with its
fault rules and its exceptions beside it; `python -m mockbroker serve` is the command. Importing the
package imports none of them.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

if os.environ.get("MOCKBROKER_PURE") == "1":
    from mockbroker.server.compiled import take_sources

    take_sources()

if TYPE_CHECKING:
    from mockbroker.admin.client import AdminApiError
    from mockbroker.cluster.node_controls import ControlError
    from mockbroker.config.errors import ConfigError
    from mockbroker.faults import Delay, Fault, FaultError
    from mockbroker.server.values import SettingsError
    from mockbroker.state.groups import GroupError
    from mockbroker.state.requests import QueryError
    from mockbroker.state.snapshot_file import SnapshotError
    from mockbroker.state.verdict import VerificationError
    from mockbroker.state.writing import TopicError
    from mockbroker.testing.bridge import WaitTimeoutError
    from mockbroker.testing.kafka.broker import Kafka
    from mockbroker.testing.mock_broker import MockBroker
    from mockbroker.testing.not_supported import NotSupported

    __version__: str

__all__ = [
    "AdminApiError",
    "ConfigError",
    "ControlError",
    "Delay",
    "Fault",
    "FaultError",
    "GroupError",
    "Kafka",
    "MockBroker",
    "NotSupported",
    "QueryError",
    "SettingsError",
    "SnapshotError",
    "TopicError",
    "VerificationError",
    "WaitTimeoutError",
    "__version__",
]

_HOMES: Final = {
    "AdminApiError": "admin.client",
    "ConfigError": "config.errors",
    "ControlError": "cluster.node_controls",
    "Delay": "faults",
    "Fault": "faults",
    "FaultError": "faults",
    "GroupError": "state.groups",
    "Kafka": "testing.kafka.broker",
    "MockBroker": "testing.mock_broker",
    "NotSupported": "testing.not_supported",
    "QueryError": "state.requests",
    "SettingsError": "server.values",
    "SnapshotError": "state.snapshot_file",
    "TopicError": "state.writing",
    "VerificationError": "state.verdict",
    "WaitTimeoutError": "testing.bridge",
}
"""Where each name is at home; it is imported when it is asked for."""


def __getattr__(name: str) -> object:
    if name in _HOMES:
        from importlib import import_module

        found: object = getattr(import_module(f"mockbroker.{_HOMES[name]}"), name)
        return found
    if name == "__version__":
        return _version()
    message = f"module 'mockbroker' has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _version() -> str:
    """The installed version, or that of the checkout that the package is run from."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("mockbroker")
    except PackageNotFoundError:
        import tomllib
        from pathlib import Path

        project = Path(__file__).parent.parent / "pyproject.toml"
        return str(tomllib.loads(project.read_text(encoding="utf-8"))["project"]["version"])
