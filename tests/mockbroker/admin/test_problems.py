"""Errors as problem details."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from mockbroker.admin.problems import ProblemResponse, problem_response, problems

if TYPE_CHECKING:
    from tests.mockbroker.admin.conftest import Api


def test_a_problem_has_title_status_and_detail() -> None:
    response = problem_response(404, "no such thing", "name")
    assert isinstance(response, ProblemResponse)
    assert response.headers["content-type"] == "application/problem+json"
    assert json.loads(bytes(response.body)) == {
        "type": "about:blank",
        "title": "Not Found",
        "status": 404,
        "detail": "no such thing",
        "field": "name",
    }
    assert problem_response(401, "who?").headers["www-authenticate"] == "Bearer"


def test_documentation_names_the_media_type() -> None:
    assert list(problems(404, 409)) == [404, 409]
    assert "application/problem+json" in problems(404)[404]["content"]


def test_unknown_paths_methods_and_broken_json_are_problems_too(api: Api) -> None:
    assert api.problem("GET", "/v1/nothing")[0] == 404
    assert api.problem("PUT", "/v1/topics")[0] == 405
    broken = api("POST", "/v1/topics", headers={"Content-Type": "application/json"}, raw=b"{")
    assert (broken.status, broken.kind) == (422, "application/problem+json")
