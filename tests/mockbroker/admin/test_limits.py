"""The limits that nobody gave are those of the options."""

from __future__ import annotations

from mockbroker.admin.limits import Limits
from mockbroker.server.options import OPTIONS


def test_the_defaults_are_those_of_the_options() -> None:
    defaults = {
        name.removeprefix("admin_"): option.default
        for name, option in OPTIONS.items()
        if name in ("admin_max_connections", "admin_max_request_bytes", "admin_timeout_ms")
    }
    assert Limits._field_defaults == {
        name.removeprefix("max_"): default for name, default in defaults.items()
    }
