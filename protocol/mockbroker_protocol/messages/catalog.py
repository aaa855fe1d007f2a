"""The classes of an API's messages, imported when they are first needed.

Called by whoever turns an API key into a class: the request boundary, the tools, the tests. The
module is what `api_keys` says, the classes have the API's name. Handlers import their own plainly.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from mockbroker_protocol.api_keys import ALL_SPECS


@cache
def request_class(api_key: int) -> type:
    """The request class of an API; imports its module on first use. KeyError if unknown."""
    return _declared(api_key, "Request")


@cache
def response_class(api_key: int) -> type:
    """The response class of an API; imports its module on first use. KeyError if unknown."""
    return _declared(api_key, "Response")


def _declared(api_key: int, kind: str) -> type:
    spec = ALL_SPECS[api_key]
    module = import_module(f"mockbroker_protocol.messages.{spec.messages}")
    declared: type = getattr(module, spec.name + kind)
    return declared
