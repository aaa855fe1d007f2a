"""The OpenAPI document, and the API fuzzed from it."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from mockbroker.admin import application, routes
from tests.clients.server import ROOT

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


def test_every_path_is_found_in_the_modules_of_its_resource() -> None:
    """A route in a module that its path does not lead to would be there or not by chance."""
    modules = dict.fromkeys(" ".join(application._MODULES.values()).split())
    there = {path.stem for path in Path(routes.__file__).parent.glob("[a-z]*.py")}
    beside = (application._BEFORE_V1, application._CONSOLE)
    assert {*modules, *beside} == there
    for name in there:
        module = import_module(f"mockbroker.admin.routes.{name}")
        prefix = "" if name in beside else "/v1"
        for route in module.router.routes:
            assert name in application._modules_of(prefix + route.path), route.path


def test_a_resource_that_nobody_asked_for_is_not_imported() -> None:
    program = (
        "import sys, urllib.request; from mockbroker import MockBroker\n"
        "with MockBroker(admin_port=0) as broker:\n"
        "    urllib.request.urlopen(broker.admin_url + '/v1/clock').read()\n"
        "print(*[one for one in sys.modules if one.startswith('mockbroker.admin.routes.')])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ran.stdout.split() == ["mockbroker.admin.routes.clock"]
