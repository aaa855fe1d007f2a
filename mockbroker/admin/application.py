"""The application: every resource under /v1, health and metrics beside it, one OpenAPI document.

A module of `routes` is imported at the first request for one of its resources: what pydantic and
FastAPI make of a module's models and signatures takes longer than to answer a request.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from fastapi import Depends, FastAPI

from mockbroker.admin import problems
from mockbroker.admin.deps import refuse_unknown_parameters
from mockbroker.admin.events import EventHub
from mockbroker.admin.names import with_whole_names
from mockbroker.admin.schemas.decoding import Decoder

if TYPE_CHECKING:
    from fastapi import APIRouter
    from starlette.types import Receive, Scope, Send

    from mockbroker.admin.host import Host

_DESCRIPTION = """\
See and change a running mockbroker: topics and their records, groups, transactions, faults, the \
clock, the journal, snapshots. Every error is problem details (RFC 9457). Lists come in pages: \
pass `next_cursor` of one answer as `cursor` of the next request."""


_BEFORE_V1: Final = "health"
_CONSOLE: Final = "console"
_MODULES: Final = {
    "cluster": "cluster",
    "connections": "cluster",
    "listeners": "listeners",
    "certificates": "listeners",
    "tokens": "listeners",
    "delegation-tokens": "delegation_tokens",
    "metrics": "cluster",
    "client-metrics": "cluster",
    "protocol": "protocol",
    "configs": "configs",
    "fetch-sessions": "fetching",
    "waits": "fetching",
    "replicas": "replicas",
    "links": "replicas",
    "topics": "topics records record_search",
    "groups": "groups",
    "transactions": "transactions",
    "faults": "faults",
    "fault-presets": "faults",
    "verify": "faults",
    "clock": "clock",
    "journal": "journal journal_rows",
    "report": "journal",
    "events": "events",
    "reset": "state",
    "snapshots": "state",
    "snapshot-file": "state",
    "scopes": "scopes",
}
"""Which modules of `routes` have the paths of each resource under /v1."""


def make_application(host: Host) -> tuple[Resources, EventHub]:
    """The application for one broker, and the hub that its event streams hang on."""
    resources = Resources(host)
    return resources, resources.hub


class Resources:
    """An ASGI application that includes the routes of a resource when it is first asked for."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._included: set[str] = set()
        self.hub = EventHub(host)
        app = self._app = _new(host)
        app.state.host = host
        app.state.hub = self.hub
        app.state.decoder = Decoder(host.schema_registry)
        app.state.snapshots = {}
        app.state.scopes = {}
        problems.install(app)
        app.openapi = self._document  # type: ignore[method-assign]  # FastAPI's own way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http":
            scope = with_whole_names(scope)
            for module in _modules_of(scope["path"]):
                if module not in self._included:
                    self._included.add(module)
                    _include(self._app, module)
        await self._app(scope, receive, send)

    def _document(self) -> dict[str, Any]:
        """Of all resources, in one order whatever was asked for first."""
        app = self._app
        if app.openapi_schema is None:
            from mockbroker.admin.document import make_document

            whole = _new(self._host)
            for module in dict.fromkeys(" ".join((*_MODULES.values(), _BEFORE_V1)).split()):
                _include(whole, module)
            app.openapi_schema = make_document(whole)
        return app.openapi_schema


def _new(host: Host) -> FastAPI:
    return FastAPI(
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


def _modules_of(path: str) -> list[str]:
    _, first, *rest = f"{path}/".split("/", 3)
    if first in ("", _CONSOLE):
        return [_CONSOLE]
    if first != "v1":
        return [_BEFORE_V1]
    return _MODULES.get(rest[0] if rest else "", "").split()


def _include(app: FastAPI, module: str) -> None:
    router: APIRouter = import_module(f"mockbroker.admin.routes.{module}").router
    prefix = "" if module in (_BEFORE_V1, _CONSOLE) else "/v1"
    app.include_router(router, prefix=prefix, responses=problems.problems(422))
