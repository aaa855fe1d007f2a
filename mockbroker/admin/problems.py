"""Errors as the admin API tells them: problem details (RFC 9457), one shape for all of them.

`detail` says what is wrong and what is allowed; `field` names the part of the request that it is
about, where there is one.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from mockbroker.cluster.node_controls import ControlError
from mockbroker.config.errors import ConfigError
from mockbroker.faults.errors import FaultError
from mockbroker.state.groups import GroupError
from mockbroker.state.requests import QueryError
from mockbroker.state.snapshot_file import SnapshotError
from mockbroker.state.writing import TopicError

if TYPE_CHECKING:
    from fastapi import FastAPI
    from fastapi.requests import Request

PROBLEM_JSON = "application/problem+json"


class Problem(BaseModel):
    """What every answer of status 400 and above holds."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    field: str | None = None


class ApiError(Exception):
    """A refusal with its status."""

    def __init__(self, status: int, detail: str, field: str | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.field = field


class ProblemResponse(JSONResponse):
    """JSON under the media type of problem details."""

    media_type = PROBLEM_JSON


def problem_response(status: int, detail: str, field: str | None = None) -> ProblemResponse:
    """The answer that tells a problem."""
    problem = Problem(title=HTTPStatus(status).phrase, status=status, detail=detail, field=field)
    headers = {"WWW-Authenticate": "Bearer"} if status == HTTPStatus.UNAUTHORIZED else None
    return ProblemResponse(problem.model_dump(exclude_none=True), status, headers)


def problems(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """What an operation's documentation says of its errors."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {PROBLEM_JSON: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
        for status in statuses
    }


def install(app: FastAPI) -> None:
    """Make the application answer every kind of refusal as a problem."""
    for kind, handler in (
        (ApiError, _api_error),
        (FaultError, _fault_error),
        (RequestValidationError, _invalid),
        (HTTPException, _http_error),
        (TopicError, _bad_state),
        (GroupError, _bad_state),
        (ControlError, _bad_state),
        (SnapshotError, _bad_value),
        (ConfigError, _bad_value),
        (QueryError, _bad_value),
    ):
        app.add_exception_handler(kind, handler)


async def _api_error(_request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, ApiError)
    return problem_response(error.status, error.detail, error.field)


async def _fault_error(_request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, FaultError)
    return problem_response(422, str(error), error.field)


async def _http_error(_request: Request, error: Exception) -> ProblemResponse:
    assert isinstance(error, HTTPException)
    return problem_response(error.status_code, str(error.detail))


async def _bad_state(_request: Request, error: Exception) -> ProblemResponse:
    return problem_response(409, str(error))


async def _bad_value(_request: Request, error: Exception) -> ProblemResponse:
    return problem_response(422, str(error))


async def _invalid(_request: Request, error: Exception) -> ProblemResponse:
    """The first thing that is wrong, by the path of its field."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    where = [str(part) for part in first["loc"]]
    field = ".".join(where[1:]) or where[0]
    return problem_response(422, f"{field}: {first['msg']}", field)
