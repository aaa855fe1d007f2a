"""The console's page and files over HTTP."""

from __future__ import annotations

import http.client
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def headers_of(api: Api, path: str) -> dict[str, str]:
    connection = http.client.HTTPConnection(api.address, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return {name.lower(): value for name, value in answer.getheaders()}


def test_the_page_is_at_the_root(api: Api) -> None:
    page = api("GET", "/")
    assert page.status == 200
    assert page.kind == "text/html; charset=utf-8"
    assert '<div id="console">' in page.text
    assert api("GET", "/console/style.css").kind == "text/css; charset=utf-8"


def test_nothing_but_its_own_files_runs_in_it(api: Api) -> None:
    for path in ("/", "/console/main.js"):
        headers = headers_of(api, path)
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["cross-origin-resource-policy"] == "same-origin"


def test_a_file_that_there_is_not_is_a_problem(api: Api) -> None:
    assert api.problem("GET", "/console/none.js")[0] == 404
    assert api.problem("GET", "/console/..%2f..%2fassets.py")[0] == 404


def test_it_is_no_part_of_the_document(api: Api) -> None:
    assert [
        path for path in api("GET", "/v1/openapi.json").body["paths"] if "console" in path
    ] == []
