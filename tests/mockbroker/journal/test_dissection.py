"""A request with its bytes: nothing that is secret is among them."""

from __future__ import annotations

import pytest

from mockbroker.journal import RequestServed
from mockbroker.journal.dissection import dissect_request, dissect_response, text_of
from mockbroker.metadata.names import CLUSTER_METADATA_TOPIC_ID
from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.headers import encode_request_header
from mockbroker_protocol.messages.configs import (
    IncrementalAlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
)
from mockbroker_protocol.messages.controller_apis import EnvelopeRequest, EnvelopeResponse
from mockbroker_protocol.messages.fetch import (
    FetchResponse,
    FetchResponsePartition,
    FetchResponseTopic,
)
from mockbroker_protocol.messages.metadata import MetadataRequest, MetadataResponse
from mockbroker_protocol.messages.sasl import SaslAuthenticateRequest
from mockbroker_protocol.plan import encode
from mockbroker_protocol.spans import Span
from tests.support.core import Core


def served_of(key: ApiKey, version: int, message: object) -> RequestServed:
    served = RequestServed(key, version, 7, "app", 1)
    served.frame = encode_request_header(key, version, 7, "app") + b"".join(
        encode(message, version)
    )
    return served


def test_header_and_body_lie_one_behind_the_other() -> None:
    core = Core(topics={"orders": 1})
    core.client("app").call(MetadataRequest(None), 12, MetadataResponse)
    served = next(iter(core.cluster.journal.requests()))
    for found in (dissect_request(served), dissect_response(served)):
        assert found is not None
        assert found.problem is None
        at = 0
        for span in (one for one in found.fields if one.depth == 0):
            assert span.start in (at, at + 1)  # an empty tag section has no field
            at = span.end
        assert len(found.data) - at in (0, 1)
    request = dissect_request(served)
    assert request is not None
    assert [(one.name, text_of(one)) for one in request.fields[1:5]] == [
        ("request_api_key", "3"), ("request_api_version", "12"), ("correlation_id", "1"),
        ("client_id", "app"),
    ]  # fmt: skip


def test_what_proves_who_a_client_is_is_blanked() -> None:
    served = served_of(ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(b"\0alice\0secret"))
    found = dissect_request(served)
    assert found is not None
    assert b"secret" not in found.data
    assert [text_of(one) for one in found.fields if one.name == "auth_bytes"] == ["[hidden]"]


def test_passwords_in_configs_are_blanked_and_nothing_else() -> None:
    configs = [
        IncrementalAlterableConfig("ssl.keystore.password", 0, "hunter2"),
        IncrementalAlterableConfig("compression.type", 0, "lz4"),
    ]
    resource = IncrementalAlterConfigsResource(4, "1", configs)
    request = IncrementalAlterConfigsRequest([resource], validate_only=False)
    found = dissect_request(served_of(ApiKey.INCREMENTAL_ALTER_CONFIGS, 1, request))
    assert found is not None
    assert b"hunter2" not in found.data
    assert b"lz4" in found.data


def test_what_an_envelope_holds_is_blanked() -> None:
    served = served_of(ApiKey.ENVELOPE, 0, EnvelopeRequest(b"a secret", None, b"\x7f\0\0\1"))
    served.chunks = [b"\0\0\0\7\0\0\0\7\0", *encode(EnvelopeResponse(b"a secret"), 0)]
    for found in (dissect_request(served), dissect_response(served)):
        assert found is not None
        assert b"secret" not in found.data
    for message in (served.request, served.response):
        assert message is not None
        assert "secret" not in repr(message)


@pytest.mark.parametrize("version", [12, 17])
def test_records_of_the_metadata_are_blanked_and_those_of_a_topic_are_not(version: int) -> None:
    for name, topic_id, told in (
        ("__cluster_metadata", CLUSTER_METADATA_TOPIC_ID, False),
        ("orders", b"\7" * 16, True),
    ):
        data = FetchResponsePartition(0, 0, 9, records=b"a key of SCRAM")
        topic = FetchResponseTopic(name, topic_id, [data])
        served = RequestServed(ApiKey.FETCH, version, 7, "app", 1)
        served.chunks = [b"\0\0\0\7\0\0\0\7\0", *encode(FetchResponse(responses=[topic]), version)]
        found = dissect_response(served)
        assert found is not None
        assert found.problem is None
        assert (b"a key of SCRAM" in found.data) is told


def test_an_answer_that_was_mangled_says_where_its_fields_end() -> None:
    served = served_of(ApiKey.METADATA, 12, MetadataRequest(None))
    assert dissect_response(served) is None
    served.chunks = [b"\0\0\0\x08\0\0\0\x07\0\xff\xff\xff"]
    found = dissect_response(served)
    assert found is not None
    assert found.problem is not None
    assert [one.name for one in found.fields] == ["length", "correlation_id"]
    served.frame = None
    assert dissect_request(served) is None


def test_a_mangled_message_that_may_hold_secrets_shows_no_bytes() -> None:
    served = served_of(ApiKey.SASL_AUTHENTICATE, 2, SaslAuthenticateRequest(b"secret"))
    frame = served.frame
    assert frame is not None
    served.frame = bytes(frame)[:-3]
    found = dissect_request(served)
    assert found is not None
    assert found.problem is not None
    assert b"secr" not in found.data


def test_values_are_text_for_people() -> None:
    def text(value: object, kind: str = "bytes") -> str:
        return text_of(Span(0, "f", kind, value, 0, 1))

    assert [text(None), text(True), text(b"abc"), text(5)] == ["null", "true", "3 bytes", "5"]
    assert text(bytes(16), "uuid") == "AAAAAAAAAAAAAAAAAAAAAA"
