"""The OpenAPI document, and the API fuzzed from it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.mockbroker.admin.conftest import Api

METHODS = {"get", "post", "put", "patch", "delete"}


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    ]


def test_every_operation_is_documented_and_its_errors_are_problems(api: Api) -> None:
    document = api("GET", "/v1/openapi.json").body
    assert document["openapi"].startswith("3.1")
    assert "HTTPValidationError" not in document["components"]["schemas"]
    found = operations(document)
    assert len(found) > 40
    for method, path, operation in found:
        assert operation["summary"], (method, path)
        assert operation["description"], (method, path)
        for status, answer in operation["responses"].items():
            if status >= "400":
                assert list(answer["content"]) == ["application/problem+json"], (method, path)


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_nothing_that_the_document_allows_or_forbids_breaks_the_broker(api: Api) -> None:
    """No 500, every answer as documented, and the state of others is still there."""
    schema = schemathesis.openapi.from_url(f"{api.url}/v1/openapi.json")
    tried = 0

    def check(case: Any) -> None:
        nonlocal tried
        tried += 1
        _shorten(case)
        case.call_and_validate(
            timeout=20, excluded_checks=[schemathesis.checks.positive_data_acceptance]
        )

    for result in schema.get_all_operations():
        operation: Any = cast("Any", result).ok()
        if operation.path in ("/v1/events", "/v1/reset"):
            continue
        _fuzz(operation, check)
    assert tried > 300
    api("POST", "/v1/reset")
    assert [one["name"] for one in api("GET", "/v1/topics").body["topics"]] == ["orders"]
    assert api("GET", "/health/ready").status == 200


def _fuzz(operation: Any, check: Callable[[Any], None]) -> None:
    """Hold `check` against 15 requests to one operation, the same ones in each run."""
    test = settings(
        max_examples=15,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        derandomize=True,
        database=None,
    )(given(case=operation.as_strategy())(check))
    test()


def _shorten(case: Any) -> None:
    """Waits of minutes are allowed, and not what is tried here."""
    if isinstance(case.body, dict) and isinstance(case.body.get("timeout_ms"), int):
        case.body["timeout_ms"] = min(case.body["timeout_ms"], 1)
    elif isinstance(case.body, dict) and case.operation.path.endswith(("/wait", "/expect")):
        case.body["timeout_ms"] = 1
