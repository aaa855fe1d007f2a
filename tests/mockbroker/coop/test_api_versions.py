"""The hello of the extension."""

from __future__ import annotations

import pytest

from mockbroker.coop import tags
from mockbroker.coop.numbers import Tag
from mockbroker_protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from tests.support.core import Core

HELLO: dict[int, bytes] = {Tag.HELLO: bytes.fromhex("00010000001f")}


@pytest.mark.parametrize(
    ("config", "said", "heard"),
    [
        ({"coop.extension.enable": "true"}, HELLO, {Tag.HELLO: tags.hello()}),
        ({"coop.extension.enable": "true"}, {}, {}),
        ({}, HELLO, {}),
    ],
)
def test_who_says_hello_is_told_what_there_is(
    config: dict[str, str], said: dict[int, bytes], heard: dict[int, bytes]
) -> None:
    """EC-02."""
    request = ApiVersionsRequest("test", "1")
    tags.tag(request, said)
    answer = Core(config=config).client().call(request, 3, ApiVersionsResponse)
    assert (answer.error_code, tags.tagged_fields(answer)) == (0, heard)
