"""The console at `/`: a page that calls the rest of this API, and its files."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response

from mockbroker.admin.console.assets import HEADERS, PAGE, asset
from mockbroker.admin.problems import ApiError

router = APIRouter(include_in_schema=False)


@router.get("/")
async def get_console() -> Response:
    """The page."""
    return _file(PAGE)


@router.get("/console/{name:path}")
async def get_console_file(name: Annotated[str, Path(max_length=200)]) -> Response:
    """One of its files."""
    return _file(name)


def _file(name: str) -> Response:
    found = asset(name)
    if found is None:
        raise ApiError(404, f"there is no file {name!r} of the console", "name")
    return Response(found.data, media_type=found.media_type, headers=HEADERS)
