"""The application: every resource under /v1, health and metrics beside it, one OpenAPI document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fastapi import Depends, FastAPI

from mockbroker.admin import problems
from mockbroker.admin.deps import refuse_unknown_parameters
from mockbroker.admin.document import make_document
from mockbroker.admin.events import EventHub
from mockbroker.admin.routes import (
    clock,
    cluster,
    events,
    faults,
    groups,
    health,
    journal,
    records,
    scopes,
    state,
    topics,
    transactions,
)

if TYPE_CHECKING:
    from mockbroker.admin.host import Host

_DESCRIPTION = """\
See and change a running mockbroker: topics and their records, groups, transactions, faults, the \
clock, the journal, snapshots. Every error is problem details (RFC 9457). Lists come in pages: \
pass `next_cursor` of one answer as `cursor` of the next request."""


def make_application(host: Host) -> tuple[FastAPI, EventHub]:
    """The application for one broker, and the hub that its event streams hang on."""
    app = FastAPI(
        title="mockbroker admin API",
        version=host.version,
        description=_DESCRIPTION,
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        dependencies=[Depends(refuse_unknown_parameters)],
        # What generated clients call their methods: `list_topics`, not `list_topics_v1_topics_get`.
        generate_unique_id_function=lambda route: route.name,
    )
    hub = EventHub(host)
    app.state.host = host
    app.state.hub = hub
    app.state.snapshots = {}
    app.state.scopes = {}
    for module in (
        cluster,
        topics,
        records,
        groups,
        transactions,
        faults,
        clock,
        journal,
        events,
        state,
        scopes,
    ):
        app.include_router(module.router, prefix="/v1", responses=problems.problems(422))
    app.include_router(health.router, responses=problems.problems(422))
    problems.install(app)

    def document() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = make_document(app)
        return app.openapi_schema

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's own way
    return app, hub
