from __future__ import annotations

import subprocess
import sys

import pytest

from mockbroker_protocol.api_keys import ALL_SPECS
from mockbroker_protocol.messages.catalog import request_class, response_class
from mockbroker_protocol.schema import schema_of
from tests.support.kio_bridge import default_disagreements, kio_class


@pytest.mark.parametrize("api_key", sorted(ALL_SPECS))
def test_classes_say_what_the_api_table_says(api_key: int) -> None:
    spec = ALL_SPECS[api_key]
    for cls, kind in ((request_class(api_key), "Request"), (response_class(api_key), "Response")):
        schema = schema_of(cls)
        assert cls.__name__ == spec.name + kind
        assert schema.api_key == api_key
        assert (schema.min_version, schema.max_version) == (spec.min_version, spec.max_version)
        assert schema.flexible == spec.flexible


def test_an_unknown_api_key_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        request_class(4)


def test_importing_the_catalog_imports_no_message() -> None:
    code = """
import sys
import mockbroker_protocol.messages.catalog as catalog
before = {name for name in sys.modules if name.startswith("mockbroker_protocol.messages.")}
assert before == {"mockbroker_protocol.messages.catalog"}, before
catalog.request_class(3)
assert "mockbroker_protocol.messages.metadata" in sys.modules
assert "mockbroker_protocol.messages.fetch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("api_key", sorted(ALL_SPECS))
def test_defaults_are_kios(api_key: int) -> None:
    for cls in (request_class(api_key), response_class(api_key)):
        for version in range(schema_of(cls).min_version, schema_of(cls).max_version + 1):
            if (kio := kio_class(cls, version)) is not None:
                assert list(default_disagreements(cls, kio)) == []


def test_kio_lacks_only_what_is_newer_or_older_than_it() -> None:
    """kio 0.6 follows Kafka 4.1, without our own APIs; the rest is compared by message."""
    missing = {
        (spec.name, version)
        for api_key, spec in ALL_SPECS.items()
        for cls in (request_class(api_key), response_class(api_key))
        for version in range(spec.min_version, spec.max_version + 1)
        if kio_class(cls, version) is None
    }
    assert missing == {
        ("Produce", 0),
        ("Produce", 1),
        ("Produce", 2),
        ("Fetch", 3),
        ("ApiVersions", 5),
        ("TxnOffsetCommit", 6),
        ("DeleteGroups", 3),
        ("StreamsGroupHeartbeat", 1),
        ("StreamsGroupDescribe", 1),
        ("StreamsGroupTopologyDescriptionUpdate", 0),
        ("UnregisterController", 0),
        ("DescribeIndividualCommits", 0),
        ("RegisterKeyRangeFilter", 0),
    }
