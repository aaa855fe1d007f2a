"""A schema registry for tests: what is put into it, over HTTP, as Confluent's tells it."""

from __future__ import annotations

import json
import threading
from base64 import b64encode
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from struct import pack
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator


class FakeRegistry:
    """Schemas by id and, as subjects, by name; `asked` are the paths so far.

    `answers` maps a path to a status and bytes that are told instead.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.schemas: dict[str, dict[str, Any]] = {}
        self.answers: dict[str, tuple[int, bytes]] = {}
        self.asked: list[str] = []
        self.authorization: str | None = None

    def avro(self, schema_id: int, schema: object, **references: int) -> None:
        """An Avro schema; it refers to NAME, that is the first version of the subject NAME."""
        self._put(schema_id, {"schema": json.dumps(schema)}, references)

    def protobuf(self, schema_id: int, serialized: bytes, **references: int) -> None:
        """A file's descriptor."""
        text = b64encode(serialized).decode()
        self._put(schema_id, {"schemaType": "PROTOBUF", "schema": text}, references)

    def json(self, schema_id: int) -> None:
        """A JSON schema."""
        self._put(schema_id, {"schemaType": "JSON", "schema": "{}"}, {})

    def _put(self, schema_id: int, schema: dict[str, Any], references: dict[str, int]) -> None:
        schema["references"] = [
            {"name": name.replace("__", "."), "subject": name, "version": version}
            for name, version in references.items()
        ]
        self.schemas[f"/schemas/ids/{schema_id}"] = schema

    def name(self, subject: str, schema_id: int) -> None:
        """The schema is the first version of the subject."""
        self.schemas[f"/subjects/{subject}/versions/1"] = self.schemas[f"/schemas/ids/{schema_id}"]

    def answer(self, path: str) -> tuple[int, bytes]:
        """Status and body."""
        self.asked.append(path)
        if path in self.answers:
            return self.answers[path]
        plain, _, query = path.partition("?")
        found = self.schemas.get(plain)
        if found is None:
            return 404, b'{"error_code": 40403, "message": "Schema not found"}'
        if found.get("schemaType") == "PROTOBUF" and query != "format=serialized":
            found = {**found, "schema": 'syntax = "proto3"; // the text that people write'}
        return 200, json.dumps(found).encode()


@contextmanager
def fake_registry() -> Iterator[FakeRegistry]:
    """One that listens until the end of the block."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.authorization = self.headers.get("Authorization")
            status, body = made.answer(self.path)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    made = FakeRegistry(f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def framed(schema_id: int, payload: bytes) -> bytes:
    """A value as a serializer writes it."""
    return pack(">bi", 0, schema_id) + payload
