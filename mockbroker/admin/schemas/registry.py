"""A schema registry as Confluent's is asked: the schema of an id, with what it refers to.

`decoding` asks, and jobs of the pipeline. For the admin API the requests run in a thread, so that
the broker serves meanwhile. An id means one schema for ever, so what was found is kept; what was
not is asked for again after a moment.

Source: Confluent's Schema Registry API, `/schemas/ids/{id}` and `/subjects/{subject}/versions/{n}`.
"""

from __future__ import annotations

import asyncio
import http.client
import json
from base64 import b64encode
from collections import OrderedDict
from time import monotonic
from typing import Any, Final, NamedTuple
from urllib.parse import quote, unquote, urlsplit

TIMEOUT_S: Final = 5.0
AGAIN_S: Final = 5.0
"""A problem stands so long before the registry is asked again."""
MAX_BYTES: Final = 4 << 20
MAX_FILES: Final = 200
"""Schemas that one may refer to, itself among them."""
MAX_KEPT: Final = 1000
AVRO: Final = "AVRO"
PROTOBUF: Final = "PROTOBUF"


class SchemaError(Exception):
    """Why a value cannot be decoded, in one line."""


class UnknownSchemaError(SchemaError):
    """The registry has no schema of that id."""


class Schema(NamedTuple):
    """One schema. `references` are those that it refers to, by name, each behind what it needs.

    The text of a Protobuf schema is its FileDescriptorProto in base64.
    """

    type: str
    text: str
    references: dict[str, str]


class SchemaRegistry:
    """The registry at a URL; a user and a password in it are sent as basic authentication."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._secure = parts.scheme == "https"
        self._address = parts.hostname or "", parts.port
        self._path = parts.path.rstrip("/")
        self._headers = {"Accept": "application/vnd.schemaregistry.v1+json, application/json"}
        if parts.username is not None:
            login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
            self._headers["Authorization"] = f"Basic {b64encode(login.encode()).decode()}"
        self.name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{self._path}"
        self._found: OrderedDict[int, asyncio.Future[Schema]] = OrderedDict()
        self._refused: dict[int, float] = {}

    async def schema(self, schema_id: int) -> Schema:
        """The schema of an id. Raises SchemaError."""
        if self._refused.get(schema_id, monotonic()) < monotonic() - AGAIN_S:
            del self._refused[schema_id], self._found[schema_id]
        found = self._found.get(schema_id)
        if found is None:
            found = asyncio.ensure_future(asyncio.to_thread(self.load, schema_id))
            self._found[schema_id] = found
            found.add_done_callback(lambda done: self._note(schema_id, done))
            if len(self._found) > MAX_KEPT:
                self._refused.pop(self._found.popitem(last=False)[0], None)
        return await asyncio.shield(found)

    def _note(self, schema_id: int, done: asyncio.Future[Schema]) -> None:
        if self._found.get(schema_id) is done and (done.cancelled() or done.exception()):
            self._refused[schema_id] = monotonic()

    def load(self, schema_id: int) -> Schema:
        """The schema of an id, asked for now. Raises SchemaError."""
        path = f"/schemas/ids/{schema_id}"
        answer = self._get(path, f"has no schema {schema_id}")
        kind = str(answer.get("schemaType") or AVRO)
        query = "?format=serialized" if kind == PROTOBUF else ""
        if query:
            answer = self._get(path + query, f"has no schema {schema_id}")
        references: dict[str, str] = {}
        self._add_references(answer, query, references, frozenset())
        return Schema(kind, _text_of(answer), references)

    def _add_references(
        self, answer: dict[str, Any], query: str, found: dict[str, str], above: frozenset[str]
    ) -> None:
        """Put what a schema refers to behind what that refers to itself."""
        for one in answer.get("references") or ():
            try:
                name, subject, version = str(one["name"]), str(one["subject"]), int(one["version"])
            except (KeyError, TypeError, ValueError):
                raise SchemaError(f"{self.name} tells a reference that is none") from None
            if name in found:
                continue
            if name in above or len(found) + len(above) >= MAX_FILES:
                raise SchemaError(f"the references of {name} go in a circle, or are too many")
            path = f"/subjects/{quote(subject, safe='')}/versions/{version}{query}"
            inner = self._get(path, f"has no version {version} of subject {subject}")
            self._add_references(inner, query, found, above | {name})
            found[name] = _text_of(inner)

    def _get(self, path: str, missing: str) -> dict[str, Any]:
        """An object that is there. In a thread."""
        kind = http.client.HTTPSConnection if self._secure else http.client.HTTPConnection
        connection = kind(*self._address, timeout=TIMEOUT_S)
        try:
            connection.request("GET", self._path + path, headers=self._headers)
            with connection.getresponse() as answer:
                data = answer.read(MAX_BYTES + 1)
        except (OSError, http.client.HTTPException) as error:
            reason = str(error) or type(error).__name__
            raise SchemaError(f"{self.name} does not answer: {reason}") from None
        finally:
            connection.close()
        if answer.status == http.client.NOT_FOUND:
            raise UnknownSchemaError(f"{self.name} {missing}")
        if answer.status != http.client.OK:
            raise SchemaError(f"{self.name} answered {answer.status} {answer.reason}")
        if len(data) > MAX_BYTES:
            raise SchemaError(f"{self.name} answered more than {MAX_BYTES} bytes")
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            raise SchemaError(f"{self.name} answered what is no schema: is it a registry?")
        return found


def _text_of(answer: dict[str, Any]) -> str:
    text = answer.get("schema")
    if not isinstance(text, str):
        raise SchemaError("the registry's answer has no schema in it")
    return text
