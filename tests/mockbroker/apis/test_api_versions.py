"""ApiVersions as a client sees it: ranges, features, refusals."""

from __future__ import annotations

import pytest

from mockbroker_protocol.api_keys import ApiKey
from mockbroker_protocol.headers import decode_response_header, encode_request_header
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from mockbroker_protocol.plan import decode
from tests.support.core import Core

KEY = ApiKey.API_VERSIONS


def ask(core: Core, version: int, request: ApiVersionsRequest | None = None) -> ApiVersionsResponse:
    if request is None:
        request = ApiVersionsRequest("test", "1.0")
    return core.client().call(request, version, ApiVersionsResponse)


def ranges(response: ApiVersionsResponse) -> dict[int, tuple[int, int]]:
    return {each.api_key: (each.min_version, each.max_version) for each in response.api_keys}


@pytest.mark.parametrize("version", range(6))
def test_what_is_served_is_advertised(version: int) -> None:
    answer = ask(Core(), version)
    assert answer.error_code == 0
    advertised = ranges(answer)
    assert list(advertised) == sorted(advertised)
    assert advertised[ApiKey.PRODUCE] == (0, 13)
    assert advertised[ApiKey.FETCH] == (3, 18)
    assert advertised[ApiKey.METADATA] == (0, 13)
    assert advertised[KEY] == (0, 5)
    assert ApiKey.SHARE_FETCH not in advertised


def test_a_profile_narrows_what_is_advertised() -> None:
    core = Core(config={"mockbroker.version.profile": "4.4"})
    advertised = ranges(ask(core, 3))
    assert advertised[ApiKey.FETCH] == (4, 18)
    assert advertised[ApiKey.PRODUCE] == (0, 13)


def test_telemetry_is_advertised_to_whom_asks_for_it_and_served_to_all() -> None:
    keys = {ApiKey.GET_TELEMETRY_SUBSCRIPTIONS, ApiKey.PUSH_TELEMETRY}
    assert not keys & ranges(ask(Core(), 4)).keys()
    core = Core(config={"mockbroker.client.telemetry": "true"})
    assert keys <= ranges(ask(core, 4)).keys()


def test_features_that_start_at_zero_show_from_version_4_on() -> None:
    core = Core()
    assert [each.name for each in ask(core, 3).supported_features] == ["metadata.version"]
    assert "kraft.version" in [each.name for each in ask(core, 4).supported_features]


def test_a_feature_is_finalized_only_when_its_apis_are_served() -> None:
    answer = ask(Core(), 4)
    finalized = {each.name: each.max_version_level for each in answer.finalized_features}
    served = ranges(answer)
    assert finalized["metadata.version"] == 33
    assert ("transaction.version" in finalized) == (ApiKey.END_TXN in served)
    assert ("group.version" in finalized) == (ApiKey.CONSUMER_GROUP_HEARTBEAT in served)
    assert answer.finalized_features_epoch >= 0


@pytest.mark.parametrize(
    ("name", "software_version", "error"),
    [
        ("librdkafka", "2.16.1", 0),
        ("a", "1", 0),
        ("a.b-c", "1.2-3", 0),
        ("", "1", 42),
        ("a", "", 42),
        ("a b", "1", 42),
        ("a_b", "1", 42),
        ("-a", "1", 42),
        ("a", "1-", 42),
        ("a", ".", 42),
        ("é", "1", 42),
    ],
)
@pytest.mark.parametrize("version", [3, 4, 5])
def test_client_software_is_checked(
    version: int, name: str, software_version: str, error: int
) -> None:
    answer = ask(Core(), version, ApiVersionsRequest(name, software_version))
    assert answer.error_code == error
    assert bool(answer.api_keys) == (error == 0)


@pytest.mark.parametrize(
    ("cluster", "node_id", "error"),
    [
        (None, -1, 0),
        ("ours", 1, 0),
        ("ours", 2, 129),
        ("other", 1, 129),
        ("ours", -1, 42),
        (None, 1, 42),
    ],
)
def test_version_5_checks_that_it_is_the_broker_meant(
    cluster: str | None, node_id: int, error: int
) -> None:
    core = Core()
    cluster_id = core.cluster.metadata.cluster_id if cluster == "ours" else cluster
    request = ApiVersionsRequest("test", "1", cluster_id, node_id)
    assert ask(core, 5, request).error_code == error


@pytest.mark.parametrize("version", [6, 99, 32767])
def test_an_unknown_version_is_answered_in_version_0(version: int) -> None:
    core = Core()
    client = core.client()
    frame = encode_request_header(KEY, 3, 7, "test") + b"\x05test\x021\x00"
    frame = frame[:2] + version.to_bytes(2, "big") + frame[4:]
    client.send_bytes(len(frame).to_bytes(4, "big") + frame)
    answer = client.receive_bytes()
    correlation_id, pos = decode_response_header(answer, KEY, 0)
    response, end = decode(ApiVersionsResponse, 0, answer, pos)
    assert (correlation_id, end) == (7, len(answer))
    assert response.error_code == 35
    assert ranges(response) == {KEY: (0, 5)}
    assert not client.closed
