"""The Python API: a broker inside the test's own process, and what a test sees and does there.

`MockBroker` is what users import. Its views (`topic`, `group`) and verbs work from any thread; the
core itself has none, so `bridge` carries each call into the broker's event loop.
"""

from __future__ import annotations

from mockbroker.api.mock_broker import MockBroker

__all__ = ["MockBroker"]
