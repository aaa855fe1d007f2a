"""What every route is given: the broker beside it. And names that all routes share."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Annotated

from fastapi import Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict

from mockbroker.admin.host import Host
from mockbroker.admin.problems import ApiError

MAX_TIMEOUT_MS = 600_000
INT32_MAX = 2**31 - 1
INT64_MAX = 2**63 - 1


def host_of(request: Request) -> Host:
    """The broker that this application administers."""
    host: Host = request.app.state.host
    return host


async def refuse_unknown_parameters(request: Request) -> None:
    """A slip in a parameter's name is a 422; it would otherwise answer with everything."""
    declared = request.scope["route"].dependant.query_params
    # A parameter that is a model stands for one of each of its fields.
    known = [
        name
        for field in declared
        for name in getattr(field.field_info.annotation, "model_fields", (field.alias,))
    ]
    for name in request.query_params:
        if name not in known:
            near = get_close_matches(name, known, n=1) or known
            allowed = ", ".join(near) or "none"
            raise ApiError(422, f"{name}: there is no such parameter; allowed: {allowed}", name)


TheHost = Annotated[Host, Depends(host_of)]
TopicName = Annotated[str, Path(max_length=249, description="Name of a topic")]
GroupId = Annotated[str, Path(max_length=32_767, description="Id of a group")]
Limit = Annotated[int, Query(ge=1, le=1000, description="How many at most")]
Cursor = Annotated[
    str | None, Query(max_length=4096, description="`next_cursor` of the page before")
]
Prefix = Annotated[str | None, Query(max_length=249, description="Only names that begin so")]


class Body(BaseModel):
    """What a client sends: a field that is not known is an error."""

    model_config = ConfigDict(extra="forbid")
