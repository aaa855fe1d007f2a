"""What is served, what is advertised, and when code is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

from mockbroker.apis.registry import PROFILES, SERVED, Registry
from mockbroker_protocol.api_keys import API_SPECS, ApiKey
from mockbroker_protocol.messages.catalog import request_class, response_class
from mockbroker_protocol.plan import encode


def test_every_served_api_has_a_handler_and_its_messages() -> None:
    registry = Registry()
    for key in SERVED:
        api = registry.get(key)
        assert api is not None
        api.load()
        assert request_class(key).__name__ == f"{api.name}Request"
        assert response_class(key).__name__ == f"{api.name}Response"


def test_the_widest_profile_advertises_all_that_the_codec_reads() -> None:
    advertised = Registry().advertised()
    assert list(advertised) == sorted(advertised)
    for key, served in advertised.items():
        spec = API_SPECS[ApiKey(key)]
        assert (served.min_version, served.max_version) == (spec.min_version, spec.max_version)
    assert advertised[ApiKey.FETCH] == (3, 18)


def test_kafkas_own_profile_narrows_fetch_and_produce() -> None:
    registry = Registry("4.4")
    fetch, produce = registry.get(ApiKey.FETCH), registry.get(ApiKey.PRODUCE)
    assert fetch is not None
    assert produce is not None
    assert (fetch.min_version, produce.min_version) == (4, 3)
    assert registry.advertised()[ApiKey.FETCH] == (4, 18)
    assert registry.advertised()[ApiKey.PRODUCE] == (0, 13)  # KAFKA-18659


@pytest.mark.parametrize("key", [ApiKey.METADATA, ApiKey.FETCH])
def test_a_codec_is_there_at_the_first_request(key: ApiKey) -> None:
    api = Registry().get(key)
    assert api is not None
    message = request_class(key)()
    body = b"".join(encode(message, 12))
    assert api.decode(b"head" + body, 4, 12) == message
    assert b"".join(api.encode(response_class(key)(), 12))


@pytest.mark.parametrize("profile", PROFILES)
def test_each_profile_serves_the_same_apis(profile: str) -> None:
    assert set(Registry(profile).advertised()) == set(map(int, SERVED))


def test_an_unknown_key_is_none() -> None:
    assert Registry().get(9999) is None
    assert Registry().get(ApiKey.ENVELOPE) is None


def test_what_is_counted_of_an_api_is_seen_by_who_looks_at_all() -> None:
    registry = Registry()
    heartbeat = registry.get(ApiKey.HEARTBEAT)
    assert heartbeat is not None
    heartbeat.requests += 1
    assert registry.get(ApiKey.PRODUCE) is not None
    found = [(api.name, api.requests) for api in registry.apis()]
    assert found == [("Produce", 0), ("Heartbeat", 1)]


def test_a_registry_imports_no_handler_and_no_message() -> None:
    code = (
        "import sys\nfrom mockbroker.apis.registry import Registry\nRegistry()\n"
        "names = ('mockbroker_protocol.messages.', 'mockbroker_protocol.plan')\n"
        "print([m for m in sys.modules if m.startswith(names)"
        " or m.startswith('mockbroker.apis.') and not m.endswith(('.registry', '.context'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
