"""What came with a version of an API is named after it, and came in versions that we decode."""

from __future__ import annotations

from mockbroker_protocol import versions
from mockbroker_protocol.api_keys import ApiKey


def api_of(name: str) -> ApiKey:
    """The API with the longest name that this one begins with."""
    return max((key for key in ApiKey if name.startswith(key.name)), key=lambda key: len(key.name))


def test_each_came_with_a_version_that_is_decoded() -> None:
    since = {name: value for name, value in vars(versions).items() if isinstance(value, int)}
    assert len(since) > 40
    for name, version in since.items():
        api = api_of(name)
        assert api.min_version < version <= api.max_version, name


def test_the_first_flexible_fetch_is_that_of_the_table() -> None:
    assert ApiKey.FETCH.flexible == versions.FETCH_FLEXIBLE
